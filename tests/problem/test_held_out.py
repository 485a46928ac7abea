"""Seeds and folds; `tests/boosting/test_cross_fitting.py` has more of folds."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from nearboost.base import threads
from nearboost.kernels import search as kernels
from nearboost.problem import held_out
from nearboost.problem.calibration import calibrate, log_losses
from nearboost.problem.held_out import (
    best_scores,
    deal_cross_folds,
    deal_folds,
    deal_parts,
    distinct,
    distinct_pairs,
    find_seed,
    mark_rows,
    spread_folds,
    standard_error,
    whole_groups,
)
from nearboost.problem.targets import labels_from_classes, labels_from_indicator


def test_seeds():
    assert find_seed(None) == 0
    assert find_seed(np.int64(7)) == 7
    assert find_seed(np.random.RandomState(3)) == find_seed(np.random.RandomState(3))
    with pytest.raises(ValueError, match="cannot be used to seed"):
        find_seed("three")


def test_folds_and_parts_are_dealt_alike():
    """Tenths: whole groups, each class spread evenly over them."""
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.permutation(200), 3)
    labels = labels_from_classes(groups % 4, 4)
    folds = deal_folds(labels, groups, np.random.RandomState(0))
    parts = deal_parts(labels, groups, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(600))
    for rows in [*folds, *parts]:
        assert len(rows) == 60
        assert not set(groups[rows]) & set(np.delete(groups, rows))
        np.testing.assert_array_equal(np.bincount(labels.classes()[rows]), [15] * 4)


def votes_for(truth, n_wrong, confidence):
    """Scores by which the last rows are wrong; the surer, the larger the lead."""
    leader = truth.copy()
    leader[len(truth) - n_wrong :] = (leader[len(truth) - n_wrong :] + 1) % 3
    return confidence[:, np.newaxis] * np.eye(3)[leader]


def test_of_scores_right_as_often_the_least_log_loss_is_best():
    truth = np.arange(60) % 3
    labels, flat = labels_from_classes(truth, 3), np.ones(60)
    knows = np.where(np.arange(60) < 55, 1.0, 0.1)  # unsure where it errs
    assert best_scores([votes_for(truth, 5, flat), votes_for(truth, 5, knows)], labels, flat) == [1, 0]
    assert best_scores([votes_for(truth, 5, knows), votes_for(truth, 5, flat)], labels, flat) == [0, 1]
    by_chance = votes_for(truth, 5, knows)  # right on two of the five errors, wrong on three others
    by_chance[:3] = np.roll(by_chance[:3], 1, axis=1)
    by_chance[-2:] = np.eye(3)[truth[-2:]] * 0.1
    assert best_scores([votes_for(truth, 5, flat), by_chance], labels, flat) == [1, 0]
    assert best_scores([votes_for(truth, 5, flat), votes_for(truth, 6, knows)], labels, flat) == [0]


def test_of_scores_that_err_more_often_none_is_best():
    """Fifteen errors, none of them sure, have less log-loss than five that are as sure as the rest."""
    truth = np.arange(60) % 3
    labels, flat = labels_from_classes(truth, 3), np.ones(60)
    candidates = [votes_for(truth, 5, flat), votes_for(truth, 15, np.where(np.arange(60) < 45, 1.0, 1e-6))]
    losses = [
        log_losses(calibrate(scores, labels, flat)[0].probabilities(scores), labels) for scores in candidates
    ]
    assert losses[1].sum() < losses[0].sum()
    assert best_scores(candidates, labels, flat) == [0]


def test_scores_of_several_labels_are_compared_too():
    members = np.eye(4, dtype=int)[np.arange(40) % 4] | np.eye(4, dtype=int)[np.arange(40) // 10]
    labels = labels_from_indicator(members)
    good, noise = np.where(members, 1.0, -1.0), np.random.default_rng(0).normal(size=(40, 4))
    assert best_scores([noise, good + 0.1 * noise, noise], labels, np.ones(40)) == [1]


def test_parts_of_many_rows_and_of_few_groups(monkeypatch):
    labels, rows = labels_from_classes(np.arange(90) % 2, 2), np.arange(90)
    assert [len(part) for part in deal_parts(labels, rows, 0)] == [9] * 10
    assert [len(part) for part in deal_parts(labels, np.arange(90) % 3, 0)] == [30] * 3
    assert deal_parts(labels, np.zeros(90, dtype=int), 0) == []
    assert not np.array_equal(deal_parts(labels, rows, 0)[0], deal_parts(labels, rows, 1)[0])
    monkeypatch.setattr(held_out, "FEW_ROWS", 80)
    assert [len(part) for part in deal_parts(labels, rows, 0)] == [18] * 5
    monkeypatch.setattr(held_out, "ENOUGH", 15)
    assert [len(part) for part in deal_parts(labels, rows, 0)] == [15] * 6


def test_equal_rows_are_held_out_together():
    """A copy of a row, with its own label or another one, is never on both sides; nor are groups with one."""
    rng = np.random.default_rng(0)
    content, groups = rng.permutation(np.arange(90) // 2), np.arange(90) // 3
    X, y = rng.normal(size=(45, 2))[content], rng.choice(["a", "b", "c"], 90)
    folds = spread_folds(X, y, None, 5, 0)
    assert [set(folds[content == one]) for one in range(45)] == [{folds[content == one][0]} for one in range(45)]
    np.testing.assert_array_equal(np.sort(np.bincount(folds)), [18] * 5)
    together = whole_groups(X, groups)
    for one in np.unique(together):
        assert not set(content[together == one]) & set(content[together != one])
        assert not set(groups[together == one]) & set(groups[together != one])


def test_marks_of_sparse_rows_are_of_their_values():
    dense = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [-0.0, 0.0, 0.0]])
    columns = [0, 1, 2, 2, 1, 0, 1, 2, 0]  # zeros that are kept, another order, a value in two parts
    values = [0.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 0.0, -0.0]
    sparse = csr_array((values, columns, [0, 3, 5, 8, 8, 9]), shape=(5, 3))
    for marks in (mark_rows(dense), mark_rows(sparse)):
        assert (marks[0], marks[3]) == (marks[1], marks[4])
        assert len(np.unique(marks)) == 3


def test_marks_do_not_depend_on_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float16)
    X[700] = X[3]
    marks = mark_rows(X)
    monkeypatch.setattr(threads, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "NUMBERS_AT_ONCE", 64)
    np.testing.assert_array_equal(mark_rows(X, 3), marks)
    assert marks[700] == marks[3]


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 33])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, "int8 file"])
@pytest.mark.parametrize("collide", [False, True])
def test_equal_rows_are_found(collide, dtype, n_features, monkeypatch, tmp_path):
    """Also where all rows look as if they were equal; −0 is 0."""
    monkeypatch.setattr(threads, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "NUMBERS_AT_ONCE", 2 * 64 * n_features)
    if collide:
        monkeypatch.setattr(kernels, "fingerprint", lambda rows, minus_zero, found: found.fill(7))
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (300, n_features)) if n_features < 7 else rng.integers(-50, 50, (300, n_features))
    X[250:] = X[:50]
    if dtype == "int8 file":
        np.save(tmp_path / "X.npy", X.astype(np.int8))
        rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        rows = X.astype(dtype)
        rows[280:] *= np.where(rows[280:] == 0, -1, 1)
    first = np.unique(X, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(whole_groups(rows, None, 2), first[1][first[2].ravel()])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["bits", "counts", "pixels", "normal"])
def test_few_rows_that_differ_look_alike(kind, dtype):
    """Contents are compared of those that do."""
    rng = np.random.default_rng(0)
    draw = {"bits": lambda n: rng.integers(0, 2, n), "counts": lambda n: rng.poisson(1, n)}
    draw |= {"pixels": lambda n: rng.integers(0, 256, n), "normal": lambda n: rng.normal(size=n)}
    X = draw[kind]((20_000, 102)).astype(dtype)
    bits, found = np.dtype(f"u{X.itemsize}"), np.empty(len(X), dtype=np.uint64)
    kernels.fingerprint(X.view(bits), bits.type(1 << (8 * bits.itemsize - 1)), found)
    assert len(distinct(found)) == len(X)


@pytest.mark.parametrize("n_rows", [0, 1, 200])
def test_distinct_values_and_pairs(n_rows):
    rng = np.random.default_rng(0)
    first, second = rng.integers(-3, 4, n_rows), rng.choice(["a", "b", "c"], n_rows)
    np.testing.assert_array_equal(distinct(first), np.unique(first))
    pairs = list(zip(*distinct_pairs(first, second), strict=True))
    assert pairs == sorted(set(zip(first, second, strict=True)))


def test_rows_that_differ_are_held_out_as_before():
    X, groups = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 7
    assert whole_groups(X, groups) is groups
    np.testing.assert_array_equal(whole_groups(X, None), np.arange(30))
    X[-1] = X[3]
    np.testing.assert_array_equal(whole_groups(X, None), [*range(29), 3])


def test_no_more_folds_than_the_largest_class_has_groups():
    X, y = np.arange(12.0).reshape(12, 1), np.repeat([0, 1], 6)
    assert set(spread_folds(X, y, np.arange(12) // 2, 5, 0)) == {0, 1, 2}
    assert set(spread_folds(X, np.arange(12), None, 5, 0)) == {0}
    assert set(spread_folds(X * 0, y, None, 5, 0)) == {0}


def test_classes_are_held_out_apart_where_groups_hold_several():
    """Dealt out by their first classes, the two groups of class 1 would share a fold."""
    classes, groups = np.array([0, 1, 2, 2, 3, 1]), np.array([0, 0, 2, 2, 4, 4])
    folds = deal_cross_folds(labels_from_classes(classes, 4), groups, np.random.RandomState(0))
    assert [fold.tolist() for fold in folds] == [[0, 1], [4, 5]]


def test_standard_errors_count_groups_that_err_together():
    right = np.repeat([True] * 15 + [False] * 5, 10)
    alone, together = (standard_error(right, groups) for groups in (np.arange(200), np.arange(200) // 10))
    assert alone == pytest.approx(np.sqrt(0.75 * 0.25 / 200), rel=0.01)
    assert together == pytest.approx(np.sqrt(0.75 * 0.25 / 20))
    mixed = standard_error(right, np.arange(200) % 20)  # each group has its share of errors
    assert mixed == pytest.approx(alone, rel=0.01)
    assert standard_error(np.ones(8, dtype=bool), np.arange(8)) == pytest.approx(np.sqrt(0.9 * 0.1 / 8))
