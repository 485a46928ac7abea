"""Temperature and uniform share of held-out scores, read off their definition."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax


def loss(scores, classes, temperature, share):
    """Log-loss of rows mixed with a uniform share, a third of an average row of no class, and a sure row."""
    n, n_classes = scores.shape
    logs = log_softmax(scores / temperature, axis=1)
    own = (1 - share) * np.exp(logs[np.arange(n), classes]) + share / n_classes
    return -np.log(own).sum() - logs.mean() / 3 - np.log(1 - share)


def best_calibration(scores, classes, bounds=(1e-3, 10)):
    """Where the loss is least: the temperature, and a share of at least 1/(n + 2)."""

    def least(function, bounds):
        grid = np.linspace(*bounds, 25)
        near = grid[np.argmin([function(one) for one in grid])]
        step = grid[1] - grid[0]
        around = (max(near - step, bounds[0]), min(near + step, bounds[1]))
        found = minimize_scalar(function, method="bounded", bounds=around, options={"xatol": 1e-9})
        return min((found.fun, found.x), (function(bounds[0]), bounds[0]))

    def with_share(log):
        return least(lambda at: loss(scores, classes, np.exp(at), np.exp(log)), np.log(bounds))

    log_share = least(lambda log: with_share(log)[0], (-np.log(len(scores) + 2), -1e-3))[1]
    return np.exp(with_share(log_share)[1]), np.exp(log_share)
