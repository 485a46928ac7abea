"""Loops of l1-regularised least squares: ½|q − Σ w_i x_i|² + λ Σ|w_i|, each query over a list of samples.

With the rest r = q − Σ w_i x_i and the slopes c_i = x_i·r, weights are optimal where c_i = λ sign(w_i) for those
that are not zero and |c_i| ≤ λ for the others (the conditions of Karush, Kuhn and Tucker). Samples that have a
weight are called active; products between samples are made for these alone. Lists begin empty: samples whose
slopes are too steep join them, by `list_steep`, until there are none in the whole set.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy, kth_smallest

LEAST_PIVOT = 1e-12  # of a sample's squared length; with less left by others, the sample counts as made up by them
ROUNDS_PER_SAMPLE = 20
CHUNK = 512


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
    copy(query, rest)
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
        for i in range(n):
            direction[i] *= -1.0
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
    n, n_known = list_weighted(weights, active), np.int64(0)  # given a literal, all below would be compiled twice
    for i in range(n):
        multiply_last(rows, active[: i + 1], gram)
    set_rest(rows, query, active[:n], weights, rest)
    multiply(rows, rest, slopes)
    for _ in range(
        ROUNDS_PER_SAMPLE * slopes.size
    ):  # each lowers the objective; rounding alone could go on for ever
        n, n_known = minimise_within_signs(
            active[:n], n_known, gram, regularization, weights, slopes, lower, direction
        )
        # Anew from the weights: updated slopes would carry every rounding along.
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
            copy(settled, weights)
    set_rest(rows, query, active, weights, rest)


@kernel
def code_lists(queries, samples, counts, X, Q, regularization, slacks, weights, rests, solved):
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
            copy(X[samples[r, j]], rows[j])
        solved[r] = improve(rows, q, regularization, slacks[r], w, slopes, rest, active, gram, lower, direction)
        n = list_weighted(w, active)
        settle(rows, q, regularization, w, rest, active[:n], gram, lower, direction, all_settled[:m])


@kernel
def slope_of(sample, rest):
    total = 0.0
    for f in range(rest.size):
        total += sample[f] * rest[f]
    return abs(total)


@kernel
def list_above(products, limit, found):
    """Where absolute products are above the limit, in rising order; how many they are."""
    n = 0
    for start in range(0, products.size, CHUNK):
        chunk = products[start : start + CHUNK]
        hits = np.int32(0)
        for j in range(chunk.size):
            hits += np.int32(abs(chunk[j]) > limit)
        if hits > 0:
            for j in range(chunk.size):
                if abs(chunk[j]) > limit:
                    found[n] = start + j
                    n += 1
    return n


@kernel
def keep_weighted(samples, weights, count):
    """Drop samples of no weight from a list; how many are left."""
    n = 0
    for j in range(count):
        if weights[j] != 0.0:
            samples[n], weights[n] = samples[j], weights[j]
            n += 1
    weights[n:count] = 0.0
    return n


@kernel
def leave_out(found, n_found, listed, groups, own):
    """Drop the listed samples, which rise as the found do, and those of the query's group; how many are left."""
    n, place = 0, 0
    for i in range(n_found):
        while place < listed.size and listed[place] < found[i]:
            place += 1
        if groups[found[i]] != own and (place == listed.size or listed[place] != found[i]):
            found[n] = found[i]
            n += 1
    return n


@kernel
def rough_top(products, n, tops):
    """A number that at least n absolute products are not below, and not many more: the n-th of some maxima."""
    if tops.size <= n:
        return np.float32(0.0)
    tops[:] = np.float32(0.0)
    for start in range(0, products.size, tops.size):
        part = products[start : start + tops.size]
        for j in range(part.size):
            tops[j] = max(tops[j], abs(part[j]))
    return kth_smallest(tops, tops.size - n)


@kernel
def insert(sample, samples, weights, count):
    """Put a sample in its place in a rising list, without a weight."""
    place = count
    while place > 0 and samples[place - 1] > sample:
        samples[place], weights[place] = samples[place - 1], weights[place - 1]
        place -= 1
    samples[place], weights[place] = sample, 0.0


@kernel
def insert_steep(found, X, rest, limit, samples, weights, count, most):
    """Put those of the found into a list whose slopes are above the limit, as many as may be; its length."""
    n = count
    for j in found:
        if n < count + most and slope_of(X[j], rest) > limit:
            insert(j, samples, weights, n)
            n += 1
    return n


@kernel
def list_steep(
    queries, products, cuts, X, rests, limits, groups, own, most, samples, weights, counts, found, is_done
):  # fmt: skip
    """Put the steepest samples, ``most`` at once, into the lists of some queries; those of no weight leave them.

    ``products``, a row for each of these queries, tell slopes roughly: none above the limit has one below the cut.
    A query is done where the slopes of all samples are within the limit.
    """
    tops = np.empty(min(products.shape[1], 6 * most), dtype=np.float32)
    for i in range(queries.size):
        r = queries[i]
        listed, w = samples[r], weights[r]
        n = keep_weighted(listed, w, counts[r])
        cut = np.float32(cuts[i])
        for limit in (max(rough_top(products[i], most, tops), cut), cut):
            n_found = leave_out(found, list_above(products[i], limit, found), listed[:n], groups, own[r])
            counts[r] = insert_steep(found[:n_found], X, rests[r], limits[r], listed, w, n, most)
            if counts[r] > n or limit == cut:  # else: what seems to be the steepest is not, look at the others
                break
        is_done[i] = counts[r] == n
