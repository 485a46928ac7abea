"""What is learned from."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.linear.sources import Rows
from nearboost.linear.targets import Targets


@dataclass(frozen=True)
class Problem:
    """Rows, their codes and their weights; ``ids`` are the rows that count, rising.

    Weights are counted in ``unit``, so that those of a first block have mean 1.
    """

    rows: Rows
    targets: Targets
    weights: NDArray[Any]
    ids: NDArray[np.int64]
    unit: float = 1.0

    def only(self, ids: NDArray[np.int64]) -> "Problem":
        """The problem of some of the rows."""
        return replace(self, ids=np.sort(ids))

    def without(self, held_out: NDArray[np.int64]) -> "Problem":
        """The problem of all rows but these."""
        return replace(self, ids=np.setdiff1d(self.ids, held_out, assume_unique=True))
