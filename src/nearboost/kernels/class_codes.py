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
from nearboost.kernels.vectors import FAR, LANES, ROWS, squared_gaps, subtract_row

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
def pick_rows(scores, n_codes, gaps, place, stride, weights, picks, query, part):
    """The picks of some codes, one term of all of them after the other: a processor works on several at once.

    Half squared distances from row r to all rows begin at ``place + r·stride``.
    """
    width = scores.shape[1]
    for i in range(n_codes):
        picks[query + i, part, 0] = subtract_row(scores, i * width, width, scores, i * width, NOTHING)
    for t in range(weights.size):
        for i in range(n_codes):
            start = place + picks[query + i, part, t] * stride
            pick = subtract_row(scores, i * width, width, gaps, start, weights[t])
            if t + 1 < weights.size:
                picks[query + i, part, t + 1] = pick


@kernel
def total_of(weights):
    total = 0.0
    for weight in weights:
        total += weight
    return total


@kernel
def leave_out(picks, squares, query, part):
    """No row is allowed."""
    for t in range(picks.shape[2]):
        picks[query, part, t] = -1
    squares[query, part] = np.nan


@kernel
def finish_code(halves, row, first, scores, i, weights, total, picks, squares, query, part):
    """The squared residual of the weighted mean of the picked rows, see above; ``total`` is W."""
    if scores.shape[1] == 0 or scores[i, picks[query, part, 0]] >= FAR / 2:
        leave_out(picks, squares, query, part)
        return
    residual, share = 0.0, 1.0 / total
    for t in range(weights.size):
        pick = picks[query, part, t]
        before, after = halves[row, first + pick], scores[i, pick]
        residual += weights[t] * (2.0 * before - (before - after) * share)
    squares[query, part] = max(residual * share, 0.0)


@kernel
def code_classes(halves, groups, own_groups, starts, gaps, places, strides, weights, picks, squares):
    """Picks and squared residual of each query in each class; −1 and NaN where no row of a class is allowed.

    Picks are counted from the first row of the class. The distances of row r of class c to those of its class
    begin at ``places[c] + r·strides[c]`` of ``gaps``; what follows up to a whole vector may be anything finite.
    Arrays are passed on whole, with places in them: a view of few numbers costs more than what is done with them.
    """
    n_queries, total = halves.shape[0], total_of(weights)
    for c in range(starts.size - 1):  # class by class, whose distances then stay in the caches
        first, size = starts[c], starts[c + 1] - starts[c]
        scores = np.full((CODES_AT_ONCE, -(-size // LANES) * LANES), FAR, dtype=np.float32)
        for query in range(0, n_queries, CODES_AT_ONCE):
            n_codes = min(CODES_AT_ONCE, n_queries - query)
            for i in range(n_codes):
                own_group = own_groups[query + i]
                for j in range(size):
                    row = np.uintp(first + j)  # which is never looked at for being negative
                    scores[i, j] = halves[query + i, row] if groups[row] != own_group else FAR
            pick_rows(scores, n_codes, gaps, places[c], strides[c], weights, picks, query, c)
            for i in range(n_codes):
                finish_code(halves, query + i, first, scores, i, weights, total, picks, squares, query + i, c)


@kernel
def find_near(halves, groups, own_group, lows, found, values, near):
    """The allowed rows with the lowest scores, in rising order, as many as ``near`` has room for; how many.

    The k-th of some lows, k the length of the list, bounds the k-th score; with three times as many lows narrowly.
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


@kernel
def gaps_from(X, rows, place, gaps):
    """½|s − x|² of the row at a place to all of some rows."""
    squares = np.empty(ROWS, dtype=np.float32)
    for first in range(0, rows.size, ROWS):
        squared_gaps(X, rows[place], rows, first, squares)
        for i in range(min(ROWS, rows.size - first)):
            gaps[first + i] = HALF * squares[i]


@kernel
def code_among(scores, X, rows, made, made_at, weights, picks):
    """The places of a code's picks among some rows, whose distances are made when they are needed."""
    for i in range(made_at.size):
        made_at[i] = -1
    width = scores.size
    n_made, pick = 0, subtract_row(scores, 0, width, scores, 0, NOTHING)
    for t in range(weights.size):
        picks[t] = pick
        if made_at[pick] < 0:
            made_at[pick] = n_made
            gaps_from(X, rows, pick, made[n_made])
            n_made += 1
        pick = subtract_row(scores, 0, width, made, made_at[pick] * width, weights[t])


@kernel
def code_nearby(halves, groups, own_groups, starts, X, n_near, weights, picks, squares):
    """As `code_classes`, each code among the nearest rows of the class alone, without distances made before.

    Rows of X are filled up with zeros to whole vectors.
    """
    n_classes, total, n_terms = starts.size - 1, total_of(weights), weights.size
    width = -(-n_near // LANES) * LANES
    near, made_at = np.empty(n_near, dtype=np.int32), np.empty(width, dtype=np.int32)
    padded, made = np.empty((1, width), dtype=np.float32), np.zeros((n_terms, width), dtype=np.float32)
    before = np.empty((1, width), dtype=np.float32)
    found, values = np.empty(halves.shape[1], dtype=np.int32), np.empty(halves.shape[1], dtype=np.float32)
    for c in range(n_classes):
        first, stop = starts[c], starts[c + 1]
        lows = np.empty(min(stop - first, 3 * n_near), dtype=np.float32)
        for q in range(halves.shape[0]):
            n = find_near(halves[q, first:stop], groups[first:stop], own_groups[q], lows, found, values, near)
            if n == 0:
                leave_out(picks, squares, q, c)
                continue
            for i in range(width):
                before[0, i] = halves[q, first + near[i]] if i < n else FAR
            for i in range(n):
                near[i] += first
            copy(before[0], padded[0])
            code_among(padded[0], X, near[:n], made, made_at, weights, picks[q, c])
            finish_code(before, 0, 0, padded, 0, weights, total, picks, squares, q, c)
            for t in range(n_terms):
                picks[q, c, t] = near[picks[q, c, t]] - first
