"""The samples near each query, where these are many."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.codes.pieces import Room
from nearboost.codes.shadow import Shadow
from nearboost.neighbors import MeasuredRows


class NearestSamples:
    """Finds the ``n_near`` samples nearest to a query, under L2.

    They are those that `NeighborSearch` would find, but come from scores of all samples at once: it keeps sorted
    lists, which is best for few neighbours and not for a hundred.
    """

    def __init__(self, rows: MeasuredRows, n_near: int) -> None:
        self.rows = rows
        self.n_near = n_near

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the shadow, which is made anew where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "shadow"}

    @cached_property
    def shadow(self) -> Shadow:
        return Shadow(self.rows)

    def find(self, Q: NDArray[Any], own: NDArray[np.int32], room: Room) -> NDArray[np.int32]:
        """The nearest samples in rising order."""
        from nearboost.kernels import inn_local as kernels

        queries = self.rows.queries(Q, np.empty(0), own)
        bounds = self.shadow.first_scores(queries, own, room.values)
        near = np.empty((len(Q), self.n_near), dtype=np.int32)
        kernels.find_near(
            room.values, bounds.factor, room.scores, bounds.start + bounds.measuring, own,
            self.rows.X, queries.measured, queries.units, near,
        )  # fmt: skip
        return near
