"""Products of queries with what was learned: the same bits in any company."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


class Factor:
    """A matrix that rows are multiplied by.

    The matrix library rounds a row of a product by its place and the number of rows; here it is the row's alone.
    """

    def __init__(self, matrix: Rows) -> None:
        from nearboost.kernels.vectors import LANES

        n_features, self.n_columns = matrix.shape
        n_panels = -(-self.n_columns // LANES)
        panels = np.zeros((n_features, n_panels * LANES), dtype=np.float32)
        panels[:, : self.n_columns] = matrix
        self._panels = np.ascontiguousarray(panels.reshape(n_features, n_panels, LANES).transpose(1, 0, 2))

    def after(self, rows: NDArray[np.floating], out: Rows | None = None) -> Rows:
        """``rows @ matrix``."""
        from nearboost.kernels.products import multiply

        rows = np.ascontiguousarray(rows, dtype=np.float32)
        out = np.empty((len(rows), self.n_columns), dtype=np.float32) if out is None else out
        multiply(rows, self._panels, out)
        return out
