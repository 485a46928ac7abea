"""MLNN and MAPBoost: boosting the exponential risk of multiclass edges, one coefficient for all classes.

Voter j moves the edge of example i by δ r_ij, where r_ij is the vote b_ij times 1/(C−1) if their labels
agree and −1/(C−1)² if not. Weights are start·exp(−edge) and are not renormalised, so a step δ depends on the
rows its voter votes on and on nothing else: a round touches R_j and the voters of its members only.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.oracle import LARGEST_DELTA, TIE_WINDOW, build_tree, choose, inside, set_leaf

STALE = 1e-3  # when the risk has fallen so far, sums kept by differences have lost as many digits
VANISHED = 1e-280  # all edges are so large that no weight is left to learn from
MOST_STEPS = 200  # of Newton and bisection together; a handful is usual
LARGEST_EXPONENT = 300.0  # of a held-out weight, which learning does not keep small


@kernel
def edge_of(i, j, vote, step, state):
    """r_ij, eq. (9)."""
    return vote * (step.agreeing if state.classes[i] == state.classes[j] else step.differing)


@kernel
def side_sums(graph, state):
    """w⁺ and w⁻ of every voter, eq. (16)."""
    for j in range(len(state.agree)):
        state.agree[j], state.differ[j] = weights_of_sides(j, graph, state)


@kernel
def weights_of_sides(j, graph, state):
    """w⁺ and w⁻ of one voter, summed afresh."""
    agree, differ = 0.0, 0.0
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        if state.classes[i] == state.classes[j]:
            agree += state.weight[i]
        else:
            differ += state.weight[i]
    return agree, differ


@kernel
def smoothed_delta(agree, differ, mean_vote, step):
    """Eq. (15) with 1/m added to numerator and denominator, for votes of the size ``mean_vote``."""
    odds = step.agreeing / -step.differing  # C − 1
    ratio = (odds * agree + step.smoothing) / (differ + step.smoothing)
    return np.log(ratio) / ((step.agreeing - step.differing) * mean_vote)


@kernel
def log_term(entry, r, delta, graph, step, state):
    """Logarithm of w |r| e^(−δr) for one row that a voter votes on; r is in units of the voter's mean vote."""
    i = graph.reverse[entry]
    size = state.log_votes[entry] + (step.log_agreeing if r > 0.0 else step.log_differing)
    return state.log_start[i] - state.edge[i] - delta * r + size


@kernel
def side_logs(j, delta, graph, step, state):
    """Logarithms of both sides of eq. (10), Σ w |r| e^(−δr) over agreeing and differing rows, and their slopes.

    In units of j's mean vote, and in logarithms throughout: a weight or a vote too small for a number still
    decides where the root is.
    """
    # First the largest term of each side, smoothing included, so that the sums below cannot overflow.
    top_agree, top_differ = -np.inf, -np.inf
    if step.always_smooth:
        top_agree = step.log_agree + step.log_agreeing - delta * step.agreeing
        top_differ = step.log_differ + step.log_differing - delta * step.differing
    smooth_agree, smooth_differ = top_agree, top_differ
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        r = edge_of(graph.reverse[entry], j, state.relative_votes[entry], step, state)
        term = log_term(entry, r, delta, graph, step, state)
        if r > 0.0:
            top_agree = max(top_agree, term)
        else:
            top_differ = max(top_differ, term)
    # Then both sums and their derivatives, in units of these terms.
    agree, agree_slope, differ, differ_slope = 0.0, 0.0, 0.0, 0.0
    if step.always_smooth:
        agree, differ = np.exp(smooth_agree - top_agree), np.exp(smooth_differ - top_differ)
        agree_slope, differ_slope = -step.agreeing * agree, -step.differing * differ
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        r = edge_of(graph.reverse[entry], j, state.relative_votes[entry], step, state)
        term = log_term(entry, r, delta, graph, step, state)
        if r > 0.0:
            share = np.exp(term - top_agree)
            agree += share
            agree_slope -= r * share
        else:
            share = np.exp(term - top_differ)
            differ += share
            differ_slope -= r * share
    return top_agree - top_differ + np.log(agree / differ), agree_slope / agree - differ_slope / differ


@kernel
def linear_root(j, graph, step, state):
    """The root of eq. (10) made linear, eq. (18): Σ w r / Σ w r², in units of j's mean vote."""
    first, second = 0.0, 0.0
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        r = edge_of(i, j, state.relative_votes[entry], step, state)
        first += state.weight[i] * r
        second += state.weight[i] * r * r
    return first / second if second > 0.0 else 0.0


@kernel
def root_delta(j, graph, step, state):
    """The root of eq. (10) where both signs occur, in units of j's mean vote, and how many steps it took.

    From the paper's start by Newton's method on the logarithm of the ratio of both sides: it falls in δ and is
    nearly a straight line (exactly one for equal votes). Kept inside a bracket.
    """
    delta = linear_root(j, graph, step, state)
    low, high = -np.inf, np.inf
    for n_steps in range(1, MOST_STEPS + 1):
        value, slope = side_logs(j, delta, graph, step, state)
        if value > 0.0:
            low = delta
        else:
            high = delta
        following = delta - value / slope if slope < 0.0 else np.inf
        # Newton's error is squared by a step: after one of 1e-8, what is left is less than a rounding.
        if abs(value) <= 1e-8 or abs(following - delta) <= 1e-8 * abs(delta) or high - low <= 1e-14 * abs(delta):
            return following, n_steps
        delta = following if low < following < high else inside(low, high)
    return delta, MOST_STEPS


@kernel
def solve_delta(j, graph, step, state):
    """δ of voter j and the steps its root took; the closed form takes none.

    With rows of one sign only there is no finite root: the smoothed closed form stands in.
    """
    if step.closed_form or not (step.always_smooth or state.two_sided[j]):
        return smoothed_delta(state.agree[j], state.differ[j], state.mean_vote[j], step), 0
    if not step.always_smooth:
        agree, differ = weights_of_sides(j, graph, state)
        if agree + differ < VANISHED:
            return 0.0, 0  # nothing is left to learn from
    delta, n_steps = root_delta(j, graph, step, state)
    return delta / state.mean_vote[j], n_steps


@kernel
def refresh(j, graph, step, state):
    """Put the present δ of voter j into the oracle's tree; return the steps its root took."""
    delta, n_steps = solve_delta(j, graph, step, state)
    set_leaf(state.tree, LARGEST_DELTA, j, delta if delta > TIE_WINDOW else -np.inf)
    state.stale[j] = False
    return n_steps


@kernel
def plant_tree(graph, step, state):
    """The oracle's tree before the first round."""
    size = len(state.tree) // 2
    state.tree[:] = -np.inf
    for j in range(len(state.agree)):
        if state.eligible[j]:
            delta, _ = solve_delta(j, graph, step, state)
            state.tree[size + j] = delta if delta > TIE_WINDOW else -np.inf
    build_tree(state.tree, LARGEST_DELTA)


@kernel
def top_leaf(tree):
    """The first candidate with the largest value."""
    node, size = 1, len(tree) // 2
    while node < size:
        node *= 2
        if tree[node] < tree[node + 1]:
            node += 1
    return node - size


@kernel
def pick(graph, step, state):
    """The largest δ, its voter (-1: none is left), and how many roots and steps finding it took.

    A stale δ can only have fallen, so it is solved again when it comes to the top or is tied with it.
    """
    n_roots, n_steps = 0, 0
    while True:
        j = top_leaf(state.tree)
        if not state.stale[j]:
            j = choose(state.tree, LARGEST_DELTA, 0.0)
        if j < 0 or not state.stale[j]:
            break
        taken = refresh(j, graph, step, state)
        n_steps += taken
        n_roots += taken > 0
    delta = state.tree[len(state.tree) // 2 + j] if j >= 0 else 0.0
    return j, delta, n_roots, n_steps


@kernel
def reweigh(j, delta, now, graph, step, state):
    """w ← w e^(−δr) on R_j, eq. (13); return the changes of both risks and how many voters are touched."""
    risk_change, held_change = 0.0, 0.0
    n_touched = 0
    for entry in range(graph.reverse_ptr[j], graph.reverse_ptr[j + 1]):
        i = graph.reverse[entry]
        state.edge[i] += delta * edge_of(i, j, graph.reverse_votes[entry], step, state)
        # From the edge, not from the weight before: errors of rounding do not add up.
        factor = np.exp(min(-state.edge[i], LARGEST_EXPONENT))
        held = state.held_out_start[i] * factor
        held_change += held - state.held_out_weight[i]
        state.held_out_weight[i] = held
        weight = state.start[i] * factor
        change = weight - state.weight[i]
        state.weight[i] = weight
        risk_change += change
        if state.start[i] > 0.0:  # held-out rows count in no sum
            for f in range(graph.ptr[i], graph.ptr[i + 1]):
                n = graph.voters[f]
                if state.classes[n] == state.classes[i]:
                    state.agree[n] += change
                else:
                    state.differ[n] += change
                if state.stamp[n] != now:
                    state.stamp[n] = now
                    state.touched[n_touched] = n
                    n_touched += 1
    return risk_change, held_change, n_touched


@kernel
def edge_rounds(graph, step, state, record, measures, first, stop):
    """Rounds ``first`` to ``stop`` (not included); return the rounds done in all.

    A touched voter of j's own class has lost agreeing weight or gained differing weight, so its δ has fallen
    and is only marked; those of other classes are solved again at once.
    """
    fresh, held_peak = np.inf, np.inf
    for t in range(first, stop):
        # Sums kept by differences lose digits as the risk falls: make them anew in time.
        if record.risk[t] < STALE * fresh:
            side_sums(graph, state)
            record.risk[t] = fresh = state.weight.sum()
        if record.held_risk[t] < STALE * held_peak:
            record.held_risk[t] = held_peak = state.held_out_weight.sum()
        held_peak = max(held_peak, record.held_risk[t])
        if record.risk[t] < VANISHED:
            return t
        j, delta, n_roots, n_steps = pick(graph, step, state)
        if j < 0:
            return t
        agree, differ = weights_of_sides(j, graph, state)  # before the step, as the theory has them
        record.picks[t] = j
        record.deltas[t] = delta
        risk_change, held_change, n_touched = reweigh(j, delta, t + 1, graph, step, state)
        record.risk[t + 1] = record.risk[t] + risk_change
        record.held_risk[t + 1] = record.held_risk[t] + held_change
        for n in state.touched[:n_touched]:
            if not state.eligible[n]:
                continue
            if not step.closed_form and state.classes[n] == state.classes[j]:
                state.stale[n] = True
            else:
                taken = refresh(np.int64(n), graph, step, state)  # an int32 would have it compiled once more
                n_steps += taken
                n_roots += taken > 0
        measures.agreement[t] = agree / (agree + differ) if agree + differ > 0.0 else 0.0
        measures.coverage[t] = (agree + differ) / record.risk[t]
        measures.factor[t] = record.risk[t + 1] / record.risk[t]
        measures.roots[t] = n_roots
        measures.steps[t] = n_steps
    return stop
