"""Scales of features: few copies of the rows."""

import tracemalloc

import numpy as np
import pytest

from nearboost.ensemble.scaling import SCALINGS


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_is_that_of_a_copy_or_two(name, dtype):
    X = np.random.default_rng(0).normal(size=(2_000, 100)).astype(dtype)
    before, weight, n_bytes = X.copy(), np.ones(len(X)), 8 * X.size
    tracemalloc.start()
    scaling = SCALINGS[name](X, weight)
    made = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made < 1.7 * n_bytes
    assert np.abs(scaling.apply(X).std(axis=0) - 1).max() < 0.1
    np.testing.assert_array_equal(X, before)


def test_ranks_lie_on_straight_lines_between_knots():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=700), rng.integers(0, 3, 700), np.zeros(700)])  # repeated knots
    scaling = SCALINGS["normal ranks"](X, np.ones(len(X)))
    Q = np.concatenate([X, 2 * X, rng.normal(scale=3, size=(300, 3))])
    expected = [np.interp(Q[:, f], scaling.knots[f], scaling.heights[f]) for f in range(3)]
    np.testing.assert_allclose(scaling.apply(Q), np.transpose(expected), atol=1e-6)


@pytest.mark.parametrize("name", SCALINGS)
def test_numbers_too_small_to_divide_by_are_scaled(name):
    """One over a deviation of 1e-310 is infinite, and times 0 no number."""
    X = np.repeat([[-1e-310], [0.0], [1e-310]], 10, axis=0)
    assert np.isfinite(SCALINGS[name](X, np.ones(len(X))).apply(X)).all()
