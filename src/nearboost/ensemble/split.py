"""Divide and conquer: one classifier for each part of the features, and a mean of their posteriors."""

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from nearboost.base.entries import Choice, ListOf, Misfit, Part
from nearboost.base.estimator import Estimator
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema, of_rows, set_fitted
from nearboost.base.validation import (
    check_choice,
    check_map,
    check_positive,
    check_whole,
    is_mapped,
    validate_rows,
)
from nearboost.neighbors import largest_values
from nearboost.problem.classifier import ScoredClassifierMixin, voters_of
from nearboost.problem.targets import check_targets

Change = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# A mean of numbers p is inverse(mean of change(p)).
MEANS: dict[str, tuple[Change, Change]] = {
    "arithmetic": (np.asarray, np.asarray),
    "geometric": (np.log, np.exp),
    "harmonic": (np.reciprocal, np.reciprocal),
}
NORMALIZATIONS = {"l1": 1, "l2": 2}
POSTERIORS = {"transfer": "class_posteriors", "predict_proba": "predict_proba"}


class SplitClassifier(ScoredClassifierMixin, MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier for each part of the features; their posteriors are averaged.

    Neighbours lose their meaning in thousands of dimensions. Here the features are cut into equal parts, each part
    of each row is brought to unit length, and a classifier is fitted on each part alone. Only one part is in
    memory at a time: if ``X`` is memory-mapped, the parts that fitted classifiers keep are stored in temporary
    files.

    Parameters
    ----------
    estimator : classifier
        Cloned for each part.
    n_splits : int, default=16
        Number of parts. Each holds consecutive features; sizes differ by at most one.
    normalization : {"l1", "l2", None}, default="l1"
        Norm that makes parts of rows unit length; None leaves them as they are. Zeros stay zeros.
    mean : {"arithmetic", "geometric", "harmonic"}, default="arithmetic"
        How posteriors are averaged, class by class. ``mean``, ``posterior`` and ``floor`` may be changed after
        `fit`.
    posterior : {"transfer", "predict_proba"}, default="transfer"
        What is averaged: the transfer function of the calibrated loss, as published (``class_posteriors`` of N3,
        UNN, MLNN and MAPBoost), or the probabilities of any classifier.
    floor : float, default=1e-3
        Smaller posteriors are raised to this. A single zero would decide the geometric and the harmonic mean, and
        a vote of few neighbours is full of zeros.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list of classifiers
        The fitted classifiers, one per part.
    parts_ : list of slice
        The features of each part.
    voters_ : ndarray of shape (n_voters,)
        Training rows that an answer may come from, on any part.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Section 6.2 of "Boosting nearest neighbors for the efficient estimation of posteriors". The paper does not say
    what to do with zeros, nor whether the means, which do not sum to 1, are scaled; here they are.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import N3Classifier
    >>> from nearboost import SplitClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SplitClassifier(N3Classifier(11, n_rounds=50), 4).fit(X[:900], y[:900])
    >>> print(f"{model.score(X[900:], y[900:]):.3f}")
    0.913
    >>> print(f"{model.set_params(mean='geometric').score(X[900:], y[900:]):.3f}")
    0.929
    """

    model_schema: ClassVar[Schema] = of_rows(
        {"normalization_used": Choice(*NORMALIZATIONS, None), "estimators_": ListOf(Part(can="predict"))},
        parameters={"estimator": Part(can="predict", fitted=False)},
    )

    def __init__(
        self,
        estimator: Any,
        n_splits: int = 16,
        *,
        normalization: str | None = "l1",
        mean: str = "arithmetic",
        posterior: str = "transfer",
        floor: float = 1e-3,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_splits = n_splits
        self.normalization = normalization
        self.mean = mean
        self.posterior = posterior
        self.floor = floor
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit a classifier on each part, one after the other.

        Parameters
        ----------
        X : {array-like, memmap} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Passed to the ``fit`` of each classifier, if given.
        **fit_params : dict
            Other arguments passed to the ``fit`` of each classifier.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        X, y = validate_rows(self, X, y)
        check_targets(y)
        self.parts_ = cut_evenly(X.shape[1], self.n_splits)
        self._on_disk, self._normalization = is_mapped(X), self.normalization  # queries are treated as these rows
        self.estimators_: list[Any] = []
        with progress_bar("Fitting parts", self.n_splits, self.verbose) as advance:
            for part in self.parts_:
                rows = self._cut(X, part)
                rows = kept_on_disk(rows) if self._on_disk else rows
                self.estimators_.append(clone(self.estimator).fit(rows, y, **fit_params))
                advance()
        self.classes_ = self.estimators_[0].classes_
        return self

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        return {**vars(self), "normalization_used": self._normalization} if hasattr(self, "classes_") else {}

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take the fitted classifiers of a file, which must fit their parts."""
        set_fitted(self, state)
        if not self.estimators_:
            raise Misfit("must have a classifier for each part")
        self.parts_ = cut_evenly(self.n_features_in_, len(self.estimators_))
        self._on_disk, self._normalization = False, state["normalization_used"]
        self.classes_ = self.estimators_[0].classes_
        for part, one in zip(self.parts_, self.estimators_, strict=True):
            if not hasattr(one, POSTERIORS[self.posterior]) or n_features_of(one) != part.stop - part.start:
                raise Misfit("must have a classifier for each part")
            if not np.array_equal(one.classes_, self.classes_):
                raise Misfit("must have classifiers of the same classes")

    def part_posteriors(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The posteriors of each part in turn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Posteriors of one part, none below ``floor``.
        """
        check_is_fitted(self)
        yield from self._posteriors_of(validate_rows(self, X, reset=False))

    def _posteriors_of(self, rows: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
        self._check_posteriors()
        for part, fitted in zip(self.parts_, self.estimators_, strict=True):
            # Of a copy goes what it prepares for its queries, and that may be as large as its part.
            one = copy.deepcopy(fitted) if self._on_disk else fitted
            yield np.maximum(getattr(one, POSTERIORS[self.posterior])(self._cut(rows, part)), self.floor)

    @property
    def voters_(self) -> NDArray[np.int64]:
        """Training rows that an answer may come from, on any part."""
        check_is_fitted(self)
        return np.unique(np.concatenate([voters_of(one) for one in self.estimators_]))

    def _scores_of(self, rows: Any) -> NDArray[np.float64]:
        check_choice("mean", self.mean, MEANS)
        change, inverse = MEANS[self.mean]
        total: Any = 0.0
        for posteriors in self._posteriors_of(rows):
            total += change(posteriors)
        means = inverse(total / len(self.estimators_))
        return means / means.sum(axis=1, keepdims=True)

    def _cut(self, X: NDArray[Any], part: slice) -> NDArray[Any]:
        """One part of some rows, at unit length; a copy."""
        check_map(X)
        rows = check_array(X[:, part], dtype=[np.float64, np.float32], order="C", copy=True)
        return rows if self._normalization is None else unit_parts(rows, NORMALIZATIONS[self._normalization])

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_splits", self.n_splits)
        check_choice("normalization", self.normalization, (*NORMALIZATIONS, None))
        check_choice("mean", self.mean, MEANS)
        self._check_posteriors()

    def _check_posteriors(self) -> None:
        check_choice("posterior", self.posterior, POSTERIORS)
        check_positive("floor", self.floor, most=1.0)
        if not hasattr(self.estimator, POSTERIORS[self.posterior]):
            other = 'use posterior="predict_proba"' if self.posterior == "transfer" else "give one that has"
            raise ValueError(
                f"{type(self.estimator).__name__} has no {POSTERIORS[self.posterior]}, which "
                f"posterior={self.posterior!r} needs; {other}."
            )


def cut_evenly(n_features: int, n_splits: int) -> list[slice]:
    """Parts of consecutive features; sizes differ by at most one."""
    if n_splits > n_features:
        raise ValueError(f"n_splits={n_splits} is more than n_features={n_features}; use {n_features} or fewer.")
    edges = [n_features * i // n_splits for i in range(n_splits + 1)]
    return [slice(*ends) for ends in pairwise(edges)]


def n_features_of(fitted: Any) -> int:
    """Features that a classifier takes; a pipeline that begins with "passthrough" does not know."""
    if isinstance(fitted, Pipeline):
        return n_features_of(next(step for _, step in fitted.steps if step != "passthrough"))
    return int(fitted.n_features_in_)


def unit_parts(rows: NDArray[Any], order: int) -> NDArray[Any]:
    """Rows divided by their lengths, in place; zeros stay zeros."""
    sizes = largest_values(rows)
    rows /= np.where(sizes > 0, sizes, 1)[:, np.newaxis].astype(rows.dtype)  # so that squares do not overflow
    lengths = np.linalg.norm(rows, order, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1)
    return rows


def kept_on_disk(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows in a temporary file, which goes with the last array that uses it."""
    with tempfile.TemporaryFile() as file:
        try:
            file.write(rows.data.cast("B"))  # a map over a full disk would end the process
            file.flush()
        except OSError as error:
            raise OSError(
                f"A part of the features could not be kept in {tempfile.gettempdir()} ({error.strerror}); set "
                "TMPDIR to a folder with more room."
            ) from error
        return np.memmap(file, rows.dtype, "r+", shape=rows.shape)
