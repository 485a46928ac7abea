"""Loops of l1-regularised least squares: ½|q − Σ w_i x_i|² + λ Σ|w_i|, each query over a list of samples.

With the rest r = q − Σ w_i x_i and the slopes c_i = x_i·r, weights are optimal where c_i = λ sign(w_i) for those
that are not zero and |c_i| ≤ λ for the others (the conditions of Karush, Kuhn and Tucker). Products between
samples are made only for those that get a weight.
"""

import numpy as np

from nearboost.base.compiling import kernel

LEAST_PIVOT = 1e-12  # of a sample's squared length; with less left by others, the sample counts as made up by them
LEAST_CLOSING = 1e-10  # how fast a slope must come closer to the level to meet it one day
ROUNDS_PER_SAMPLE = 20

ACTIVE_SET, HOMOTOPY = 0, 1


@kernel
def multiply(vector, columns, products):
    """Products of a vector with columns, feature by feature: equal for equal columns, wherever they stand."""
    products[:] = 0.0
    for f in range(vector.size):
        factor, values = vector[f], columns[f]
        for j in range(products.size):
            products[j] += factor * values[j]


@kernel
def make_row(place, columns, is_made, gram):
    """The products of a sample with all of the list, unless they have been made before."""
    if not is_made[place]:
        multiply(columns[:, place], columns, gram[place])
        is_made[place] = True


@kernel
def set_slopes(products, active, gram, weights, slopes):
    slopes[:] = products
    for a in active:
        weight, row = weights[a], gram[a]
        for j in range(slopes.size):
            slopes[j] -= weight * row[j]


@kernel
def factorise(active, gram, n_known, lower):
    """The Cholesky factor of the active rows and columns, of which some are known: up to which there is one.

    It ends at the first sample that those before it make up.
    """
    for i in range(n_known, active.size):
        row, own = gram[active[i]], lower[i]
        for j in range(i + 1):
            value, other = row[active[j]], lower[j]
            for k in range(j):
                value -= own[k] * other[k]
            if j < i:
                own[j] = value / other[j]
            elif value <= LEAST_PIVOT * row[active[i]]:
                return i
            else:
                own[i] = np.sqrt(value)
    return active.size


@kernel
def solve(lower, values):
    """Solve L Lᵀ y = values, in place."""
    for i in range(values.size):
        for k in range(i):
            values[i] -= lower[i, k] * values[k]
        values[i] /= lower[i, i]
    for i in range(values.size - 1, -1, -1):
        values[i] /= lower[i, i]
        for k in range(i):
            values[k] -= lower[i, k] * values[i]


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
def minimise_within_signs(active, n_known, gram, products, regularization, weights, slopes, lower, direction):
    """Go to the minimum of the signs; a weight that comes to zero on the way stays there.

    How many have a weight then, and of how many the factor is known.
    """
    n = active.size
    while n > 0:
        n_known = factorise(active[:n], gram, n_known, lower)
        limit = set_direction(active[:n], n_known, gram, regularization, weights, slopes, lower, direction)
        first, step = first_zero(active[:n], weights, direction, limit)
        for i in range(n):
            weights[active[i]] += step * direction[i]
        if first < 0:
            break
        weights[active[first]] = 0.0
        n, n_known = remove(active, n, first), min(n_known, first)
        set_slopes(products, active[:n], gram, weights, slopes)
    return n, n_known


@kernel
def improve(columns, products, regularization, slack, weights, slopes, active, gram, is_made, lower, direction):
    """Give the steepest sample a weight, go to the minimum within the signs, until no slope is too steep.

    Whether that came about: it does unless rounding stands in the way.
    """
    n, n_known = 0, 0
    for j in range(products.size):
        if weights[j] != 0.0:
            active[n] = j
            n += 1
            make_row(j, columns, is_made, gram)
    for _ in range(ROUNDS_PER_SAMPLE * products.size):
        set_slopes(products, active[:n], gram, weights, slopes)
        place, off = steepest(slopes, weights, regularization + slack), 0.0
        for a in active[:n]:
            off = max(off, abs(slopes[a] - regularization * np.sign(weights[a])))
        if place < 0 and off <= slack:
            return True
        if place >= 0:
            active[n] = place
            n += 1
            make_row(place, columns, is_made, gram)
            slope, row = slopes[place], gram[place]
            weights[place] = (slope - regularization * np.sign(slope)) / row[place]
            for a in active[:n]:
                slopes[a] -= weights[place] * row[a]
        n, n_known = minimise_within_signs(
            active[:n], n_known, gram, products, regularization, weights, slopes, lower, direction
        )
    return products.size == 0


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
def follow_path(columns, products, regularization, weights, slopes, active, gram, is_made, lower, direction):
    """Homotopy: for a large λ all weights are zero; go down to the wanted one, from one change to the next.

    Their slopes stay at the level λ. While this falls by 1, weights move by ``direction`` and slopes fall by
    ``rates``. A sample made up by active ones comes to the level only together with them: it can be left out.
    """
    m, n, n_known = products.size, 0, 0
    weights[:] = 0.0
    signs, rates, left_out = np.zeros(m), np.empty(m), np.zeros(m, dtype=np.bool_)
    joining = steepest(products, weights, regularization)
    level = abs(products[joining]) if joining >= 0 else 0.0
    for _ in range(ROUNDS_PER_SAMPLE * m):
        set_slopes(products, active[:n], gram, weights, slopes)
        if level <= regularization:
            break
        if joining >= 0:
            active[n] = joining
            n += 1
            make_row(joining, columns, is_made, gram)
            signs[joining] = np.sign(slopes[joining])
        n_known = factorise(active[:n], gram, n_known, lower)
        if n_known < n:  # the one that joined: take it back
            n -= 1
            signs[joining] = 0.0
            left_out[joining] = True
        for i in range(n):
            direction[i] = signs[active[i]]
        solve(lower, direction[:n])
        rates[:] = 0.0
        for i in range(n):
            row = gram[active[i]]
            for j in range(m):
                rates[j] += direction[i] * row[j]
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


@kernel
def settle(products, regularization, weights, active, gram, lower, direction, settled):
    """Weights anew from their signs alone, in the order of the samples: the way to them leaves no trace."""
    n = 0
    for j in range(products.size):
        if weights[j] != 0.0:
            active[n] = j
            n += 1
    if factorise(active[:n], gram, 0, lower) < n:
        return
    settled[:n] = 0.0
    for _ in range(2):  # the second time corrects rounding
        for i in range(n):
            direction[i] = products[active[i]] - regularization * np.sign(weights[active[i]])
            for k in range(n):
                direction[i] -= settled[k] * gram[active[k], active[i]]
        solve(lower, direction[:n])
        for i in range(n):
            settled[i] += direction[i]
    for i in range(n):
        if settled[i] * weights[active[i]] <= 0.0:
            return
    for i in range(n):
        weights[active[i]] = settled[i]


@kernel
def code_lists(queries, samples, counts, X, Q, regularization, slacks, solver, weights, rests, solved):
    """Codes of some queries, each by the first ``counts`` of its samples, which rise, from the given weights on.

    ``rests`` become what codes leave over. ``solved`` tells where no slope is off by more than the slack.
    """
    longest, n_features = 0, X.shape[1]
    for r in queries:
        longest = max(longest, counts[r])
    lower, gram = np.empty((longest, longest)), np.empty((longest, longest))
    products, slopes = np.empty(longest), np.empty(longest)
    direction, settled = np.empty(longest), np.empty(longest)
    active, is_made = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.bool_)
    room = np.empty(n_features * longest)
    for r in queries:
        m = counts[r]
        columns, w, p, c = room[: n_features * m].reshape(n_features, m), weights[r, :m], products[:m], slopes[:m]
        rows, is_made[:] = gram[:, :m], False
        for j in range(m):
            for f in range(n_features):
                columns[f, j] = X[samples[r, j], f]
        multiply(Q[r], columns, p)
        if solver == HOMOTOPY:
            follow_path(columns, p, regularization, w, c, active, rows, is_made, lower, direction)
        solved[r] = improve(columns, p, regularization, slacks[r], w, c, active, rows, is_made, lower, direction)
        settle(p, regularization, w, active, rows, lower, direction, settled)
        rests[r] = Q[r]
        for j in range(m):
            if w[j] != 0.0:
                for f in range(n_features):
                    rests[r, f] -= w[j] * columns[f, j]
