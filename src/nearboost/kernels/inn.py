"""Loops of iterative nearest neighbours.

Term t of a code is the row nearest to q_t = (1+λ) q_(t−1) − λ s_(t−1), eq. (1). Rows x are told apart by scores,

    ½|q_t − x|² / (1+λ)^(t−1) = ½|x|² − q·x − Σ_(i<t) w_i ½|s_i − x|² + what is the same for all x,

with the weights w_i = λ/(1+λ)^i of eq. (3): a further term costs one row of half squared distances, whatever the
number of features. Scores are 32-bit integers, whose minima fill vectors where those of floats do not, in units
so fine that the row of distances is the least exact part; a bound of all errors is kept beside them. A row that is
the only one within this bound of the best is the nearest; among several, distances measured in float64 decide.

Scores of each part of the rows are padded to whole vectors: the rest of a loop would take as long as the loop.
"""

import math

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy
from nearboost.kernels.search import L2, N_LANES, measure

GRID_TOP = 65535
GRID_ERROR = 0.52  # steps between a half squared distance and its grid point, the rounding of float32 included
LEAST_STEP = 2.0**-110  # whose inverse float32 still holds
LARGEST = np.int32(2**31 - 1)
TOP_SCORE = 2**31 - 2**7  # of excluded rows; others stay below 2^30, and a code subtracts less than 2^30
LANES = 16  # what scores are padded to a multiple of
FEW = 32


@kernel
def chunk_for(n_rows):
    """Scores are looked at in chunks: each takes some time to begin with, the one with the best is read again."""
    return 256 if n_rows <= 4096 else 1024


@kernel
def to_grid(distances, tops, grid, steps):
    """Rows of half squared distances as multiples of a step, a 65,535th of the row's largest."""
    for r in range(distances.shape[0]):
        steps[r] = max(tops[r] / GRID_TOP, LEAST_STEP)
        per_step = np.float32(1.0 / steps[r])
        row, points = distances[r], grid[r]
        for j in range(row.size):
            points[j] = np.uint16(np.int32(max(row[j], np.float32(0.0)) * per_step + np.float32(0.5)))


@kernel
def set_chunk(scores, values, factor, start, stop):
    """Scores from floats, and the lowest."""
    low = LARGEST
    for j in range(np.uint64(start), np.uint64(stop)):
        score = np.int32(values[j] * factor)
        scores[j] = score
        low = min(low, score)
    return low


@kernel
def subtract_chunk(scores, row, factor, start, stop):
    """One term more in the scores, and the lowest."""
    low = LARGEST
    for j in range(np.uint64(start), np.uint64(stop)):
        score = np.int32(scores[j] - np.int32(factor * np.float32(row[j])))
        scores[j] = score
        low = min(low, score)
    return low


@kernel
def set_scores(scores, values, factor, size, lows):
    """Scores from floats, which may be fewer, the lowest of each chunk, and the lowest of all."""
    lowest = LARGEST
    for chunk in range(lows.size):
        start, stop = chunk * size, min((chunk + 1) * size, values.size)
        lows[chunk] = set_chunk(scores, values, factor, start, stop)
        lowest = min(lowest, lows[chunk])
    for j in range(values.size, scores.size):
        scores[j] = TOP_SCORE
    return lowest


@kernel
def subtract_row(scores, row, factor, size, lows):
    """One term more in the scores, the lowest of each chunk, and the lowest of all."""
    lowest = LARGEST
    for chunk in range(lows.size):
        start, stop = chunk * size, min((chunk + 1) * size, scores.size)
        lows[chunk] = subtract_chunk(scores, row, factor, start, stop)
        lowest = min(lowest, lows[chunk])
    return lowest


@kernel
def limit_above(lowest, error):
    """The largest score that the nearest row may have."""
    limit = lowest + 2.0 * error + 1.0
    return np.int32(limit) if limit < LARGEST else LARGEST


@kernel
def count_below(scores, limit, start, stop):
    """How many scores are not above the limit, and which one where it is the only one."""
    hits, place, j = np.int32(0), np.int32(0), np.int32(start)
    for k in range(np.uint64(start), np.uint64(stop)):
        hit = np.int32(scores[k] <= limit)
        hits = np.int32(hits + hit)
        place |= -hit & j
        j = np.int32(j + 1)
    return hits, place


@kernel
def list_few(scores, limit, start, stop, found, n):
    """Append the places of scores not above the limit to the n found so far."""
    hits, place = count_below(scores, limit, start, stop)
    if hits == 1:
        found[n] = place
    elif hits > 1:
        i = n
        for j in range(start, stop):
            if scores[j] <= limit:
                found[i] = j
                i += 1
    return n + hits


@kernel
def list_below(scores, size, lows, limit, found):
    """The places of all scores not above the limit, in rising order; how many they are."""
    n = 0
    for chunk in range(lows.size):
        if lows[chunk] > limit:
            continue
        start, stop = chunk * size, min((chunk + 1) * size, scores.size)
        hits, place = count_below(scores, limit, start, stop)
        if hits == 1:
            found[n] = place
            n += 1
        elif hits > 1:
            for few in range(start, stop, FEW):
                n = list_few(scores, limit, few, min(few + FEW, stop), found, n)
    return n


@kernel
def any_allowed(groups, own):
    """Whether there is a row of another group."""
    for group in groups:
        if group != own:
            return True
    return False


@kernel
def nearest_of(found, groups, own, rows, X, query, unit, metric, lanes):
    """The place of the nearest row of another group; they rise, so ties go to the lower index.

    Places beyond the rows only pad the scores.
    """
    nearest, least = -1, math.inf
    for j in found:
        if j < rows.size and groups[j] != own:
            distance = measure(X[rows[j]], query, unit, metric, lanes)
            if nearest < 0 or distance < least:
                nearest, least = j, distance
    return nearest


@kernel
def follow(query, moved, picks, n_terms, X, unit, regularization):
    """Move the query away from the samples it has not been moved from yet, eq. (1)."""
    inverse = 1.0 / unit  # exact, of a power of two
    for t in range(moved, n_terms):
        sample = X[picks[t]]
        for f in range(query.size):
            query[f] = (1.0 + regularization) * query[f] - regularization * (sample[f] * inverse)
    return max(moved, n_terms)


@kernel
def residual_of(query, unit, shrunk):
    """|q − Σ w_i s_i| = |q_(t+1)| / (1+λ)^t, eq. (2); ``shrunk`` is the last factor."""
    total = 0.0
    for value in query:
        total += value * value
    return math.sqrt(total) * shrunk * unit


@kernel(inline="always")  # a call with so many arguments would take as long as a hundred rows
def find_next(
    scores, size, lows, limit, found, groups, own, rows, X, query, moved, picks, t, unit, metric,
    regularization, lanes,
):  # fmt: skip
    """The place of term t, and from how many samples the query has been moved: it lags behind while not needed."""
    n_found = list_below(scores, size, lows, limit, found)
    if n_found == 1:
        return found[0], moved
    moved = follow(query, moved, picks, t, X, unit, regularization)
    return nearest_of(found[:n_found], groups, own, rows, X, query, unit, metric, lanes), moved


@kernel
def extend_codes(
    values, factors, scores, starts, places, rows, X, Q, units, groups, own, slots, grid, steps, weights,
    regularization, tolerance, row_error, term_errors, measuring_errors, picks, counts, finished, errors,
):  # fmt: skip
    """Go on with each query's code by each part of the rows until it is finished or waits for distances.

    Part p begins at ``starts[p]``, its scores, which are padded, at ``places[p]``; a part without a row of another
    group than the query's gives no term. ``values`` are the first scores as floats, and ``factors`` turn them and
    errors into units of the scores. ``slots`` tells in which row of the grid a sample has its distances to the
    rows of its part, -1 where they have not been made.
    """
    n_parts, longest = starts.size - 1, grid.shape[1]
    lanes, query = np.empty(N_LANES), np.empty(X.shape[1])
    size = chunk_for(longest)
    all_lows = np.empty(-(-longest // size), dtype=np.int32)
    found = np.empty(longest, dtype=np.int32)
    for turn in range(picks.shape[0]):  # part by part, whose distances then stay in the caches
        part, r = turn // Q.shape[0], turn % Q.shape[0]
        first, stop, code = starts[part], starts[part + 1], r * n_parts + part
        own_scores, own_picks, own_groups = (
            scores[r, places[part] : places[part + 1]],
            picks[code],
            groups[first:stop],
        )
        lows = all_lows[: -(-own_scores.size // size)]
        unit, factor = units[r], factors[r]
        copy(Q[r], query)
        moved, growth = 0, 1.0
        while not finished[code]:
            t = counts[code]
            if t == 0:
                if not any_allowed(own_groups, own[r]):
                    finished[code] = True
                    break
                lowest = set_scores(own_scores, values[r, first:stop], np.float32(factor), size, lows)
            else:
                slot, weight = slots[own_picks[t - 1]], weights[t - 1]
                if slot < 0:
                    break
                lowest = subtract_row(
                    own_scores, grid[slot], np.float32(weight * steps[slot] * factor), size, lows
                )
                errors[code] += weight * (row_error + GRID_ERROR * steps[slot]) * factor + term_errors[r]
                growth = regularization / weight
            # Errors of measuring grow with the moved query, those of scores by what was subtracted.
            limit = limit_above(lowest, errors[code] + growth * measuring_errors[r])
            place, moved = find_next(
                own_scores, size, lows, limit, found, own_groups, own[r], rows[first:stop], X, query, moved,
                own_picks, t, unit, L2, regularization, lanes,
            )  # fmt: skip
            own_picks[t] = first + place
            counts[code] = t + 1
            finished[code] = t + 1 == weights.size
            if tolerance > 0.0:
                moved = follow(query, moved, own_picks, t + 1, X, unit, regularization)
                finished[code] |= residual_of(query, unit, weights[t] / regularization) <= tolerance


@kernel
def sum_repeats(picks, counts, weights, sums, samples, totals, lengths):
    """The samples of each code as they came, with the weights of repeated ones added up, first term first.

    ``sums`` holds a zero for each sample and does so again afterwards.
    """
    for r in range(picks.shape[0]):
        n = 0
        for t in range(counts[r]):
            sample = picks[r, t]
            if sums[sample] == 0.0:
                samples[r, n] = sample
                n += 1
            sums[sample] += weights[t]
        for k in range(n):
            totals[r, k] = sums[samples[r, k]]
            sums[samples[r, k]] = 0.0
        lengths[r] = n


@kernel
def weights_of(rows, picks, weights, sums, out):
    """What each of a query's rows weighs in its code; ``sums`` holds zeros and does so again afterwards."""
    for r in range(rows.shape[0]):
        for t in range(picks.shape[1]):
            sums[picks[r, t]] += weights[t]
        for j in range(rows.shape[1]):
            out[r, j] = sums[rows[r, j]]
            sums[rows[r, j]] = 0.0


@kernel
def residual_norms(indptr, samples, weights, X, Q, units, norms):
    """|q − Σ w_i s_i| of each query by each of its codes, a row of ``norms`` for each query."""
    rest = np.empty(X.shape[1])
    for r in range(norms.shape[0]):
        inverse = 1.0 / units[r]  # exact, of a power of two: dividing would take four times as long
        for part in range(norms.shape[1]):
            copy(Q[r], rest)
            code = r * norms.shape[1] + part
            for place in range(indptr[code], indptr[code + 1]):
                weight, sample = weights[place], X[samples[place]]
                for f in range(rest.size):
                    rest[f] -= weight * (sample[f] * inverse)
            norms[r, part] = residual_of(rest, units[r], 1.0)
