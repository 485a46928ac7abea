"""Mixtures of Gaussians without correlations, and Fisher vectors (Perronnin, Sánchez and Mensink 2010)."""

import numpy as np


def log_density(x, mean, variance):
    return -0.5 * np.sum(np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)


def posterior(X, weights, means, variances):
    """Shares of the components in each row, and the rows' log-likelihoods."""
    logs = np.array(
        [[np.log(w) + log_density(x, m, v) for w, m, v in zip(weights, means, variances, strict=True)] for x in X]
    )
    largest = logs.max(axis=1, keepdims=True)
    total = np.exp(logs - largest).sum(axis=1, keepdims=True)
    return np.exp(logs - largest) / total, (largest + np.log(total))[:, 0]


def em_step(X, weights, means, variances):
    shares, logs = posterior(X, weights, means, variances)
    counts = shares.sum(axis=0)
    new_means = np.array([np.average(X, axis=0, weights=s) for s in shares.T])
    new_variances = np.array(
        [np.average((X - m) ** 2, axis=0, weights=s) for s, m in zip(shares.T, new_means, strict=True)]
    )
    return counts / len(X), new_means, new_variances, logs.mean()


def fisher_vector(X, weights, means, variances):
    """Gradients by means, then by variances; in each by Gaussian, then by dimension."""
    shares, _ = posterior(X, weights, means, variances)
    by_means, by_variances = [], []
    for k, (w, m, v) in enumerate(zip(weights, means, variances, strict=True)):
        gaps = (X - m) / np.sqrt(v)
        by_means.append(sum(shares[i, k] * gaps[i] for i in range(len(X))) / (len(X) * np.sqrt(w)))
        by_variances.append(
            sum(shares[i, k] * (gaps[i] ** 2 - 1) for i in range(len(X))) / (len(X) * np.sqrt(2 * w))
        )
    return np.concatenate([*by_means, *by_variances])


def normalised(fisher, n_components, *, power=0.5, norm="l2", per_gaussian=False):
    vector = np.sign(fisher) * np.abs(fisher) ** power
    if per_gaussian:
        parts = vector.reshape(2, n_components, -1)
        for k in range(n_components):
            length = np.linalg.norm(parts[:, k])
            parts[:, k] /= length if length else 1
        vector = parts.ravel()
    length = {"l2": np.linalg.norm(vector), "l1": np.abs(vector).sum(), None: 1}[norm]
    return vector / (length or 1)
