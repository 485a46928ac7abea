"""SRC: classification by sparse representation."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.errors import warn_caller
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_positive, check_whole
from nearboost.codes.l1 import L1Dictionary
from nearboost.codes.series import Groups
from nearboost.inn.code_classifier import SparseCodeClassifier, schema_of_samples
from nearboost.inn.decisions import Classes, ClassSums, ExplainedDecision, SharedResiduals

SOLVERS, REMOVED_SOLVERS = ("lasso",), ("lars", "fista")


class SRCClassifier(SparseCodeClassifier):
    """Classification by sparse representation (SRC): a lasso is solved for each row.

    A row q is written as the sum of samples that minimises ½|q − Σ w_i x_i|² + λ Σ|w_i|.

    Parameters
    ----------
    regularization : float, default=0.05
        λ. Rows of unit length have no weights at all from λ = 1 on, or somewhat below.
    solver : {"lasso"}, default="lasso"
        How the minimum is found: one sample after another gets a weight, and the code goes to the minimum for the
        weights' signs each time. "lars" and "fista" of earlier versions found the same minimum, later.
    decision : {"weights", "residual"}, default="weights"
        "weights": each class gets its samples' share of the absolute weights (Timofte and Van Gool). "residual":
        the class whose own part of the sum is nearest to the row wins (Wright et al. 2009).
    neighborhood : int or None, default=None
        Code each row only by this many nearest samples; None means by all.
    normalize : bool, default=True
        Scale samples and rows to unit length first, as published.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
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
        Chosen on held-out rows when first asked for.
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
    scikit-learn's ``Lasso`` divides λ by the number of features. A row has no weights if λ is at least its largest
    product with a sample: its scores are then equal, and it gets the first class, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import SRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SRCClassifier().fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.3f}")
    0.987
    """

    model_schema: ClassVar[Schema] = schema_of_samples("SRCClassifier")

    def __init__(
        self,
        regularization: float = 0.05,
        *,
        solver: str = "lasso",
        decision: str = "weights",
        neighborhood: int | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.solver = solver
        self.decision = decision
        self.neighborhood = neighborhood
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("regularization", self.regularization)
        if self.solver in REMOVED_SOLVERS:
            raise ValueError(f"solver={self.solver!r} is gone; use 'lasso', which gives the same codes faster.")
        check_choice("solver", self.solver, SOLVERS)
        check_whole("neighborhood", self.neighborhood, optional=True)

    def _decide_by(self, X: NDArray[Any], classes: Classes, weights: NDArray[np.float64]) -> ExplainedDecision:
        if self.decision == "weights":
            return ClassSums(self._dictionary(X), classes, weights, to_one=True)
        return SharedResiduals(X, classes, self._dictionary)

    def _dictionary(self, X: NDArray[Any]) -> L1Dictionary:
        return LassoDictionary(
            X, self.regularization, neighborhood=self.neighborhood, n_jobs=self.n_jobs, verbose=self.verbose
        )


class LassoDictionary(L1Dictionary):
    """Warns of codes that are empty."""

    def codes(self, Q: NDArray[Any], own: Groups | None = None, groups: Groups | None = None) -> csr_array:
        codes = super().codes(Q, own, groups)
        empty = np.flatnonzero(np.diff(codes.indptr) == 0)
        if empty.size and own is None:  # of samples nobody asked
            warn_caller(
                f"{empty.size} of {len(Q)} rows have no weights and get the first class, the first is row "
                f"{empty[0]}; use a smaller regularization.",
            )
        return codes
