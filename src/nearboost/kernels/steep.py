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
def nth_largest(products, found, n, sizes):
    """The n-th of the absolute products of the found, from above; 0 where there are not more."""
    if found.size <= n:
        return np.float32(0.0)
    for i in range(found.size):
        sizes[i] = abs(products[found[i]])
    return np.partition(sizes[: found.size], found.size - n)[found.size - n]


@kernel
def insert(sample, samples, weights, count):
    """Put a sample in its place in a rising list, without a weight."""
    place = count
    while place > 0 and samples[place - 1] > sample:
        samples[place], weights[place] = samples[place - 1], weights[place - 1]
        place -= 1
    samples[place], weights[place] = sample, 0.0


@kernel
def insert_steep(found, products, low, high, X, rest, limit, samples, weights, count, most):
    """Put those of the found into a list whose slopes are above the limit, and products in a range; its length."""
    n = count
    for j in found:
        if low <= abs(products[j]) < high and n < count + most and slope_of(X[j], rest) > limit:
            insert(j, samples, weights, n)
            n += 1
    return n


@kernel
def list_steep(queries, products, cuts, X, rests, limits, own, most, samples, weights, counts, found, is_done):
    """Put the steepest samples, ``most`` at once, into the lists of some queries; those of no weight leave them.

    ``products``, a row for each of these queries, tell slopes roughly: none above the limit has one below the cut.
    A query is done where the slopes of all samples are within the limit.
    """
    sizes = np.empty(products.shape[1], dtype=np.float32)
    for i in range(queries.size):
        r, rough = queries[i], products[i]
        n = keep_weighted(samples[r], weights[r], counts[r])
        n_found = leave_out(found, list_above(rough, cuts[i], found), samples[r, :n], own[r])
        steep = found[:n_found]
        top = nth_largest(rough, steep, most, sizes)
        counts[r] = insert_steep(
            steep, rough, top, np.inf, X, rests[r], limits[r], samples[r], weights[r], n, most
        )
        if counts[r] == n:  # what seems to be the steepest is not: look at the others
            counts[r] = insert_steep(
                steep, rough, 0.0, top, X, rests[r], limits[r], samples[r], weights[r], n, most
            )
        is_done[i] = counts[r] == n
