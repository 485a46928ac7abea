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

LANES = 16  # what scores are padded to a multiple of
FAR = np.float32(1e30)  # of rows that may not be picked, and of what pads; distances are far below
NOWHERE = np.int32(2**31 - 1)


@kernel(fastmath=True)
def subtract_row(scores, row, weight):
    """One term more in the scores, and the lowest."""
    lowest = FAR
    for j in range(scores.size):
        score = scores[j] - weight * row[j]
        scores[j] = score
        lowest = min(lowest, score)
    return lowest


@kernel(fastmath=True)
def lowest_of(scores):
    lowest = FAR
    for j in range(scores.size):
        lowest = min(lowest, scores[j])
    return lowest


@kernel
def first_at(scores, lowest):
    """The first place with the lowest score."""
    place, j = NOWHERE, np.int32(0)
    for k in range(scores.size):
        here = j if scores[k] <= lowest else NOWHERE
        place = min(place, here)
        j = np.int32(j + 1)
    return place


@kernel
def take_allowed(halves, groups, own_group, scores):
    """The scores of a query before its first term; FAR where a row is of the query's group."""
    for j in range(halves.size):
        scores[j] = halves[j] if groups[j] != own_group else FAR
    for j in range(halves.size, scores.size):
        scores[j] = FAR


@kernel
def code_by_rows(scores, gaps, place, stride, weights, picks):
    """The picks of a code, given the half squared distances between all rows; False where none is allowed.

    Those of row r begin at ``place + r·stride``.
    """
    lowest = lowest_of(scores)
    if lowest >= FAR / 2:
        return False
    for t in range(weights.size):
        pick = first_at(scores, lowest)
        picks[t] = pick
        start = place + pick * stride
        lowest = subtract_row(scores, gaps[start : start + scores.size], weights[t])
    return True


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
    """Of the weighted mean of the picked rows, see above."""
    residual = 0.0
    for t in range(weights.size):
        before, after = halves[picks[t]], scores[picks[t]]
        residual += weights[t] / total * (2.0 * before - (before - after) / total)
    return max(residual, 0.0)


@kernel
def code_classes(halves, groups, own_groups, starts, gaps, places, strides, weights, picks, squares):
    """Picks and squared residual of each query in each class; −1 and NaN where no row of a class is allowed.

    The distances of row r of class c to those of its class begin at ``places[c] + r·strides[c]`` of ``gaps``; what
    follows them up to a whole vector may be anything finite.
    """
    n_classes, total = starts.size - 1, total_of(weights)
    for c in range(n_classes):  # class by class, whose distances then stay in the caches
        first, stop = starts[c], starts[c + 1]
        size = stop - first
        scores = np.empty(-(-size // LANES) * LANES, dtype=np.float32)
        own_rows = groups[first:stop]
        for q in range(halves.shape[0]):
            own_halves, own_picks = halves[q, first:stop], picks[q, c]
            take_allowed(own_halves, own_rows, own_groups[q], scores)
            if code_by_rows(scores, gaps, places[c], strides[c], weights, own_picks):
                squares[q, c] = squared_residual(own_halves, scores, own_picks, weights, total)
                for t in range(weights.size):
                    own_picks[t] += first
            else:
                none_of(own_picks)
                squares[q, c] = np.nan


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
def gaps_from(X, norms, rows, place, gaps):
    """½|s − x|² of the row at a place to all of some rows."""
    own = X[rows[place]]
    for i in range(rows.size):
        other, product = X[rows[i]], np.float32(0.0)
        for f in range(own.size):
            product += own[f] * other[f]
        gaps[i] = norms[rows[place]] + norms[rows[i]] - product


@kernel
def code_among(scores, X, norms, rows, made, made_at, weights, picks):
    """The places of a code's picks among some rows, whose distances are made when they are needed."""
    for i in range(made_at.size):
        made_at[i] = -1
    n_made, lowest = 0, lowest_of(scores)
    for t in range(weights.size):
        pick = first_at(scores, lowest)
        picks[t] = pick
        if made_at[pick] < 0:
            made_at[pick] = n_made
            gaps_from(X, norms, rows, pick, made[n_made])
            n_made += 1
        lowest = subtract_row(scores, made[made_at[pick]], weights[t])


@kernel
def code_nearby(halves, groups, own_groups, starts, X, norms, n_near, weights, picks, squares):
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
            code_among(padded, X, norms, near[:n], made, made_at, weights, own_picks)
            squares[q, c] = squared_residual(before, padded, own_picks, weights, total)
            for t in range(n_terms):
                own_picks[t] = near[own_picks[t]]
