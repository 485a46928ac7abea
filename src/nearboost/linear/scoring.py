"""From weights to scores, labels and probabilities."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.rows import check_rows, row_source
from nearboost.base.validation import check_whole
from nearboost.linear.objectives import Objective
from nearboost.problem.calibration import Calibration, keep_decided, keep_leader, leading_class, two_sided
from nearboost.problem.classifier import ScoredClassifierMixin
from nearboost.problem.targets import Coding

ROWS_AT_ONCE, BYTES_AT_ONCE = 4096, 2**26


class LinearScores(ScoredClassifierMixin):
    """What a fitted linear classifier answers; rows are read in blocks."""

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    _coding: Coding
    _objective: Objective
    _calibration: Calibration | None

    @property
    def temperature_(self) -> float:
        """By which scores are divided before their softmax, two classes having a score and its negative; NaN where
        probabilities are those of the loss."""
        return float("nan") if self._calibration is None else self._calibration.temperature

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores w·x + b.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column per class or label; for two classes, the score of the second. The same in any batch of
            rows up to 1e-12 of the largest, 1e-5 in float32.
        """
        scores = self._scores(X)
        return scores if self._coding.multilabel or scores.shape[1] > 1 else scores[:, 0]

    def predict_top(self, X: Any, k: int = 5) -> NDArray[Any]:
        """The classes with the largest scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        k : int, default=5
            Number of classes per row.

        Returns
        -------
        ndarray of shape (n_samples, min(k, n_classes))
            Class labels, best first; ties in the order of ``classes_``.
        """
        check_whole("k", k)
        scores = self._scores(X)
        scores = scores if self._coding.multilabel else two_sided(scores)
        return self.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :k]]

    def _labels_from(self, scores: NDArray[Any]) -> NDArray[Any]:
        return (scores > 0).astype(np.int64) if self._coding.multilabel else self.classes_[leading_class(scores)]

    def _probabilities_from(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        if self._calibration is not None:
            return self._calibration.probabilities(scores)
        multilabel = self._coding.multilabel
        own = self._objective.probabilities(scores.astype(np.float64), multilabel)
        return keep_decided(own, scores) if multilabel else keep_leader(own, scores)

    def _score_blocks(self, X: Any) -> Iterator[NDArray[Any]]:
        yield self._scores(X)

    def _scores(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        rows = row_source(check_rows(self, X, reset=False))
        weights, intercept = self.coef_.T.astype(rows.dtype), self.intercept_.astype(rows.dtype)
        scores = np.empty((rows.n_rows, weights.shape[1]), dtype=rows.dtype)
        everyone = np.arange(rows.n_rows)
        step = min(ROWS_AT_ONCE, rows.fitting(BYTES_AT_ONCE))
        for start in range(0, rows.n_rows, step):
            part = slice(start, start + step)
            scores[part] = rows.take(everyone[part]) @ weights + intercept
        return scores
