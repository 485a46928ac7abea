"""One temperature and a share for every class: fitted to held-out scores, in the order of the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nearboost.problem import calibration as module
from nearboost.problem.calibration import (
    Calibration,
    calibrate,
    exact_match,
    fit_calibration,
    fit_label_calibration,
    leading_class,
    warn_uncalibrated,
)
from nearboost.problem.targets import labels_from_classes, labels_from_indicator
from reference.calibration import best_calibration


def test_temperature_makes_scores_as_sure_as_they_are_right():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(4000, 3))
    chances = np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True)
    classes = (rng.random((4000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    labels = labels_from_classes(classes, 3)
    calibration, intercept = calibrate(scores, labels, np.ones(4000))
    assert calibration.temperature == pytest.approx(0.5, rel=0.1)
    assert not intercept.any()
    assert exact_match(scores, labels) == pytest.approx(chances.max(axis=1).mean(), abs=0.03)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("lead", [0.0, 1.0, 9.0])
@pytest.mark.parametrize("n_wrong", [0, 12])
def test_temperature_and_share_are_the_ones_defined(n_wrong, lead, n_classes):
    """Whether scores know little, much, or never err: they are not trusted without end."""
    rng = np.random.default_rng(4)
    classes = np.arange(60) % n_classes
    scores = rng.normal(size=(60, n_classes)) + (lead + 0.5) * np.eye(n_classes)[classes]
    classes[:n_wrong] = (classes[:n_wrong] + 1) % n_classes
    found = fit_calibration(scores, classes)
    assert (found.temperature, found.uniform_share) == pytest.approx(best_calibration(scores, classes), rel=1e-4)


@pytest.mark.parametrize(("n_classes", "bend"), [(2, 1.7), (6, 1.7), (6, 0.6), (6, 1.0)])
def test_leads_that_tell_more_or_less_than_in_proportion_are_bent(n_classes, bend):
    """As the votes of neighbours do; mean confidence then is accuracy, wherever leads are small or large."""
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(30_000, n_classes)) * rng.uniform(0.1, 3, (30_000, 1))
    chances = np.exp(-((2 * (scores.max(axis=1, keepdims=True) - scores)) ** bend))
    chances /= chances.sum(axis=1, keepdims=True)
    classes = (rng.random((30_000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    found = fit_calibration(scores, classes, may_bend=True)
    assert found.bend == pytest.approx(bend, rel=0.05)
    assert found.temperature == pytest.approx(0.5, rel=0.1)
    assert fit_calibration(scores, classes).bend == 1.0
    p = found.probabilities(scores)
    np.testing.assert_allclose(p, chances, atol=0.03)
    right = p.argmax(axis=1) == classes
    for part in np.array_split(np.argsort(p.max(axis=1)), 5):
        assert p.max(axis=1)[part].mean() == pytest.approx(right[part].mean(), abs=0.02)


def test_few_rows_hardly_bend():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(20, 3))
    classes = scores.argmax(axis=1)
    classes[:4] = (classes[:4] + 1) % 3
    assert 0.6 < fit_calibration(scores, classes, may_bend=True).bend < 1.6


def test_a_share_explains_scores_that_are_wrong_far_from_the_lead():
    """As counts of pairwise wins are: right on two rows of three, else the true class is anywhere."""
    rng = np.random.default_rng(6)
    classes = rng.integers(0, 30, 600)
    scores = rng.permuted(np.tile(np.arange(30.0), (600, 1)), axis=1)
    sure = np.flatnonzero(rng.random(600) < 2 / 3)
    for row in sure:
        other = np.flatnonzero(scores[row] == 29)[0]
        scores[row, [other, classes[row]]] = scores[row, [classes[row], other]]
    p = fit_calibration(scores, classes).probabilities(scores)
    right = p.argmax(axis=1) == classes
    assert p.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.02)


def test_one_wrong_label_does_not_make_all_others_doubtful():
    """The uniform share explains it."""
    classes = np.arange(100) % 2
    scores = np.where(classes == 1, 1.0, -1.0)[:, np.newaxis]
    scores[7] *= -1000
    fitted = fit_calibration(scores, classes)
    assert fitted.probabilities(np.array([[1.0]]))[0, 1] > 0.97


def test_intercepts_of_labels():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4000, 2))
    truth = rng.random((4000, 2)) < 1 / (1 + np.exp(-2 * (scores + np.array([1.0, -1.0]))))
    labels = labels_from_indicator(truth.astype(int))
    calibration, intercept = calibrate(scores, labels, np.ones(4000))
    assert calibration.temperature == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(intercept, [1.0, -1.0], atol=0.1)
    assert exact_match(np.where(truth, 1.0, -1.0), labels) == 1.0


def test_no_class_is_less_probable_than_its_share_of_one_row():
    """Ten rows that are all right say nothing of the eleventh: 1/12 is left to the four classes together."""
    classes = np.arange(12) % 4
    fitted = fit_calibration(30.0 * np.eye(4)[classes][:10], classes[:10])
    assert fitted.uniform_share == 1 / 12
    sure = fitted.probabilities(np.array([[1e300, 0.0, -1e300, -np.finfo(float).max]]))
    np.testing.assert_allclose(sure, [[1 - 3 / 48, 1 / 48, 1 / 48, 1 / 48]], rtol=1e-12)


def test_two_columns_of_two_classes_are_one_column_and_its_mirror_image():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 1))
    classes = (scores[:, 0] + rng.normal(size=200) > 0).astype(int)
    one, two = fit_calibration(scores, classes), fit_calibration(np.hstack([-scores, scores]), classes)
    assert one == two
    np.testing.assert_array_equal(one.probabilities(scores), two.probabilities(np.hstack([-scores, scores])))


def test_scores_in_other_units_give_the_same_probabilities():
    rng = np.random.default_rng(3)
    scores, classes = rng.normal(size=(300, 5)), rng.integers(0, 5, 300)
    scores[np.arange(300), classes] += 2
    expected = fit_calibration(scores, classes).probabilities(scores)
    for unit in (1e-200, 1e-6, 1e6, 1e150):
        found = fit_calibration(unit * scores, classes).probabilities(unit * scores)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("several", [False, True])
def test_rows_without_a_weight_are_as_good_as_absent(several):
    rng = np.random.default_rng(1)
    scores, classes, weight = rng.normal(size=(90, 3)), rng.integers(0, 3, 90), rng.random(90) + 0.5
    weight[::4] = 0
    there = weight > 0
    fit, truth = (fit_label_calibration, np.eye(3)[classes] > 0) if several else (fit_calibration, classes)
    whole, part = fit(scores, truth, weight), fit(scores[there], truth[there], weight[there])
    assert (whole[0] if several else whole) == (part[0] if several else part)
    assert (whole[0] if several else whole).uniform_share >= 1 / (there.sum() + 2)
    assert fit(scores, truth, weight + 3) != whole


def test_without_any_row_half_is_left_open():
    assert fit_calibration(np.empty((0, 3)), np.empty(0, int), unknown=0.25) == Calibration(0.25, 0.5)
    with pytest.warns(UserWarning, match="at least two samples of each class"):
        warn_uncalibrated()


def test_labels_that_are_never_wrong_are_not_trusted_without_end():
    truth = np.arange(40).reshape(20, 2) % 3 == 0
    scores = np.where(truth, 1.0, -1.0)
    calibration, intercept = fit_label_calibration(scores, truth)
    found = calibration.probabilities(scores + intercept)
    assert calibration.uniform_share == 1 / 22
    np.testing.assert_allclose(found[truth], (1 - 1 / 22) * (1 - 1 / 44) + 1 / 44, atol=2e-3)
    np.testing.assert_array_equal(found > 0.5, truth)


def test_many_scores_are_looked_at_in_part(monkeypatch):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(4000, 2))
    classes = (rng.random(4000) < 1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))).astype(int)
    whole = fit_calibration(scores, classes)
    monkeypatch.setattr(module, "_MOST_ENTRIES", 4000)
    part = fit_calibration(scores, classes)
    assert part.temperature != whole.temperature
    assert part.temperature == pytest.approx(whole.temperature, rel=0.15)


finite = st.floats(-1e300, 1e300)


@given(
    st.integers(1, 5).flatmap(lambda n: arrays(np.float64, (4, n), elements=finite)),
    st.floats(1e-9, 1e9),
    st.floats(0, 0.5),
    st.floats(0.25, 4),
)
def test_rows_sum_to_one_and_the_leader_leads(scores, temperature, share, bend):
    p = Calibration(temperature, share, bend=bend).probabilities(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), leading_class(scores))
    assert p.min() >= share / p.shape[1] * (1 - 1e-12)
    several = Calibration(temperature, share, multilabel=True).probabilities(scores)
    np.testing.assert_array_equal(several > 0.5, scores > 0)
    assert several.min() >= 0
    assert several.max() <= 1
