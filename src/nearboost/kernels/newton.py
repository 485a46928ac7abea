"""N3: boosting by Newton steps on one class problem (Algorithm 1 of the N3 paper).

A round touches R_j and the voters of its members only: O(n_j k log m), whatever the number of rows.
Margins are the state; the weight of an example is w = −F'(margin)/K, which is eq. (8) unrolled.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.losses import loss_slope, loss_value
from nearboost.kernels.oracle import RANDOM, build_tree, candidate_value, choose, set_leaf


@kernel
def reverse_totals(graph, example_weight, count, squares):
    """n_j and Σ_i v_i b_ij² over the members of each R_j that count in learning."""
    for j in range(len(count)):
        count[j] = 0
        squares[j] = 0.0
        for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
            v = example_weight[graph.reverse[entry]]
            if v > 0.0:
                count[j] += 1
                squares[j] += v * graph.reverse_votes[entry] ** 2


@kernel
def weigh_rest(graph, example_weight, step, margin, weight, sums):
    """Weights and vote sums as they stand when every example is on the rest's side (y = −1)."""
    sums[:] = 0.0
    for i in range(len(margin)):
        weight[i] = loss_slope(step.loss, margin[i]) / step.weight_scale
        for entry in range(graph.ptr[i], graph.ptr[i + 1]):
            sums[graph.voters[entry]] -= example_weight[i] * weight[i] * graph.votes[entry]


@kernel
def start_class(graph, examples, step, state, rows, row_codes, row_margins):
    """Turn "everyone on the rest's side" into one class problem by moving the rows that differ.

    Returns what that changes of the risk and of the held-out risk.
    """
    risk_change = 0.0
    held_change = 0.0
    for r in range(len(rows)):
        i = rows[r]
        loss_change = loss_value(step.loss, row_margins[r]) - loss_value(step.loss, state.margin[i])
        risk_change += examples.weight[i] * loss_change
        held_change += examples.held_out_weight[i] * loss_change
        before = -state.weight[i]  # y w on the rest's side, as the sums have it
        state.codes[i] = row_codes[r]
        state.margin[i] = row_margins[r]
        state.weight[i] = loss_slope(step.loss, row_margins[r]) / step.weight_scale
        change = examples.weight[i] * (row_codes[r] * state.weight[i] - before)
        for entry in range(graph.ptr[i], graph.ptr[i + 1]):
            state.sums[graph.voters[entry]] += change * graph.votes[entry]
    return risk_change, held_change


@kernel
def total_risk(loss, margin, example_weight):
    """Σ v F(margin)."""
    total = 0.0
    for i in range(len(margin)):
        if example_weight[i] > 0.0:
            total += example_weight[i] * loss_value(loss, margin[i])
    return total


@kernel
def voter_value(j, examples, step, state):
    """What the oracle compares, for voter j."""
    eta = state.codes[j] * state.sums[j]
    return candidate_value(step.oracle, eta, examples.squares[j], step.newton_constant)


@kernel
def plant_tree(examples, step, state):
    """The oracle's tree at the start of a class problem."""
    size = len(state.tree) // 2
    state.tree[:] = 0.0 if step.oracle == RANDOM else -np.inf
    for j in range(len(state.sums)):
        if examples.eligible[j]:
            state.tree[size + j] = voter_value(j, examples, step, state)
    build_tree(state.tree, step.oracle)


@kernel
def reweigh(j, delta, now, graph, examples, step, state):
    """Move the margins of R_j by δ b y y, [I.2]; return the changes of risk and how many voters changed."""
    risk_change = 0.0
    held_change = 0.0
    n_touched = 0
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        v = examples.weight[i]
        old = state.margin[i]
        new = old + delta * graph.reverse_votes[entry] * state.codes[i] * state.codes[j]
        state.margin[i] = new
        # Rows that are neither learned from nor held out have no loss to count.
        if v > 0.0 or examples.held_out_weight[i] > 0.0:
            loss_change = loss_value(step.loss, new) - loss_value(step.loss, old)
            risk_change += v * loss_change
            held_change += examples.held_out_weight[i] * loss_change
        if v > 0.0:  # w changes, eq. (8), and with it the sum of every voter on i
            new_weight = loss_slope(step.loss, new) / step.weight_scale
            change = v * state.codes[i] * (new_weight - state.weight[i])
            state.weight[i] = new_weight
            for f in range(graph.ptr[i], graph.ptr[i + 1]):
                n = graph.voters[f]
                state.sums[n] += change * graph.votes[f]
                if state.stamp[n] != now:  # list each voter once a round
                    state.stamp[n] = now
                    state.touched[n_touched] = n
                    n_touched += 1
    return risk_change, held_change, n_touched


@kernel
def newton_rounds(graph, examples, step, state, draws, record):
    """Boost one class until the rounds are used up or no candidate has δ > 0; return the rounds done."""
    for t in range(len(record.picks)):
        j = choose(state.tree, step.oracle, draws[t] if step.oracle == RANDOM else 0.0)
        if j < 0:
            return t
        delta = step.newton_constant * state.codes[j] * state.sums[j] / examples.squares[j]  # [I.1], L η / Σ v b²
        record.picks[t] = j
        record.deltas[t] = delta
        risk_change, held_change, n_touched = reweigh(j, delta, t + 1, graph, examples, step, state)
        record.risk[t + 1] = record.risk[t] + risk_change
        record.held_risk[t + 1] = record.held_risk[t] + held_change
        for n in state.touched[:n_touched]:
            if examples.eligible[n]:
                set_leaf(state.tree, step.oracle, n, voter_value(n, examples, step, state))
    return len(record.picks)
