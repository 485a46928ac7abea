"""Plain k-NN on the same search and the same votes: the contender that learns nothing."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Choice, Labels, Misfit, Nullable
from nearboost.base.estimator import Estimator
from nearboost.base.rows import check_rows, row_source
from nearboost.base.schema import CLASSES, Schema, of_rows, set_fitted
from nearboost.base.validation import check_choice, check_positive, check_whole, validate_rows
from nearboost.boosting.queries import Explanation
from nearboost.boosting.state import ROWS, SEARCH, restore_search, rows_to_keep
from nearboost.neighbors import METRICS, Neighbors, NeighborSearch, check_method, find_method
from nearboost.problem.classifier import DecidingClassifierMixin
from nearboost.problem.given import anew, followed_by, without
from nearboost.problem.held_out import mark_rows
from nearboost.problem.others import ENTRIES, HeldOut, HeldOutOnce, cross_fit
from nearboost.problem.targets import GivenRows, class_members, count_outside, encode_classes, number_groups
from nearboost.votes import VOTE_WEIGHTS, Votes, votes_from_neighbors


def _check_search(state: Mapping[str, Any]) -> None:
    if state["metric"] not in find_method(state["search"]).metrics:
        raise Misfit("must search by a metric that its search knows")
    if len(np.unique(state["codes"])) != len(state["classes_"]):
        raise Misfit("must have rows of each class")


def shares_of(votes: Votes, members: csr_array) -> NDArray[np.float64]:
    """Each class's share of the votes on each row."""
    counts = (votes.matrix() @ members).toarray()
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def judge_votes(
    search: NeighborSearch, members: csr_array, groups: NDArray[Any] | None, n_neighbors: int, weights: str
) -> HeldOut:
    """How good shares of the votes are on training rows that rows of other folds vote on."""
    X = search.rows.X

    def shares_by_others(held: NDArray[np.int64], folds: NDArray[np.int32]) -> NDArray[np.float64]:
        k = min(n_neighbors, count_outside(folds))
        found = search.search(search.rows.source.only(held), k, query_groups=folds[held], groups=folds)
        return shares_of(votes_from_neighbors(found, len(X), weights), members)

    classes = members.indices.astype(np.int64)
    return cross_fit(mark_rows(X, search.rows.n_jobs), classes, number_groups(groups, len(X)), shares_by_others)


class KNNClassifier(DecidingClassifierMixin, ClassifierMixin, Estimator):
    """k nearest neighbours with equal votes, or with votes weighted by rank or distance.

    It uses the same exact search as the boosted classifiers, so that comparisons are fair.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that vote.
    vote_weights : {"uniform", "rank", "gaussian"}, default="uniform"
        Weight of a neighbour's vote: 1; 1/r at rank r; or exp(−d²/2ρ²), where ρ is the distance of the farthest
        voter (the weighting of Philbin et al.).
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows: Euclidean, 1 − cos, or Manhattan.
    search : {"exact", "hnsw", "gpu"}, default="exact"
        How neighbours are found. "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``. "gpu",
        or "gpu:1" for the second, finds what "exact" finds and needs ``pip install "nearboost[gpu]"``.
    calibration : {"temperature", None}, default="temperature"
        How shares of the votes become probabilities: by a temperature that suits training rows voted on by others,
        which is found when probabilities are first asked for. None takes the shares themselves.
    memory : float or None, default=None
        Bytes to search in, beside rows that lie in memory; None means half of what is free. A mapped file that has
        no room in them is searched block by block. Results do not depend on it.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    voters_ : ndarray of shape (n_samples,)
        Training rows that an answer may come from: all.
    temperature_ : float
        Probabilities grow as exp(share / temperature_); at least 1/(n + 2) of them is the same for all classes,
        for n held-out rows.
    held_out_accuracy_ : float
        Share of right answers on training rows voted on by others; NaN, with a warning, if no class has two
        groups.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nearboost import KNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KNNClassifier(5, vote_weights="gaussian").fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.9866666666666667
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            **ROWS,
            **CLASSES,
            "codes": Array("int64", ("n_voters",), low=0, below="n_classes"),
            "metric": Choice(*METRICS),
            "search": SEARCH,
            "groups": Nullable(Labels("n_voters", distinct=False)),
            **ENTRIES,
        },
        ("groups", *ENTRIES),
        check=_check_search,
    )

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        vote_weights: str = "uniform",
        metric: str = "l2",
        search: str = "exact",
        calibration: str | None = "temperature",
        memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.vote_weights = vote_weights
        self.metric = metric
        self.search = search
        self.calibration = calibration
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Store the training rows and index them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float16, float32 or float64. They are copied and kept; a memory-mapped file is kept as
            it is and read in blocks.
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as frames of one film, do not vote on each other where probabilities are
            calibrated. None makes each sample a group of its own.

        Returns
        -------
        self : KNNClassifier
            The fitted classifier.
        """
        self.check_parameters()
        X, y = check_rows(self, X, y, reset=True, accept_sparse=False, keep=True, order="C")
        return self._learn(GivenRows.of(X, y, None, groups))

    def _learn(self, given: GivenRows) -> Self:
        self.classes_, encoded = encode_classes(given.y)
        self._check_enough(len(given.X))
        self._groups = None if given.groups is None else given.groups.copy()
        how: dict[str, Any] = {"method": self.search, "n_jobs": self.n_jobs, "memory": self.memory}
        search = NeighborSearch(given.X, self.metric, copy=False, **how)
        return self._know(search, encoded)

    def _know(self, search: NeighborSearch, encoded: NDArray[np.int64]) -> Self:
        """Everything that a query needs, from rows that are indexed."""
        self._members, self._search, self._n_samples = class_members(encoded), search, len(encoded)
        given = search, self._members, self._groups, self.n_neighbors, self.vote_weights
        self._held_out = HeldOutOnce(partial(judge_votes, *given))
        return self

    def add(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """A new estimator with more examples, as if fitted to all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, taken in the precision of the training rows.
        y : array-like of shape (n_samples,)
            Their labels; classes may be new.
        groups : array-like of shape (n_samples,) or None, default=None
            Their groups, by the names given to `fit`; needed if `fit` was given groups.

        Returns
        -------
        KNNClassifier
            A fitted classifier; this one is left unchanged.
        """
        given = self._given()
        X, y = validate_rows(self, X, y, dtype=row_source(given.X).dtype, order="C", reset=False)
        return anew(self)._learn(followed_by(given, GivenRows.of(X, y, None, groups)))

    def forget(self, rows: ArrayLike) -> Self:
        """A new estimator that knows nothing of some examples, as if fitted to the others.

        Parameters
        ----------
        rows : array-like of int
            Numbers of training rows.

        Returns
        -------
        KNNClassifier
            A fitted classifier; this one is left unchanged.
        """
        rest, _ = without(self._given(), rows)
        return anew(self)._learn(rest)

    def _given(self) -> GivenRows:
        check_is_fitted(self)
        return GivenRows(self._search.rows.X, self.classes_[self._members.indices], None, self._groups)

    def _check_enough(self, n_samples: int) -> None:
        if self.n_neighbors > n_samples:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is too many for n_samples={n_samples}; use {n_samples} or fewer."
            )

    def model_state(self) -> dict[str, Any]:
        """What a model file keeps: rows, their classes, and how sure they are of each other."""
        if not hasattr(self, "_search"):
            return {}
        self._check_enough(self._n_samples)
        found = self._search
        search = {"rows": rows_to_keep(found), "metric": found.rows.metric, "search": found.method}
        known = {"codes": self._members.indices.astype(np.int64), "groups": self._groups}
        return {**vars(self), **search, **known, **self._held_out.found.entries()}

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Index the rows of a model file again."""
        self._check_enough(len(state["rows"]))
        set_fitted(self, state)
        self._groups = state.get("groups")
        self._know(restore_search(state, self.n_jobs, self.memory), state["codes"])
        if "held_out_temperature" in state:  # older files have none
            self._held_out.found = HeldOut.of_entries(state)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_neighbors", self.n_neighbors)
        check_choice("vote_weights", self.vote_weights, VOTE_WEIGHTS)
        check_choice("metric", self.metric, METRICS)
        check_method("search", self.search, self.metric)
        check_choice("calibration", self.calibration, ("temperature", None))
        check_positive("memory", self.memory, optional=True)

    @property
    def temperature_(self) -> float:
        """What shares of the votes are divided by to get calibrated probabilities."""
        check_is_fitted(self)
        return self._held_out.found.calibration.temperature

    @property
    def held_out_accuracy_(self) -> float:
        """Share of right answers on training rows voted on by others."""
        check_is_fitted(self)
        return self._held_out.found.known_accuracy()

    @property
    def voters_(self) -> NDArray[np.int64]:
        """Training rows that an answer may come from: all."""
        check_is_fitted(self)
        return np.arange(self._n_samples)

    def _scores_of(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Each class's share of the votes."""
        return shares_of(self._vote(rows)[1], self._members)

    def _probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.calibration is None else self._held_out.found.probabilities(scores, scores)

    def _vote(self, X: NDArray[np.floating]) -> tuple[Neighbors, Votes]:
        """The neighbours of some queries, and their votes."""
        found = self._search.search(X, self.n_neighbors)
        return found, votes_from_neighbors(found, self._n_samples, self.vote_weights)

    def explain(self, X: ArrayLike) -> list[Explanation]:
        """Who voted on each row, and how much.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        list of Explanation
            One per row; contributions are shares of all votes and add up to those of the classes.
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, dtype=[np.float32, np.float64], order="C", reset=False)
        found, votes = self._vote(rows)
        explanations = []
        for row in range(votes.n_rows):
            part = slice(votes.indptr[row], votes.indptr[row + 1])
            voters, weights = votes.voters[part].astype(np.int64), votes.weights[part]
            shares = self._members[voters].toarray() * (weights / weights.sum())[:, np.newaxis]
            far = found.distances[row][np.isin(found.indices[row], voters)]
            nothing = np.zeros(len(self.classes_))
            explanations.append(Explanation(voters, far, weights, shares, nothing, self.classes_))
        return explanations
