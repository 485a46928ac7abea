"""Loops that turn local descriptors into rows: mixtures of Gaussians, clusters, pooled weights of words."""

from nearboost.base.compiling import kernel

FARTHEST = 1e15  # deviations: squares beyond would be infinite in float32


@kernel
def standardise(rows, mean, inverse, expanded):
    """Rows less ``mean`` times ``inverse``, at most so large, and beside them their squares."""
    n_features = mean.size
    for i in range(rows.shape[0]):
        for f in range(n_features):
            value = min(max((rows[i, f] - mean[f]) * inverse[f], -FARTHEST), FARTHEST)
            expanded[i, f] = value
            expanded[i, n_features + f] = value * value


@kernel
def add_by_label(rows, labels, sums, counts):
    """Sums of the rows of each label, and how many there are."""
    for i in range(rows.shape[0]):
        label = labels[i]
        counts[label] += 1
        for f in range(rows.shape[1]):
            sums[label, f] += rows[i, f]


@kernel
def pool_largest(indptr, words, weights, cells, pooled):
    """The largest weight of each word in each cell, 0 where none is above; a descriptor lies in several cells."""
    for i in range(len(indptr) - 1):
        for cell in cells[i]:
            for entry in range(indptr[i], indptr[i + 1]):
                word = words[entry]
                if weights[entry] > pooled[cell, word]:
                    pooled[cell, word] = weights[entry]


@kernel
def pool_sums(indptr, words, weights, cells, pooled):
    """The sum of the weights of each word in each cell."""
    for i in range(len(indptr) - 1):
        for cell in cells[i]:
            for entry in range(indptr[i], indptr[i + 1]):
                pooled[cell, words[entry]] += weights[entry]
