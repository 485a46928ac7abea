"""UNN: universal nearest neighbours."""

from typing import Any

from nearboost.base.validation import check_choice, check_positive
from nearboost.boosting.engine import StepRule
from nearboost.boosting.per_class import WeightPerClass
from nearboost.boosting.universal import BALANCES, UniversalRule
from nearboost.losses import get_loss
from nearboost.votes import PlainVotes, VoteRule


class UNNClassifier(WeightPerClass):
    """Nearest neighbours whose votes are learned by boosting (UNN, and soft UNN).

    A round picks one example, each at most once, and gives it the coefficient that minimises the loss on the
    rows it votes on, from the weights W⁺ and W⁻ of those that agree and disagree with it. Every class starts
    with half of the weight on each side. Classes are learned one against the rest, multilabel ``y`` as well.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many neighbours vote. "auto" takes the largest of 1, 3, 5, 7, 11, 15 whose plain vote, each row
        left out, is right as often as the best one's, within a standard error (two for rank and INN
        votes); for INN votes also of 31 and 100.
    loss : {"exp", "log", "mat"}
    n_rounds : int or None
        Rounds of boosting per class. None lets the judge folds choose among 0, 1, 2, 4, … up to 2m/C (m samples,
        C classes) by their errors; where all rows vote, 0 (the plain vote) unless the gain is more than its
        standard error (from zero, 0 is no choice). Without judges (``calibration=None``), for multilabel ``y``,
        and for ``vote_from="prototypes"`` without ``n_prototypes``, None means 2m/C.
    n_prototypes : int, float or None
        Keep the best so many examples (a number, or a share of the training set) and learn their weights anew
        on the graph over them. Ranked by the order in which they cover the training rows (see Notes). None keeps
        whoever was given a coefficient.
    vote_weights : {"uniform", "rank", "gaussian", "inn"}
        A neighbour's vote: 1 (published), 1/r at rank r, exp(−d²/2ρ²) with ρ the farthest voter's distance, or its
        weight in the row's INN code over the neighbours (see `INNCoder`), for which 100 are not too many.
    start : {"zero", "vote"}
        Boosting starts from nothing (published), or from the plain vote times ``start_coefficient_``, which it
        then corrects. Sample and class weights multiply the plain vote.
    metric : {"l2", "cosine", "l1"}
    learning_rate : float
        Multiplies every step; 1 is the published step.
    oracle : {"delta", "decrease", "random"}
        Whom a round picks: the largest step (published), the largest guaranteed decrease of the risk, or anyone
        whose step is positive.
    min_reverse_neighbors : int
        Only examples that vote on so many others are picked.
    class_weight : dict, "balanced" or None
        Multiplies the loss of each class's samples, as scikit-learn defines it.
    search : {"exact", "hnsw"}
        "hnsw" is approximate and needs ``pip install "nearboost[approximate]"``.
    vote_from : {"auto", "prototypes", "all"}
        Whom queries are compared with: the prototypes alone (all of them vote when they are fewer than
        n_neighbors), or all training rows. "auto" is "prototypes" when ``n_prototypes`` is given, else "all".
    early_stopping : bool
        Stop at the round with the least risk on the judge folds.
    calibration : {"temperature", None}
        Fit the temperature of `predict_proba` on judge folds. None saves their time (unless ``early_stopping``):
        the temperature is then 1 and there are no held-out figures.
    delta : {"closed_form", "exact"}
        The step by the published formula, smoothed by 1/m, or as the exact root of eq. (2.15). Votes other than
        "uniform" have no closed form and always use the root, which is slower.
    soft_lambda : float or None
        λ of soft UNN: at query time the neighbour of rank r votes with 1/(1 + e^(λ(r−1))). Needs uniform votes.
    balance : {"uniform", "none", "adaptive"}
        Start weights: half of the mass on each side of the class (published); all samples alike; or halves with
        a smoothing that asks more support of the larger side's examples, so that both sides keep a like number
        of prototypes (our definition; the thesis reports the effect without a formula).
    n_jobs : int or None
        Threads; None means all cores. Results do not depend on it.
    random_state : int or None
        Seed of the judge folds and of the random oracle; None is 0, so that fits repeat.
    verbose : int
        Above 0, progress bars on standard error.

    Attributes
    ----------
    classes_ : the class labels (multilabel: column numbers)
    prototypes_ : rows of the training set that were kept, sorted
    coefficients_ : sparse matrix α, prototypes x classes; one column for two classes
    start_coefficient_ : what every voter starts with beside its α; 0 for ``start="zero"``
    n_neighbors_, n_rounds_ : as given or as chosen
    neighbors_ : the training graph, with ``indices`` and ``distances``
    history_ : the risk before and after each round, one array per class
    held_out_rows_, held_out_scores_, held_out_accuracy_, held_out_risk_ : what the judge folds say of training
        rows whose labels were not used: the figure to trust before there is test data
    temperature_, intercept_ : the calibration; ``intercept_`` is 0 unless ``y`` is multilabel

    Notes
    -----
    The published algorithm is ``vote_weights="uniform", start="zero", oracle="delta"`` with
    ``delta="closed_form", balance="uniform"``. See `N3Classifier` for how examples are ranked for
    ``n_prototypes``, and the errata for what the thesis leaves open.

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

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        loss: str = "exp",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
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
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.n_rounds = n_rounds
        self.n_prototypes = n_prototypes
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("delta", self.delta, ("closed_form", "exact"))
        check_choice("balance", self.balance, BALANCES)
        check_positive("soft_lambda", self.soft_lambda, optional=True)
        if self.soft_lambda is not None and self.vote_weights != "uniform":
            raise ValueError(
                f'soft_lambda weighs uniform votes by rank; use vote_weights="uniform", not {self.vote_weights!r}.'
            )
