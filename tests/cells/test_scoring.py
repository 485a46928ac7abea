"""Scores of segmentations, against a plain reading."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from nearboost.cells import pooled, score_labels
from nearboost.cells.scoring import THRESHOLDS

LABELS = arrays(np.uint8, (6, 7), elements=st.integers(0, 4))


def plain_matches(found, true, threshold):
    """The largest number of pairs one to one."""
    a, b = (np.unique(labels[labels > 0]) for labels in (found, true))
    good = np.array(
        [[np.sum((found == i) & (true == j)) / np.sum((found == i) | (true == j)) for j in b] for i in a]
    )
    if not good.size:
        return 0
    good = good >= threshold
    return int(good[linear_sum_assignment(~good)].sum())


@given(LABELS, LABELS)
def test_matches_are_one_to_one(found, true):
    score = score_labels(found, true)
    assert score.found == len(np.unique(found[found > 0]))
    assert score.true == len(np.unique(true[true > 0]))
    assert list(score.matches) == [plain_matches(found, true, threshold) for threshold in THRESHOLDS]
    assert 0 <= score.mean_ap <= score.f1 <= 1


@given(LABELS)
def test_itself_is_perfect(labels):
    score = score_labels(labels, labels * 3)
    assert (score.f1, score.mean_ap, score.splits, score.merges) == (1.0, 1.0, 0, 0)


def test_splits_and_merges():
    one, two = np.ones((4, 8), int), np.ones((4, 8), int)
    two[:, 4:] = 2
    assert score_labels(two, one).splits == 1
    assert score_labels(two, one).merges == 0
    assert score_labels(one, two).merges == 1
    assert score_labels(one, two).matches[0] == 1  # half of the union, and only once


def test_pooled_counts_are_sums():
    a, b = np.array([[1, 1, 2, 0]]), np.array([[1, 1, 0, 2]])
    both = pooled([score_labels(a, a), score_labels(a, b)])
    assert (both.found, both.true, both.matches[0]) == (4, 4, 3)
    assert both.f1 == pytest.approx(0.75)
    assert both.as_json()["f1"] == both.f1
    with pytest.raises(ValueError, match="must be equal"):
        score_labels(a, b.T)
    assert pooled([]).f1 == 1.0
