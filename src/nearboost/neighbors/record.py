"""The answer of every neighbour search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Neighbors:
    """Who is near whom: nearest first, ties in distance to the lower index.

    Attributes
    ----------
    indices : int32 array of shape (n_queries, k)
        Rows of the searched set.
    distances : float64 array of shape (n_queries, k)
        Euclidean (``l2``), Manhattan (``l1``), or 1 - cos (``cosine``).
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.float64]

    @property
    def n_neighbors(self) -> int:
        return self.indices.shape[1]

    def first(self, k: int) -> "Neighbors":
        """The k nearest, as views."""
        if not 1 <= k <= self.n_neighbors:
            raise ValueError(f"k={k} is not between 1 and the {self.n_neighbors} neighbours at hand.")
        return Neighbors(self.indices[:, :k], self.distances[:, :k])
