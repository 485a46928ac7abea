"""Weights of words, pooled over the cells of a pyramid."""

from nearboost.base.compiling import kernel


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
