"""INNC: the class whose samples weigh most in a row's code, or whose samples alone come nearest to the row."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nearboost.base.validation import check_choice, check_flag, check_weights
from nearboost.codes.dictionary import check_coding, check_neighborhood
from nearboost.inn.decisions import ClassResiduals, ClassSums, Decision
from nearboost.inn.explanation import CodeExplanation
from nearboost.neighbors.exact import largest_values

DECISIONS = ("weights", "residual")


def _weights_decide(classifier: "INNClassifier") -> bool:
    if classifier.decision != "weights":
        raise AttributeError(
            f"decision={classifier.decision!r} gives no probabilities; use decision_function, put the classifier "
            'into a CalibratedClassifierCV, or use decision="weights".'
        )
    return True


class INNClassifier(ClassifierMixin, BaseEstimator):
    """Classification by iterative nearest neighbours; nothing is learned, the samples are kept.

    Parameters
    ----------
    regularization, coverage, max_terms, tolerance, metric, neighborhood, gram_memory, n_jobs, verbose
        As in `INNCoder`. Where each class is coded alone, ``neighborhood`` means so many samples of each class,
        or all of a smaller one.
    normalize : bool
        Whether samples and rows are first brought to unit length.
    decision : {"weights", "residual"}
        "weights", as published: a row is coded by all samples, and each class gets the sum of its samples'
        weights. "residual": it is coded once by the samples of each class alone, and the class whose sum comes
        nearest in Euclidean distance wins.

    Attributes
    ----------
    classes_ : names of the classes
    terms_ : number of terms of a code that does not stop early
    n_features_in_ : number of features

    Notes
    -----
    Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality reduction". The
    decision by residuals is not in the paper; that of sparse representations (Wright et al. 2009) is its model.

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

    def __init__(
        self,
        regularization: float = 0.05,
        *,
        coverage: float = 0.95,
        max_terms: int | None = None,
        tolerance: float = 0.0,
        metric: str = "l2",
        neighborhood: int | None = None,
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
        self.normalize = normalize
        self.decision = decision
        self.gram_memory = gram_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), float32 or float64
        y : labels of shape (n_samples,)
        sample_weight : 0 leaves a sample out; others multiply its weights in the sums of ``decision="weights"``
        """
        check_coding(self)
        check_flag("normalize", self.normalize)
        check_choice("decision", self.decision, DECISIONS)
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64], order="C")
        check_classification_targets(y)
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        X, y, weights = (X, y, weights) if len(kept) == len(X) else (X[kept], y[kept], weights[kept])
        check_neighborhood(self.neighborhood, len(X))
        self.classes_, classes = np.unique(y, return_inverse=True)
        X = unit_rows(X) if self.normalize else X
        self._kept, self._labels = kept, y
        self._decision: Decision = (
            ClassSums(X, classes, weights, self)
            if self.decision == "weights"
            else ClassResiduals(X, classes, self)
        )
        self.terms_ = self._decision.n_terms
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The class sums, or minus the residuals; for two classes the second's less the first's."""
        scores, _ = self._decide(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_weights_decide)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The class sums, divided by their total."""
        sums, _ = self._decide(X)
        return sums / sums.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the largest sum or the smallest residual; the first of equals."""
        scores, _ = self._decide(X)
        return self.classes_[scores.argmax(axis=1)]

    def explain(self, X: ArrayLike) -> list[CodeExplanation]:
        """The samples of each row's code and what they weigh; under "residual", of the winning class's code."""
        scores, codes = self._decide(X)
        explanations = []
        for row, of_classes in enumerate(scores):
            part = slice(codes.indptr[row], codes.indptr[row + 1])
            order = np.argsort(-codes.data[part], kind="stable")
            samples, weights = codes.indices[part][order], codes.data[part][order]
            explanations.append(
                CodeExplanation(self._kept[samples], weights, self._labels[samples], of_classes, self.classes_)
            )
        return explanations

    def _decide(self, X: ArrayLike) -> tuple[NDArray[np.float64], csr_array]:
        """Scores of the classes, and what each sample counts in them."""
        check_is_fitted(self)
        rows: NDArray[Any] = validate_data(self, X, dtype=[np.float32, np.float64], order="C", reset=False)
        return self._decision.decide(unit_rows(rows) if self.normalize else rows)


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Rows divided by their Euclidean lengths, in the precision they came in."""
    sizes = largest_values(X)
    if not sizes.all():
        raise ValueError(
            f"Row {np.flatnonzero(sizes == 0)[0]} is all zeros and has no direction; "
            "drop it or use normalize=False."
        )
    shrunk = X / sizes[:, np.newaxis]  # whose squares neither overflow nor vanish
    return (shrunk / np.linalg.norm(shrunk, axis=1, keepdims=True)).astype(X.dtype)
