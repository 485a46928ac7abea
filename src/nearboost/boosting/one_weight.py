"""What MLNN and MAPBoost share: one weight per example for all classes, by the exponential risk of edges."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.entries import ListOf
from nearboost.base.progress import Advance
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_flag, check_positive
from nearboost.boosting.classifier import LeveragedNeighborsClassifier, default_rounds
from nearboost.boosting.engine import (
    BoostingRun,
    ClassProblems,
    Leverage,
    StepRule,
    empty_record,
    leverage_voters,
    run_from,
)
from nearboost.boosting.state import THEORY, boosted
from nearboost.boosting.training import Outcome, Recipe
from nearboost.kernels.records import EdgeMeasures, EdgeState, EdgeStep
from nearboost.neighbors import Neighbors
from nearboost.problem.targets import Labels, TrainingSet
from nearboost.votes import KernelVotes

USUAL_NEIGHBORS = 11  # where all rows vote
ROUNDS_PER_STEP = 2_000  # between two steps of the progress bar
FAINTEST = 1e-100  # mean vote, in units of the largest, of an example that can be weighed up
FAINT = 1e-3  # strongest vote of most rows, in units of the strongest of all, that is worth a warning


@dataclass(frozen=True)
class Diagnostics:
    """What the theory says about each round of one problem.

    Attributes
    ----------
    gamma : ndarray of shape (n_rounds,)
        |p − 1/C|: how far the picked example's share p of agreeing weight is from chance, eq. (22).
    eta : ndarray of shape (n_rounds,)
        Share of all weight that the picked example votes on, eq. (23).
    factors : ndarray of shape (n_rounds,)
        Z_t, by which the round multiplied the exponential risk; their product is the risk.
    bound : ndarray of shape (n_rounds,)
        exp(−C/(C−1) ηγ²τ) after τ rounds, with the smallest γ and η so far. Theorem 2 bounds the risk by it for
        equal votes and unsmoothed steps; with smoothing by 1/m it nearly always holds.
    n_roots : ndarray of shape (n_rounds,)
        How many δ were solved for numerically.
    n_steps : ndarray of shape (n_rounds,)
        Newton steps these took.
    """

    gamma: NDArray[np.float64]
    eta: NDArray[np.float64]
    factors: NDArray[np.float64]
    bound: NDArray[np.float64]
    n_roots: NDArray[np.int32]
    n_steps: NDArray[np.int32]


@dataclass(frozen=True)
class EdgeRule:
    """δ minimises Σ w e^(−δ r_ij), r_ij being the vote times 1/(C−1) or −1/(C−1)² (eq. 7 to 15).

    ``votes_alike`` says that the closed form holds. ``always_smooth`` adds the weight by which the closed form is
    smoothed to both sides of eq. (10), with the voter's mean vote, so that equal votes make the same δ either way.
    ``normalised`` makes scores by eq. (3) of MAPBoost.
    """

    one_vs_all: bool
    votes_alike: bool
    always_smooth: bool
    normalised: bool

    def prepare(self, problems: ClassProblems) -> "EdgeBooster":
        """See the engine."""
        return EdgeBooster(self, problems)

    def n_problems(self, labels: Labels) -> int:
        """All classes at once, or one problem per class."""
        return labels.n_columns if self.one_vs_all else 1

    def leverage(
        self,
        coefficients: csr_array,
        labels: Labels,
        start: NDArray[np.float64],
        prior: NDArray[np.float64],
    ) -> Leverage:
        """See the engine."""
        if self.one_vs_all:
            leverage, n_classes = leverage_voters(coefficients, labels, start), 2
            mass = Leverage(abs(leverage.values), np.zeros(labels.n_rows))
        else:
            leverage, n_classes = leverage_symmetric(coefficients, labels), labels.n_classes
            mass = Leverage(csr_array((labels.n_rows, labels.n_columns)), coefficients.toarray().ravel())
        # Where no voter has a weight: the prior, as a score of eq. (3) of MAPBoost.
        silence = (n_classes * prior - 1) / (n_classes - 1)
        return replace(leverage, mass=mass, silence=silence, normalised=self.normalised)


class EdgeBooster:
    """Boosts the problems of one set of votes."""

    def __init__(self, rule: EdgeRule, problems: ClassProblems) -> None:
        from nearboost.kernels import edges

        self._kernels = edges
        self._rule = rule
        self._problems = problems
        graph = problems.graph()
        # Only ratios of votes matter to what is learned; in units of the largest, none is too small or too large.
        self._unit = float(graph.votes.max(initial=0.0)) or 1.0
        self._graph = graph._replace(
            votes=graph.votes / self._unit, reverse_votes=graph.reverse_votes / self._unit
        )
        v = problems.weights.product
        self._start = v / v.sum()
        with np.errstate(divide="ignore"):  # rows left out weigh nothing
            self._log_start = np.log(self._start)
        voters = np.repeat(np.arange(problems.votes.n_voters), np.diff(graph.reverse_ptr))
        counted = (v[graph.reverse] > 0).astype(np.float64)
        members = np.bincount(voters, counted, problems.votes.n_voters)
        sums = np.bincount(voters, counted * self._graph.reverse_votes, problems.votes.n_voters)
        self._mean_vote = sums / np.maximum(members, 1)
        # Voters too faint to be weighed up are never looked at.
        units = np.where(self._mean_vote > FAINTEST, self._mean_vote, 1.0)
        self._relative_votes = self._graph.reverse_votes / units[voters]
        self._log_votes = np.log(self._relative_votes)
        self._eligible = (members > 0) & (self._mean_vote > FAINTEST) & problems.may_learn

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> BoostingRun:
        """See the engine."""
        kernels, graph, labels = self._kernels, self._graph, self._problems.labels
        if self._rule.one_vs_all:
            classes, n_classes = (labels.codes(column) > 0).astype(np.int32), 2
        else:
            classes, n_classes = labels.classes().astype(np.int32), labels.n_classes
        step, state = self._step(n_classes), self._start_state(classes)
        kernels.side_sums(graph, state)
        state.two_sided[:] = (state.agree > 0) & (state.differ > 0)
        kernels.plant_tree(graph, step, state)
        record, measures = empty_record(n_rounds), empty_measures(n_rounds)
        record.risk[0], record.held_risk[0] = 1.0, 1.0  # both start weights sum to 1
        done, over = 0, False
        while done < n_rounds and not over:  # one problem may be all there is: its rounds move the bar
            stop = min(n_rounds, done + ROUNDS_PER_STEP)
            reached = kernels.edge_rounds(graph, step, state, record, measures, done, stop)
            over = reached < stop
            advance((n_rounds if over else stop) - done)
            done = reached
        record.deltas[:done] /= self._unit
        return run_from(record, done, diagnose(measures, done, n_classes))

    def _step(self, n_classes: int) -> EdgeStep:
        """The edges of eq. (9), and the logarithms of what smoothing adds to both sides of eq. (10)."""
        smoothing = 1 / np.count_nonzero(self._start)
        return EdgeStep(
            agreeing=1 / (n_classes - 1),
            differing=-1 / (n_classes - 1) ** 2,
            closed_form=self._rule.votes_alike,
            smoothing=smoothing,
            always_smooth=self._rule.always_smooth,
            log_agree=np.log(smoothing / (n_classes - 1)),
            log_differ=np.log(smoothing),
            log_agreeing=-np.log(n_classes - 1),
            log_differing=-2 * np.log(n_classes - 1),
        )

    def _start_state(self, classes: NDArray[np.int32]) -> EdgeState:
        """Edges of zero: every weight is its start weight. Sums over R_j are still to be made."""
        n_voters, held_out = self._problems.votes.n_voters, self._problems.weights.held_out
        held_out_start = held_out / max(held_out.sum(), np.finfo(float).tiny)
        return EdgeState(
            classes=classes,
            start=self._start,
            log_start=self._log_start,
            weight=self._start.copy(),
            held_out_start=held_out_start,
            held_out_weight=held_out_start.copy(),
            edge=np.zeros(len(self._start)),
            agree=np.empty(n_voters),
            differ=np.empty(n_voters),
            two_sided=np.empty(n_voters, dtype=np.bool_),
            mean_vote=self._mean_vote,
            eligible=self._eligible,
            tree=np.empty(2 << max(0, n_voters - 1).bit_length()),
            stale=np.zeros(n_voters, dtype=np.bool_),
            touched=np.empty(n_voters, dtype=np.int32),
            stamp=np.zeros(n_voters, dtype=np.int32),
            relative_votes=self._relative_votes,
            log_votes=self._log_votes,
        )


def empty_measures(n_rounds: int) -> EdgeMeasures:
    """Room for what the rounds of one problem measure."""
    return EdgeMeasures(
        np.empty(n_rounds),
        np.empty(n_rounds),
        np.empty(n_rounds),
        np.empty(n_rounds, dtype=np.int32),
        np.empty(n_rounds, dtype=np.int32),
    )


def diagnose(measures: EdgeMeasures, n_rounds: int, n_classes: int) -> Diagnostics:
    """The weak index assumption and its bound, from what the first rounds measured."""
    agreement, eta, factors, n_roots, n_steps = (measure[:n_rounds].copy() for measure in measures)
    gamma = np.abs(agreement - 1 / n_classes)
    least = np.minimum.accumulate(eta) * np.minimum.accumulate(gamma) ** 2
    bound = np.exp(-n_classes / (n_classes - 1) * least * np.arange(1, n_rounds + 1))
    return Diagnostics(gamma, eta, factors, bound, n_roots, n_steps)


def leverage_symmetric(coefficients: csr_array, labels: Labels) -> Leverage:
    """α_j on j's own class and −α_j/(C−1) on every other (the symmetric codes of MLNN and MAPBoost)."""
    alpha = coefficients.toarray().ravel()
    values = csr_array(labels.members.astype(np.float64))
    values.data = values.data * np.repeat(alpha, np.diff(values.indptr))
    return Leverage(values, -alpha / (labels.n_classes - 1))


class WeightForAll(LeveragedNeighborsClassifier):
    """All classes at once, or with ``one_vs_all`` one at a time by the same algorithm with C = 2."""

    # As published; there is nothing to choose.
    loss = "exp"
    start = "zero"
    oracle = "delta"
    _normalised: bool  # whether scores are divided by the weight of the voters
    model_schema: ClassVar[Schema] = boosted(diagnostics_=ListOf(THEORY))

    @property
    def _multilabel(self) -> bool:  # type: ignore[override]
        return bool(self.one_vs_all)

    def _make_step_rule(self) -> StepRule:
        alike = self._make_vote_rule().alike
        return EdgeRule(self.one_vs_all, alike, self.smoothing == "always", self._normalised)

    @property
    def _was_one_vs_all(self) -> bool:
        """Whether the fit learned one weight for each class, whatever the parameter says now."""
        return not isinstance(self.coefficients_, np.ndarray)

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        super().restore_model_state(state)
        self.diagnostics_ = [Diagnostics(**one) for one in state["diagnostics_"]]
        if isinstance(self._vote_rule, KernelVotes):
            self.sigma_ = self._vote_rule.sigma

    def _restore_step_rule(self) -> StepRule:
        return EdgeRule(self._was_one_vs_all, votes_alike=False, always_smooth=False, normalised=self._normalised)

    def _choose_neighbors(self, graph: Neighbors, data: TrainingSet, recipe: Recipe) -> int:
        """From zero most of all rows get no weight: how well all of them vote together tells too little of it."""
        if recipe.n_prototypes is None and isinstance(recipe.vote_rule, KernelVotes):
            return min(USUAL_NEIGHBORS, graph.n_neighbors)
        return super()._choose_neighbors(graph, data, recipe)

    def _rounds(self, n_rows: int, n_classes: int) -> int:
        if self.n_rounds is not None:
            return int(self.n_rounds)
        if self.one_vs_all:  # from zero, each class has all rows to cover
            return default_rounds(n_rows, min(n_classes, 10))
        return default_rounds(n_rows, 1)

    def _present(self, coefficients: csr_array) -> Any:
        return coefficients if self.one_vs_all else coefficients.toarray().ravel()

    def _keep(self, outcome: Outcome) -> None:
        super()._keep(outcome)
        self.diagnostics_ = [run.diagnostics for run in outcome.learned.runs]
        rule = self._vote_rule
        if not isinstance(rule, KernelVotes):
            return
        self.sigma_ = rule.sigma
        strongest = rule.in_training(self.neighbors_).max(axis=1)
        if np.median(strongest) < FAINT * strongest.max():
            warnings.warn(
                "On most rows even the strongest vote is less than a thousandth of that on others, which boosting "
                "from the largest step cannot use; widen the kernel (sigma) or use 'adaptive'.",
                UserWarning,
                stacklevel=5,
            )

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag("one_vs_all", self.one_vs_all)
        check_choice("smoothing", self.smoothing, ("always", "one_sided"))

    def _check_sigma(self, kernel: Any) -> None:
        if isinstance(self.sigma, str):
            check_choice("sigma", self.sigma, ("sqrt", None))
        else:
            check_positive("sigma", self.sigma, optional=True)
        if self.sigma is None or kernel == "adaptive":
            return
        if kernel != "gaussian" or self.sigma == "sqrt":
            raise ValueError(
                f"sigma={self.sigma!r} has no meaning here: a number is the width of 'gaussian' or a multiple of "
                "that of 'adaptive', and 'sqrt' a width of 'adaptive'; leave it None otherwise."
            )
