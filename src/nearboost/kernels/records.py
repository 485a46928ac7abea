"""What kernels are given: named tuples of arrays and numbers, which numba takes apart by name."""

from typing import Any, NamedTuple


class VoteGraph(NamedTuple):
    """Votes by row (who votes on i) and reversed (R_j, whom j votes on), both as compressed rows."""

    ptr: Any
    voters: Any
    votes: Any
    reverse_ptr: Any
    reverse: Any
    reverse_votes: Any


class Record(NamedTuple):
    """What a class problem writes down, round by round; risks start with the one before round 0."""

    picks: Any
    deltas: Any
    risk: Any
    held_risk: Any


class NewtonStep(NamedTuple):
    """How N3 steps: ``newton_constant`` is L times the learning rate."""

    loss: int
    weight_scale: float
    newton_constant: float
    oracle: int


class NewtonExamples(NamedTuple):
    """Per example: v in learning and held out. Per voter: Σ v b² over R_j, and whether it may be picked."""

    weight: Any
    held_out_weight: Any
    squares: Any
    eligible: Any


class NewtonState(NamedTuple):
    """One class problem in progress: codes y, margins, weights w, voters' sums Σ v w b y, the oracle's tree.

    ``touched`` and ``stamp`` are scratch space: the voters a round has touched, and in which round.
    """

    codes: Any
    margin: Any
    weight: Any
    sums: Any
    tree: Any
    touched: Any
    stamp: Any


class UniversalStep(NamedTuple):
    """How UNN steps. W⁺ is smoothed by smoothing + y·tilt, W⁻ by smoothing − y·tilt."""

    loss: int
    closed_form: bool
    learning_rate: float
    smoothing: float
    tilt: float
    oracle: int


class UniversalState(NamedTuple):
    """One class problem in progress.

    Per example: codes y, raw weights (up to a common scale), margins, held-out weights. Per voter: W⁺ and
    W⁻ in raw weights, whether R_j has members on both sides, its mean vote, 1.0 while it may be picked, the
    δ known last, and whether its sums changed since.
    """

    codes: Any
    raw: Any
    margin: Any
    held_out_weight: Any
    agree: Any
    differ: Any
    mean_vote: Any
    largest_vote: Any
    open: Any
    known: Any
    changed: Any


class EdgeStep(NamedTuple):
    """How MLNN and MAPBoost step: r_ij per vote where labels agree and where they differ (below zero).

    ``log_agree`` and ``log_differ`` are logarithms of the weight that smoothing adds to either side,
    ``log_agreeing`` and ``log_differing`` those of the sizes of r.
    """

    agreeing: float
    differing: float
    closed_form: bool
    smoothing: float
    always_smooth: bool
    log_agree: float
    log_differ: float
    log_agreeing: float
    log_differing: float


class EdgeState(NamedTuple):
    """One problem in progress.

    Per example: its class, start weight, the logarithm of it and weight in learning, both weights held out,
    its edge. Per voter: w⁺ and w⁻, whether R_j has rows of both signs, its mean vote, whether it may be picked,
    whether its δ has fallen since it was solved. ``tree`` is the oracle's; ``touched`` and ``stamp`` are scratch
    space. ``relative_votes`` are the reversed votes in units of their voter's mean, ``log_votes`` the logarithms.
    """

    classes: Any
    start: Any
    log_start: Any
    weight: Any
    held_out_start: Any
    held_out_weight: Any
    edge: Any
    agree: Any
    differ: Any
    two_sided: Any
    mean_vote: Any
    eligible: Any
    tree: Any
    stale: Any
    touched: Any
    stamp: Any
    relative_votes: Any
    log_votes: Any


class EdgeMeasures(NamedTuple):
    """Per round: the pick's share of agreeing weight and of all weight, Z_t, roots solved and their steps."""

    agreement: Any
    coverage: Any
    factor: Any
    roots: Any
    steps: Any
