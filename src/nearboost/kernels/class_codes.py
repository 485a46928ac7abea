"""Codes of queries inside each class and among their nearest rows, in float32: close calls are not looked into.

With q_1 = q and q_(t+1) = (1+λ)q_t − λs_t, a term costs one row of half squared distances (see `kernels.inn`):

    ½|q_t − x|² / (1+λ)^(t−1) = ½|q − x|² − Σ_(i<t) w_i ½|s_i − x|² + what is the same for all x.

With v_t = w_t / W, W = Σ w_t, and S_t the scores before term t, the squared residual of the weighted mean is

    |q − Σ v_t s_t|² = Σ v_t |q − s_t|² − Σ v_t |s_t − s|² = Σ v_t [2 S_1(s_t) − (S_1(s_t) − S_(K+1)(s_t)) / W].

Scores are padded to whole vectors: the rest of a loop would take as long as the loop.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy, kth_smallest
from nearboost.kernels.vectors import FAR, LANES, subtract_row

NOTHING, HALF = np.float32(0.0), np.float32(0.5)
CODES_AT_ONCE = 4  # whose scores stay in the nearest cache


@kernel
def in_reach(half, farthest):
    """From 0 to the farthest, where also goes what overflowed: comparisons are of numbers only."""
    half = half if half < farthest else farthest
    return half if half > NOTHING else NOTHING


@kernel
def halves_from_products(products, own_norms, norms, farthest):
    """½|q − x|² in place of q·x, given ½|q|² and ½|x|²."""
    for q in range(products.shape[0]):
        for j in range(products.shape[1]):
            products[q, j] = in_reach(own_norms[q] + norms[j] - products[q, j], farthest)


@kernel
def halves_from_differences(Q, columns, farthest, halves):
    """½|q − x|², given each feature of all x: the same for a query in any company."""
    for q in range(Q.shape[0]):
        own = halves[q]
        for j in range(own.size):
            own[j] = NOTHING
        for f in range(Q.shape[1]):
            value, column = Q[q, f], columns[f]
            for j in range(own.size):
                own[j] += (value - column[j]) * (value - column[j])
        for j in range(own.size):
            own[j] = in_reach(HALF * own[j], farthest)


@kernel
def take_allowed(halves, groups, own_group, scores):
    """The scores of a query before its first term; FAR where a row is of the query's group."""
    for j in range(halves.size):
        scores[j] = halves[j] if groups[j] != own_group else FAR
    for j in range(halves.size, scores.size):
        scores[j] = FAR


@kernel
def pick_rows(scores, gaps, place, stride, weights, picks):
    """The picks of some codes, one term of all of them after the other: a processor works on several at once.

    Half squared distances from row r to all rows begin at ``place + r·stride``.
    """
    n_codes, width = scores.shape
    for i in range(n_codes):
        picks[i, 0] = subtract_row(scores[i], scores[i], NOTHING)
    for t in range(weights.size):
        for i in range(n_codes):
            start = place + picks[i, t] * stride
            pick = subtract_row(scores[i], gaps[start : start + width], weights[t])
            if t + 1 < weights.size:
                picks[i, t + 1] = pick


@kernel
def none_of(picks):
    for t in range(picks.size):
        picks[t] = -1


@kernel
def total_of(weights):
    total = 0.0
    for weight in weights:
        total += weight
    return total


@kernel
def squared_residual(halves, scores, picks, weights, total):
    """Of the weighted mean of the picked rows, see above; ``total`` is W."""
    residual, share = 0.0, 1.0 / total
    for t in range(weights.size):
        before, after = halves[picks[t]], scores[picks[t]]
        residual += weights[t] * (2.0 * before - (before - after) * share)
    return max(residual * share, 0.0)


@kernel
def code_classes(halves, groups, own_groups, starts, gaps, places, strides, weights, picks, squares):
    """Picks and squared residual of each query in each class; −1 and NaN where no row of a class is allowed.

    The distances of row r of class c to those of its class begin at ``places[c] + r·strides[c]`` of ``gaps``; what
    follows them up to a whole vector may be anything finite.
    """
    n_queries, total = halves.shape[0], total_of(weights)
    for c in range(starts.size - 1):  # class by class, whose distances then stay in the caches
        first, stop = starts[c], starts[c + 1]
        scores = np.empty((CODES_AT_ONCE, -(-(stop - first) // LANES) * LANES), dtype=np.float32)
        for start in range(0, n_queries, CODES_AT_ONCE):
            some = range(start, min(start + CODES_AT_ONCE, n_queries))
            for q in some:
                take_allowed(halves[q, first:stop], groups[first:stop], own_groups[q], scores[q - start])
            own_picks = picks[start : some.stop, c]
            pick_rows(scores[: len(some)], gaps, places[c], strides[c], weights, own_picks)
            for q in some:
                squares[q, c] = finish_code(
                    halves[q, first:stop], scores[q - start], weights, total, first, picks[q, c]
                )


@kernel
def finish_code(halves, scores, weights, total, first, picks):
    """The squared residual; picks are counted from the first of all rows."""
    if scores.size == 0 or scores[picks[0]] >= FAR / 2:
        none_of(picks)
        return np.nan
    square = squared_residual(halves, scores, picks, weights, total)
    for t in range(weights.size):
        picks[t] += first
    return square


@kernel
def find_near(halves, groups, own_group, lows, found, values, near):
    """The allowed rows with the lowest scores, in rising order, as many as ``near`` has room for; how many.

    The k-th of some lows, k the length of the list, bounds the k-th score; with six times as many lows narrowly.
    """
    k, width = near.size, lows.size
    for i in range(width):
        lows[i] = FAR
    for first in range(0, halves.size, width):
        for i in range(min(width, halves.size - first)):
            if groups[first + i] != own_group:
                lows[i] = min(lows[i], halves[first + i])
    limit, n = kth_smallest(lows, k - 1) if width >= k else FAR, 0
    for j in range(halves.size):
        if halves[j] <= limit and groups[j] != own_group:
            found[n], values[n] = j, halves[j]
            n += 1
    equals, farthest = 0, FAR
    if n > k:
        farthest = kth_smallest(values[:n], k - 1)  # changes their places
        equals = k
        for i in range(n):
            equals -= halves[found[i]] < farthest
    kept = 0
    for i in range(n):
        half = halves[found[i]]
        if half < farthest or n <= k or (half == farthest and equals > 0):
            equals -= half == farthest
            near[kept] = found[i]
            kept += 1
    return kept


@kernel(fastmath=True)
def gaps_from(X, rows, place, gaps):
    """½|s − x|² of the row at a place to all of some rows."""
    own = X[rows[place]]
    for i in range(rows.size):
        other, square = X[rows[i]], NOTHING
        for f in range(own.size):
            square += (own[f] - other[f]) * (own[f] - other[f])
        gaps[i] = HALF * square


@kernel
def code_among(scores, X, rows, made, made_at, weights, picks):
    """The places of a code's picks among some rows, whose distances are made when they are needed."""
    for i in range(made_at.size):
        made_at[i] = -1
    n_made, pick = 0, subtract_row(scores, scores, NOTHING)
    for t in range(weights.size):
        picks[t] = pick
        if made_at[pick] < 0:
            made_at[pick] = n_made
            gaps_from(X, rows, pick, made[n_made])
            n_made += 1
        pick = subtract_row(scores, made[made_at[pick]], weights[t])


@kernel
def code_nearby(halves, groups, own_groups, starts, X, n_near, weights, picks, squares):
    """As `code_classes`, each code among the nearest rows of the class alone, without distances made before."""
    n_classes, total, n_terms = starts.size - 1, total_of(weights), weights.size
    width = -(-n_near // LANES) * LANES
    near, made_at = np.empty(n_near, dtype=np.int32), np.empty(width, dtype=np.int32)
    padded, made = np.empty(width, dtype=np.float32), np.zeros((n_terms, width), dtype=np.float32)
    before = np.empty(width, dtype=np.float32)
    found, values = np.empty(halves.shape[1], dtype=np.int32), np.empty(halves.shape[1], dtype=np.float32)
    for c in range(n_classes):
        first, stop = starts[c], starts[c + 1]
        lows = np.empty(min(stop - first, 6 * n_near), dtype=np.float32)
        for q in range(halves.shape[0]):
            own_picks = picks[q, c]
            n = find_near(halves[q, first:stop], groups[first:stop], own_groups[q], lows, found, values, near)
            if n == 0:
                none_of(own_picks)
                squares[q, c] = np.nan
                continue
            for i in range(width):
                before[i] = FAR
            for i in range(n):
                near[i] += first
                before[i] = halves[q, near[i]]
            copy(before, padded)
            code_among(padded, X, near[:n], made, made_at, weights, own_picks)
            squares[q, c] = squared_residual(before, padded, own_picks, weights, total)
            for t in range(n_terms):
                own_picks[t] = near[own_picks[t]]
