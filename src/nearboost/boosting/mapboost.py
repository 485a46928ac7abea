"""MAPBoost: boosted maximum a posteriori classification."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.validation import check_choice
from nearboost.boosting.calibration import MapPosterior, Probabilities
from nearboost.boosting.for_all import WeightForAll
from nearboost.votes import KernelVotes, VoteRule

ESTIMATORS = {"rectangular": "knn", "gaussian": "gaussian", "adaptive": "adaptive"}  # and their kernels


class MAPBoostClassifier(WeightForAll):
    """Class densities at a point, estimated from neighbours with one learned weight each (MAPBoost).

    Every neighbour t estimates the density at x by its share f_t(x) of the voters' kernels. Boosting learns
    weights α_t by the exponential risk of the multiclass edges, and P(c|x) is the share of Σ α_t f_t(x) that is
    of class c: probabilities come with the method.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many neighbours vote. "auto" takes the largest of 1, 3, 5, 7, 11, 15 whose plain vote, each row
        left out, is right as often as the best one's, within a standard error.
    estimator : {"rectangular", "gaussian", "adaptive"}
        The kernel, cut off at the last voter: 1; exp(−d²/2σ²) with one σ for all; the same with a bandwidth
        of its own: in training the distance ρ of the voter's own k-th neighbour (sample-point estimator), at
        query time that of the query's (balloon estimator).
    sigma : float, "sqrt" or None
        σ of "gaussian" (None: the median ρ of the training rows), or what "adaptive" multiplies ρ by (None: 1);
        "sqrt" makes the adaptive σ = √(2ρ).
    smoothing : {"always", "one_sided"}
        The closed form of "rectangular" is smoothed by 1/m. Other votes are smoothed likewise, so that steps which
        rest on rows of vanishing weight fade; or, to the letter of the papers, only where an example's rows all
        agree or all differ and no finite step exists, which loses many points and makes weights without bounds.
    n_rounds : int or None
        Rounds of boosting in all (per class with ``one_vs_all``). None lets the judge folds choose among 1, 2, 4,
        … up to 2m (with ``one_vs_all`` 2m/C, at least m/5) by their errors; without judges it means the largest.
    n_prototypes : int, float or None
        Keep the best so many examples (a number, or a share of the training set) and learn their weights anew
        on the graph over them. None keeps whoever was given a weight.
    metric : {"l2", "cosine", "l1"}
    one_vs_all : bool
        Solve one two-class problem per class, with one weight per example and class; takes matrices of labels.
        Posteriors of the classes are then scaled to sum to 1.
    class_weight : dict, "balanced" or None
        Multiplies the loss of each class's samples, as scikit-learn defines it.
    search : {"exact", "hnsw"}
        "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``.
    vote_from : {"auto", "prototypes", "all"}
        Whom queries are compared with: the prototypes alone, or all training rows. "auto" is "prototypes" when
        ``n_prototypes`` is given, else "all".
    early_stopping : bool
        Stop at the round with the least risk on the judge folds.
    calibration : {"posterior", "temperature", None}
        `predict_proba` is P(c|x) as published, or the softmax of the scores over a temperature fitted on judge
        folds. None is "posterior" without judge folds: there are no held-out figures then.
    n_jobs : int or None
        Threads; None means all cores. Results do not depend on it.
    random_state : int or None
        Seed of the judge folds; None is 0, so that fits repeat.
    verbose : int
        Above 0, progress bars on standard error.

    Attributes
    ----------
    classes_ : the class labels (with ``one_vs_all`` and a label matrix: column numbers)
    prototypes_ : rows of the training set that were kept, sorted
    coefficients_ : array of one α per prototype; with ``one_vs_all`` a sparse matrix, prototypes x classes
    diagnostics_ : one `Diagnostics` per problem: γ, η and Z of every round, the theorem's bound, Newton steps
    sigma_ : σ as given or as found
    n_neighbors_, n_rounds_ : as given or as chosen
    neighbors_ : the training graph among samples of positive weight, with ``indices`` and ``distances``
    history_ : the exponential risk before and after each round, one array per problem
    held_out_rows_, held_out_scores_, held_out_accuracy_, held_out_risk_ : what the judge folds say of training
        rows whose labels were not used: the figure to trust before there is test data
    temperature_, intercept_ : the calibration, if asked for

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
    _calibrations = ("posterior", "temperature", None)

    def __init__(
        self,
        n_neighbors: int | str = 11,
        *,
        estimator: str = "rectangular",
        sigma: float | str | None = None,
        smoothing: str = "always",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
        metric: str = "l2",
        one_vs_all: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        search: str = "exact",
        vote_from: str = "auto",
        early_stopping: bool = False,
        calibration: str | None = "posterior",
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
        self.metric = metric
        self.one_vs_all = one_vs_all
        self.class_weight = class_weight
        self.search = search
        self.vote_from = vote_from
        self.early_stopping = early_stopping
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def class_posteriors(self, X: ArrayLike) -> NDArray[np.float64]:
        """P(c|x) of eq. (2), one per class; those of one-versus-all problems are not scaled to sum to 1."""
        check_is_fitted(self)
        blocks = (scores - self.intercept_ for scores in self._score_blocks(X))
        return np.concatenate([self._posterior().posteriors(scores) for scores in blocks])

    def _make_vote_rule(self) -> VoteRule:
        return KernelVotes(ESTIMATORS[self.estimator], self.sigma, density=True)

    def _make_calibration(self, temperature: float, intercept: NDArray[np.float64]) -> Probabilities:
        if self.calibration == "temperature":
            return super()._make_calibration(temperature, intercept)
        return self._posterior()

    def _posterior(self) -> MapPosterior:
        return MapPosterior(2 if self.one_vs_all else self._labels.n_classes, self._labels.multilabel)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("estimator", self.estimator, tuple(ESTIMATORS))
        self._check_sigma(ESTIMATORS[self.estimator])
