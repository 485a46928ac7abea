"""Controls apart, and the dose of half of the effect."""

import re

import numpy as np
import pytest

from nearboost.cells import fit_dose, z_prime
from nearboost.cells.responses import hill

DOSES = np.repeat([0.0, 0.3, 1, 3, 10, 30, 100], 3)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e6])
def test_the_curve_is_found(falling, factor):
    ends = (0.9, 0.1) if falling else (0.1, 0.9)
    answers = hill(DOSES, *ends, np.log(5.0), 1.3) + np.random.default_rng(0).normal(0, 0.03, len(DOSES))
    found = fit_dose(DOSES * factor, answers)
    assert found.ec50 == pytest.approx(5.0 * factor, rel=0.3)
    assert found.ec50_low < found.ec50 < found.ec50_high
    assert (found.low, found.high) == pytest.approx(ends, abs=0.08)
    np.testing.assert_allclose(found.at(DOSES * factor), hill(DOSES, *ends, np.log(5.0), 1.3), atol=0.08)


def test_intervals_hold_the_truth():
    inside = 0
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, 0.05, len(DOSES))
        found = fit_dose(DOSES, hill(DOSES, 0.1, 0.9, np.log(5.0), 1.0) + noise)
        inside += found.ec50_low <= 5.0 <= found.ec50_high
    assert inside >= 16


@pytest.mark.parametrize(
    ("doses", "answers", "match"),
    [
        ([1, 2, 3], [0.1, 0.5, 0.9], "3 of the doses are above 0; a curve takes 5"),
        (DOSES, np.full(len(DOSES), 0.5), "the same at all doses"),
        (DOSES, np.random.default_rng(1).normal(size=len(DOSES)), "does not change|outside|near"),
        (DOSES, 0.1 + 0.001 * DOSES, "outside of the doses"),
    ],
)
def test_a_sentence_says_why_there_is_none(doses, answers, match):
    found = fit_dose(doses, answers)
    assert found.ec50 is None
    assert re.search(match, found.note)
    with pytest.raises(ValueError, match="no curve"):
        found.at([1.0])


def test_controls():
    assert z_prime([10, 10.2], [1, 1.2]).value == pytest.approx(1 - 3 * 2 * np.std([0, 0.2], ddof=1) / 9)
    assert "2 positive and 1 negative" in z_prime([1, 2], [3]).note
    assert z_prime([1, 1], [1, 1]).value is None
