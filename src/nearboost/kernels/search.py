"""Loops of the neighbour search: one way to measure, one way to keep the nearest.

A row is measured in float64 only where a cheap float32 lower bound of its distance says that it may be
among the nearest; what is kept then depends on the measured distances and nothing else.
"""

import math

import numpy as np

from nearboost.base.compiling import kernel

L2, COSINE, L1 = 0, 1, 2

# Feature f is summed in lane f % 32 and the lanes are folded in halves: a fixed order that fills vectors.
N_LANES = 32
# Bounds are looked at in chunks; shorter ones would be unrolled by the compiler instead of filling vectors.
CHUNK = 64
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and of bits without a pattern


@kernel
def measure(row, query, divisor, metric, lanes):
    """Sum over features of (row / divisor - query)², or of the absolute values for L1."""
    lanes[:] = 0.0
    whole = row.size - row.size % N_LANES
    for start in range(0, whole, N_LANES):
        for lane in range(N_LANES):
            gap = row[start + lane] / divisor - query[start + lane]
            lanes[lane] += abs(gap) if metric == L1 else gap * gap
    for f in range(whole, row.size):
        gap = row[f] / divisor - query[f]
        lanes[f - whole] += abs(gap) if metric == L1 else gap * gap
    width = N_LANES
    while width > 1:
        width //= 2
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
    return lanes[0]


@kernel
def euclidean_norms(X, units, norms):
    """The Euclidean norm of each row, summed like a distance to the origin."""
    origin = np.zeros(X.shape[1])
    lanes = np.empty(N_LANES)
    for i in range(X.shape[0]):
        norms[i] = math.sqrt(measure(X[i], origin, units[i], L2, lanes)) * units[i]


@kernel
def fingerprint(rows, minus_zero, marks):
    """A number for each row of floats, given as their bits: the same for equal rows, of which −0 equals 0.

    Four chains, because each waits for its last product.
    """
    n_features = rows.shape[1]
    for i in range(rows.shape[0]):
        a = b = c = d = np.uint64(0)
        for j in range(0, n_features - 3, 4):
            a = _mixed(a, rows[i, j], minus_zero)
            b = _mixed(b, rows[i, j + 1], minus_zero)
            c = _mixed(c, rows[i, j + 2], minus_zero)
            d = _mixed(d, rows[i, j + 3], minus_zero)
        for j in range(n_features - n_features % 4, n_features):
            a = _mixed(a, rows[i, j], minus_zero)
        marks[i] = _mixed(_mixed(_mixed(a, b, minus_zero), c, minus_zero), d, minus_zero)


@kernel
def _mixed(mark, bits, minus_zero):
    """The mark with the bits of one more number. Products carry upwards alone, and small whole numbers in float64
    have bits at the top alone, so these are folded down."""
    mark = (mark ^ (np.uint64(0) if bits == minus_zero else np.uint64(bits))) * FACTOR
    return mark ^ (mark >> np.uint64(32))


@kernel
def offer(i, place, X, norms, query, unit, metric, groups, group, lanes, distances, indices):
    """Insert row i, at ``place`` in X, into a list sorted by (distance, index).

    Not if it is too far, or of the query's group.
    """
    if group >= 0 and groups[i] == group:
        return
    distance = measure(X[place], query, norms[place] if metric == COSINE else unit, metric, lanes)
    p = distances.size - 1
    if distance > distances[p] or (distance == distances[p] and i > indices[p]):
        return
    while p > 0 and (distances[p - 1] > distance or (distances[p - 1] == distance and indices[p - 1] > i)):
        distances[p] = distances[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    distances[p] = distance
    indices[p] = i


@kernel
def limit_of(distance, gain, base):
    """The largest bound a row as near as ``distance`` may have, rounded up to float32."""
    limit = distance * gain - base
    return np.float32(limit + abs(limit) * 2.0**-23 + 2.0**-140)


@kernel
def any_below(limit, offsets, scores):
    """Whether a chunk may hold a row worth measuring; without branches, so that it fills vectors."""
    hits = np.int32(0)
    for j in range(scores.size):
        hits |= np.int32(offsets[j] - scores[j] <= limit)
    return hits != 0


@kernel
def offer_first(
    scores, offsets, numbers, apart, X, norms, query, unit, metric, groups, group, lanes, bounds, places,
    distances, indices,
):  # fmt: skip
    """Offer as many rows of a block as a list holds: of those with the least bounds, which go out of ``scores``.

    So the first rows of a search need not all be measured. Of fewer rows that may be neighbours, all are offered.
    """
    bounds[:] = np.inf
    n_bounds = 0
    for j in range(scores.size):
        bound = offsets[j] - scores[j]
        if not bound < bounds[-1] or (group >= 0 and groups[numbers[j]] == group):
            continue
        n_bounds = min(n_bounds + 1, bounds.size)
        p = n_bounds - 1
        while p > 0 and bounds[p - 1] > bound:
            bounds[p] = bounds[p - 1]
            places[p] = places[p - 1]
            p -= 1
        bounds[p] = bound
        places[p] = j
    for j in places[:n_bounds]:
        i = numbers[j]
        offer(
            i, j if apart else np.int64(i), X, norms, query, unit, metric, groups, group, lanes, distances, indices
        )
        scores[j] = np.nan


@kernel
def offer_near(
    scores,
    offsets,
    numbers,
    apart,
    gains,
    bases,
    X,
    norms,
    Q,
    units,
    metric,
    groups,
    query_groups,
    distances,
    indices,
):
    """Offer to each query the rows of a block, of these ``numbers``, that may be near enough.

    They are all of X, in this order, where they stand ``apart``; otherwise X holds each at its number.
    ``offsets[j] - scores[r, j] + bases[r]`` is never more than ``gains[r]`` times the measured distance.
    """
    lanes = np.empty(N_LANES)
    bounds, places = np.empty(indices.shape[1], dtype=np.float32), np.empty(indices.shape[1], dtype=np.int64)
    for r in range(scores.shape[0]):
        query, found, sums = Q[r], indices[r], distances[r]
        if sums[-1] == np.inf:
            offer_first(
                scores[r], offsets, numbers, apart, X, norms, query, units[r], metric, groups, query_groups[r],
                lanes, bounds, places, sums, found,
            )  # fmt: skip
        limit = limit_of(sums[-1], gains[r], bases[r])
        for start in range(0, scores.shape[1], CHUNK):
            stop = min(start + CHUNK, scores.shape[1])
            if not any_below(limit, offsets[start:stop], scores[r, start:stop]):
                continue
            for j in range(start, stop):
                i = numbers[j]
                # Nothing is nearer than zero: more duplicates of the query need no measuring.
                if not offsets[j] - scores[r, j] <= limit or (sums[-1] == 0.0 and i > found[-1]):
                    continue
                place = j if apart else np.int64(i)
                offer(i, place, X, norms, query, units[r], metric, groups, query_groups[r], lanes, sums, found)
                limit = limit_of(sums[-1], gains[r], bases[r])


@kernel
def offer_listed(places, numbers, X, norms, Q, units, metric, groups, query_groups, distances, indices):
    """Offer to each query its own list of rows by their places in X; -1 stands for none.

    Without ``numbers`` of the rows in X, a row's number is its place.
    """
    lanes = np.empty(N_LANES)
    for r in range(places.shape[0]):
        query, found, sums = Q[r], indices[r], distances[r]
        for place in places[r]:
            if place >= 0:
                i = np.int64(numbers[place]) if numbers.size else np.int64(place)
                offer(i, place, X, norms, query, units[r], metric, groups, query_groups[r], lanes, sums, found)


@kernel
def gap(a, b):
    """|a - b| of two grid coordinates, kept to 16 bits: half the width of float32 is twice the speed."""
    return abs(np.int16(a - b))


@kernel
def negative_l1(queries, columns, scores):
    """Minus the L1 distances of queries (n, d) to columns (d, w) on the grid; n a multiple of 2, d of 8.

    Two queries and eight features at a time: registers are then used often enough to be worth the loads,
    and eight gaps of at most 4,094 still add up in 16 bits.
    """
    scores[:] = np.float32(0.0)
    for r in range(0, queries.shape[0], 2):
        s0, s1 = scores[r], scores[r + 1]
        for f in range(0, queries.shape[1], 8):
            a0, a1, a2, a3, a4, a5, a6, a7 = queries[r, f : f + 8]
            b0, b1, b2, b3, b4, b5, b6, b7 = queries[r + 1, f : f + 8]
            c0, c1, c2, c3 = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
            c4, c5, c6, c7 = columns[f + 4], columns[f + 5], columns[f + 6], columns[f + 7]
            for j in range(columns.shape[1]):
                t0 = gap(a0, c0[j]) + gap(a1, c1[j]) + gap(a2, c2[j]) + gap(a3, c3[j])
                t1 = gap(b0, c0[j]) + gap(b1, c1[j]) + gap(b2, c2[j]) + gap(b3, c3[j])
                t0 += gap(a4, c4[j]) + gap(a5, c5[j]) + gap(a6, c6[j]) + gap(a7, c7[j])
                t1 += gap(b4, c4[j]) + gap(b5, c5[j]) + gap(b6, c6[j]) + gap(b7, c7[j])
                s0[j] -= np.float32(np.int16(t0))
                s1[j] -= np.float32(np.int16(t1))


@kernel
def transpose_csr(indptr, indices, weights, new_indptr, new_indices, new_weights):
    """Counting sort by column: walking the rows in order leaves the rows of each column in order."""
    for column in indices:
        new_indptr[column + 1] += 1
    for column in range(new_indptr.size - 1):
        new_indptr[column + 1] += new_indptr[column]
    free = new_indptr[:-1].copy()
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            new_indices[free[column]] = row
            new_weights[free[column]] = weights[place]
            free[column] += 1
