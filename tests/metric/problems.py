"""Rows with pairs to learn from."""

import numpy as np


def random_pairs(seed, *, kind="random", m=30, d=5, n_pairs=60):
    """Rows, pairs of different rows and which pairs are alike; bounds that bite on both sides."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, m)
    X = rng.normal(size=(m, d)) + y[:, None] * rng.normal(size=d)
    if kind == "ties":
        X = np.round(X)
    if kind == "duplicates":
        X[m // 2 :] = X[: m - m // 2]
    first = rng.integers(0, m, n_pairs)
    pairs = np.stack([first, (first + rng.integers(1, m, n_pairs)) % m], axis=1)
    if kind == "duplicates":
        pairs[:5] = [[i, i + m // 2] for i in range(5)]  # no distance at all, wherever they stand in a sweep
        pairs[-1] = pairs[0]
    return X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]], (2.0, 12.0)


def noisy_rows(seed, m=300, n_noise=9):
    """Three classes along the first feature; the others are noise, three times as wide."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 3
    X = rng.normal(size=(m, 1 + n_noise)) * np.r_[1, np.full(n_noise, 3)]
    X[:, 0] += 3 * y
    return X, y
