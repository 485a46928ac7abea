"""Terms of a code and products as vectors, beside the same in NumPy."""

import numba
import numpy as np
import pytest

from nearboost.kernels.vectors import FAR, LANES, ROWS, multiply_rows, squared_gaps, subtract_row


@numba.njit
def subtract(scores, at, width, rows, start, weight):
    return subtract_row(scores, at, width, rows, start, weight)


@numba.njit
def gaps_between(X, own, rows, first, squares):
    squared_gaps(X, own, rows, first, squares)


@numba.njit
def multiply(A, first, start, panel, sums):
    multiply_rows(A, first, start, panel, sums)


@pytest.mark.parametrize("kind", ["floats", "ties", "negative", "far"])
@pytest.mark.parametrize("n_vectors", [1, 2, 7])
def test_the_first_place_with_the_lowest_score(kind, n_vectors):
    rng = np.random.default_rng(n_vectors)
    for _ in range(50):
        scores = rng.normal(size=(2, n_vectors * LANES)).astype(np.float32)
        rows = rng.normal(size=scores.size + 5).astype(np.float32)
        if kind == "ties":
            scores, rows = np.round(scores), np.round(rows)
        if kind == "negative":
            scores -= 100
        if kind == "far":
            scores[rng.random(scores.shape) < 0.9] = FAR
            scores[:, rng.integers(scores.shape[1])] = 1.0
        above, width = scores[0].copy(), scores.shape[1]
        expected = scores[1] - np.float32(0.5) * rows[3 : 3 + width]
        place = subtract(scores, width, width, rows, 3, np.float32(0.5))
        np.testing.assert_allclose(scores[1], expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(scores[0], above)
        assert place == scores[1].argmin()


def test_scores_that_are_all_far_have_a_place_all_the_same():
    scores = np.full(2 * LANES, FAR)
    assert 0 <= subtract(scores, 0, len(scores), scores, 0, np.float32(0)) < len(scores)


def test_rows_are_multiplied_from_a_place_on_and_the_last_one_again():
    rng = np.random.default_rng(0)
    A, panel, sums = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 9), (5, LANES), (ROWS, LANES)))
    expected = sums + A[np.minimum(np.arange(2, 2 + ROWS), 3), 3:8] @ panel
    multiply(A, 2, 3, panel, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_vectors", [1, 2, 7])
@pytest.mark.parametrize("first", [0, 6])
def test_squared_gaps(first, n_vectors):
    rng = np.random.default_rng(n_vectors)
    X, rows = rng.normal(size=(20, n_vectors * LANES)).astype(np.float32), rng.integers(0, 20, 9).astype(np.int32)
    squares = np.empty(ROWS, dtype=np.float32)
    gaps_between(X, rows[2], rows, first, squares)
    others = rows[np.minimum(first + np.arange(ROWS), len(rows) - 1)]
    np.testing.assert_allclose(squares, np.square(X[rows[2]] - X[others]).sum(axis=1), rtol=1e-5)


def test_other_arrays_are_refused():
    scores, matrix = np.ones(LANES), np.ones((ROWS, LANES))
    with pytest.raises(numba.TypingError):
        subtract(scores, 0, LANES, scores, 0, np.float32(0))
    with pytest.raises(numba.TypingError):
        multiply(matrix, 0, 0, matrix, matrix)
    with pytest.raises(numba.TypingError):
        gaps_between(matrix, 0, np.zeros(1, dtype=np.int32), 0, scores)
