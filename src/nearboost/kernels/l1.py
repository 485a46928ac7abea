"""Loops of l1-regularised least squares: ½|q − Σ w_i x_i|² + λ Σ|w_i|, each query over a list of samples.

With the rest r = q − Σ w_i x_i and the slopes c_i = x_i·r, weights are optimal where c_i = λ sign(w_i) for those
that are not zero and |c_i| ≤ λ for the others (the conditions of Karush, Kuhn and Tucker). Samples that have a
weight are called active; products between samples are made for these alone.
"""

import numpy as np

from nearboost.base.compiling import kernel

LEAST_PIVOT = 1e-12  # of a sample's squared length; with less left by others, the sample counts as made up by them
LEAST_CLOSING = 1e-10  # how fast a slope must come closer to the level to meet it one day
ROUNDS_PER_SAMPLE = 20
GRADIENT_STEPS, GRADIENT_TOLERANCE = 1_000, 1e-3

HOMOTOPY, GRADIENT = 1, 2


@kernel(fastmath={"reassoc", "contract"})  # so that sums fill vectors; their order is the same each time
def dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def multiply(rows, vector, products):
    for j in range(rows.shape[0]):
        products[j] = dot(rows[j], vector)


@kernel
def set_rest(rows, query, active, weights, rest):
    rest[:] = query
    for a in active:
        weight, row = weights[a], rows[a]
        for f in range(rest.size):
            rest[f] -= weight * row[f]


@kernel
def multiply_last(rows, active, gram):
    """The products of the last active sample with all of them."""
    last = active[active.size - 1]
    for a in active:
        gram[last, a] = gram[a, last] = dot(rows[last], rows[a])


@kernel
def factorise(active, gram, n_known, lower):
    """The Cholesky factor of the active rows and columns, of which some are known: up to which there is one.

    It ends at the first sample that those before it make up.
    """
    for i in range(n_known, active.size):
        row, own = gram[active[i]], lower[i]
        for j in range(i):
            own[j] = (row[active[j]] - dot(own[:j], lower[j, :j])) / lower[j, j]
        pivot = row[active[i]] - dot(own[:i], own[:i])
        if pivot <= LEAST_PIVOT * row[active[i]]:
            return i
        own[i] = np.sqrt(pivot)
    return active.size


@kernel
def solve(lower, values):
    """Solve L Lᵀ y = values, in place."""
    for i in range(values.size):
        values[i] = (values[i] - dot(lower[i, :i], values[:i])) / lower[i, i]
    for i in range(values.size - 1, -1, -1):
        values[i] /= lower[i, i]
        row, value = lower[i], values[i]
        for k in range(i):
            values[k] -= row[k] * value


@kernel
def steepest(slopes, weights, limit):
    """The sample without a weight whose slope is farthest above the limit, -1 for none."""
    place = -1
    for j in range(slopes.size):
        if weights[j] == 0.0 and abs(slopes[j]) > limit:
            place, limit = j, abs(slopes[j])
    return place


@kernel
def remove(active, n_active, which):
    for i in range(which, n_active - 1):
        active[i] = active[i + 1]
    return n_active - 1


@kernel
def set_direction(active, rank, gram, regularization, weights, slopes, lower, direction):
    """Where to go from here, and how far at most: to the minimum of the present signs, which is 1 away.

    Where the samples are linearly dependent, on a way that leaves the sum as it is and does not lengthen the
    weights, to the first zero.
    """
    n = active.size
    if rank == n:
        for i in range(n):
            direction[i] = slopes[active[i]] - regularization * np.sign(weights[active[i]])
        solve(lower, direction[:n])
        return 1.0
    for i in range(rank):
        direction[i] = -gram[active[rank], active[i]]
    solve(lower, direction[:rank])
    direction[rank] = 1.0
    direction[rank + 1 : n] = 0.0
    lengthening = 0.0
    for i in range(n):
        lengthening += np.sign(weights[active[i]]) * direction[i]
    if lengthening > 0.0:
        direction[:n] *= -1.0
    return np.inf


@kernel
def first_zero(active, weights, direction, limit):
    """Which weight comes to zero first on the way, and when; -1 for none before the limit."""
    first = -1
    for i in range(active.size):
        weight = weights[active[i]]
        if weight * direction[i] < 0.0 and -weight / direction[i] < limit:
            first, limit = i, -weight / direction[i]
    return first, limit


@kernel
def minimise_within_signs(active, n_known, gram, regularization, weights, slopes, lower, direction):
    """Go to the minimum of the signs; a weight that comes to zero on the way stays there.

    How many have a weight then, and of how many the factor is known.
    """
    n = active.size
    while n > 0:
        n_known = factorise(active[:n], gram, n_known, lower)
        limit = set_direction(active[:n], n_known, gram, regularization, weights, slopes, lower, direction)
        first, step = first_zero(active[:n], weights, direction, limit)
        for i in range(n):
            a = active[i]
            if limit == 1.0:  # slopes come to λ in a straight line; else the sum stays, and slopes with it
                slopes[a] -= step * (slopes[a] - regularization * np.sign(weights[a]))
            weights[a] += step * direction[i]
        if first < 0:
            break
        weights[active[first]] = 0.0
        n, n_known = remove(active, n, first), min(n_known, first)
    return n, n_known


@kernel
def list_weighted(weights, active):
    """The places of weights that are not zero, rising; how many they are."""
    n = 0
    for j in range(weights.size):
        if weights[j] != 0.0:
            active[n] = j
            n += 1
    return n


@kernel
def improve(rows, query, regularization, slack, weights, slopes, rest, active, gram, lower, direction):
    """Go to the minimum within the signs, give the steepest sample a weight, and so on until none is too steep.

    Whether that came about: it does unless rounding stands in the way.
    """
    n, n_known = list_weighted(weights, active), 0
    for i in range(n):
        multiply_last(rows, active[: i + 1], gram)
    set_rest(rows, query, active[:n], weights, rest)
    multiply(rows, rest, slopes)
    for _ in range(ROUNDS_PER_SAMPLE * slopes.size):
        n, n_known = minimise_within_signs(
            active[:n], n_known, gram, regularization, weights, slopes, lower, direction
        )
        set_rest(rows, query, active[:n], weights, rest)
        multiply(rows, rest, slopes)
        place, off = steepest(slopes, weights, regularization + slack), 0.0
        for a in active[:n]:
            off = max(off, abs(slopes[a] - regularization * np.sign(weights[a])))
        if place < 0 and off <= slack:
            return True
        if place >= 0:
            active[n] = place
            n += 1
            multiply_last(rows, active[:n], gram)
            slope, products = slopes[place], gram[place]
            weights[place] = (slope - regularization * np.sign(slope)) / products[place]
            for a in active[:n]:
                slopes[a] -= weights[place] * products[a]
    return slopes.size == 0


@kernel
def first_to_join(slopes, rates, level, signs, left_out, limit):
    """Which slope meets the falling level first, and when; -1 for none before the limit."""
    first = -1
    for j in range(slopes.size):
        if signs[j] == 0.0 and not left_out[j]:
            for sign in (-1.0, 1.0):
                closing = 1.0 - sign * rates[j]
                if closing > LEAST_CLOSING and level - sign * slopes[j] < limit * closing:
                    first, limit = j, max((level - sign * slopes[j]) / closing, 0.0)
    return first, limit


@kernel
def follow_path(rows, query, regularization, weights, slopes, rest, active, gram, lower, direction):
    """Homotopy: for a large λ all weights are zero; go down to the wanted one, from one change to the next.

    Slopes of active samples stay at the level λ. While this falls by 1, weights move by ``direction`` and slopes
    fall by ``rates``. A sample made up by active ones comes to the level only together with them: it is left out.
    """
    m, n, n_known = slopes.size, 0, 0
    weights[:] = 0.0
    signs, rates, left_out = np.zeros(m), np.empty(m), np.zeros(m, dtype=np.bool_)
    multiply(rows, query, slopes)
    joining = steepest(slopes, weights, regularization)
    level = abs(slopes[joining]) if joining >= 0 else 0.0
    for _ in range(ROUNDS_PER_SAMPLE * m):
        if level <= regularization:
            break
        if joining >= 0:
            active[n] = joining
            n += 1
            multiply_last(rows, active[:n], gram)
            signs[joining] = np.sign(slopes[joining])
        n_known = factorise(active[:n], gram, n_known, lower)
        if n_known < n:  # the one that joined: take it back
            n -= 1
            signs[joining] = 0.0
            left_out[joining] = True
        for i in range(n):
            direction[i] = signs[active[i]]
        solve(lower, direction[:n])
        rest[:] = 0.0
        for i in range(n):
            row = rows[active[i]]
            for f in range(rest.size):
                rest[f] += direction[i] * row[f]
        multiply(rows, rest, rates)
        leaving, step = first_zero(active[:n], weights, direction, level - regularization)
        joining, step = first_to_join(slopes, rates, level, signs, left_out, step)
        level = regularization if joining < 0 and leaving < 0 else level - step
        for i in range(n):
            weights[active[i]] += step * direction[i]
        if joining < 0 and leaving >= 0:
            weights[active[leaving]] = 0.0
            signs[active[leaving]] = 0.0
            left_out[:] = False
            n, n_known = remove(active, n, leaving), min(n_known, leaving)
        set_rest(rows, query, active[:n], weights, rest)
        multiply(rows, rest, slopes)


@kernel
def step_by_gradient(rows, query, regularization, weights, slopes, rest, active):
    """FISTA: soft thresholds of gradient steps from points ahead, started anew where it has gone too far ahead.

    It stops when a step hardly changes the weights, whose signs then are nearly those of the minimum.
    """
    curvature, speed = 0.0, 1.0
    for row in rows:
        curvature += dot(row, row)  # the sum of all curvatures is not below the largest
    ahead, before = weights.copy(), np.empty(weights.size)
    for _ in range(GRADIENT_STEPS if curvature > 0.0 else 0):
        set_rest(rows, query, active[: list_weighted(ahead, active)], ahead, rest)
        multiply(rows, rest, slopes)
        before[:] = weights
        turn, change = 0.0, 0.0
        for j in range(weights.size):
            pull = curvature * ahead[j] + slopes[j]
            weights[j] = np.sign(pull) * max(abs(pull) - regularization, 0.0) / curvature
            turn += (ahead[j] - weights[j]) * (weights[j] - before[j])
            change = max(change, abs(weights[j] - ahead[j]))
        if curvature * change <= GRADIENT_TOLERANCE * regularization:
            break
        last = speed if turn <= 0.0 else 1.0
        speed = (1.0 + np.sqrt(1.0 + 4.0 * last * last)) / 2.0
        for j in range(weights.size):
            ahead[j] = weights[j] + (last - 1.0) / speed * (weights[j] - before[j])


@kernel
def settle(rows, query, regularization, weights, rest, active, gram, lower, direction, settled):
    """Weights anew from their signs alone, samples in their order: the way to them leaves no trace."""
    if factorise(active, gram, 0, lower) == active.size:
        settled[:] = 0.0
        for _ in range(2):  # the second time corrects rounding
            set_rest(rows, query, active, settled, rest)
            for i in range(active.size):
                direction[i] = dot(rows[active[i]], rest) - regularization * np.sign(weights[active[i]])
            solve(lower, direction[: active.size])
            for i in range(active.size):
                settled[active[i]] += direction[i]
        alike = True
        for a in active:
            alike &= settled[a] * weights[a] > 0.0
        if alike:
            weights[:] = settled
    set_rest(rows, query, active, weights, rest)


@kernel
def code_lists(queries, samples, counts, X, Q, regularization, slacks, solver, weights, rests, solved):
    """Codes of some queries, each by the first ``counts`` of its samples, which rise, from the given weights on.

    ``rests`` become what codes leave over. ``solved`` tells where no slope is off by more than the slack.
    """
    longest = 0
    for r in queries:
        longest = max(longest, counts[r])
    all_rows, all_slopes, all_settled = np.empty((longest, X.shape[1])), np.empty(longest), np.empty(longest)
    gram, lower = np.empty((longest, longest)), np.empty((longest, longest))
    direction, active = np.empty(longest), np.empty(longest, dtype=np.int64)
    for r in queries:
        m, q, rest = counts[r], Q[r], rests[r]
        rows, w, slopes = all_rows[:m], weights[r, :m], all_slopes[:m]
        for j in range(m):
            rows[j] = X[samples[r, j]]
        if solver == HOMOTOPY:
            follow_path(rows, q, regularization, w, slopes, rest, active, gram, lower, direction)
        elif solver == GRADIENT:
            step_by_gradient(rows, q, regularization, w, slopes, rest, active)
        solved[r] = improve(rows, q, regularization, slacks[r], w, slopes, rest, active, gram, lower, direction)
        n = list_weighted(w, active)
        settle(rows, q, regularization, w, rest, active[:n], gram, lower, direction, all_settled[:m])
