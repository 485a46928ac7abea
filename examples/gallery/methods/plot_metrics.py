"""
Near by which distance
======================

The same query, and the 150 rows nearest to it by each of three distances. "l2" takes a disc, "l1" a diamond,
because differences in the features are added as they are, and "cosine" a wedge: it sees directions only.
`NeighborSearch` finds them exactly, rows at one distance by their number.
"""

import numpy as np
from matplotlib import pyplot as plt

from nearboost import NeighborSearch

rng = np.random.default_rng(0)
rows, query = rng.uniform(0.05, 1, (1500, 2)), np.array([0.62, 0.5])

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharex=True, sharey=True, layout="constrained")
for ax, metric in zip(axes, ("l2", "l1", "cosine"), strict=True):
    found = NeighborSearch(rows, metric).search([query], 150)
    near = rows[found.indices[0]]
    ax.scatter(*rows.T, s=6, color="#c9ced6")
    ax.scatter(*near.T, s=10, color="#1f6fb4")
    ax.scatter(*query, s=140, marker="*", color="#c4590a")
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_title(f'"{metric}": up to {found.distances[0, -1]:.3f}')
plt.show()
