"""Sparse codes by l1-regularised least squares."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_choice, check_positive, check_whole
from nearboost.codes.dictionary import check_neighborhood, ends_of
from nearboost.codes.lists import SOLVERS, GrowingLists, LeastSquares, ListCoder, NearLists
from nearboost.codes.near import NearestSamples
from nearboost.codes.pieces import Room, in_pieces
from nearboost.neighbors import NeighborSearch, largest_values

LARGEST = 2.0**200  # values whose products can still be added up


def check_solving(regularization: float, solver: str, neighborhood: int | None) -> None:
    """What can be said of the parameters without samples."""
    check_positive("regularization", regularization)
    check_choice("solver", solver, SOLVERS)
    check_whole("neighborhood", neighborhood, optional=True)


class L1Dictionary:
    """Samples that queries q are written as sums of: the weights w with the least ½|q − Σ w_i x_i|² + λ Σ|w_i|.

    Codes are exact. At the minimum the slope x_i·(q − Σ w_j x_j) is λ times the sign of w_i, or between −λ and λ
    where w_i is zero; no slope is off by more than 1e-9 λ, which makes the duality gap at most 1e-9 times ½|q|².
    (Rounding adds 1e-13 of the longest sample's length times that of the query; this matters for tiny λ.) Among
    equally good codes one of linearly independent samples is taken.

    A code is made over a short list of samples. The slopes of all samples, one matrix product for many queries,
    tell whether it is the code by all; as long as it is not, the steepest samples join the list.

    Parameters
    ----------
    X : the samples, C-contiguous, float32 or float64
    regularization : λ; scikit-learn's Lasso divides it by the number of features
    solver : {"lasso", "lars", "fista"}
        How codes over lists are made. "lasso" gives one sample after the other a weight and goes to the minimum of
        the weights' signs each time, as feature-sign search does. "lars" follows the homotopy from a large λ down
        to the wanted one. "fista" takes accelerated gradient steps. What the last two leave is finished by the
        first, so that all give the same codes; "lasso" is the fastest.
    neighborhood : code each query by so many nearest samples alone; None means by all
    n_jobs : threads; None means all cores
    verbose : above 0, a progress bar on standard error
    """

    def __init__(
        self,
        X: NDArray[Any],
        regularization: float,
        *,
        solver: str = "lasso",
        neighborhood: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        check_solving(regularization, solver, neighborhood)
        check_neighborhood(neighborhood, len(X))
        count_threads(n_jobs)
        check_sizes(X)
        self.samples = X
        self._n_jobs, self._verbose = n_jobs, verbose
        problem = LeastSquares(X, float(regularization), solver)
        self._coder: ListCoder = GrowingLists(problem)
        if neighborhood is not None and neighborhood < len(X):
            near = NearestSamples(NeighborSearch(X, n_jobs=n_jobs).rows, neighborhood)
            self._coder = NearLists(problem, near)

    def codes(self, Q: NDArray[Any], own: NDArray[np.int32] | None = None) -> csr_array:
        """Weights of all samples for each query; ``own`` is the sample it may not have, -1 for none."""
        check_sizes(Q)
        own = np.full(len(Q), -1, dtype=np.int32) if own is None else own
        lengths, solved = np.zeros(len(Q), dtype=np.int64), np.ones(len(Q), dtype=np.bool_)
        samples: dict[int, NDArray[np.int32]] = {}
        weights: dict[int, NDArray[np.float64]] = {}

        def code_piece(piece: slice, room: Room) -> None:
            lists = self._coder.code(Q[piece].astype(np.float64), own[piece], room)
            holds = lists.weights != 0.0
            lengths[piece], solved[piece] = holds.sum(axis=1), lists.solved
            samples[piece.start], weights[piece.start] = lists.samples[holds], lists.weights[holds]

        with progress_bar("Coding", len(Q), self._verbose) as advance:
            in_pieces(code_piece, len(Q), self._coder.columns, self._n_jobs, advance)
        warn_of_unsolved(solved)
        indptr = ends_of(lengths)
        return csr_array((joined(weights), joined(samples), indptr), shape=(len(Q), len(self.samples)))


def joined(pieces: dict[int, NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([pieces[start] for start in sorted(pieces)]) if pieces else np.empty(0)


def check_sizes(X: NDArray[Any]) -> None:
    """Squares must not overflow."""
    sizes = largest_values(X)
    if sizes.size and sizes.max() > LARGEST:
        raise ValueError(
            f"Row {sizes.argmax()} holds a value of {sizes.max():.3g}, whose products with others may overflow; "
            "divide the rows by a number, and regularization by its square."
        )


def warn_of_unsolved(solved: NDArray[np.bool_]) -> None:
    if not solved.all():
        warnings.warn(
            f"{np.count_nonzero(~solved)} of {len(solved)} codes are not exact because rounding stood in the way; "
            f"the first is row {np.argmin(solved)}. Use a larger regularization, or scale features to like sizes.",
            ConvergenceWarning,
            stacklevel=3,
        )
