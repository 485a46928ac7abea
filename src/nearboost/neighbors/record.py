"""The answer of every neighbour search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Neighbors:
    """Who is near whom: nearest first, ties in distance to the lower index.

    Attributes
    ----------
    indices : ndarray of shape (n_queries, n_neighbors), int32
        Rows of the searched set.
    distances : ndarray of shape (n_queries, n_neighbors), float64
        Euclidean ("l2"), Manhattan ("l1") or 1 − cos ("cosine").
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.float64]

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours per query."""
        return self.indices.shape[1]

    def first(self, k: int) -> "Neighbors":
        """The k nearest, as views.

        Parameters
        ----------
        k : int
            Number of neighbours to keep.

        Returns
        -------
        Neighbors
            The first k columns.
        """
        if not 1 <= k <= self.n_neighbors:
            raise ValueError(f"k={k} is not between 1 and the {self.n_neighbors} neighbours at hand.")
        return Neighbors(self.indices[:, :k], self.distances[:, :k])
