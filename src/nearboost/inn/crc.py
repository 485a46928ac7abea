"""CRC: classification by collaborative representation."""

from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr

from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.validation import check_positive
from nearboost.codes.l1 import check_sizes
from nearboost.codes.series import Groups
from nearboost.inn.code_classifier import CodeClassifier, judge, schema_of_samples
from nearboost.inn.decisions import Classes, Decision, ResidualDecision, Scores, shares_of
from nearboost.problem.targets import GivenRows, class_members, number_groups

ENTRIES_AT_ONCE = 8_000_000  # weights, so that memory stays bounded
EPSILON = np.finfo(np.float64).eps


class CRCClassifier(CodeClassifier):
    """Classification by collaborative representation (CRC): ridge codes that give every sample a weight.

    A row q is written as the sum of samples that minimises ``|q − Σ w_i x_i|² + λ Σ w_i²``.

    Parameters
    ----------
    regularization : float, default=0.001
        λ, above 0.
    decision : {"residual", "weights"}, default="residual"
        "residual", as published: the class whose own samples give the smallest ``|q − Σ w_i x_i| / |w|`` wins.
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
    temperature_ : float
        Probabilities grow as exp(share / temperature_) with a class's share of the weights, or as the power of
        −1 / temperature_ with its distance; at least 1/(n + 2) of them is the same for all, for n held-out rows.
        Chosen on held-out rows by `fit`.
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

    def _learn(self, given: GivenRows, samples: NDArray[Any]) -> Self:
        super()._learn(given, samples)
        if self.decision == "residual":  # condensed samples cannot be left out later
            classes = np.searchsorted(self.classes_, given.y[given.kept])
            order = np.argsort(classes, kind="stable")
            whole, groups = self._decision, number_groups(given.groups, len(samples))[order]
            if len(whole.samples) < len(samples):
                codes = RidgeCodes(samples[order].astype(np.float64), float(self.regularization))
                whole = RidgeResiduals(codes, classes[order], self.verbose)
            self._held_out.found = judge(whole, groups)
        return self

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
    """How ridge codes decide, a bounded number of queries at a time.

    Where W are the weights that samples have in each other's codes, those without the samples G of a group are
    (I − W_GG)⁻¹ W_G: leaving a group out takes no ridge regression of its own.
    """

    weights: NDArray[np.float64] | None = None

    def __init__(self, codes: RidgeCodes, classes: Classes, verbose: int) -> None:
        self.codes, self.classes, self._verbose = codes, classes, verbose
        self.n_classes = int(classes.max()) + 1

    @property
    def samples(self) -> NDArray[np.float64]:
        return self.codes.X

    def scores(self, Q: NDArray[Any]) -> Scores:
        scores = np.empty((len(Q), self.n_classes))
        with progress_bar("Coding", len(Q), self._verbose) as advance:
            for start in range(0, len(Q), self._at_once):
                rows = Q[start : start + self._at_once].astype(np.float64)
                scores[start : start + len(rows)] = self._decide(self.codes.weights(rows), rows)
                advance(len(rows))
        return scores

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        scores = np.empty((len(held), self.n_classes))
        order = np.argsort(groups[held], kind="stable")
        for start, end in pairwise(cut_between(groups[held[order]], self._at_once)):
            places = order[start:end]
            rows = held[places]
            weights = self.codes.weights(self.codes.X[rows])
            for group in np.unique(groups[rows]):
                own = np.flatnonzero(groups[rows] == group)
                within = weights[np.ix_(own, rows[own])]
                weights[own] = np.linalg.solve(np.eye(len(own)) * (1 + EPSILON) - within, weights[own])
                weights[np.ix_(own, rows[own])] = 0.0
            scores[places] = self._decide(weights, self.codes.X[rows])
        return scores

    @property
    def _at_once(self) -> int:
        return max(1, ENTRIES_AT_ONCE // sum(self.codes.X.shape))

    def _decide(self, weights: NDArray[np.float64], Q: NDArray[np.float64]) -> Scores:
        """Scores of queries that samples have these weights for."""
        raise NotImplementedError

    def evidence(self, scores: Scores) -> Scores:
        raise NotImplementedError


class RidgeSums(RidgeDecision):
    """Shares of the absolute weights by class, each times its sample's own weight."""

    def __init__(self, codes: RidgeCodes, classes: Classes, weights: NDArray[np.float64], verbose: int) -> None:
        super().__init__(codes, classes, verbose)
        self.weights = weights
        self._members = class_members(classes)
        self._members.data *= weights

    def _decide(self, weights: NDArray[np.float64], Q: NDArray[np.float64]) -> Scores:
        return shares_of((self._members.T @ abs(weights).T).T)

    def evidence(self, scores: Scores) -> Scores:
        return scores


class RidgeResiduals(ResidualDecision, RidgeDecision):
    """Minus |q − Σ w_i x_i| / |w| of each class's samples, which follow each other."""

    def _decide(self, weights: NDArray[np.float64], Q: NDArray[np.float64]) -> Scores:
        scores = np.empty((len(Q), self.n_classes))
        ends = np.cumsum(np.bincount(self.classes))
        for c, (start, end) in enumerate(pairwise([0, *ends])):
            own = weights[:, start:end]
            lengths = np.linalg.norm(own, axis=1)
            scores[:, c] = -ratio(np.linalg.norm(Q - own @ self.codes.X[start:end], axis=1), lengths)
        return scores


def cut_between(groups: Groups, size: int) -> NDArray[np.int64]:
    """Where to cut rows that stand group by group, so that pieces have about a size and groups stay whole."""
    ends = np.append(np.flatnonzero(np.diff(groups)) + 1, len(groups))
    return np.unique([0, *ends[np.searchsorted(ends, np.arange(size, len(groups), size))], len(groups)])


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
