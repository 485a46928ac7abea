"""N3: nearest neighbours boosted by Newton steps."""

from typing import Any

from nearboost.base.validation import check_choice
from nearboost.boosting.base import default_rounds
from nearboost.boosting.engine import StepRule
from nearboost.boosting.newton import NewtonRule
from nearboost.boosting.per_class import WeightPerClass
from nearboost.boosting.rational import MOST_ROUNDS, MOST_ROWS, RationalRule, exact_coefficients
from nearboost.boosting.training import Outcome
from nearboost.losses import get_loss


class N3Classifier(WeightPerClass):
    """Nearest neighbours whose votes are learned by Newton steps (N3).

    A round picks one example and moves its coefficient by a safe Newton step on a calibrated loss; the rows it
    votes on are reweighted. Classes are learned one against the rest, multilabel ``y`` as well.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many neighbours vote. "auto" takes the largest of 1, 3, 5, 7, 11, 15 whose plain vote, each row
        left out, is right as often as the best one's, within a standard error (two for rank and INN
        votes); for INN votes also of 31 and 100.
    loss : {"log", "binlog", "mat", "hinge", "squared"}
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
    arithmetic : {"float", "rational"}
        "rational" computes in exact fractions (loss "hinge", uniform votes from zero, small sets) and adds
        ``exact_coefficients_``: for each class problem, a dict from training row to coefficient.
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
    The published algorithm is ``vote_weights="uniform", start="zero", oracle="delta"``; the other settings and
    all defaults are explained in the documentation, printed slips of the papers in its errata. Examples are
    ranked for ``n_prototypes`` by the order in which N3 with the squared loss from zero first picks them: that
    loss stops counting a row once it is safely covered.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import N3Classifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = N3Classifier(n_prototypes=0.1).fit(X[:900], y[:900])
    >>> len(model.prototypes_)
    90
    >>> bool(model.score(X[900:], y[900:]) > 0.9)
    True
    """

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

    def _make_step_rule(self) -> StepRule:
        if self.arithmetic == "rational":
            return RationalRule(self.learning_rate, self.oracle, self.min_reverse_neighbors)
        return NewtonRule(get_loss(self.loss), self.learning_rate, self.oracle, self.min_reverse_neighbors)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("arithmetic", self.arithmetic, ("float", "rational"))
        if self.arithmetic == "float":
            return
        if self.loss != "hinge":
            raise ValueError(f'arithmetic="rational" needs loss="hinge", not {self.loss!r}: no other is rational.')
        if self.oracle == "random":
            raise ValueError('arithmetic="rational" needs oracle="delta" or "decrease", not "random".')
        if self.vote_weights != "uniform" or self.start != "zero":
            raise ValueError(
                'arithmetic="rational" needs vote_weights="uniform" and start="zero"; other votes are not '
                "fractions of few digits."
            )
        if self.n_rounds is not None and self.n_rounds > MOST_ROUNDS:
            raise ValueError(
                f'arithmetic="rational" with n_rounds={self.n_rounds} would not end, because fractions grow with '
                f"every round; use n_rounds={MOST_ROUNDS} or fewer."
            )

    def _rounds(self, n_rows: int, n_classes: int) -> int:
        if self.arithmetic == "float":
            return super()._rounds(n_rows, n_classes)
        if n_rows > MOST_ROWS:
            raise ValueError(
                f'arithmetic="rational" is for small sets, and {n_rows} samples are too many; '
                f'use {MOST_ROWS} or fewer, or arithmetic="float".'
            )
        return min(MOST_ROUNDS, default_rounds(n_rows, n_classes)) if self.n_rounds is None else self.n_rounds

    def _keep(self, outcome: Outcome) -> None:
        super()._keep(outcome)
        if self.arithmetic == "rational":
            self.exact_coefficients_ = [
                {int(self._kept[row]): coefficient for row, coefficient in table.items()}
                for table in exact_coefficients(outcome.learned.courses)
            ]
