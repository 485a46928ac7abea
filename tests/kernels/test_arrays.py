"""Loops that stand for NumPy's own."""

import numpy as np
import pytest

from nearboost.kernels.arrays import kth_smallest


@pytest.mark.parametrize("values", ["few", "many", "sorted", "falling", "equal", "infinite"])
@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_the_kth_smallest(size, values):
    rng = np.random.default_rng(size)
    drawn = rng.integers(0, 4 if values == "few" else 1000, size).astype(np.float64)
    if values in ("sorted", "falling"):
        drawn = np.sort(drawn)[:: 1 if values == "sorted" else -1].copy()
    if values == "equal":
        drawn[:] = 7.0
    if values == "infinite":
        drawn[::2] = np.inf
    expected = np.sort(drawn)
    for k in range(size):
        moved = drawn.copy()
        assert kth_smallest(moved, k) == expected[k]
        np.testing.assert_array_equal(np.sort(moved), expected)
