"""What has been learned, as three scores of a query and their sum."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.code_heads import CodedRows, Codes, to_sphere
from nearboost.ensemble.products import Factor
from nearboost.ensemble.scaling import Components, Scaling
from nearboost.ensemble.stacking import centred
from nearboost.metric.landmarks import kernel_from_products, squared_lengths

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

    @cached_property
    def _factors(self) -> "Factors":
        return Factors(
            Factor(self.landmarks.T),
            squared_lengths(self.landmarks),
            Factor(self.matrix),
            self.linear.astype(np.float64),
        )

    def kernel(self, X: NDArray[np.floating]) -> tuple[Rows, Rows]:
        """Queries in the metric, and their kernel rows."""
        factors, rows = self._factors, self.scaling.apply(X)
        if self.components is not None:
            rows = self.components.apply(rows)
        seen = rows[:, : self.landmarks.shape[1]]
        products = factors.landmarks.after(2 * self.gamma * seen)
        kernel = kernel_from_products(products, squared_lengths(seen), factors.lengths, self.gamma)
        mapped = factors.matrix.after(kernel if self.of_kernel else rows[:, : len(self.matrix)])
        mapped += self.offset
        return to_sphere(mapped) if self.coded.on_sphere else mapped, kernel

    def look_at(self, X: NDArray[np.floating]) -> "Looks":
        """Queries as the heads see them."""
        mapped, kernel = self.kernel(X)
        nobody = np.zeros(len(self.coded.rows), dtype=np.int32), np.full(len(X), -1, dtype=np.int32)
        codes = self.coded.code(self.coded.halves(mapped), *nobody)
        return Looks(mapped, kernel, kernel @ self._factors.linear, codes)

    def scores(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """The weighted sum of the heads, one column for each class; 0 on average over classes."""
        seen = self.look_at(X)
        heads = np.stack([*self.coded.scores(seen.codes), seen.lines])
        scores: NDArray[np.float64] = np.tensordot(self.stack, centred(heads), 1)
        return scores


class Factors(NamedTuple):
    """What queries are multiplied by."""

    landmarks: Factor
    lengths: Rows  # |l|² of the landmarks
    matrix: Factor
    linear: NDArray[np.float64]  # whose terms cancel: they are added up in float64


class Looks(NamedTuple):
    """Queries in the metric, their kernel rows, what the linear head says of them, and their codes."""

    mapped: Rows
    kernel: Rows
    lines: NDArray[np.float64]
    codes: Codes
