"""Samples and queries to code."""

import numpy as np

GENERIC = ("random", "duplicates")
NASTY = ("ties", "near ties", "offset", "far offset", "tiny", "huge", "outlier", "line", "equal")


def random_rows(seed, kind="random", m=60, n=12, d=5, dtype=np.float64):
    """m samples and n queries; the last queries are samples, or lie between two."""
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(m, d)), 1.3 * rng.normal(size=(n, d))
    if kind == "duplicates":
        X[m // 2 :] = X[: m - m // 2]
    elif kind == "ties":
        X, Q = np.round(X), np.round(Q)
    elif kind == "near ties":  # what float32 cannot tell apart
        X = np.round(X) + 1e-9 * rng.normal(size=(m, d))
    elif kind in ("offset", "far offset"):
        offset = 1e7 if kind == "offset" else 1e13
        X, Q = X + offset, Q + offset
    elif kind in ("tiny", "huge"):
        scale = 1e-250 if kind == "tiny" else 1e250
        X, Q = scale * X, scale * Q
    elif kind == "outlier":
        X[0] *= 1e6
        Q[0] *= 1e15
    elif kind == "line":
        X[:, 1:] = 0.0
    elif kind == "equal":
        X[:] = X[0]
    Q[-2], Q[-1] = X[m // 3], (X[0] + X[-1]) / 2
    return X.astype(dtype), Q.astype(dtype)
