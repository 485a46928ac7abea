"""N3: nearest neighbours boosted by Newton steps."""

from typing import Any

from nearboost.boosting.base import LeveragedNeighborsClassifier
from nearboost.boosting.engine import StepRule
from nearboost.boosting.newton import NewtonRule
from nearboost.boosting.rational import RationalRule
from nearboost.losses import get_loss


class N3Classifier(LeveragedNeighborsClassifier):
    """Nearest neighbours boosted by Newton steps."""

    _losses = ("log", "binlog", "mat", "hinge", "squared")

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        loss: str = "log",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
        vote_weights: str = "rank",
        start: str = "vote",
        metric: str = "l2",
        learning_rate: float = 1.0,
        oracle: str = "decrease",
        min_reverse_neighbors: int = 1,
        class_weight: dict[Any, float] | str | None = None,
        search: str = "exact",
        vote_from: str = "auto",
        early_stopping: bool = False,
        calibration: str | None = "temperature",
        arithmetic: str = "float",
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
        self.arithmetic = arithmetic
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _step_rule(self) -> StepRule:
        if self.arithmetic == "rational":
            return RationalRule(self.learning_rate, self.oracle, self.min_reverse_neighbors)
        return NewtonRule(get_loss(self.loss), self.learning_rate, self.oracle, self.min_reverse_neighbors)
