"""Sparse codes by l1-regularised least squares."""

from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from nearboost.base.errors import warn_caller
from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_map, check_positive, check_whole
from nearboost.codes.dictionary import check_neighborhood, row_pointers
from nearboost.codes.local import NearestSamples
from nearboost.codes.scores import Workspace, in_pieces, multiply, sum_error
from nearboost.codes.series import Groups
from nearboost.neighbors import UNDERFLOW, NeighborSearch, largest_values

LARGEST = 2.0**200  # values whose products can still be added up
TOLERANCE = 1e-9  # of λ: how far slopes may be from where they should be
ROUNDING = 1e-13  # of the largest product that a sample can have with the query; this much is added
AT_ONCE = 32  # samples that join a list
MOST_ROUNDS = 10_000  # of joining; a few dozen are enough unless rounding makes samples come and go


class Lists(NamedTuple):
    """Samples that some queries are coded by, and their weights, which are zero beyond the first ``counts``.

    ``solved`` tells of codes that are within the tolerance.
    """

    samples: NDArray[np.int32]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    solved: NDArray[np.bool_]

    @classmethod
    def unweighted(cls, samples: NDArray[np.int32], count: int) -> Self:
        """The first of each row, without weights."""
        counts = np.full(len(samples), count, dtype=np.int64)
        return cls(samples, np.zeros(samples.shape), counts, np.ones(len(samples), dtype=np.bool_))


class LeastSquares:
    """The problem to solve: the samples and λ. Slopes are products of samples with what a code leaves over."""

    def __init__(self, X: NDArray[Any], regularization: float) -> None:
        self.X, self.regularization = X, regularization
        self.radius = float(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64).max()))

    def slacks(self, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far slopes may be off."""
        return TOLERANCE * self.regularization + ROUNDING * self.radius * np.linalg.norm(Q, axis=1)

    def values(self, weights: NDArray[np.float64], rests: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is to be the least, ½|r|² + λ Σ|w|."""
        return (rests**2).sum(axis=1) / 2 + self.regularization * np.abs(weights).sum(axis=1)

    def solve(
        self, queries: NDArray[np.int64], Q: NDArray[np.float64], lists: Lists, rests: NDArray[np.float64]
    ) -> None:
        """Make the codes of some queries over their lists; ``rests`` become what these leave over."""
        from nearboost.kernels import l1 as kernels

        check_map(self.X)
        kernels.code_lists(
            queries, lists.samples, lists.counts, self.X, Q, self.regularization, self.slacks(Q),
            lists.weights, rests, lists.solved,
        )  # fmt: skip


class ListCoder(Protocol):
    """A way to choose lists."""

    @property
    def columns(self) -> NDArray[np.float32]:
        """What queries are multiplied with."""

    def code(self, Q: NDArray[np.float64], own: Groups, groups: Groups, workspace: Workspace) -> Lists:
        """Codes of a few queries, by samples of other groups than their own."""


class NearLists:
    """Codes by the nearest samples alone."""

    def __init__(self, problem: LeastSquares, near: NearestSamples, n_near: int) -> None:
        self.problem, self.near, self.n_near = problem, near, n_near

    @property
    def columns(self) -> NDArray[np.float32]:
        return self.near.shadow.columns

    def code(self, Q: NDArray[np.float64], own: Groups, groups: Groups, workspace: Workspace) -> Lists:
        n_near = min(self.n_near, len(groups) - int(np.bincount(groups).max()))  # the same for all queries
        samples = self.near.find(Q, n_near, groups, own, workspace)
        lists = Lists.unweighted(samples, samples.shape[1])
        self.problem.solve(np.arange(len(Q)), Q, lists, np.empty_like(Q))
        return lists


class GrowingLists:
    """Codes by all samples: lists grow by the steepest samples until none in the whole set is too steep."""

    def __init__(self, problem: LeastSquares) -> None:
        self.problem = problem

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the columns, which are rebuilt when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "columns"}

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """The samples, none longer than 1."""
        check_map(self.problem.X)
        return (self.problem.X / (self.problem.radius or 1.0)).T.astype(np.float32, order="C")

    def code(self, Q: NDArray[np.float64], own: Groups, groups: Groups, workspace: Workspace) -> Lists:
        from nearboost.kernels import l1 as kernels

        n_samples, n_features = self.problem.X.shape
        # A code has no more samples than features, for they are linearly independent.
        width = min(n_samples, 2 * n_features + AT_ONCE)
        lists, rests = Lists.unweighted(np.empty((len(Q), width), dtype=np.int32), 0), Q.copy()
        # Twice the slack: samples that left a list do not come back for a rounding.
        limits = self.problem.regularization + 2 * self.problem.slacks(Q)
        unfinished, least = np.arange(len(Q)), np.full(len(Q), np.inf)
        for _ in range(MOST_ROUNDS):
            products, is_done = workspace.values[: len(unfinished)], np.empty(len(unfinished), dtype=np.bool_)
            check_map(self.problem.X)
            cuts = self._multiply(rests[unfinished], limits[unfinished], products)
            kernels.list_steep(
                unfinished, products, cuts, self.problem.X, rests, limits, groups, own, AT_ONCE,
                lists.samples, lists.weights, lists.counts, workspace.scores[0], is_done,
            )  # fmt: skip
            unfinished = unfinished[~is_done]
            if not unfinished.size:
                break
            self.problem.solve(unfinished, Q, lists, rests)
            values = self.problem.values(lists.weights[unfinished], rests[unfinished])
            going = lists.solved[unfinished] | (values < least[unfinished])  # elsewhere rounding stands in the way
            least[unfinished] = values
            unfinished = unfinished[going]
        lists.solved[unfinished] = False
        return lists

    def _multiply(
        self, rests: NDArray[np.float64], limits: NDArray[np.float64], products: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Products of samples and rests, none longer than 1; how large they are at least where above the limit."""
        lengths = np.linalg.norm(rests, axis=1)
        units = rests / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
        multiply(units.astype(np.float32), self.columns, products)
        n_features = len(self.columns)
        error = sum_error(n_features) + n_features * UNDERFLOW
        with np.errstate(divide="ignore"):  # where nothing is left over, nothing is steep
            return limits / (lengths * self.problem.radius) - error


class L1Dictionary:
    """Samples that queries q are written as sums of: the weights w with the least ½|q − Σ w_i x_i|² + λ Σ|w_i|.

    Codes are exact. At the minimum the slope x_i·(q − Σ w_j x_j) is λ times the sign of w_i, or between −λ and λ
    where w_i is zero; no slope is off by more than 1e-9 λ, which makes the duality gap at most 1e-9 times ½|q|².
    (Rounding adds 1e-13 of the longest sample's length times that of the query; this matters for tiny λ.) Among
    equally good codes one of linearly independent samples is taken.

    A code is made over a short list of samples: one after the other gets a weight, and each time the code goes to
    the minimum for the weights' signs, as feature-sign search does. The slopes of all samples, one matrix product
    for many queries, tell whether it is the code by all; as long as it is not, the steepest samples join the list.

    Parameters
    ----------
    X : the samples, C-contiguous, float32 or float64
    regularization : λ; scikit-learn's Lasso divides it by the number of features
    neighborhood : code each query by so many nearest samples alone; None means by all
    n_jobs : threads; None means all cores
    verbose : above 0, a progress bar on standard error
    """

    def __init__(
        self,
        X: NDArray[Any],
        regularization: float,
        *,
        neighborhood: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        check_positive("regularization", regularization)
        check_whole("neighborhood", neighborhood, optional=True)
        check_neighborhood(neighborhood, len(X))
        count_threads(n_jobs)
        check_sizes(X)
        self.samples = X
        self._n_jobs, self._verbose = n_jobs, verbose
        problem = LeastSquares(X, float(regularization))
        self._coder: ListCoder = GrowingLists(problem)
        if neighborhood is not None and neighborhood < len(X):
            near = NearestSamples(NeighborSearch(X, n_jobs=n_jobs, copy=False).rows)
            self._coder = NearLists(problem, near, neighborhood)

    def codes(self, Q: NDArray[Any], own: Groups | None = None, groups: Groups | None = None) -> csr_array:
        """Weights of all samples for each query; ``own`` is the group whose samples it may not have, -1 for none.

        Without ``groups``, a sample's is its number.
        """
        check_sizes(Q)
        own = np.full(len(Q), -1, dtype=np.int32) if own is None else own
        groups = np.arange(len(self.samples), dtype=np.int32) if groups is None else groups
        lengths, solved = np.zeros(len(Q), dtype=np.int64), np.ones(len(Q), dtype=np.bool_)
        samples: dict[int, NDArray[np.int32]] = {}
        weights: dict[int, NDArray[np.float64]] = {}

        def code_piece(piece: slice, workspace: Workspace) -> None:
            lists = self._coder.code(Q[piece].astype(np.float64), own[piece], groups, workspace)
            holds = lists.weights != 0.0
            lengths[piece], solved[piece] = holds.sum(axis=1), lists.solved
            samples[piece.start], weights[piece.start] = lists.samples[holds], lists.weights[holds]

        with progress_bar("Coding", len(Q), self._verbose) as advance:
            in_pieces(code_piece, len(Q), self._coder.columns, self._n_jobs, advance)
        warn_of_unsolved(solved)
        indptr = row_pointers(lengths)
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
        warn_caller(
            f"{np.count_nonzero(~solved)} of {len(solved)} codes are not exact because rounding stood in the way; "
            f"the first is row {np.argmin(solved)}. Use a larger regularization, or scale features to like sizes.",
            ConvergenceWarning,
        )
