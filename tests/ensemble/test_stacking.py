"""Weights of heads: those of a general minimiser, drawn to equal ones where rows are few."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nearboost.ensemble.stacking import EQUAL_AT, fit_stack, fit_weights
from reference.stack import smoothed_loss


def heads_of(seed, n_rows=60, n_classes=4):
    """One good, one middling, one that knows nothing and one that is wrong, on scales of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    right, noise = np.eye(n_classes)[truth], rng.normal(size=(4, n_rows, n_classes))
    signal = np.array([1.5, 0.5, 0.0, -0.7])[:, np.newaxis, np.newaxis]
    scales = np.array([1.0, 30.0, 0.01, 1.0])[:, np.newaxis, np.newaxis]
    return scales * (signal * right + noise), truth, rng.uniform(0.5, 2, n_rows)


def minimised(heads, truth, weight):
    """By L-BFGS-B from even weights, in units of each head's spread."""
    units = heads.std(axis=(1, 2))
    found = minimize(
        lambda a: smoothed_loss(a / units, heads, truth, weight), np.full(len(heads), 0.5), method="L-BFGS-B",
        bounds=[(0, None)] * len(heads), options={"ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return found.x / units


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_least_loss(seed):
    heads, truth, weight = heads_of(seed)
    found, expected = fit_weights(heads, truth, weight), minimised(heads, truth, weight)
    units = heads.std(axis=(1, 2))
    np.testing.assert_allclose(found * units, expected * units, atol=1e-4)
    assert found[3] == 0  # a head that is wrong is not turned round
    loss = smoothed_loss(found, heads, truth, weight)
    assert loss <= smoothed_loss(expected, heads, truth, weight) + 1e-9


def test_heads_that_are_always_right_stay_finite():
    truth = np.arange(30) % 3
    heads = np.eye(3)[truth][np.newaxis]
    np.testing.assert_allclose(
        fit_weights(heads, truth, np.ones(30)), minimised(heads, truth, np.ones(30)), rtol=1e-3
    )


@pytest.mark.parametrize("n_training", [20, 500, 10_000])
def test_few_rows_draw_weights_to_equal_ones(n_training):
    heads, truth, weight = heads_of(5)
    heads = heads[:2]
    single = np.array([minimised(head[np.newaxis], truth, weight)[0] for head in heads])
    summed = np.tensordot(single, heads, 1)[np.newaxis]
    equal = minimised(summed, truth, weight)[0] * single
    share = EQUAL_AT / (EQUAL_AT + n_training)
    expected = (1 - share) * minimised(heads, truth, weight) + share * equal
    units = heads.std(axis=(1, 2))
    np.testing.assert_allclose(fit_stack(heads, truth, weight, n_training) * units, expected * units, atol=1e-4)
