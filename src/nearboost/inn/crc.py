"""CRC: classification by collaborative representation."""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.validation import check_positive
from nearboost.codes.l1 import check_sizes
from nearboost.inn.code_classifier import CodeClassifier, schema_of_samples
from nearboost.inn.decisions import Classes, Decision, Scores, shares_of
from nearboost.problem.targets import class_members

ENTRIES_AT_ONCE = 8_000_000  # weights, so that memory stays bounded


class CRCClassifier(CodeClassifier):
    """Classification by collaborative representation (CRC): ridge codes that give every sample a weight.

    A row q is written as the sum of samples that minimises |q − Σ w_i x_i|² + λ Σ w_i².

    Parameters
    ----------
    regularization : float, default=0.001
        λ, above 0.
    decision : {"residual", "weights"}, default="residual"
        "residual", as published: the class whose own samples give the smallest |q − Σ w_i x_i| / |w| wins.
        "weights": each class gets its samples' share of the absolute weights.
    normalize : bool, default=True
        Scale samples and rows to unit length first, as published.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    voters_ : ndarray of shape (n_voters,)
        Training rows that an answer may come from: all of positive weight.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Zhang, Yang and Feng, "Sparse representation or collaborative representation: which helps face recognition?"
    (2011). `fit` factors the matrix of products between features or between samples, whichever is smaller. For the
    decision by residuals it first reduces each class with more samples than features to as many rows as features,
    which changes no residual: a query costs as much as its classes, not its samples. Threads are those of the
    matrix library, and scores are the same in any batch of rows up to 1e-12 of the largest.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import CRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CRCClassifier().fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.3f}")
    0.949
    """

    model_schema: ClassVar[Schema] = schema_of_samples("CRCClassifier", n_kept="n_kept")

    def __init__(
        self,
        regularization: float = 0.001,
        *,
        decision: str = "residual",
        normalize: bool = True,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.decision = decision
        self.normalize = normalize
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("regularization", self.regularization)

    def _decide_by(self, X: NDArray[Any], classes: Classes, weights: NDArray[np.float64]) -> Decision:
        check_sizes(X)
        X, regularization = X.astype(np.float64), float(self.regularization)
        if self.decision == "weights":
            return RidgeSums(RidgeCodes(X, regularization), classes, weights / weights.max(), self.verbose)
        X, classes = condensed(X, classes)
        return RidgeResiduals(RidgeCodes(X, regularization), classes, self.verbose)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs: two features hold no sums of classes
        return tags


class RidgeCodes:
    """w = X a for a = (XᵀX + λI)⁻¹ q, or w = (XXᵀ + λI)⁻¹ X q; the rows of X are the samples."""

    def __init__(self, X: NDArray[np.float64], regularization: float) -> None:
        self.X = X
        self.by_features = X.shape[1] <= len(X)
        products = X.T @ X if self.by_features else X @ X.T
        products[np.diag_indices_from(products)] += regularization
        try:
            self._factor = cho_factor(products, lower=True, overwrite_a=True)
        except LinAlgError:
            raise ValueError(
                f"regularization={regularization:g} is lost next to products of rows as large as "
                f"{products.max():.3g}; use a larger one, or divide the rows by a number."
            ) from None

    def weights(self, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        """w of each query, a row each."""
        if self.by_features:
            return cho_solve(self._factor, Q.T).T @ self.X.T
        return cho_solve(self._factor, self.X @ Q.T).T


class RidgeDecision:
    """Scores of a bounded number of queries at a time."""

    weights: NDArray[np.float64] | None = None

    def __init__(self, codes: RidgeCodes, classes: Classes, verbose: int) -> None:
        self.codes, self.classes, self._verbose = codes, classes, verbose
        self.n_classes = int(classes.max()) + 1

    @property
    def samples(self) -> NDArray[np.float64]:
        return self.codes.X

    def scores(self, Q: NDArray[Any]) -> Scores:
        n_samples, n_features = self.codes.X.shape
        size = max(1, ENTRIES_AT_ONCE // (n_samples + n_features))
        scores = np.empty((len(Q), self.n_classes))
        with progress_bar("Coding", len(Q), self._verbose) as advance:
            for start in range(0, len(Q), size):
                block = slice(start, start + size)
                scores[block] = self._scores(Q[block].astype(np.float64))
                advance(len(Q[block]))
        return scores

    def _scores(self, Q: NDArray[np.float64]) -> Scores:
        raise NotImplementedError


class RidgeSums(RidgeDecision):
    """Shares of the absolute weights by class, each times its sample's own weight."""

    def __init__(self, codes: RidgeCodes, classes: Classes, weights: NDArray[np.float64], verbose: int) -> None:
        super().__init__(codes, classes, verbose)
        self.weights = weights
        self._members = class_members(classes)
        self._members.data *= weights

    def _scores(self, Q: NDArray[np.float64]) -> Scores:
        return shares_of((self._members.T @ abs(self.codes.weights(Q)).T).T)


class RidgeResiduals(RidgeDecision):
    """Minus |q − Σ w_i x_i| / |w| of each class's samples, which follow each other."""

    def _scores(self, Q: NDArray[np.float64]) -> Scores:
        weights, scores = self.codes.weights(Q), np.empty((len(Q), self.n_classes))
        ends = np.cumsum(np.bincount(self.classes))
        for c, (start, end) in enumerate(pairwise([0, *ends])):
            own = weights[:, start:end]
            lengths = np.linalg.norm(own, axis=1)
            scores[:, c] = -ratio(np.linalg.norm(Q - own @ self.codes.X[start:end], axis=1), lengths)
        return scores


def condensed(X: NDArray[np.float64], classes: Classes) -> tuple[NDArray[np.float64], Classes]:
    """Fewer rows, class by class, that have the same residuals and lengths of weights.

    These depend on XᵀX of each class alone. It is RᵀR for the R of X = QR, which has no more rows than features.
    Rows that are condensed already stay as they are.
    """
    parts = [X[classes == c] for c in range(classes.max() + 1)]
    parts = [qr(part, mode="r")[0][: X.shape[1]] if len(part) > X.shape[1] else part for part in parts]
    return np.vstack(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def ratio(residuals: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Residuals over lengths; a class without any weight is the farthest there is."""
    return np.divide(residuals, lengths, out=np.full_like(residuals, np.finfo(np.float64).max), where=lengths > 0)
