"""INNC: the class whose samples weigh most in a row's code, or whose samples alone come nearest to the row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.codes.dictionary import Dictionary, check_coding, check_neighborhood
from nearboost.inn.code_classifier import SparseCodeClassifier
from nearboost.inn.decisions import ClassSums, ExplainedDecision, OwnResiduals


class INNClassifier(SparseCodeClassifier):
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
        nearest in Euclidean distance wins; this takes twice as long, and longer where classes are small.

    Attributes
    ----------
    classes_ : names of the classes
    terms_ : number of terms of a code that does not stop early
    gram_seconds_ : how long `fit` took to compute the distances between samples, see `INNCoder`
    voters_ : training rows that an answer may come from, all but those of weight 0
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_coding(self)

    def _decide_by(
        self, X: NDArray[Any], classes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> ExplainedDecision:
        check_neighborhood(self.neighborhood, len(X))
        if self.decision == "residual":
            by_class = OwnResiduals(X, classes, self)
            self._tell_of(by_class.dictionary)
            return by_class
        dictionary = Dictionary(X, self)
        self._tell_of(dictionary)
        return ClassSums(dictionary.codes, classes, weights)

    def _tell_of(self, dictionary: Dictionary) -> None:
        self.terms_, self.gram_seconds_ = dictionary.series.n_terms, dictionary.gram_seconds
