"""From weights to scores, labels and probabilities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.outputs import gathered
from nearboost.base.validation import check_whole
from nearboost.linear.objectives import Objective
from nearboost.problem.calibration import Calibration, keep_decided, keep_leader, leading_class, two_sided
from nearboost.problem.classifier import DecidingClassifierMixin
from nearboost.problem.targets import Coding


class LinearScores(DecidingClassifierMixin):
    """What a fitted linear classifier answers; rows are read in blocks."""

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    _coding: Coding
    _objective: Objective
    _calibration: Calibration | None
    _takes_sparse = True
    _rows_at_once = 4096

    @property
    def temperature_(self) -> float:
        """By which scores are divided before their softmax, two classes having a score and its negative; NaN where
        probabilities are those of the loss."""
        return float("nan") if self._calibration is None else self._calibration.temperature

    def predict_top(self, X: Any, k: int = 5, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The classes with the largest scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        k : int, default=5
            Number of classes per row.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, min(k, n_classes))
            Class labels, best first; ties in the order of ``classes_``.
        """
        check_is_fitted(self)
        check_whole("k", k)
        multilabel = self._coding.multilabel
        sided = (scores if multilabel else two_sided(scores) for scores in self._score_blocks(X))
        return gathered(
            (self.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :k]] for scores in sided), X, out
        )

    def _labels_from(self, scores: NDArray[Any]) -> NDArray[Any]:
        return (scores > 0).astype(np.int64) if self._coding.multilabel else self.classes_[leading_class(scores)]

    def _probabilities_from(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        if self._calibration is not None:
            return self._calibration.probabilities(scores)
        multilabel = self._coding.multilabel
        own = self._objective.probabilities(scores.astype(np.float64), multilabel)
        return keep_decided(own, scores) if multilabel else keep_leader(own, scores)

    def _decisions_from(self, scores: NDArray[Any]) -> NDArray[Any]:
        return scores if self._coding.multilabel or scores.shape[1] > 1 else scores[:, 0]

    def _scores_of(self, rows: Any) -> NDArray[Any]:
        """w·x + b, the same in any batch of rows up to 1e-12 of the largest, 1e-5 in float32."""
        return np.asarray(rows @ self.coef_.T.astype(rows.dtype, copy=False) + self.intercept_.astype(rows.dtype))
