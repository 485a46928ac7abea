"""The oracle's tree against a plain maximum with the tie window."""

import numpy as np
import pytest

from nearboost.kernels.oracle import (
    LARGEST_DECREASE,
    LARGEST_DELTA,
    RANDOM,
    TIE_WINDOW,
    build_tree,
    candidate_value,
    choose,
    set_leaf,
)


def plant(values, oracle):
    tree = np.full(2 << (len(values) - 1).bit_length(), 0.0 if oracle == RANDOM else -np.inf)
    tree[len(tree) // 2 : len(tree) // 2 + len(values)] = values
    build_tree(tree, oracle)
    return tree


def plainly(values):
    best = values.max()
    if best == -np.inf:
        return -1
    return int(np.flatnonzero(values >= best - TIE_WINDOW * max(1.0, best))[0])


@pytest.mark.parametrize("m", [1, 2, 3, 7, 8, 9, 100])
def test_the_tree_finds_the_first_of_the_best(m):
    rng = np.random.default_rng(m)

    def draw():
        kind = rng.integers(5)
        if kind == 0:
            return -np.inf
        if kind == 1:
            return 1 + rng.integers(-3, 4) * 0.4e-10  # ties in and out of the window
        if kind == 2:
            return 1e6 * (1 + rng.integers(-3, 4) * 0.4e-10)  # where the window is relative
        return rng.uniform(0, 2)

    values = np.array([draw() for _ in range(m)])
    tree = plant(values, LARGEST_DELTA)
    seen = set()
    for _ in range(500):
        chosen = choose(tree, LARGEST_DELTA, 0.0)
        assert chosen == plainly(values)
        seen.add(chosen)
        j = rng.integers(m)
        values[j] = -np.inf if rng.random() < 0.3 else draw()
        set_leaf(tree, LARGEST_DELTA, j, values[j])
    assert len(seen) > min(m, 5) // 2
    for j in range(m):
        set_leaf(tree, LARGEST_DELTA, j, -np.inf)
    assert choose(tree, LARGEST_DELTA, 0.0) == -1


@pytest.mark.parametrize("m", [1, 5, 8, 33])
def test_random_choice_is_even_over_the_candidates(m):
    rng = np.random.default_rng(m)
    values = (rng.random(m) < 0.5).astype(float)
    values[0] = 1.0
    tree = plant(np.zeros(m), RANDOM)
    for j in rng.permutation(m):
        set_leaf(tree, RANDOM, j, values[j])
    candidates = np.flatnonzero(values)
    draws = (np.arange(60 * len(candidates)) + 0.5) / (60 * len(candidates))  # evenly over [0, 1)
    chosen = np.array([choose(tree, RANDOM, draw) for draw in draws])
    np.testing.assert_array_equal(chosen, np.repeat(candidates, 60))
    assert choose(tree, RANDOM, 0.0) == candidates[0]
    assert choose(tree, RANDOM, np.nextafter(1.0, 0.0)) == candidates[-1]
    assert choose(plant(np.zeros(m), RANDOM), RANDOM, 0.5) == -1


def test_what_makes_a_candidate():
    assert candidate_value(LARGEST_DELTA, 0.5, 2.0, 4.0) == 1.0
    assert candidate_value(LARGEST_DECREASE, 0.5, 2.0, 4.0) == 0.125
    assert candidate_value(RANDOM, 0.5, 2.0, 4.0) == 1.0
    for eta in (0.0, -1.0, 1e-17):
        assert candidate_value(LARGEST_DELTA, eta, 2.0, 4.0) == -np.inf
        assert candidate_value(LARGEST_DECREASE, eta, 2.0, 4.0) == -np.inf
        assert candidate_value(RANDOM, eta, 2.0, 4.0) == 0.0
