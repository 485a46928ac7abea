"""A boosted classifier with more examples or without some: the graph is repaired, then learning runs on it."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from nearboost.base.rows import row_source
from nearboost.base.validation import validate_rows
from nearboost.boosting.newton import ranking_width
from nearboost.neighbors import Neighbors
from nearboost.problem.given import anew, followed_by, without
from nearboost.problem.targets import GivenRows, Labels, TrainingSet

if TYPE_CHECKING:
    from nearboost.neighbors import NeighborSearch

GIVEN = ("_given_weight", "_group_names", "_left_out_classes")


class Before(NamedTuple):
    """A graph over rows ``X``, of which those numbered ``stay`` are the first of the next graph."""

    graph: Neighbors
    X: NDArray[np.floating]
    stay: NDArray[np.int64]


class ChangingMixin:
    """`add` and `forget` of a fitted classifier, and what a fit keeps for them besides rows, labels and groups.

    ``_given_weight`` are the weights of all samples as given, or None; ``_group_names`` what groups were called,
    or None; ``_left_out_classes`` the class numbers of samples of weight 0, whose rows are not kept.
    """

    classes_: NDArray[Any]
    n_neighbors_: int
    metric: str
    search: str
    _data: TrainingSet
    _kept: NDArray[np.int64]
    _labels: Labels
    _graph: Neighbors
    _graph_given: bool
    _of_centroids: bool
    _search: "NeighborSearch | None"
    _given_weight: NDArray[np.float64] | None
    _group_names: NDArray[Any] | None
    _left_out_classes: NDArray[np.int32]

    def add(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """A new estimator with more examples.

        It equals, to the last bit, one fitted with the present parameters to the training rows followed by these.
        Only what the new rows change in the neighbour graph is searched for; then the weights are learned again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, taken in the precision of the training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their labels; classes may be new.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights, beside those given to `fit`; None means 1.
        groups : array-like of shape (n_samples,) or None, default=None
            Their groups, by the names given to `fit`; needed if `fit` was given groups.

        Returns
        -------
        estimator
            A fitted classifier of the same class; this one is left unchanged.
        """
        given = self._given()
        precision = row_source(given.X).dtype
        X, y = validate_rows(self, X, y, dtype=precision, order="C", multi_output=True, reset=False)
        more = GivenRows.of(X, y.toarray() if issparse(y) else y, sample_weight, groups)
        changed = self._changed()
        return changed._train(
            *changed._pose(followed_by(given, more), None, self._before(np.arange(len(given.X))))
        )

    def forget(self, rows: ArrayLike) -> Self:
        """A new estimator that knows nothing of some examples.

        It equals, to the last bit, one fitted with the present parameters to the other training rows, in the same
        order. Only rows that lost too many neighbours are searched again; then the weights are learned again.

        Parameters
        ----------
        rows : array-like of int
            Numbers of training rows, as they were given to `fit`; rows of weight 0 count.

        Returns
        -------
        estimator
            A fitted classifier of the same class; this one is left unchanged.
        """
        given, stay = without(self._given(), rows)
        changed = self._changed()
        return changed._train(*changed._pose(given, None, self._before(stay)))

    def prune(self, n_prototypes: int | float) -> Self:
        """A new estimator that keeps the best examples, with refitted weights.

        The training graph is reused unless the ranking needs a wider one.

        Parameters
        ----------
        n_prototypes : int or float
            How many examples to keep, as a number or as a fraction of the training set.

        Returns
        -------
        estimator
            A fitted classifier of the same class; this one is left unchanged.
        """
        self._check_holds_rows("fit it anew with n_prototypes")
        if n_prototypes is None:
            raise ValueError("prune needs to know how many prototypes to keep: a number, or a share such as 0.1.")
        pruned: Any = anew(self, n_prototypes=n_prototypes)
        for name in ("classes_", "_graph_given", *GIVEN):
            if hasattr(self, name):  # older files lack some
                setattr(pruned, name, getattr(self, name))
        n_wanted = pruned._recipe(len(self._data.X), self._labels, self.n_neighbors_).n_prototypes
        wide_enough = self._graph_given or self._graph.n_neighbors >= ranking_width(len(self._data.X), n_wanted)
        graph, n_neighbors = pruned._find_neighbors(self._data, self._graph if wide_enough else None)
        return pruned._train(self._data, self._kept, graph, n_neighbors)

    def _changed(self) -> Any:
        changed: Any = anew(self)
        changed._graph_given = False
        return changed

    def _check_holds_rows(self, cure: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_data"):
            raise ValueError(
                f"The training rows are not in the file that this model comes from, only its prototypes; {cure}."
            )

    def _given(self) -> GivenRows:
        """What `fit` was given; several labels of samples of weight 0 are not kept, and make no difference."""
        self._check_holds_rows("fit it anew")
        if self._of_centroids:
            raise ValueError(
                "Centroids are means of rows, which cannot be taken into or out of them; fit anew to the rows "
                'wanted, or use prototypes="examples".'
            )
        if self._graph_given:
            raise ValueError("The model was fitted with a graph of yours, which cannot be repaired; fit it anew.")
        if not hasattr(self, "_given_weight"):
            raise ValueError("The model comes from an older file, without the weights as given; fit it anew.")
        kept, weight, labels = self._kept, self._given_weight, self._data.labels
        n_given = len(kept) if weight is None else len(weight)
        if labels.multilabel:
            y = np.zeros((n_given, labels.n_columns), dtype=np.int8)
            y[kept] = labels.members.toarray()
        else:
            codes = np.empty(n_given, dtype=np.int64)
            codes[kept] = labels.classes()
            codes[np.setdiff1d(np.arange(n_given), kept)] = self._left_out_classes
            y = self.classes_[codes]
        groups = None if self._group_names is None else self._group_names[self._data.groups]
        return GivenRows(self._data.X, y, weight, groups)

    def _before(self, stay: NDArray[np.int64]) -> Before | None:
        """The graph to repair; None if it was made in another way than parameters say now."""
        made_by = None if self._search is None else (self._search.rows.metric, self._search.method)
        return Before(self._graph, self._data.X, stay) if made_by == (self.metric, self.search) else None
