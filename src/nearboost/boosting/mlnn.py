"""MLNN: multi-class leveraged nearest neighbours."""

from typing import Any

from nearboost.base.validation import check_choice
from nearboost.boosting.for_all import WeightForAll
from nearboost.votes import KERNELS, CodeVotes, Kernel, KernelVotes, VoteRule


class MLNNClassifier(WeightForAll):
    """Nearest neighbours whose votes carry one learned weight each, the same for all classes (MLNN).

    A round picks one example, again if need be, and adds to its weight what minimises the exponential risk of
    the multiclass edges of the rows it votes on. A voter says α on its own class and −α/(C−1) on every other.
    One problem is solved instead of one per class.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many neighbours vote. "auto" takes the largest of 1, 3, 5, 7, 11, 15 whose plain vote, each row
        left out, is right as often as the best one's, within a standard error; for INN votes also of 31 and 100.
    kernel : {"knn", "gaussian", "adaptive"} or callable
        A neighbour's vote: 1 (the closed form holds); exp(−d²/2σ²) with one σ for all; the same with σ = ρ, the
        distance of the farthest voter on the row; or a function that takes an array of distances and returns
        as many similarities of at least 0. A vote below a millionth of the row's largest is none.
    vote_weights : {"kernel", "inn"}
        "inn": votes are the weights of the row's INN code over its neighbours (see `INNCoder`), 0 for many of
        them; ``kernel`` then does not count. Give it many neighbours, such as 100.
    sigma : float, "sqrt" or None
        σ of "gaussian" (None: the median ρ of the training rows), or what "adaptive" multiplies ρ by (None: 1);
        "sqrt" makes the adaptive σ = √(2ρ), as the paper prints it.
    smoothing : {"always", "one_sided"}
        The closed form of "knn" is smoothed by 1/m. Other votes are smoothed likewise, so that steps which rest
        on rows of vanishing weight fade; or, to the letter of the papers, only where an example's rows all agree
        or all differ and no finite step exists, which loses many points and makes weights without bounds.
    n_rounds : int or None
        Rounds of boosting in all (per class with ``one_vs_all``). None lets the judge folds choose among 1, 2, 4,
        … up to 2m (with ``one_vs_all`` 2m/C, at least m/5) by their errors; without judges it means the largest.
    n_prototypes : int, float or None
        Keep the best so many examples (a number, or a share of the training set) and learn their weights anew
        on the graph over them. None keeps whoever was given a weight.
    metric : {"l2", "cosine", "l1"}
    one_vs_all : bool
        Solve one two-class problem per class, with one weight per example and class; takes matrices of labels.
    class_weight : dict, "balanced" or None
        Multiplies the loss of each class's samples, as scikit-learn defines it.
    search : {"exact", "hnsw"}
        "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``.
    vote_from : {"auto", "prototypes", "all"}
        Whom queries are compared with: the prototypes alone, or all training rows. "auto" is "prototypes" when
        ``n_prototypes`` is given, else "all".
    early_stopping : bool
        Stop at the round with the least risk on the judge folds.
    calibration : {"temperature", None}
        Fit the temperature of `predict_proba` on judge folds. None saves their time (unless ``early_stopping``):
        the temperature is then 1 and there are no held-out figures.
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
    temperature_, intercept_ : the calibration; ``intercept_`` is 0 unless ``y`` is a label matrix

    Notes
    -----
    With ``n_rounds`` given, the defaults are Algorithm 1 of the paper. Where no voter has a weight, scores are
    those of the classes' shares in training. See `N3Classifier` for how examples are ranked for
    ``n_prototypes``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import MLNNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MLNNClassifier(kernel="adaptive", n_prototypes=0.2).fit(X[:900], y[:900])
    >>> model.coefficients_.shape
    (180,)
    >>> bool(model.score(X[900:], y[900:]) > 0.9)
    True
    """

    _normalised = False

    def __init__(
        self,
        n_neighbors: int | str = 11,
        *,
        kernel: Kernel = "knn",
        vote_weights: str = "kernel",
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
        calibration: str | None = "temperature",
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.vote_weights = vote_weights
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

    def _make_vote_rule(self) -> VoteRule:
        if self.vote_weights == "inn":
            return CodeVotes(self.metric, self.n_jobs)
        return KernelVotes(self.kernel, self.sigma)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        check_choice("vote_weights", self.vote_weights, ("kernel", "inn"))
        self._check_sigma(self.kernel)
