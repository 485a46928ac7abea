"""What has been learned, as three scores of a query and their sum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.code_heads import CodedRows, Codes
from nearboost.ensemble.scaling import Components, Scaling
from nearboost.ensemble.stacking import centred
from nearboost.metric.landmarks import gaussian_kernel

HEADS = ("vote", "residual", "linear")
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Answers:
    """From a query to its scores.

    Parameters
    ----------
    scaling, components : what brings features to a common scale, and to fewer
    landmarks, gamma : rows of the Gaussian kernel, and its width; no landmarks where nothing needs the kernel
    of_kernel : whether the metric is one of kernel rows, or of rows (or their first components)
    matrix, offset : the metric: its input · matrix + offset
    linear : weights of the linear head, one row for each landmark
    stack : weight of each head
    coded : training rows in the metric, or prototypes
    """

    scaling: Scaling
    components: Components | None
    landmarks: Rows
    gamma: float
    of_kernel: bool
    matrix: Rows
    offset: Rows
    linear: Rows
    stack: NDArray[np.float64]
    coded: CodedRows

    def kernel(self, X: NDArray[np.floating]) -> tuple[Rows, Rows]:
        """Queries in the metric, and their kernel rows."""
        rows = self.scaling.apply(X)
        if self.components is not None:
            rows = self.components.apply(rows)
        kernel = gaussian_kernel(rows[:, : self.landmarks.shape[1]], self.landmarks, self.gamma)
        return (kernel if self.of_kernel else rows[:, : len(self.matrix)]) @ self.matrix + self.offset, kernel

    def code(self, X: NDArray[np.floating]) -> tuple[Rows, Rows, Codes]:
        """Queries in the metric, their kernel rows and their codes."""
        mapped, kernel = self.kernel(X)
        nobody = np.zeros(len(self.coded.rows), dtype=np.int32), np.full(len(X), -1, dtype=np.int32)
        return mapped, kernel, self.coded.code(mapped, *nobody)

    def scores(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """The weighted sum of the heads, one column for each class; 0 on average over classes."""
        _, kernel, codes = self.code(X)
        heads = np.stack([*self.coded.scores(codes), kernel @ self.linear])
        scores: NDArray[np.float64] = np.tensordot(self.stack, centred(heads), 1)
        return scores
