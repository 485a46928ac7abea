"""Few prototypes instead of all rows: centres of each class in the metric."""

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.code_heads import CodedRows
from nearboost.neighbors import cluster_classes, cluster_means

Indices = NDArray[np.int64]


def class_centres(
    rows: NDArray[np.float32], classes: Indices, n_classes: int, share: float, seed: int, on_sphere: bool
) -> tuple[CodedRows, Indices]:
    """Centres of each class, and the row nearest to each centre."""
    clusters = cluster_classes(rows, classes, max(1, round(share * len(rows))), seed)
    centres = cluster_means(rows, clusters.of_row).astype(np.float32)
    coded = CodedRows(centres, classes[clusters.nearest], n_classes, np.ones(len(centres)), on_sphere)
    return coded, clusters.nearest
