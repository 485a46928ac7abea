"""UNN: boosting on one class problem (Algorithm 1 of the thesis) with weights renormalised each round.

Weights are kept up to a common ``scale`` (w = scale · raw), so renormalising costs nothing; a fixed
smoothing makes every untouched δ depend on that scale, so a round looks at all candidates.
Loss weights here are w = −F' for exp and log and −2F' for mat, as in Table 2.2.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.base.loss_formulas import EXP, LOG
from nearboost.kernels.losses import loss_value
from nearboost.kernels.oracle import LARGEST_DECREASE, LARGEST_DELTA, RANDOM, TIE_WINDOW, inside

STALE = 1e-3  # when the weights have fallen so far, sums kept by differences have lost as many digits
MOST_STEPS, MOST_NEWTON_STEPS = 250, 40  # of the root finder
FARTHEST = 30.0  # no margin moves farther in a step without a root: votes may differ by orders of magnitude
VANISHED = 1e-280  # all margins are so large that no weight is left to learn from


@kernel
def moved_weight(loss, weight, shift):
    """The weight after the margin moved by ``shift`` (Table 2.2, last column)."""
    if loss == EXP:
        return weight * np.exp(-shift)
    if weight <= 0.0:
        return 0.0
    if loss == LOG:
        return weight / (weight + (1.0 - weight) * np.exp(min(shift, 700.0)))
    margin = (1.0 - weight) / np.sqrt(weight * (2.0 - weight)) + shift
    root = np.sqrt(1.0 + margin * margin)
    if margin > 0.0:
        return 1.0 / (root * (root + margin))
    return 1.0 - margin / root


@kernel
def weight_slope(loss, weight):
    """−dw/d(margin), written in the weight itself."""
    if loss == EXP:
        return weight
    if loss == LOG:
        return weight * (1.0 - weight)
    return (weight * (2.0 - weight)) ** 1.5


@kernel
def delta_of_ratio(loss, ratio):
    """Closed form of δ (Table 2.2) in terms of W⁺/W⁻; all three grow with it."""
    if loss == EXP:
        return 0.5 * np.log(ratio)
    if loss == LOG:
        return np.log(ratio)
    root = np.sqrt(ratio)
    return 0.5 * (root - 1.0 / root)


@kernel
def exact_delta(j, scale, graph, state, loss):
    """Root of eq. (2.15), Σ b s w(margin + δ b s) = 0 over R_j: Newton kept inside a bracket.

    The left side falls in δ and both signs occur, so the root is unique. Starts from the δ known last. Far from
    the root Newton's steps are short, 1/b for votes b; halving the bracket takes over where they are too many.
    """
    low, high = -np.inf, np.inf
    delta = state.known[j]
    for n_steps in range(MOST_STEPS):
        value = 0.0
        slope = 0.0
        for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
            i = graph.reverse[entry]
            signed = graph.reverse_votes[entry] * state.codes[i] * state.codes[j]
            weight = moved_weight(loss, scale * state.raw[i], delta * signed)
            value += signed * weight
            slope += signed * signed * weight_slope(loss, weight)
        if value > 0.0:  # it falls in δ, so the root lies above
            low = delta
        else:
            high = delta
        following = delta + value / slope if slope > 0.0 else np.inf
        if not low < following < high or n_steps >= MOST_NEWTON_STEPS:
            following = inside(low, high)
        if abs(following - delta) <= 1e-14 * max(1.0, abs(delta)):
            return following
        delta = following
    return delta


@kernel
def is_two_sided(j, graph, state):
    """Whether rows that still have a weight agree with the candidate, and others differ: else there is no root."""
    agrees, differs = False, False
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        if state.raw[i] > 0.0:
            agrees |= state.codes[i] == state.codes[j]
            differs |= state.codes[i] != state.codes[j]
    return agrees and differs


@kernel
def side_sums(graph, state):
    """W⁺ and W⁻ of each candidate, and its mean and its largest vote."""
    for j in range(len(state.agree)):
        agree, differ, votes, largest = 0.0, 0.0, 0.0, 0.0
        members = 0
        for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
            i = graph.reverse[entry]
            vote = graph.reverse_votes[entry]
            if state.raw[i] > 0.0:
                members += 1
                votes += vote
                largest = max(largest, vote)
                if state.codes[i] == state.codes[j]:
                    agree += vote * state.raw[i]
                else:
                    differ += vote * state.raw[i]
        state.agree[j] = agree
        state.differ[j] = differ
        state.mean_vote[j] = votes / members if members > 0 else 1.0
        state.largest_vote[j] = largest if members > 0 else 1.0


@kernel
def smoothed_ratio(agree, differ, smoothing, tilt):
    """W⁺/W⁻ with both sides smoothed; ``tilt`` carries the sign of the voter's code."""
    return (agree + smoothing + tilt) / (differ + smoothing - tilt)


@kernel(fastmath={"nnan", "ninf", "nsz"})
def largest_ratio(agree, differ, codes, is_open, smoothing, tilt):
    """The largest W⁺/W⁻ of the open candidates (``is_open`` is 1 or 0)."""
    best = 0.0
    for j in range(len(agree)):
        best = max(best, is_open[j] * smoothed_ratio(agree[j], differ[j], smoothing, tilt * codes[j]))
    return best


@kernel
def pick_by_ratio(total, step, state):
    """The largest closed-form δ without computing any but its own; -1 when none is positive."""
    smoothing, tilt = step.smoothing * total, step.tilt * total
    best = largest_ratio(state.agree, state.differ, state.codes, state.open, smoothing, tilt)
    if best <= 1.0:
        return -1
    delta = delta_of_ratio(step.loss, best)
    if delta <= TIE_WINDOW:
        return -1
    tied = max(TIE_WINDOW, delta - TIE_WINDOW * max(1.0, delta))
    if step.loss == EXP:  # the ratio at which δ is the lowest one tied
        lowest = np.exp(2.0 * tied)
    elif step.loss == LOG:
        lowest = np.exp(tied)
    else:
        lowest = (tied + np.sqrt(1.0 + tied * tied)) ** 2
    for j in range(len(state.agree)):
        if state.open[j] > 0.0:
            ratio = smoothed_ratio(state.agree[j], state.differ[j], smoothing, tilt * state.codes[j])
            if ratio >= lowest or ratio == best:
                state.known[j] = delta_of_ratio(step.loss, ratio)
                return j
    return -1


@kernel
def worth(j, scale, oracle, state):
    """What the oracle compares: δ, or the decrease of the exponential risk (√W⁺ − √W⁻)²."""
    if oracle == LARGEST_DECREASE:
        return scale * (np.sqrt(state.agree[j]) - np.sqrt(state.differ[j])) ** 2
    return state.known[j]


@kernel
def pick_by_worth(scale, draw, oracle, state):
    """The oracle over candidates whose δ is known; -1 when none is positive."""
    best = -np.inf
    candidates = 0
    for j in range(len(state.known)):
        if state.open[j] > 0.0 and state.known[j] > TIE_WINDOW:
            candidates += 1
            best = max(best, worth(j, scale, oracle, state))
    rank = int(draw * candidates)
    tied = best - TIE_WINDOW * max(1.0, best)
    for j in range(len(state.known)):
        if state.open[j] > 0.0 and state.known[j] > TIE_WINDOW:
            if oracle == RANDOM:
                if rank == 0:
                    return j
                rank -= 1
            elif worth(j, scale, oracle, state) >= tied:
                return j
    return -1


@kernel
def measure_deltas(total, graph, step, state):
    """δ of every open candidate, by the closed form or as the exact root.

    Exponential roots do not depend on the scale, so only those whose sums changed are solved again.
    """
    smoothing, tilt = step.smoothing * total, step.tilt * total
    for j in range(len(state.known)):
        if state.open[j] == 0.0:
            continue
        if step.closed_form or not is_two_sided(j, graph, state):
            ratio = smoothed_ratio(state.agree[j], state.differ[j], smoothing, tilt * state.codes[j])
            delta = delta_of_ratio(step.loss, ratio) / state.mean_vote[j]
            state.known[j] = min(delta, FARTHEST / state.largest_vote[j])
        elif state.changed[j] or step.loss != EXP:
            state.known[j] = exact_delta(j, 1.0 / total, graph, state, step.loss)
        state.changed[j] = False


@kernel
def reweigh(j, delta, scale, graph, loss, state):
    """Reweight R_j, eq. (2.16), and bring W⁺ and W⁻ of its members' voters up to date."""
    raw_change, risk_change, held_change = 0.0, 0.0, 0.0
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        learns = state.raw[i] > 0.0
        shift = delta * graph.reverse_votes[entry] * state.codes[i] * state.codes[j]
        if learns or state.held_out_weight[i] > 0.0:
            loss_change = loss_value(loss, state.margin[i] + shift) - loss_value(loss, state.margin[i])
            state.margin[i] += shift
            risk_change += loss_change if learns else 0.0
            held_change += state.held_out_weight[i] * loss_change
        if learns:
            moved = moved_weight(loss, scale * state.raw[i], shift) / scale  # weights of the table sum to 1
            change = moved - state.raw[i]
            state.raw[i] = moved
            raw_change += change
            for f in range(graph.ptr[i], graph.ptr[i + 1]):
                n = graph.voters[f]
                state.changed[n] = True
                if state.codes[n] == state.codes[i]:
                    state.agree[n] = max(0.0, state.agree[n] + change * graph.votes[f])
                else:
                    state.differ[n] = max(0.0, state.differ[n] + change * graph.votes[f])
    return raw_change, risk_change, held_change


@kernel
def universal_rounds(graph, step, state, draws, record):
    """Boost one class; return the rounds done. Each example is chosen at most once."""
    total = state.raw.sum()
    fresh = total
    for t in range(len(record.picks)):
        # Sums kept by differences lose digits as the weights fall: make them anew in time.
        if total < STALE * fresh:
            side_sums(graph, state)
            total = state.raw.sum()
            fresh = total
        if total < VANISHED:
            return t
        scale = 1.0 / total
        if step.closed_form and step.oracle == LARGEST_DELTA:
            j = pick_by_ratio(total, step, state)
        else:
            measure_deltas(total, graph, step, state)
            j = pick_by_worth(scale, draws[t] if step.oracle == RANDOM else 0.0, step.oracle, state)
        if j < 0:
            return t
        delta = step.learning_rate * state.known[j]
        record.picks[t] = j
        record.deltas[t] = delta
        state.open[j] = 0.0  # each example at most once
        raw_change, risk_change, held_change = reweigh(j, delta, scale, graph, step.loss, state)
        total += raw_change
        record.risk[t + 1] = record.risk[t] + risk_change
        record.held_risk[t + 1] = record.held_risk[t] + held_change
    return len(record.picks)
