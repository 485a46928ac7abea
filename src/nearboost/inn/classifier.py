"""INNC: the class whose samples weigh most in a row's code, or whose samples alone come nearest to the row."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.device import need_device
from nearboost.base.entries import Array, Labels, Nullable, Number
from nearboost.base.rows import row_source
from nearboost.base.schema import Schema
from nearboost.base.validation import validate_rows
from nearboost.codes.dictionary import Dictionary, check_coding, check_neighborhood
from nearboost.inn.code_classifier import SparseCodeClassifier, schema_of_samples, unit_rows
from nearboost.inn.decisions import Classes, ClassSums, ExplainedDecision, OwnResiduals
from nearboost.problem.given import anew, followed_by, without
from nearboost.problem.targets import GivenRows


class INNClassifier(SparseCodeClassifier):
    """Classification by iterative nearest neighbours (INNC); nothing is learned, the samples are kept.

    Parameters
    ----------
    regularization : float, default=0.05
        λ, above 0. The smaller it is, the more terms a code has and the closer its sum; with a large λ the nearest
        neighbour is almost alone.
    coverage : float, default=0.95
        Share of the weights' infinite sum, which is 1, that the terms make up; between 0 and 1.
    max_terms : int or None, default=None
        Maximum number of terms.
    tolerance : float, default=0.0
        Stop as soon as a row is within this Euclidean distance of its sum; 0 never stops.
    metric : {"l2", "l1"}, default="l2"
        Distance that nearest neighbours are found by.
    neighborhood : int or None, default=None
        Take terms only from this many nearest samples of the row; for ``decision="residual"``, from this many of
        each class, or all of a smaller one. None means from all. With it, samples of a memory-mapped file stay
        there (for ``decision="weights"`` and ``normalize=False``).
    search : {"exact", "gpu"}, default="exact"
        How the samples of a ``neighborhood`` are found (and all of ``metric="l1"``). "gpu", or "gpu:1" for the
        second, finds the same and needs ``pip install "nearboost[gpu]"``.
    normalize : bool, default=False
        Scale samples and rows to unit length first.
    decision : {"weights", "residual"}, default="weights"
        "weights", as published: a row is coded by all samples, and each class gets the sum of its samples'
        weights. "residual": a row is coded by the samples of each class alone, and the class whose sum is nearest
        in Euclidean distance wins. This takes twice as long, or longer if classes are small.
    gram_memory : float or None, default=None
        Bytes for distances between samples, two per pair (L2 without ``neighborhood``). If all fit, `fit` computes
        them; otherwise they are computed when needed, and as many are kept as fit. None means half of the free
        memory, at most 8 GB. They are never saved: a loaded model computes what it needs. Of samples in a file,
        bytes to search them in; None means half of the free memory.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    terms_ : int
        Number of terms of a code that does not stop early.
    gram_seconds_ : float
        Seconds `fit` spent on the distances between samples; 0.0 if it did not compute them, and in a model from
        a file.
    voters_ : ndarray of shape (n_voters,)
        Training rows that an answer may come from: all of positive weight.
    temperature_ : float
        Probabilities grow as exp(share / temperature_) with a class's share of the weights, or as the power of
        −1 / temperature_ with its distance; at least 1/(n + 2) of them is the same for all, for n held-out rows.
        Chosen on held-out rows when first asked for.
    held_out_accuracy_ : float
        Share of right answers on training rows, each coded by the samples of other folds: as many folds as classes
        have samples (at most 40), equal samples and groups whole; of more than 3,000 rows, on 1,000 of them. NaN,
        with a warning, if every class has a single group.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality reduction". The
    decision by residuals is not in the paper; it follows that of sparse representations (Wright et al. 2009).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import INNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = INNClassifier(normalize=True).fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.3f}")
    0.987
    >>> [explanation] = model.explain(X[1:2])
    >>> explanation.labels[:5]
    array([1, 1, 1, 1, 1])
    """

    model_schema: ClassVar[Schema] = schema_of_samples(
        "INNClassifier",
        ("groups",),
        gram_seconds_=Number(low=0),
        given_weight=Nullable(Array("float64", ("n_given",), low=0)),
        groups=Nullable(Labels("n_rows", distinct=False)),
    )

    def __init__(
        self,
        regularization: float = 0.05,
        *,
        coverage: float = 0.95,
        max_terms: int | None = None,
        tolerance: float = 0.0,
        metric: str = "l2",
        neighborhood: int | None = None,
        search: str = "exact",
        normalize: bool = False,
        decision: str = "weights",
        gram_memory: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.coverage = coverage
        self.max_terms = max_terms
        self.tolerance = tolerance
        self.metric = metric
        self.neighborhood = neighborhood
        self.search = search
        self.normalize = normalize
        self.decision = decision
        self.gram_memory = gram_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    _cure = "give fewer samples, or read them from the file: neighborhood=, normalize=False, decision='weights'"

    @property
    def _reads_files(self) -> bool:
        return self.neighborhood is not None and self.decision == "weights" and not self.normalize

    def check_parameters(self) -> None:
        super().check_parameters()
        check_coding(self)

    def _decide_by(self, X: NDArray[Any], classes: Classes, weights: NDArray[np.float64]) -> ExplainedDecision:
        check_neighborhood(self.neighborhood, len(X))
        if self.decision == "residual":
            return OwnResiduals(X, classes, self)
        return ClassSums(Dictionary(X, self), classes, weights)

    def add(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """A new estimator with more samples, as if fitted to all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, taken in the precision of the training rows.
        y : array-like of shape (n_samples,)
            Their labels; classes may be new.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights, beside those given to `fit`; None means 1.
        groups : array-like of shape (n_samples,) or None, default=None
            Their groups, by the names given to `fit`; needed if `fit` was given groups.

        Returns
        -------
        INNClassifier
            A fitted classifier; this one is left unchanged.
        """
        given = self._given()
        X, y = validate_rows(self, X, y, dtype=row_source(given.X).dtype, order="C", reset=False)
        more = GivenRows.of(X, y, sample_weight, groups)
        scaled = replace(more, X=unit_rows(more.X)) if self._as_fitted.normalize else more
        return self._learn_again(followed_by(given, scaled))

    def forget(self, rows: ArrayLike) -> Self:
        """A new estimator that knows nothing of some samples, as if fitted to the others.

        Parameters
        ----------
        rows : array-like of int
            Numbers of training rows, as they were given to `fit`; rows of weight 0 count.

        Returns
        -------
        INNClassifier
            A fitted classifier; this one is left unchanged.
        """
        rest, _ = without(self._given(), rows)
        return self._learn_again(rest)

    def _learn(self, given: GivenRows, samples: NDArray[Any]) -> Self:
        need_device(self.search)
        self._given_weight = None if given.weight is None else given.weight.copy()  # it may be the caller's
        self._groups = None if given.groups is None else given.groups.copy()
        return super()._learn(given, samples)

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file, with the weights as given; nothing before `fit`."""
        more: dict[str, Any] = {"given_weight": self._given_weight} if hasattr(self, "_given_weight") else {}
        kept = super().model_state() | more
        return kept | {"gram_seconds_": 0.0, "groups": self._groups} if kept else {}  # equal fits give equal files

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Decide again by the samples of a file."""
        super().restore_model_state(state)
        self._groups = state.get("groups")
        if "given_weight" in state:  # older files have none
            self._given_weight = state["given_weight"]

    def _given(self) -> GivenRows:
        """Samples after scaling; labels of those of weight 0 are not kept, and make no difference."""
        check_is_fitted(self)
        if not hasattr(self, "_given_weight"):
            raise ValueError("The model comes from an older file, without the weights as given; fit it anew.")
        n_given = len(self._kept) if self._given_weight is None else len(self._given_weight)
        y = np.full(n_given, self.classes_[0], dtype=self.classes_.dtype)
        y[self._kept] = self.classes_[self._decision.classes]
        return GivenRows(self._decision.samples, y, self._given_weight, self._groups)

    def _learn_again(self, given: GivenRows) -> Self:
        fresh = anew(self)
        if self._as_fitted.normalize and not fresh.normalize:
            raise ValueError("The samples were scaled to unit length and kept so; use normalize=True or fit anew.")
        scale = fresh.normalize and not self._as_fitted.normalize
        return fresh._learn(given, unit_rows(given.X) if scale else given.X)

    def _prepare(self) -> None:
        self.gram_seconds_ = self._dictionary.build_gram()

    @property
    def _dictionary(self) -> Dictionary:
        dictionary = self._decision.dictionary
        assert isinstance(dictionary, Dictionary)
        return dictionary

    @property
    def terms_(self) -> int:
        """Number of terms of a code that does not stop early."""
        check_is_fitted(self)
        return self._dictionary.series.n_terms
