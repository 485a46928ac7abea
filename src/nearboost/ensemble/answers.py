"""What has been learned, as three scores of a query and their sum."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.code_heads import NARROW, CodedRows, Codes, to_sphere
from nearboost.ensemble.scaling import Components, Scaling
from nearboost.ensemble.stacking import centred
from nearboost.metric.landmarks import gaussian_kernel

LEAST_QUERIES = 16  # that products are made of
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

    def kernel(self, X: NDArray[np.floating]) -> tuple[Rows, NDArray[np.float64]]:
        """Queries in the metric, and their kernel rows."""
        rows: NDArray[np.floating] = self.scaling.apply(X)
        if self.components is not None:
            rows = self.components.apply(rows)
        # The linear head's terms cancel: what float32 rounds off a kernel value would show in their sum.
        seen = rows[:, : self.landmarks.shape[1]].astype(np.float64)
        kernel = gaussian_kernel(seen, self.landmarks.astype(np.float64), self.gamma)
        measured = kernel if self.of_kernel else rows[:, : len(self.matrix)]
        # In few dimensions rows may lie so close together that roundings decide who is the nearest.
        precision = np.float64 if self.matrix.shape[1] <= NARROW else np.float32
        mapped = measured.astype(precision, copy=False) @ self.matrix.astype(precision, copy=False) + self.offset
        if self.coded.on_sphere:
            mapped = to_sphere(mapped)
        return mapped.astype(np.float32, copy=False), kernel

    def look_at(self, X: NDArray[np.floating]) -> "Looks":
        """Queries as the heads see them."""
        n_queries = len(X)
        mapped, kernel = self.kernel(in_company(X))
        halves, lines = self.coded.halves(mapped), kernel @ self.linear
        nobody = np.zeros(len(self.coded.rows), dtype=np.int32), np.full(n_queries, -1, dtype=np.int32)
        codes = self.coded.code(halves[:n_queries], *nobody)
        return Looks(mapped[:n_queries], kernel[:n_queries], lines[:n_queries], codes)

    def scores(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """The weighted sum of the heads, one column for each class; 0 on average over classes."""
        seen = self.look_at(X)
        heads = np.stack([*self.coded.scores(seen.codes), seen.lines])
        scores: NDArray[np.float64] = np.tensordot(self.stack, centred(heads), 1)
        return scores


class Looks(NamedTuple):
    """Queries in the metric, their kernel rows, what the linear head says of them, and their codes."""

    mapped: Rows
    kernel: NDArray[np.float64]
    lines: NDArray[np.float64]
    codes: Codes


def in_company(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Queries, the last one repeated where they are few: products of one row are rounded in another way."""
    missing = LEAST_QUERIES - len(X)
    return X if missing <= 0 else np.concatenate([X, np.repeat(X[-1:], missing, axis=0)])
