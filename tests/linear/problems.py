"""Small problems for linear classifiers."""

import numpy as np


def noisy_classes(n_rows=300, n_features=8, n_classes=4, seed=0):
    """Labels from a noisy linear rule; features of very different variance, off centre."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * np.geomspace(3, 0.1, n_features)
    X = X @ np.linalg.qr(rng.standard_normal((n_features, n_features)))[0] + 0.3
    rule = rng.standard_normal((n_features, n_classes)) * 4
    return X, (X @ rule + rng.standard_normal((n_rows, n_classes))).argmax(axis=1)
