"""What every classifier answers alike: labels and probabilities from scores, and the training rows that vote."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_positive, check_whole
from nearboost.problem.calibration import two_sided


class ScoredClassifierMixin:
    """Labels and probabilities of a classifier that scores rows, one block of rows at a time."""

    classes_: NDArray[Any]

    def _score_blocks(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores of all rows of ``X``, one column for each class, in blocks of consecutive rows."""
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

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; for multilabel problems, every label with a positive score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels, ties going to the first; a 0/1 matrix for multilabel problems.
        """
        return np.concatenate([self._labels_from(scores) for scores in self._score_blocks(X)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities that sum to 1 in every row; for multilabel problems, one independent probability per
            label.
        """
        return np.concatenate([self._probabilities_from(scores) for scores in self._score_blocks(X)])

    @available_if(lambda classifier: hasattr(classifier, "predict_proba"))
    def predict_with_proba(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """What `predict` and `predict_proba` return, from one search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Queries, of the kind that `fit` takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            See `predict`.
        probabilities : ndarray of shape (n_samples, n_classes)
            See `predict_proba`.
        """
        answers = [(self._labels_from(one), self._probabilities_from(one)) for one in self._score_blocks(X)]
        labels, probabilities = zip(*answers, strict=True)
        return np.concatenate(labels), np.concatenate(probabilities)


class RankingClassifierMixin(ScoredClassifierMixin):
    """Also the best few classes, and no answer where the classifier is not sure enough."""

    @property
    def _answers_several(self) -> bool:
        """Whether answers are several labels, as multilabel problems want."""
        return False

    def predict(self, X: Any, *, reject_below: float | None = None, reject_label: Any = None) -> NDArray[Any]:
        """The class with the largest score; for multilabel problems, every label with a positive score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        reject_below : float or None, default=None
            Reject samples whose largest probability is below this. None rejects nothing.
        reject_label : object, default=None
            The answer for rejected samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a 0/1 matrix for multilabel problems.
        """
        check_is_fitted(self)
        check_positive("reject_below", reject_below, most=1.0, optional=True)
        if reject_below is None:
            return super().predict(X)
        if self._answers_several:
            raise ValueError("reject_below is for single-label problems; threshold predict_proba for labels.")
        predicted, probabilities = self.predict_with_proba(X)
        kept = probabilities.max(axis=1) >= reject_below
        answers = [label if keep else reject_label for label, keep in zip(predicted, kept, strict=True)]
        return np.array(answers, dtype=None if _fits(reject_label, predicted) else object)

    def predict_top(self, X: Any, n: int) -> NDArray[Any]:
        """The n classes with the largest scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        n : int
            Number of classes per row.

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
        order = [np.argsort(-two_sided(scores), axis=1, kind="stable")[:, :n] for scores in self._score_blocks(X)]
        return self.classes_[np.concatenate(order)]


def _fits(label: Any, labels: NDArray[Any]) -> bool:
    """Whether a reject label can stand in an array of such labels without changing it."""
    return (labels.dtype.kind in "iu" and isinstance(label, int | np.integer)) or (
        labels.dtype.kind == "U" and isinstance(label, str)
    )


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
