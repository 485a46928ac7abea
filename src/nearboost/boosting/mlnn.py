"""MLNN: multi-class leveraged nearest neighbours."""

from typing import Any

from nearboost.base.validation import check_choice
from nearboost.boosting.one_weight import WeightForAll
from nearboost.votes import KERNELS, CodeVotes, Kernel, KernelVotes, VoteRule


class MLNNClassifier(WeightForAll):
    """Nearest neighbours with one learned weight each, the same for all classes (MLNN).

    Each round picks one example, again if need be, and changes its weight by the step that minimises the
    exponential risk of the multiclass edges of the rows it votes on. A voter adds α to its own class and −α/(C−1)
    to every other, so there is one problem to solve instead of one per class.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote. "auto" is 11 where all rows vote. With ``n_prototypes`` it is the one of 1,
        3, 5, 7, 11, 15 and 31 whose plain vote of the prototypes is best on the training rows; for INN votes, of
        these and 100 the one whose plain vote of all rows is.
    kernel : {"knn", "gaussian", "adaptive"} or callable, default="knn"
        Weight of a neighbour's vote: 1, which has a closed form; exp(−d²/2σ²) with one σ for all; the same with σ
        = ρ, the distance of the farthest voter on the row; or a function from an array of distances to as many
        similarities of at least 0. Votes below a millionth of the row's largest are dropped.
    vote_weights : {"kernel", "inn"}, default="kernel"
        "inn" ignores ``kernel``: votes are the weights of the row's INN code over its neighbours (see `INNCoder`),
        many of them 0. Give it many neighbours, such as 100.
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
        Solve one two-class problem per class, with one weight per example and class. Allows multilabel ``y``.
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
    calibration : {"temperature", None}, default="temperature"
        How scores become probabilities: "temperature" fits one temperature on held-out folds. None skips the
        folds, unless ``early_stopping`` needs them; the temperature is then 1, and the ``held_out_`` attributes
        are absent.
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
    With ``n_rounds`` given, the defaults are Algorithm 1 of the paper. Where no voter has a weight, the scores
    come from the class shares in training. See `N3Classifier` for how examples are ranked for ``n_prototypes``.

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
        n_neighbors: int | str = "auto",
        *,
        kernel: Kernel = "knn",
        vote_weights: str = "kernel",
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
        self.kernel = kernel
        self.vote_weights = vote_weights
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

    def _make_vote_rule(self) -> VoteRule:
        if self.vote_weights == "inn":
            return CodeVotes(self.metric, self.n_jobs)
        return KernelVotes(self.kernel, self.sigma)

    def check_parameters(self) -> None:
        super().check_parameters()
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        check_choice("vote_weights", self.vote_weights, ("kernel", "inn"))
        self._check_sigma(self.kernel)
