"""Wrong labels: those that are planted come first, and their number is about right."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nearboost.models.mislabelled import judge_labels, judge_rows, wrong_probabilities


def drawn(seed, n_items=3000, n_classes=8, n_wrong=90):
    """Labels of known probabilities, some of them drawn anew."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(n_classes, 0.1), n_items)
    labels = (chances.cumsum(axis=1) > rng.random((n_items, 1))).argmax(axis=1)
    wrong = rng.choice(n_items, n_wrong, replace=False)
    labels[wrong] = (labels[wrong] + rng.integers(1, n_classes, n_wrong)) % n_classes
    return chances, labels, np.isin(np.arange(n_items), wrong)


@pytest.mark.parametrize("n_wrong", [0, 90, 300])
def test_the_number_of_wrong_labels_is_about_right(n_wrong):
    for seed in range(3):
        chances, labels, wrong = drawn(seed, n_wrong=n_wrong)
        found = wrong_probabilities(chances, labels)
        assert abs(found.sum() - n_wrong) < 10 + 0.2 * n_wrong
        judged = judge_labels(chances, labels)
        if n_wrong:
            likely = judged.order[: judged.n_likely]
            assert abs(wrong[likely].mean() - judged.share) < 0.15
            assert wrong[judged.order[: n_wrong // 3]].mean() > 0.8


def test_likely_wrong_labels_are_at_the_front_of_those_that_are_said_to_be_others():
    n_classes = 20
    sure = np.full((400, n_classes), 0.001)
    sure[:, 0] = 1 - sure[:, 1:].sum(axis=1)
    unsure = np.full((60, n_classes), 0.93 / 19)  # their own label is said, and less probable than wrong ones are
    unsure[:, 1] = 0.07
    wrong = np.full((20, n_classes), 0.001)
    wrong[:, 2] = 0.08
    wrong[:, 0] = 1 - wrong[:, 1:].sum(axis=1)
    chances, labels = np.concatenate([sure, unsure, wrong]), np.repeat([0, 1, 2], [400, 60, 20])
    judged = judge_labels(chances, labels)
    suspects = judged.order[judged.said[judged.order] != labels[judged.order]]
    assert np.array_equal(judged.order[: len(suspects)], suspects)
    assert np.array_equal(np.sort(suspects), np.arange(460, 480))


def test_planted_digits_come_first():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(3)
    rows, planted = rng.choice(len(y), 300, replace=False), np.arange(5)
    labels = y[rows].copy()
    labels[planted] = (labels[planted] + rng.integers(1, 10, 5)) % 10
    judged = judge_labels(judge_rows(X[rows], labels, 10, None, 1, 0), labels)
    assert np.isin(planted, judged.order[:10]).sum() >= 4


def test_classes_that_nobody_else_can_judge():
    with pytest.raises(ValueError, match="A class has one item or group only"):
        judge_rows(np.eye(4), np.array([0, 0, 0, 1]), 2, None, 1, 0)
