"""What every classifier answers alike: labels and probabilities from scores, and the training rows that vote."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearboost.base.outputs import Output, gathered
from nearboost.base.rows import Block, check_rows, row_source
from nearboost.base.validation import check_positive, check_whole
from nearboost.problem.calibration import two_sided

ROWS_AT_ONCE = 2**15
BYTES_AT_ONCE = 2**26  # of rows; their scores may take several times that


class ScoredClassifierMixin:
    """Labels and probabilities of a classifier that scores rows, one block of rows at a time.

    Rows of arrays, maps and opened files are cut into the same blocks, so that they get the same answers.
    """

    classes_: NDArray[Any]
    _takes_sparse = False

    @property
    def _rows_at_once(self) -> int:
        """Most rows of a block, where rows are short."""
        return ROWS_AT_ONCE

    def _row_blocks(self, X: Any) -> Iterator[Block]:
        """Queries in order, checked, in blocks of consecutive rows, float32 or float64."""
        check_is_fitted(self)
        checked = check_rows(self, X, reset=False, accept_sparse="csr" if self._takes_sparse else False)
        for _, block in row_source(checked).blocks(BYTES_AT_ONCE, self._rows_at_once):
            yield block if issparse(block) else np.ascontiguousarray(block)
            del block  # before the next one is read

    def _score_blocks(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores of all rows of ``X``, in blocks of consecutive rows."""
        return map(self._scores_of, self._row_blocks(X))

    def _scores_of(self, rows: Any) -> NDArray[Any]:
        """Scores of a block of rows, one column for each class."""
        raise NotImplementedError

    def _labels_from(self, scores: NDArray[Any]) -> NDArray[Any]:
        return self.classes_[scores.argmax(axis=1)]

    def _probabilities_from(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        return scores

    def _renamed(self, classes: NDArray[Any]) -> Self:
        """The same classifier with other labels for its classes, which must be in the same order."""
        renamed: Any = copy(self)
        weights = getattr(self, "class_weight", None)
        if isinstance(weights, dict):  # by label
            pairs = zip(self.classes_.tolist(), classes.tolist(), strict=True)
            renamed.class_weight = {new: weights[old] for old, new in pairs if old in weights}
        renamed.classes_ = classes
        return renamed

    def predict(self, X: Any, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The class with the largest score; for multilabel problems, every label with a positive score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels, ties going to the first; a 0/1 matrix for multilabel problems.
        """
        return gathered(map(self._labels_from, self._score_blocks(X)), X, out)

    def predict_proba(self, X: Any, *, out: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities that sum to 1 in every row; for multilabel problems, one independent probability per
            label.
        """
        return gathered(map(self._probabilities_from, self._score_blocks(X)), X, out)

    @available_if(lambda classifier: hasattr(classifier, "predict_proba"))
    def predict_with_proba(
        self, X: Any, *, out: tuple[NDArray[Any], NDArray[Any]] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """What `predict` and `predict_proba` return, from one search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes. A memory-mapped or opened file is read in blocks.
        out : tuple of two ndarrays, or None, default=None
            Arrays or maps of the same shapes and types to write the answers to, and to return.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            See `predict`.
        probabilities : ndarray of shape (n_samples, n_classes)
            See `predict_proba`.
        """
        if out is not None and (not isinstance(out, tuple | list) or len(out) != 2):
            raise ValueError("out must be a pair of arrays here, for labels and for probabilities.")
        labels, probabilities = (Output(X, one) for one in out or (None, None))
        for scores in self._score_blocks(X):
            labels.add(self._labels_from(scores))
            probabilities.add(self._probabilities_from(scores))
        return labels.whole, probabilities.whole


class DecidingClassifierMixin(ScoredClassifierMixin):
    """Also the scores themselves."""

    def _decisions_from(self, scores: NDArray[Any]) -> NDArray[Any]:
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def decision_function(self, X: Any, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Score of each class; the largest wins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores; for two classes one number a row, positive for the second. For multilabel problems, positive
            for the labels of a row.
        """
        return gathered(map(self._decisions_from, self._score_blocks(X)), X, out)


class RankingClassifierMixin(DecidingClassifierMixin):
    """Also the best few classes, and no answer where the classifier is not sure enough."""

    @property
    def _answers_several(self) -> bool:
        """Whether answers are several labels, as multilabel problems want."""
        return False

    def predict(
        self,
        X: Any,
        *,
        reject_below: float | None = None,
        reject_label: Any = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """The class with the largest score; for multilabel problems, every label with a positive score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        reject_below : float or None, default=None
            Reject samples whose largest probability is below this. None rejects nothing.
        reject_label : object, default=None
            The answer for rejected samples.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a 0/1 matrix for multilabel problems.
        """
        check_is_fitted(self)
        check_positive("reject_below", reject_below, most=1.0, optional=True)
        if reject_below is None:
            return super().predict(X, out=out)
        if self._answers_several:
            raise ValueError("reject_below is for single-label problems; threshold predict_proba for labels.")
        kind = answer_type(self.classes_, reject_label)

        def sure_labels(scores: NDArray[Any]) -> NDArray[Any]:
            labels = self._labels_from(scores).astype(kind)
            for row in np.flatnonzero(self._probabilities_from(scores).max(axis=1) < reject_below):
                labels[row] = reject_label
            return labels

        return gathered(map(sure_labels, self._score_blocks(X)), X, out)

    def predict_top(self, X: Any, n: int, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The n classes with the largest scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        n : int
            Number of classes per row.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, n)
            Class labels, best first; ties in the order of ``classes_``.
        """
        check_is_fitted(self)
        check_whole("n", n)
        if self._answers_several:
            raise ValueError("predict_top ranks classes of single-label problems; sort predict_proba for labels.")
        if n > len(self.classes_):
            raise ValueError(
                f"n={n} is more than the {len(self.classes_)} classes; use {len(self.classes_)} or fewer."
            )
        best = (np.argsort(-two_sided(scores), axis=1, kind="stable")[:, :n] for scores in self._score_blocks(X))
        return gathered((self.classes_[order] for order in best), X, out)


def answer_type(labels: NDArray[Any], other: Any) -> np.dtype[Any]:
    """The type of an array of such labels and another one: theirs, if it can stand there without changing."""
    fits = (labels.dtype.kind in "iu" and isinstance(other, int | np.integer)) or (
        labels.dtype.kind == "U" and isinstance(other, str)
    )
    together = np.result_type(labels, np.array(other)) if fits else np.dtype(object)
    return together if together.kind in labels.dtype.kind + "iu" else np.dtype(object)


def voters_of(classifier: Any) -> NDArray[np.int64]:
    """Training rows that an answer may come from: ``voters_``, or what scikit-learn's classifiers have instead.

    None where rows do not vote, as in linear classifiers.
    """
    from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVC, NuSVC

    if isinstance(classifier, Pipeline):
        return voters_of(classifier[-1])
    if hasattr(classifier, "voters_"):
        return np.asarray(classifier.voters_, dtype=np.int64)
    if isinstance(classifier, SVC | NuSVC):
        return np.sort(classifier.support_).astype(np.int64)
    if isinstance(classifier, KNeighborsClassifier | RadiusNeighborsClassifier):
        return np.arange(classifier.n_samples_fit_, dtype=np.int64)
    return np.empty(0, dtype=np.int64)
