"""Loops that find the samples whose slopes |x·r| are too steep, r being what a code leaves over (see `l1`)."""

import numpy as np

from nearboost.base.compiling import kernel

CHUNK = 512


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
def leave_out(found, n_found, listed, own):
    """Drop the listed samples, which rise as the found do, and the query's own; how many are left."""
    n, place = 0, 0
    for i in range(n_found):
        while place < listed.size and listed[place] < found[i]:
            place += 1
        if found[i] != own and (place == listed.size or listed[place] != found[i]):
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
    return np.partition(tops, tops.size - n)[tops.size - n]


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
def list_steep(queries, products, cuts, X, rests, limits, own, most, samples, weights, counts, found, is_done):
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
            n_found = leave_out(found, list_above(products[i], limit, found), listed[:n], own[r])
            counts[r] = insert_steep(found[:n_found], X, rests[r], limits[r], listed, w, n, most)
            if counts[r] > n or limit == cut:  # else: what seems to be the steepest is not, look at the others
                break
        is_done[i] = counts[r] == n
