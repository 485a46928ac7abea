"""Probabilities for classifiers that have scores alone."""

from collections.abc import Mapping
from copy import copy
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Misfit, Number, Part
from nearboost.base.estimator import Estimator
from nearboost.base.outputs import gathered
from nearboost.base.schema import Schema, of_rows, set_fitted
from nearboost.base.validation import validate_rows
from nearboost.ensemble.split import n_features_of
from nearboost.problem.calibration import (
    Calibration,
    fit_calibration,
    keep_leader,
    leading_class,
    two_sided,
    warn_uncalibrated,
)
from nearboost.problem.classifier import ScoredClassifierMixin, voters_of
from nearboost.problem.held_out import FEW_ROWS, spread_folds
from nearboost.problem.targets import encode_classes

Scores = NDArray[np.float64]
N_FOLDS = 5
SLOPE = 3  # of the odds that a machine of two classes is right, by its decision: a row on its margin has 20 to 1


class CalibratedScores(ScoredClassifierMixin, MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier with a ``decision_function``, and probabilities by a temperature of its held-out scores.

    Parameters
    ----------
    estimator : classifier
        Fitted without each of five folds for its held-out scores (of more than 10,000 rows, without one), and then
        to all rows.
    random_state : int, RandomState or None, default=None
        Seed of the folds; None is 0.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    voters_ : ndarray of shape (n_voters,)
        Training rows that an answer may come from, such as support vectors.
    temperature_ : float
        Probabilities are a softmax of scores divided by this, mixed with ``uniform_share_`` of the same for all.
    uniform_share_ : float
        At least 1/(n + 2) for n held-out rows, and more where that explains them better.
    held_out_accuracy_ : float
        Share of right answers on held-out rows; NaN if every class has a single group.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.svm import SVC
    >>> from nearboost.ensemble.calibrated import CalibratedScores
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CalibratedScores(SVC(C=10)).fit(X[::2], y[::2])
    >>> print(f"{log_loss(y[1::2], model.predict_proba(X[1::2])):.2f}")
    0.05
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "estimator_": Part(can="decision_function"),
            "temperature_": Number(above=0),
            "uniform_share_": Number(low=0, high=1),
            "held_out_accuracy_": Number(low=0, high=1, finite=False),
        },
        parameters={"estimator": Part(can="decision_function", fitted=False)},
    )

    def __init__(self, estimator: Any, *, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        if not hasattr(self.estimator, "decision_function"):
            raise ValueError(
                f"{type(self.estimator).__name__} has no decision_function to calibrate; give one that has."
            )

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Score held-out rows, find the temperature, and fit to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group are held out together, as equal ones are. None makes each a group of its own.

        Returns
        -------
        self : CalibratedScores
            The fitted estimator.
        """
        self.check_parameters()
        X, y = validate_rows(self, X, y)
        self.classes_, classes = encode_classes(y)
        groups = None if groups is None else np.asarray(groups)
        folds = spread_folds(X, y, groups, N_FOLDS, self.random_state)
        held, (scores, evidence) = held_out_scores(self.estimator, X, classes, folds)
        calibration = fit_calibration(evidence, classes[held])
        self.temperature_, self.uniform_share_ = calibration.temperature, calibration.uniform_share
        right = leading_class(scores) == classes[held]
        self.held_out_accuracy_ = float(right.mean()) if len(held) else np.nan
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        return {**vars(self)} if hasattr(self, "estimator_") else {}

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take the fitted classifier of a file."""
        set_fitted(self, state)
        self.classes_ = self.estimator_.classes_
        if n_features_of(self.estimator_) != self.n_features_in_:
            raise Misfit("must have a classifier for as many features")

    @property
    def voters_(self) -> NDArray[np.int64]:
        """Training rows that an answer may come from."""
        check_is_fitted(self)
        return voters_of(self.estimator_)

    def decision_function(self, X: Any, *, out: NDArray[Any] | None = None) -> Scores:
        """Scores of the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores; for two classes, that of the second.
        """
        scores = (np.asarray(self.estimator_.decision_function(rows)) for rows in self._row_blocks(X))
        return gathered(scores, X, out)

    def _scores_of(self, rows: Any) -> Scores:
        """Scores and evidence, one after the other."""
        return judge(self.estimator_, rows)

    def _labels_from(self, scores: Scores) -> NDArray[Any]:
        return self.classes_[leading_class(scores[0])]

    def _probabilities_from(self, scores: Scores) -> Scores:
        if np.isnan(self.held_out_accuracy_):
            warn_uncalibrated()
        calibration = Calibration(self.temperature_, self.uniform_share_)
        return keep_leader(calibration.probabilities(scores[1]), scores[0])


def judge(estimator: Any, X: NDArray[Any]) -> Scores:
    """Scores, which say who wins, and evidence, which a temperature divides; a column for each class."""
    from sklearn.svm import SVC, NuSVC

    n_classes = len(estimator.classes_)
    if isinstance(estimator, SVC | NuSVC) and n_classes > 2:
        decisions = copy(estimator).set_params(decision_function_shape="ovo").decision_function(X)
        return judge_pairs(decisions, n_classes)
    scores = two_sided(by_class(estimator.decision_function(X), n_classes))
    return np.stack([scores, scores])


def judge_pairs(decisions: Scores, n_classes: int) -> Scores:
    """The same from decisions between two classes each, the first of which wins where they are positive.

    Scores are scikit-learn's: the number of pairs won, and up to a third for what all of them add up to.
    """
    won, sums, evidence = (np.zeros((len(decisions), n_classes)) for _ in range(3))
    for pair, decision in zip(combinations(range(n_classes), 2), decisions.T, strict=True):
        for one, side in zip(pair, (decision, -decision), strict=True):
            won[:, one] += side > 0 if one == pair[0] else side >= 0
            sums[:, one] += side
            evidence[:, one] += log_expit(SLOPE * side)
    return np.stack([won + sums / (3 * (np.abs(sums) + 1)), evidence])


def by_class(scores: Any, n_classes: int) -> Scores:
    """A column for each class, or one for two classes."""
    scores = np.asarray(scores, dtype=np.float64)
    scores = scores.reshape(len(scores), -1)
    if scores.shape[1] != (1 if n_classes == 2 else n_classes):
        raise ValueError(
            f"The classifier gives {scores.shape[1]} scores for {n_classes} classes; it must give one for each."
        )
    return scores


def held_out_scores(
    estimator: Any, X: NDArray[Any], classes: NDArray[np.int64], folds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Scores]:
    """Rows of a class that other folds know, and scores and evidence by a classifier fitted to these."""
    n_classes = int(classes.max()) + 1
    held, found = [np.empty(0, dtype=np.int64)], [np.empty((2, 0, n_classes))]
    for fold in range(folds.max() + 1 if len(X) <= FEW_ROWS else 1):
        others, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        known = np.unique(classes[others])
        own = own[np.isin(classes[own], known)]
        if len(known) < 2 or not len(own):
            continue
        given = judge(clone(estimator).fit(X[others], classes[others]), X[own])
        scores = np.repeat(given.min(axis=2, keepdims=True), n_classes, axis=2)  # of unknown classes
        scores[:, :, known] = given
        held.append(own)
        found.append(scores)
    return np.concatenate(held), np.concatenate(found, axis=1)
