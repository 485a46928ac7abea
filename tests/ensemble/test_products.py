"""Products whose rows do not depend on each other."""

import numpy as np
import pytest

from nearboost.ensemble.products import Factor


@pytest.mark.parametrize("n_features", [1, 7, 513, 1100])
@pytest.mark.parametrize("n_columns", [1, 16, 37])
def test_a_row_has_the_same_bits_in_any_company(n_features, n_columns):
    """The matrix library's rows differ by their places, where it is made for Haswell."""
    rng = np.random.default_rng(n_columns)
    rows = rng.normal(size=(29, n_features)).astype(np.float32)
    matrix = rng.normal(size=(n_features, n_columns)).astype(np.float32)
    factor = Factor(matrix)
    together = factor.after(rows)
    np.testing.assert_allclose(together, rows.astype(np.float64) @ matrix, rtol=1e-4, atol=1e-3)
    for size in (1, 2, 5, 6, 13):
        apart = [factor.after(rows[i : i + size]) for i in range(0, len(rows), size)]
        np.testing.assert_array_equal(np.concatenate(apart), together)
    np.testing.assert_array_equal(factor.after(rows[::-1]), together[::-1])


def test_room_that_is_given_is_filled_and_nothing_beside_it():
    rng = np.random.default_rng(0)
    rows, matrix = rng.normal(size=(8, 70)).astype(np.float32), rng.normal(size=(70, 20)).astype(np.float32)
    room = np.full((8, 24), 7, dtype=np.float32)
    Factor(matrix).after(rows, room[:, :20])
    np.testing.assert_array_equal(room[:, :20], Factor(matrix).after(rows))
    np.testing.assert_array_equal(room[:, 20:], 7)


def test_nothing_to_multiply():
    empty = Factor(np.empty((3, 0), dtype=np.float32)).after(np.ones((2, 3), dtype=np.float32))
    assert empty.shape == (2, 0)
    assert Factor(np.ones((3, 4), dtype=np.float32)).after(np.ones((0, 3))).shape == (0, 4)
