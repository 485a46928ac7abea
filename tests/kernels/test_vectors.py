"""Terms of a code as vectors, beside the same in NumPy."""

import numba
import numpy as np
import pytest

from nearboost.kernels.vectors import FAR, LANES, subtract_row


@numba.njit
def subtract(scores, row, weight):
    return subtract_row(scores, row, weight)


@pytest.mark.parametrize("kind", ["floats", "ties", "negative", "far"])
@pytest.mark.parametrize("n_vectors", [1, 2, 7])
def test_the_first_place_with_the_lowest_score(kind, n_vectors):
    rng = np.random.default_rng(n_vectors)
    for _ in range(50):
        scores = rng.normal(size=n_vectors * LANES).astype(np.float32)
        row = rng.normal(size=len(scores) + 3).astype(np.float32)[: len(scores)]
        if kind == "ties":
            scores, row = np.round(scores), np.round(row)
        if kind == "negative":
            scores -= 100
        if kind == "far":
            scores[rng.random(len(scores)) < 0.9] = FAR
            scores[rng.integers(len(scores))] = 1.0
        expected = scores - np.float32(0.5) * row
        place = subtract(scores, row, np.float32(0.5))
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
        assert place == scores.argmin()


def test_scores_that_are_all_far_have_a_place_all_the_same():
    scores = np.full(2 * LANES, FAR)
    assert 0 <= subtract(scores, scores, np.float32(0)) < len(scores)


def test_other_arrays_are_refused():
    scores = np.ones(LANES)
    with pytest.raises(numba.TypingError):
        subtract(scores, scores, np.float32(0))
