"""UNN: universal nearest neighbours."""

from typing import Any

from nearboost.boosting.base import LeveragedNeighborsClassifier
from nearboost.boosting.engine import StepRule
from nearboost.boosting.universal import UniversalRule
from nearboost.losses import get_loss


class UNNClassifier(LeveragedNeighborsClassifier):
    """Universal nearest neighbours."""

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

    def _step_rule(self) -> StepRule:
        return UniversalRule(
            get_loss(self.loss),
            self.learning_rate,
            self.oracle,
            self.min_reverse_neighbors,
            self.delta,
            self.balance,
        )
