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
