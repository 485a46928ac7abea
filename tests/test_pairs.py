"""Selections of a grid of parameters: every pair is there, few cases, always the same; the rest is slow."""

from itertools import combinations, product

import pytest

from pairs import cover_pairs

SIZES = [(3, 2), (2, 2, 2), (11, 2, 3), (2, 1, 4, 3), (3, 2, 3, 4, 3), (2,) * 7, (4, 4, 4)]


def grid(sizes):
    return list(product(*map(range, sizes)))


@pytest.mark.parametrize("sizes", SIZES)
def test_every_pair_of_values_is_covered(sizes):
    cases = [grid(sizes)[place] for place in cover_pairs(grid(sizes))]
    for (i, n), (j, m) in combinations(enumerate(sizes), 2):
        assert {(case[i], case[j]) for case in cases} == set(product(range(n), range(m)))


@pytest.mark.parametrize("sizes", SIZES)
def test_the_selection_keeps_the_order_and_never_varies(sizes):
    places = cover_pairs(grid(sizes))
    assert places == sorted(set(places)) == cover_pairs(grid(sizes))


@pytest.mark.parametrize(
    ("sizes", "most"), [((11, 2, 3), 33), ((3, 2, 3, 4, 3), 16), ((2,) * 7, 8), ((4, 4, 4), 20)]
)
def test_the_selection_is_small(sizes, most):
    """The two longest options alone need the product of their lengths."""
    first, second = sorted(sizes)[-2:]
    assert first * second <= len(cover_pairs(grid(sizes))) <= most


def test_two_options_need_their_product():
    assert cover_pairs(grid((3, 2))) == list(range(6))


def test_only_pairs_that_occur_are_covered():
    assert cover_pairs([("a", 1, "x"), ("a", 1, "y"), ("b", 2, "y")]) == [0, 1, 2]
    assert cover_pairs([("a", 1), ("a", 1), ("b", 2)]) == [0, 2]
    assert cover_pairs([]) == []


GRID = """
import pytest

@pytest.mark.pairs
@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize(("b", "c"), [([], "x"), ({}, "y")])
@pytest.mark.parametrize("d", [3.0, 4.0])
def test_grid(a, b, c, d):
    pass

@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize("b", [1, 2])
@pytest.mark.parametrize("c", [1, 2])
def test_product(a, b, c):
    pass
"""


def test_what_a_marked_test_leaves_out_is_slow(pytester, request):
    pytester.makeconftest((request.config.rootpath / "tests" / "conftest.py").read_text())
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nmarkers = ["slow", "pairs", "alone"]\n')
    pytester.makepyfile(GRID)
    pytester.runpytest("-m", "not slow").assert_outcomes(passed=4 + 8, deselected=4)
    pytester.runpytest("-m", "slow").assert_outcomes(passed=4, deselected=4 + 8)
