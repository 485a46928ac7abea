"""Names of groups: what is missing is refused at once, and what a file cannot hold as it is becomes text."""

import datetime

import numpy as np
import pytest

from nearboost import INNClassifier, N3Classifier
from nearboost.models import load, save
from nearboost.problem.groups import name_groups

NUMBERS = np.arange(60) // 3
DAYS = np.datetime64("2020-01-01") + NUMBERS
KINDS = {
    "fractions": NUMBERS / 2,
    "dates": DAYS,
    "dates of Python": DAYS.astype(object),
    "bytes": np.array([f"plate {number}".encode() for number in NUMBERS]),
    "objects": np.array(NUMBERS.tolist(), dtype=object),
}


def problem():
    y = np.arange(60) % 3
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 0] += 3 * y
    return X, y


@pytest.mark.parametrize("classifier", [N3Classifier(3, n_rounds=5), INNClassifier(decision="residual")])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_any_kind_are_kept_in_files(kind, classifier, tmp_path):
    X, y = problem()
    fitted, by_number = (classifier.fit(X, y, groups=groups) for groups in (KINDS[kind], NUMBERS))
    save(fitted, tmp_path / "model.nb")
    changed = load(tmp_path / "model.nb").forget([5])
    np.testing.assert_array_equal(changed.predict_proba(X), by_number.forget([5]).predict_proba(X))


@pytest.mark.parametrize(
    "missing",
    [
        np.where(NUMBERS == 2, np.nan, NUMBERS),
        np.where(NUMBERS == 2, np.datetime64("NaT"), DAYS),
        np.where(NUMBERS == 2, None, "plate"),
    ],
)
def test_a_missing_group_is_one_sentence(missing):
    X, y = problem()
    with pytest.raises(ValueError, match=r"groups has (nan|None) for row 6; give every sample a group"):
        N3Classifier().fit(X, y, groups=missing)


def test_names_stay_apart():
    assert name_groups([b"a", b"\xff"], 2).tolist() == ["a", "\\xff"]
    assert name_groups([datetime.date(2020, 1, 2)], 1).tolist() == ["2020-01-02"]
    assert name_groups([1.0, 2.0], 2).dtype == np.float64
