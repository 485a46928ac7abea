"""MAPBoost: boosted maximum a posteriori classification."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_choice
from nearboost.boosting.one_weight import WeightForAll
from nearboost.problem.calibration import Probabilities, keep_decided, keep_leader, two_sided
from nearboost.votes import KernelVotes, VoteRule

ESTIMATORS = {"rectangular": "knn", "gaussian": "gaussian", "adaptive": "adaptive"}  # and their kernels
ROUNDING = 1e-12  # a posterior below it is made of rounding


@dataclass(frozen=True)
class MapPosterior:
    """P(c|x) of eq. (2) of MAPBoost from its scores h of eq. (3): h = (C P − 1)/(C − 1).

    ``n_classes`` is C of the problems solved, 2 for one versus all; their posteriors are then scaled to sum to 1.
    """

    n_classes: int
    multilabel: bool

    def posteriors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number per class, as estimated; those of one-versus-all problems need not sum to 1."""
        sided = scores if self.multilabel else two_sided(scores)
        posteriors = np.clip((1 + (self.n_classes - 1) * sided) / self.n_classes, 0.0, 1.0)
        return np.where(posteriors < ROUNDING, 0.0, posteriors)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Probabilities`."""
        posteriors = self.posteriors(scores)
        if self.multilabel:
            return keep_decided(posteriors, scores)
        nobody = posteriors.sum(axis=1) == 0  # every class is ruled out: an even guess
        posteriors[nobody] = 1.0
        return keep_leader(posteriors, scores)


class MAPBoostClassifier(WeightForAll):
    """Class densities estimated from neighbours with one learned weight each (MAPBoost).

    Every neighbour t estimates the density at x by its share f_t(x) of the voters' kernels. Boosting learns the
    weights α_t from the exponential risk of the multiclass edges. P(c|x) is the share of Σ α_t f_t(x) that belongs
    to class c, so the method comes with probabilities.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote. "auto" is 11 where all rows vote. With ``n_prototypes`` it is the one of 1,
        3, 5, 7, 11, 15 and 31 whose plain vote of the prototypes is best on the training rows.
    estimator : {"rectangular", "gaussian", "adaptive"}, default="rectangular"
        Kernel of the density estimate, cut off at the last voter: 1; exp(−d²/2σ²) with one σ for all; or the same
        with a local bandwidth ρ, in training the distance of the voter's own k-th neighbour (sample-point
        estimator), at query time that of the query's (balloon estimator).
    sigma : float, "sqrt" or None, default=None
        Width of the "gaussian" kernel (None: the median ρ of the training rows), or the factor that "adaptive"
        multiplies ρ by (None: 1). "sqrt" makes the adaptive width √(2ρ), as the MLNN paper prints it.
    smoothing : {"always", "one_sided"}, default="always"
        Where steps without a closed form are smoothed by 1/m. "always" does as the closed form does, so that steps
        resting on rows of vanishing weight fade. "one_sided" follows the papers to the letter: only where all of
        an example's rows agree or all disagree with it, so that no finite step exists. That costs accuracy, and
        weights are unbounded.
    n_rounds : int or None, default=None
        Boosting rounds in all, or per class with ``one_vs_all``. None lets the held-out folds choose among 1, 2,
        4, … up to 2m (with ``one_vs_all`` 2m/C, but at least m/5): of those right as often as the best, the one
        with the least log-loss; without folds it means the largest.
    n_prototypes : int, float or None, default=None
        How many examples to keep, as a number or as a fraction of the training set. The best are kept and their
        weights learned again on the graph over them. None keeps every example that received a coefficient.
    prototypes : {"examples", "centroids"}, default="examples"
        What is kept where ``n_prototypes`` is given: training rows, or k-means centroids of each class. A centroid
        goes by the row nearest to it in ``prototypes_`` and explanations; `add` and `forget` refuse centroids.
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows: Euclidean, 1 − cos, or Manhattan.
    one_vs_all : bool, default=False
        Solve one two-class problem per class, with one weight per example and class. Allows multilabel ``y``. For
        single-label ``y`` the posteriors of the classes are scaled to sum to 1.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the loss of each class's samples, as in scikit-learn.
    search : {"exact", "hnsw", "gpu"}, default="exact"
        How neighbours are found. "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``. "gpu",
        or "gpu:1" for the second, finds what "exact" finds and needs ``pip install "nearboost[gpu]"``.
    vote_from : {"auto", "prototypes", "all"}, default="auto"
        Rows that queries are compared with: the prototypes alone or all training rows. "auto" means "prototypes"
        if ``n_prototypes`` is given, else "all".
    early_stopping : bool, default=False
        Stop at the round with the lowest risk on the held-out folds.
    calibration : {"temperature", "posterior", None}, default="temperature"
        How `predict_proba` is made: the softmax of the scores over a temperature fitted on held-out folds, with a
        small share for every class; or P(c|x) as published, which is sharp, often exactly 0 or 1. None is
        "posterior" without held-out folds; the ``held_out_`` attributes are then absent.
    memory : float or None, default=None
        Bytes to search in, beside rows that lie in memory; None means half of what is free. A mapped file that has
        no room in them is searched block by block. Results do not depend on it.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the held-out folds. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels; column numbers for multilabel ``y``.
    prototypes_ : ndarray of shape (n_prototypes,)
        Training rows that were kept, sorted; of centroids, the rows nearest to them.
    voters_ : ndarray of shape (n_voters,)
        Training rows among which a query finds its voters: the prototypes, or all of positive weight.
    coefficients_ : ndarray of shape (n_prototypes,) or csr_array of shape (n_prototypes, n_columns)
        One weight α per prototype; with ``one_vs_all`` one per prototype and class (one column for two classes).
    start_coefficient_ : float
        Always 0: these methods start from zero.
    diagnostics_ : list of Diagnostics
        For each problem, γ, η and Z of every round, the bound of the theorem, and the Newton steps taken.
    sigma_ : float, "sqrt" or None
        Width of the kernel, as given or found; absent for INN votes.
    n_neighbors_ : int
        Number of neighbours, as given or chosen.
    n_rounds_ : int
        Number of rounds, as given or chosen.
    neighbors_ : Neighbors
        Training graph among samples of positive weight.
    history_ : list of ndarray
        Exponential risk before and after each round, one array per problem.
    held_out_rows_ : ndarray of shape (n_held_out,)
        Training rows scored by weights learned without their labels.
    held_out_scores_ : csr_array of shape (n_held_out, n_columns)
        Scores of those rows, one column per class (one in all for two classes).
    held_out_proba_ : ndarray of shape (n_held_out, n_classes)
        Probabilities of those rows.
    held_out_accuracy_ : float
        Accuracy on those rows: the figure to trust until there is test data.
    held_out_risk_ : ndarray of shape (n_rounds + 1,)
        Risk of those rows before and after each round, summed over classes and folds.
    temperature_ : float
        Divides the scores before they become probabilities.
    intercept_ : ndarray of shape (n_columns,)
        Added to the scores; 0 unless ``y`` is multilabel.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    `decision_function` is h of eq. (3), (C P − 1)/(C − 1), between −1/(C − 1) and 1, plus ``intercept_``. Where no
    voter has a weight, P is the share of each class in the training weights. See `N3Classifier` for how examples
    are ranked for ``n_prototypes``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import MAPBoostClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MAPBoostClassifier(estimator="adaptive", n_prototypes=0.2).fit(X[:900], y[:900])
    >>> model.predict_proba(X[900:]).shape
    (897, 10)
    >>> bool(model.score(X[900:], y[900:]) > 0.9)
    True
    """

    _normalised = True
    _calibrations = ("temperature", "posterior", None)

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        estimator: str = "rectangular",
        sigma: float | str | None = None,
        smoothing: str = "always",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
        prototypes: str = "examples",
        metric: str = "l2",
        one_vs_all: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        search: str = "exact",
        vote_from: str = "auto",
        early_stopping: bool = False,
        calibration: str | None = "temperature",
        memory: float | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.estimator = estimator
        self.sigma = sigma
        self.smoothing = smoothing
        self.n_rounds = n_rounds
        self.n_prototypes = n_prototypes
        self.prototypes = prototypes
        self.metric = metric
        self.one_vs_all = one_vs_all
        self.class_weight = class_weight
        self.search = search
        self.vote_from = vote_from
        self.early_stopping = early_stopping
        self.calibration = calibration
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def class_posteriors(self, X: ArrayLike) -> NDArray[np.float64]:
        """P(c|x) of eq. (2) for every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Posteriors; those of one-vs-all problems are not scaled to sum to 1.
        """
        check_is_fitted(self)
        blocks = (scores - self.intercept_ for scores in self._score_blocks(X))
        return np.concatenate([self._posterior().posteriors(scores) for scores in blocks])

    def _make_vote_rule(self) -> VoteRule:
        return KernelVotes(ESTIMATORS[self.estimator], self.sigma, density=True)

    def _uncalibrated(self) -> Probabilities:
        return self._posterior()

    def _restore_calibration(self, kind: str, uniform_share: float, bend: float) -> Probabilities:
        if kind == "posterior":
            return self._posterior()
        return super()._restore_calibration(kind, uniform_share, bend)

    def _posterior(self) -> MapPosterior:
        return MapPosterior(2 if self._was_one_vs_all else self._labels.n_classes, self._labels.multilabel)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("estimator", self.estimator, tuple(ESTIMATORS))
        self._check_sigma(ESTIMATORS[self.estimator])
