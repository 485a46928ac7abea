"""N3: nearest neighbours boosted by Newton steps."""

from collections.abc import Mapping
from typing import Any, ClassVar

from nearboost.base.entries import ListOf
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice
from nearboost.boosting.classifier import WeightPerClass, default_rounds
from nearboost.boosting.engine import StepRule
from nearboost.boosting.newton import NewtonRule
from nearboost.boosting.rational import MOST_ROUNDS, MOST_ROWS, RationalRule, exact_coefficients
from nearboost.boosting.state import FRACTIONS, boosted, restore_fractions
from nearboost.boosting.training import Outcome
from nearboost.losses import get_loss


class N3Classifier(WeightPerClass):
    """Nearest neighbours whose votes are learned by Newton steps (N3).

    Each round picks one example, moves its coefficient by a safe Newton step on a calibrated loss, and reweights
    the rows it votes on. Classes are learned one against the rest; ``y`` may be multilabel.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbours that vote. "auto" picks among 1, 3, 5, 7, 11, 15 and 31 (and 100 for INN votes): of
        those whose plain vote on left-out training rows is right as often as the best's, to within half a standard
        error, the one with the least log-loss; from a zero start, the largest.
    loss : {"log", "binlog", "mat", "hinge", "squared"}, default="log"
        Calibrated loss to minimise: logistic, logistic in base 2, Matsushita's, smoothed hinge, or squared.
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
    vote_weights : {"uniform", "rank", "gaussian", "inn"}, default="rank"
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
    oracle : {"delta", "decrease", "random"}, default="decrease"
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
    arithmetic : {"float", "rational"}, default="float"
        "rational" computes with exact fractions. It needs ``loss="hinge"``, uniform votes, a zero start and a
        small training set, and adds ``exact_coefficients_``.
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
    exact_coefficients_ : list of dict
        For each class problem, the exact coefficient of each training row; ``arithmetic="rational"`` only.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    The published algorithm is ``vote_weights="uniform", start="zero", oracle="delta"``. The documentation explains
    the other settings and every default; its errata list the slips printed in the papers.

    For ``n_prototypes``, examples are ranked by the order in which N3 with the squared loss, starting from zero,
    first picks them: that loss stops counting a row once it is safely covered.

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
    model_schema: ClassVar[Schema] = boosted(exact_coefficients_=ListOf(FRACTIONS))

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        *,
        loss: str = "log",
        n_rounds: int | None = None,
        n_prototypes: int | float | None = None,
        prototypes: str = "examples",
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
        self.arithmetic = arithmetic
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _make_step_rule(self) -> StepRule:
        if self.arithmetic == "rational":
            return RationalRule(self.learning_rate, self.oracle, self.min_reverse_neighbors)
        return NewtonRule(get_loss(self.loss), self.learning_rate, self.oracle, self.min_reverse_neighbors)

    def check_parameters(self) -> None:
        super().check_parameters()
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

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        super().restore_model_state(state)
        if "exact_coefficients_" in state:
            self.exact_coefficients_ = [restore_fractions(one) for one in state["exact_coefficients_"]]

    def _keep(self, outcome: Outcome) -> None:
        super()._keep(outcome)
        if self.arithmetic == "rational":
            self.exact_coefficients_ = [
                {int(self._kept[row]): coefficient for row, coefficient in table.items()}
                for table in exact_coefficients(outcome.learned.runs)
            ]
