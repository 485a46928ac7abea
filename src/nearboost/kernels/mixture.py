"""Loops of mixtures of Gaussians: rows made ready for matrix products, sums of rows by cluster."""

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
