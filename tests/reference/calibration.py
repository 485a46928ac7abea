"""The temperature of held-out scores, read off its definition."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax


def loss(scores, classes, temperature):
    """Log-loss of rows mixed with a uniform share of 1/(n + 2), and a third of an average row of no class."""
    n, n_classes = scores.shape
    logs = log_softmax(scores / temperature, axis=1)
    own = (1 - 1 / (n + 2)) * np.exp(logs[np.arange(n), classes]) + 1 / (n + 2) / n_classes
    return -np.log(own).sum() - logs.mean() / 3


def best_temperature(scores, classes, bounds=(1e-3, 10)):
    """Where the loss is least."""
    how = {"bounds": np.log(bounds), "method": "bounded", "options": {"xatol": 1e-10}}
    return np.exp(minimize_scalar(lambda log: loss(scores, classes, np.exp(log)), **how).x)
