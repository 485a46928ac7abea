"""Labels, weights and groups as every classifier poses them."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from nearboost import KNNClassifier, LinearSGDClassifier, MLNNClassifier, N3Classifier, NearBoostClassifier
from nearboost.linear.rows import announce_coding
from nearboost.problem.targets import (
    GivenRows,
    check_weights,
    count_outside,
    find_coding,
    labels_from_classes,
    labels_from_indicator,
    number_groups,
    pose_problem,
    weigh_classes,
)

INDICATOR = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 1]])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_codes_of_classes(n_classes):
    classes = np.random.default_rng(n_classes).integers(0, n_classes, 40)
    classes[:n_classes] = np.arange(n_classes)
    labels, rows = labels_from_classes(classes, n_classes), np.array([3, 4, 30])
    assert labels.n_columns == (1 if n_classes == 2 else n_classes)
    np.testing.assert_array_equal(labels.classes(), classes)
    np.testing.assert_array_equal(labels.classes(rows), classes[rows])
    for column in range(labels.n_columns):
        own = classes == (1 if n_classes == 2 else column)
        np.testing.assert_array_equal(labels.codes(column), np.where(own, 1, -1))
        np.testing.assert_array_equal(labels.signs(rows)[:, column], np.where(own[rows], 1, -1))
        np.testing.assert_array_equal(labels.members_of(column), np.flatnonzero(own))
        assert labels.shares(np.arange(40.0))[column] == pytest.approx(np.arange(40)[own].sum() / 780)


def test_codes_of_several_labels():
    labels = labels_from_indicator(INDICATOR)
    np.testing.assert_array_equal(labels.classes(), [0, -1, 1, 2])  # the first label, or none
    np.testing.assert_array_equal(labels.classes(np.array([3, 1])), [2, -1])
    np.testing.assert_array_equal(labels.signs(np.arange(4)), 2 * INDICATOR - 1)
    np.testing.assert_array_equal(labels.take(np.array([2, 0])).members.toarray(), INDICATOR[[2, 0]])
    with pytest.raises(ValueError, match="must hold 0 and 1 only"):
        labels_from_indicator(2 * INDICATOR)


def test_accuracy_counts_rows_by_weight_and_labels_one_by_one():
    weights, rows = np.array([1.0, 3.0]), np.array([0, 2])
    one_each = labels_from_classes(np.array([2, 0, 1]), 3)
    assert one_each.accuracy(np.array([[0, 0, 1.0], [1.0, 0, 0]]), rows, weights) == 0.25
    two = labels_from_classes(np.array([1, 0, 0]), 2)
    assert two.accuracy(np.array([[-1.0], [-1.0]]), rows, weights) == 0.75
    several = labels_from_indicator(INDICATOR)
    assert several.accuracy(np.array([[1.0, -1, 1], [-1, -1, -1]]), rows, weights) == pytest.approx(0.5)


def test_coding_finds_classes_and_refuses_others():
    coding = find_coding(np.array(["b", "c", "a", "b"]))
    assert coding.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(coding.encode(np.array(["c", "a"])).classes(), [2, 0])
    with pytest.raises(ValueError, match="y holds 'd', which is not among the classes"):
        coding.encode(np.array(["a", "d"]))
    assert find_coding(INDICATOR).multilabel
    with pytest.raises(ValueError, match="one column for each of 3 labels"):
        find_coding(INDICATOR).encode(INDICATOR[:, :2])
    with pytest.raises(ValueError, match="several columns that are not 0/1"):
        find_coding(np.array([[1, 2], [3, 4]]))


def test_announced_classes_need_not_occur():
    coding = announce_coding(np.array([3, 1, 3]), [5, 3, 1])
    assert coding.n_columns == 3
    np.testing.assert_array_equal(coding.encode(np.array([5, 1])).classes(), [2, 0])


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 2.0, "c": 0.0}, None])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    y = np.array(list("abacabca"))
    weights = weigh_classes(class_weight, y, np.unique(y), multilabel=False)
    np.testing.assert_array_equal(weights, compute_sample_weight(class_weight, y))
    if class_weight == "balanced":
        of_labels = weigh_classes(class_weight, INDICATOR, np.arange(3), multilabel=True)
        np.testing.assert_array_equal(of_labels, compute_sample_weight(class_weight, INDICATOR))


@pytest.mark.parametrize(
    ("class_weight", "multilabel", "message"),
    [
        ("even", False, "class_weight='even' is not known"),
        ([1.0, 2.0], False, "must be a dict of numbers"),
        ({"a": -1.0}, False, "finite numbers of at least 0"),
        ({0: 2.0}, True, 'must be "balanced" or None'),
    ],
)
def test_wrong_class_weights(class_weight, multilabel, message):
    y = INDICATOR if multilabel else np.array(list("abab"))
    with pytest.raises(ValueError, match=message):
        weigh_classes(class_weight, y, np.unique(y), multilabel)


def test_groups():
    np.testing.assert_array_equal(number_groups(["x", "z", "x"], 3), [0, 1, 0])
    np.testing.assert_array_equal(number_groups(None, 3), [0, 1, 2])
    assert count_outside(np.array([0, 1, 1, 1, 4])) == 2
    assert count_outside(np.empty(0, dtype=int)) == 0


@pytest.mark.parametrize("y", [np.array(list("abcacbab")), np.vstack([INDICATOR, INDICATOR])])
@pytest.mark.parametrize("class_weight", ["balanced", None])
def test_rows_of_no_weight_are_absent(y, class_weight):
    X, groups, weight = np.arange(16.0).reshape(8, 2), np.arange(8) // 2, np.array([1, 0, 2, 1, 0, 5, 1, 1])
    kept = np.flatnonzero(weight)
    coding, given = find_coding(y), GivenRows.of(X, y, weight, groups)
    posed = pose_problem(given, coding, class_weight)
    alone = pose_problem(GivenRows.of(X[kept], y[kept], weight[kept], groups[kept]), coding, class_weight)
    np.testing.assert_array_equal(given.kept, kept)
    np.testing.assert_array_equal(posed.X, alone.X)
    np.testing.assert_array_equal(posed.labels.members.toarray(), alone.labels.members.toarray())
    np.testing.assert_array_equal(posed.weights.product, alone.weights.product)
    np.testing.assert_array_equal(posed.groups, alone.groups)
    assert posed.weights.sample.mean() == pytest.approx(1.0)


def test_something_must_count():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="leave no sample that counts"):
        pose_problem(GivenRows.of(X, y, None, None), find_coding(y), {0: 0.0, 1: 0.0})
    with pytest.raises(ValueError, match="All samples that count are of one class"):
        pose_problem(GivenRows.of(X, y, [1, 1, 0, 0], None), find_coding(y), None)


def test_check_weights():
    np.testing.assert_array_equal(check_weights(None, 3), np.ones(3))
    np.testing.assert_array_equal(check_weights([1, 0, 2], 3), [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(check_weights(2, 3), [2.0, 2.0, 2.0])
    assert check_weights([1, 0, 2], 3).dtype == np.float64
    for wrong in ([1, 2], np.ones((3, 1)), [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0]):
        with pytest.raises(ValueError, match="sample_weight"):
            check_weights(wrong, 3)


@pytest.mark.parametrize("wrong", [["a", "b", "c"], [[1], [1, 2], [3]]])
def test_weights_that_are_no_numbers(wrong):
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy's own sentence
        check_weights(wrong, 3)


@pytest.mark.parametrize("classifier", [NearBoostClassifier, KNNClassifier, LinearSGDClassifier, MLNNClassifier])
def test_numbers_with_fractions_are_no_classes(classifier):
    with pytest.raises(ValueError, match=r"y holds 0\.5, .* whole; give y\.astype\(str\) if .* or np\.digitize"):
        classifier().fit(np.eye(4), np.array([1, 0.5, 1, 0.5]))


@pytest.mark.parametrize("classifier", [NearBoostClassifier, MLNNClassifier])
def test_columns_of_which_each_row_has_one(classifier):
    rows, columns = np.arange(20.0).reshape(10, 2), np.eye(2)[np.arange(10) % 2]
    with pytest.raises(ValueError, match=r"one label per sample; give np\.asarray\(y\)\.argmax\(axis=1\)\."):
        classifier().fit(rows, columns)
    columns[0] = 1
    with pytest.raises(
        ValueError, match=r"one label per sample; (N3Classifier takes several|use one_vs_all=True)"
    ):
        classifier().fit(rows, columns)


@pytest.mark.parametrize("classifier", [N3Classifier(2, n_rounds=2), LinearSGDClassifier()])
def test_columns_may_be_meant_for_classes(classifier, recwarn):
    rows, columns = np.arange(20.0).reshape(10, 2), np.eye(2)[np.arange(10) % 2]
    with pytest.warns(UserWarning, match=r"exclude each other give np\.asarray\(y\)\.argmax\(axis=1\)\."):
        classifier.fit(rows, columns)
    recwarn.clear()
    columns[0] = 1
    classifier.fit(rows, columns)
    assert not [one for one in recwarn if "argmax" in str(one.message)]
