"""Loops of iterative nearest neighbours over the samples near each query; scores are as in `kernels.inn`."""

import math

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy, kth_smallest
from nearboost.kernels.inn import (
    LARGEST,
    chunk_for,
    find_next,
    follow,
    limit_above,
    list_below,
    residual_of,
    set_scores,
    subtract_row,
)
from nearboost.kernels.search import L2, N_LANES, measure


@kernel
def fold_scores(scores, values, factor, lows):
    """Scores from floats, and the lowest of those at j, j + w, j + 2w, ... for each of w lows."""
    lows[:] = LARGEST
    for start in range(0, scores.size, lows.size):
        part, own_values = scores[start : start + lows.size], values[start : start + lows.size]
        for j in range(part.size):
            score = np.int32(own_values[j] * factor)
            part[j] = score
            lows[j] = min(lows[j], score)


@kernel
def keep_nearest(found, distances, near):
    """The nearest of the found into a list of fewer, in the order they were found."""
    farthest = kth_smallest(distances.copy(), near.size - 1)
    equals = near.size - np.sum(distances < farthest)
    n = 0
    for i in range(found.size):
        if distances[i] > farthest or (distances[i] == farthest and equals == 0):
            continue
        equals -= distances[i] == farthest
        near[n] = found[i]
        n += 1


@kernel
def find_near(values, factors, scores, errors, groups, own, X, Q, units, near):
    """The rows of other groups nearest to each query, in rising order.

    The k-th of some lows, k the length of the list, bounds the k-th score. With six times as many lows it does so
    narrowly: few more than k rows are measured, also where rows that follow each other are alike.
    """
    k, n_rows = near.shape[1], scores.shape[1]
    lanes, distances = np.empty(N_LANES), np.empty(n_rows)
    lows, found = np.empty(min(n_rows, 6 * k), dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    size = chunk_for(k)
    everywhere = np.full(-(-n_rows // size), -LARGEST, dtype=np.int32)
    for r in range(scores.shape[0]):
        fold_scores(scores[r], values[r], np.float32(factors[r]), lows)
        limit = limit_above(kth_smallest(lows, k - 1), errors[r])
        n = list_below(scores[r], size, everywhere, limit, found)
        for i in range(n):
            is_own = groups[found[i]] == own[r]
            distances[i] = math.inf if is_own else measure(X[found[i]], Q[r], units[r], L2, lanes)
        keep_nearest(found[:n], distances[:n], near[r])


@kernel
def find_reach(rows, X, Q, units, reach):
    """How far the farthest of each query's rows is, in its unit."""
    lanes = np.empty(N_LANES)
    for r in range(rows.shape[0]):
        largest = 0.0
        for j in rows[r]:
            largest = max(largest, measure(X[j], Q[r], units[r], L2, lanes))
        reach[r] = math.sqrt(largest)


@kernel
def bring_near(X, rows, query, unit, scale, near, halves):
    """Rows as seen from the query, feature by row and not longer than 1, and half their squared lengths."""
    for j in range(rows.size):
        for f in range(query.size):
            near[f, j] = (X[rows[j], f] / unit - query[f]) * scale
    halves[:] = np.float32(0.0)
    for f in range(query.size):
        values = near[f]
        for j in range(values.size):
            halves[j] += np.float32(0.5) * values[j] * values[j]


@kernel
def half_squares_from(near, halves, place, row):
    """½|s − x|² = ½|s|² + ½|x|² − s·x for the row s at a place and all rows x."""
    for j in range(row.size):
        row[j] = halves[place] + halves[j]
    for f in range(near.shape[0]):
        values, factor = near[f], near[f, place]
        for j in range(row.size):
            row[j] -= factor * values[j]


@kernel
def code_locally(
    rows, X, Q, units, scales, metric, weights, regularization, tolerance, factor,
    start_errors, row_error, term_errors, measuring_error, picks, counts,
):  # fmt: skip
    """Codes of queries over rows of their own, whose distances to each other are made when they are needed."""
    n_rows = rows.shape[1]
    lanes, query = np.empty(N_LANES), np.empty(X.shape[1])
    near = np.empty((X.shape[1], n_rows), dtype=np.float32)
    halves, scores = np.empty(n_rows, dtype=np.float32), np.empty(n_rows, dtype=np.int32)
    size = chunk_for(n_rows)
    lows, found = np.empty(-(-n_rows // size), dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    made = np.empty((min(n_rows, weights.size), n_rows), dtype=np.float32)
    made_at = np.empty(n_rows, dtype=np.int64)
    for r in range(rows.shape[0]):
        copy(Q[r], query)
        own_rows, own_picks, unit = rows[r], picks[r], units[r]
        bring_near(X, own_rows, query, unit, scales[r], near, halves)
        lowest = set_scores(scores, halves, np.float32(factor), size, lows)
        made_at[:] = -1  # distances depend on the query's own scale and rows
        moved, n_made, growth, error = 0, 0, 1.0, start_errors[r]
        for t in range(weights.size):
            limit = limit_above(lowest, error + growth * measuring_error)
            place, moved = find_next(
                scores,
                size,
                lows,
                limit,
                found,
                own_rows,
                -1,
                own_rows,
                X,
                query,
                moved,
                own_picks,
                t,
                unit,
                metric,
                regularization,
                lanes,
            )  # fmt: skip  (rows are their own groups, and none is left out)
            own_picks[t] = own_rows[place]
            counts[r] = t + 1
            if tolerance > 0.0:
                moved = follow(query, moved, own_picks, t + 1, X, unit, regularization)
                if residual_of(query, unit, weights[t] / regularization) <= tolerance:
                    break
            if made_at[place] < 0:  # samples come back: their distances are kept for this query
                made_at[place] = n_made
                half_squares_from(near, halves, place, made[n_made])
                n_made += 1
            lowest = subtract_row(scores, made[made_at[place]], np.float32(weights[t] * factor), size, lows)
            error += weights[t] * row_error * factor + term_errors[r]
            growth = regularization / weights[t]
