"""UNN: universal nearest neighbours."""

from typing import Any, ClassVar

from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_positive
from nearboost.boosting.classifier import WeightPerClass
from nearboost.boosting.engine import StepRule
from nearboost.boosting.state import boosted
from nearboost.boosting.universal import BALANCES, UniversalRule
from nearboost.losses import get_loss
from nearboost.votes import PlainVotes, VoteRule


class UNNClassifier(WeightPerClass):
    """Nearest neighbours whose votes are learned by boosting (UNN and soft UNN).

    Each round picks one example, each at most once, and gives it the coefficient that minimises the loss on the
    rows it votes on, from the weights W⁺ and W⁻ of the rows that agree and disagree with it. Every class starts
    with half of the weight on each side. Classes are learned one against the rest; ``y`` may be multilabel.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote. "auto" picks among 1, 3, 5, 7, 11, 15 and 31 (and 100 for INN votes): of
        those whose plain vote on left-out training rows is right as often as the best's, to within half a standard
        error, the one with the least log-loss; from a zero start, the largest.
    loss : {"exp", "log", "mat"}, default="exp"
        Loss to minimise: exponential, logistic or Matsushita's.
    n_rounds : int or None, default=None
        Boosting rounds per class. None lets the held-out folds choose among 0, 1, 2, 4, … up to 2m/C (m samples, C
        classes), as "auto" chooses neighbours; from a zero start, 0 is not a candidate. Without held-out folds,
        for multilabel ``y``, or for ``vote_from="prototypes"`` without ``n_prototypes``, None means 2m/C.
    n_prototypes : int, float or None, default=None
        How many examples to keep, as a number or as a fraction of the training set. The best are kept and their
        weights learned again on the graph over them. None keeps every example that received a coefficient.
    prototypes : {"examples", "centroids"}, default="examples"
        What is kept where ``n_prototypes`` is given: training rows, or k-means centroids of each class. A centroid
        goes by the row nearest to it in ``prototypes_`` and explanations; `add` and `forget` refuse centroids.
    vote_weights : {"uniform", "rank", "gaussian", "inn"}, default="uniform"
        Weight of a neighbour's vote: 1 (as published); 1/r at rank r; exp(−d²/2ρ²), where ρ is the distance of the
        farthest voter; or its weight in the row's INN code over the neighbours (see `INNCoder`), which can use 100
        of them.
    start : {"zero", "vote"}, default="vote"
        Where boosting starts: from zero (as published), or from the plain vote times ``start_coefficient_``.
        Sample and class weights multiply the plain vote.
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows: Euclidean, 1 − cos, or Manhattan.
    learning_rate : float, default=1.0
        Multiplies every step; 1 is the published step.
    oracle : {"delta", "decrease", "random"}, default="delta"
        How a round picks its example: by the largest step (as published), by the largest guaranteed decrease of
        the risk, or at random among those whose step is positive.
    min_reverse_neighbors : int, default=1
        An example is picked only if it votes on at least this many rows.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the loss of each class's samples, as in scikit-learn.
    search : {"exact", "hnsw", "gpu"}, default="exact"
        How neighbours are found. "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``. "gpu",
        or "gpu:1" for the second, finds what "exact" finds and needs ``pip install "nearboost[gpu]"``.
    vote_from : {"auto", "prototypes", "all"}, default="auto"
        Rows that queries are compared with: the prototypes alone (all of them vote if they are fewer than
        ``n_neighbors``) or all training rows. "auto" means "prototypes" if ``n_prototypes`` is given, else "all".
    early_stopping : bool, default=False
        Stop at the round with the lowest risk on the held-out folds.
    calibration : {"temperature", None}, default="temperature"
        How scores become probabilities: "temperature" fits one temperature on held-out folds. None skips the
        folds, unless ``early_stopping`` needs them; the temperature is then 1, and the ``held_out_`` attributes
        are absent.
    delta : {"closed_form", "exact"}, default="closed_form"
        The step: the published formula, smoothed by 1/m, or the exact root of eq. (2.15). Votes other than
        "uniform" have no closed form and always use the root, which is slower.
    soft_lambda : float or None, default=None
        λ of soft UNN: at query time the neighbour of rank r votes with 1/(1 + e^(λ(r−1))). Needs uniform votes.
    balance : {"uniform", "none", "adaptive"}, default="uniform"
        Initial weights: half of the mass on each side of the class (as published); the same for all samples; or
        halves with a smoothing that asks more support of examples from the larger side, so that both sides keep
        about as many prototypes. The thesis reports that effect without a formula; the definition is ours.
    memory : float or None, default=None
        Bytes to search in, beside rows that lie in memory; None means half of what is free. A mapped file that has
        no room in them is searched block by block. Results do not depend on it.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the held-out folds and of the random oracle. None means 0, so that fits repeat.
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
    coefficients_ : csr_array of shape (n_prototypes, n_columns)
        Learned coefficients α, one column per class (one in all for two classes).
    start_coefficient_ : float
        What every voter has in addition to its α; 0 for ``start="zero"``.
    n_neighbors_ : int
        Number of neighbours, as given or chosen.
    n_rounds_ : int
        Number of rounds, as given or chosen.
    neighbors_ : Neighbors
        Training graph among samples of positive weight.
    history_ : list of ndarray
        Risk before and after each round, one array per class problem.
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
    The published algorithm is ``vote_weights="uniform", start="zero", oracle="delta"`` with ``delta="closed_form",
    balance="uniform"``. See `N3Classifier` for how examples are ranked for ``n_prototypes``, and the errata for
    what the thesis leaves open.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import UNNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = UNNClassifier(5).fit(X[:900], y[:900])
    >>> voters = model.explain(X[900:901])[0]
    >>> voters.contributions.shape
    (5, 10)
    >>> bool((voters.total() == model.decision_function(X[900:901])).all())
    True
    """

    _losses = ("exp", "log", "mat")
    model_schema: ClassVar[Schema] = boosted()

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        loss: str = "exp",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
        prototypes: str = "examples",
        vote_weights: str = "uniform",
        start: str = "vote",
        metric: str = "l2",
        learning_rate: float = 1.0,
        oracle: str = "delta",
        min_reverse_neighbors: int = 1,
        class_weight: dict[Any, float] | str | None = None,
        search: str = "exact",
        vote_from: str = "auto",
        early_stopping: bool = False,
        calibration: str | None = "temperature",
        delta: str = "closed_form",
        soft_lambda: float | None = None,
        balance: str = "uniform",
        memory: float | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.n_rounds = n_rounds
        self.n_prototypes = n_prototypes
        self.prototypes = prototypes
        self.vote_weights = vote_weights
        self.start = start
        self.metric = metric
        self.learning_rate = learning_rate
        self.oracle = oracle
        self.min_reverse_neighbors = min_reverse_neighbors
        self.class_weight = class_weight
        self.search = search
        self.vote_from = vote_from
        self.early_stopping = early_stopping
        self.calibration = calibration
        self.delta = delta
        self.soft_lambda = soft_lambda
        self.balance = balance
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _make_step_rule(self) -> StepRule:
        return UniversalRule(
            get_loss(self.loss),
            self.learning_rate,
            self.oracle,
            self.min_reverse_neighbors,
            self.delta,
            self.balance,
        )

    def _make_vote_rule(self) -> VoteRule:
        return PlainVotes("uniform", self.soft_lambda) if self.soft_lambda else super()._make_vote_rule()

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("delta", self.delta, ("closed_form", "exact"))
        check_choice("balance", self.balance, BALANCES)
        check_positive("soft_lambda", self.soft_lambda, optional=True)
        if self.soft_lambda is not None and self.vote_weights != "uniform":
            raise ValueError(
                f'soft_lambda weighs uniform votes by rank; use vote_weights="uniform", not {self.vote_weights!r}.'
            )
