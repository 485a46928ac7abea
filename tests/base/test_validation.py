"""Each check says in one sentence what was wrong."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from nearboost import INNClassifier, KNNClassifier, N3Classifier, NeighborSearch
from nearboost.base import threads
from nearboost.base.validation import (
    check_choice,
    check_columns,
    check_count_or_share,
    check_flag,
    check_labels,
    check_not_negative,
    check_positive,
    check_whole,
    check_wholes,
    first_not_finite,
    float_type,
    validate_rows,
)


def test_check_choice():
    check_choice("metric", "l2", ("l2", "l1"))
    check_choice("calibration", None, ("temperature", None))
    for wrong in ("l3", None, 2, ["l2"], np.array(["l2"])):
        with pytest.raises(ValueError, match=r"metric=.* is not known; use one of 'l2', 'l1'\."):
            check_choice("metric", wrong, ("l2", "l1"))


def test_numbers_of_numpy_are_written_as_numbers():
    with pytest.raises(ValueError, match="n_neighbors=0 must be"):
        check_whole("n_neighbors", np.int64(0))
    with pytest.raises(ValueError, match="metric='l3' is not known"):
        check_choice("metric", np.str_("l3"), ("l2",))


def test_check_flag():
    check_flag("early_stopping", True)
    check_flag("early_stopping", np.False_)
    for wrong in (0, 1, "yes", None):
        with pytest.raises(ValueError, match="True or False"):
            check_flag("early_stopping", wrong)


def test_check_whole():
    for right in (1, np.int32(5), 10**12):
        check_whole("n", right)
    check_whole("n", None, optional=True)
    check_whole("n", 2, least=2)
    for wrong in (0, -1, 1.0, "1", True, np.True_, None):
        with pytest.raises(ValueError, match=r"n=.* must be a whole number of at least 1\."):
            check_whole("n", wrong)
    with pytest.raises(ValueError, match="at least 2 or None"):
        check_whole("n", 1, least=2, optional=True)
    check_whole("n", 1000, most=1000)
    with pytest.raises(ValueError, match=r"n=1001 must be a whole number of at least 1 and at most 1,000\."):
        check_whole("n", 1001, most=1000)


def test_check_wholes():
    for right in ((1, 2, 4), [9], np.array([3, 1])):
        check_wholes("levels", right, 9, n_most=3, such_as=(1, 2))
    for wrong in ((), 4, "12", {1: 2}, (1, 1, 1, 1), np.eye(2, dtype=int), None):
        with pytest.raises(ValueError, match=r"must be a tuple of whole numbers, such as \(1, 2\), and of 3"):
            check_wholes("levels", wrong, 9, n_most=3, such_as=(1, 2))
    for wrong in ((0,), (1, 10), (1.0,), (True,)):
        with pytest.raises(ValueError, match="at least 1 and at most 9 or a tuple of such"):
            check_wholes("levels", wrong, 9, n_most=3, such_as=(1, 2))


def test_check_positive():
    for right in (1, 0.5, np.float32(0.1), 1e300):
        check_positive("rate", right)
    check_positive("rate", None, optional=True)
    check_positive("rate", 1.0, most=1.0)
    for wrong in (0, -0.1, np.nan, np.inf, "1", True, None, 1j):
        with pytest.raises(ValueError, match=r"rate=.* must be a number above 0"):
            check_positive("rate", wrong)
    with pytest.raises(ValueError, match="at most 1"):
        check_positive("rate", 1.01, most=1.0)


def test_check_not_negative():
    for right in (0, 0.0, np.float32(0), 1, 0.5):
        check_not_negative("ridge", right, "which adds nothing")
    for wrong in (-1e-9, np.nan, np.inf, "0", False, np.False_, None):
        with pytest.raises(ValueError, match=r"ridge=.* must be 0, which adds nothing, or a number above 0\."):
            check_not_negative("ridge", wrong, "which adds nothing")


def test_check_not_negative_without_a_meaning_of_zero():
    check_not_negative("smoothing", 0)
    check_not_negative("smoothing", np.float32(1.5))
    for wrong in (-1, np.nan, np.inf, "1", None, True):
        with pytest.raises(ValueError, match=r"smoothing=.* must be a number of at least 0\."):
            check_not_negative("smoothing", wrong)
    with pytest.raises(ValueError, match=r"smoothing=101 must be a number of at least 0 and at most 100\."):
        check_not_negative("smoothing", 101, most=100)


@pytest.mark.parametrize("kind", ["u1", "i2", "?", "f2", "<f4", ">f4"])
def test_float32_where_it_holds_all_numbers_of_a_type(kind):
    assert float_type(np.dtype(kind)) is np.float32


@pytest.mark.parametrize("kind", ["i4", "u8", "<f8", ">f8"])
def test_float64_for_all_others(kind):
    assert float_type(np.dtype(kind)) is np.float64


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_rows_with_gaps_are_named(value, kind):
    X = np.zeros((5000, 3))
    X[4321, 2] = value
    with pytest.raises(
        ValueError, match=f"^X contains {kind} in row 4,321, feature 2; fill in .* leave such rows out.$"
    ):
        validate_rows(KNNClassifier(), X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [3, 3000])  # looked at one by one, and by sums or bits
def test_the_first_row_that_is_not_finite(n_rows, dtype):
    largest = np.finfo(dtype).max
    block = np.full((n_rows, 10), largest, dtype=dtype)
    block[:, ::2] = -largest
    assert first_not_finite(block) is None
    assert first_not_finite(np.abs(block)) is None  # whose sum is no number
    for bad in (np.nan, -np.nan, np.inf, -np.inf):
        block[n_rows // 2, 7] = bad
        assert first_not_finite(block) == n_rows // 2
        assert first_not_finite(block[:, ::-1]) == n_rows // 2
    assert first_not_finite(block[:0]) is None


@pytest.fixture
def many_parts(monkeypatch):
    """Rows are looked at some at a time, in several threads."""
    monkeypatch.setattr(threads, "WORTH_THREADS", 1)
    monkeypatch.setattr(threads, "NUMBERS_AT_ONCE", 100)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_are_kept_are_copied_whole(order, dtype, many_parts):
    X = np.random.default_rng(0).normal(size=(3000, 7)).astype(dtype, order=order)
    given = X.copy(order=order)
    for keep in (False, True):
        kinds = [np.float64, np.float32, np.float16]
        kept = validate_rows(KNNClassifier(n_jobs=3), X, keep=keep, dtype=kinds, order="C")
        assert np.shares_memory(kept, X) == (order == "C" and not keep)
        assert kept.flags.c_contiguous
        np.testing.assert_array_equal(kept, given)
        assert kept.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_of_many_gaps_is_named(dtype, many_parts):
    X = np.zeros((5000, 3), dtype=dtype)
    X[[4321, 4400, 4999], 2] = np.nan
    with pytest.raises(ValueError, match=r"^X contains NaN in row 4,321, feature 2"):
        KNNClassifier(n_jobs=3).fit(X, np.arange(5000) % 2)
    with pytest.raises(ValueError, match=r"^Row 4321 holds NaN or infinity"):
        NeighborSearch(X, n_jobs=3)


def test_rows_that_cannot_be_measured_are_named_whichever_part_they_are_in(many_parts):
    X = np.ones((5000, 3))
    X[4321] = 0.0
    with pytest.raises(ValueError, match=r"^Row 4321 is all zeros"):
        NeighborSearch(X, "cosine", n_jobs=3)
    X[4321], X[17] = 1e-60, 1e150
    with pytest.raises(ValueError, match=r"^Row 17 holds 1e.150, .* such as 4321, of values up to 1e-60"):
        NeighborSearch(X, n_jobs=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_fit_that_is_refused_changes_nothing(bad):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    other = rng.normal(size=(60, 4))
    other[3, 3] = bad
    for model in (KNNClassifier(), N3Classifier(3, n_rounds=2), INNClassifier()):
        with pytest.raises(ValueError, match="row 3, feature 3"):
            model.fit(other, y)
        with pytest.raises(NotFittedError):
            model.predict(X)
        answers = model.fit(X, y).predict(X)
        with pytest.raises(ValueError, match="row 3, feature 3"):
            model.fit(other, y)
        np.testing.assert_array_equal(model.predict(X), answers)


def test_a_number_of_rows_or_a_share_of_them():
    for right in (2, np.int32(7), 0.1, np.float32(0.1), np.float64(1), None):
        check_count_or_share("n_prototypes", right)
    for wrong in (1, True, "2", np.bool_(True)):
        with pytest.raises(ValueError, match=r"at least 2 or a share such as 0\.1 or None"):
            check_count_or_share("n_prototypes", wrong)
    for wrong in (1.5, np.float32(0), np.float16(np.nan)):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            check_count_or_share("n_prototypes", wrong)


@pytest.mark.parametrize("kind", [object, str, list])
def test_texts_among_numbers_are_named(kind):
    rows = [["1.5", "2"], ["3", "red"], ["blue", "4"]]
    X = rows if kind is list else np.array(rows, dtype=kind)
    said = r"^X holds 'red' in row 1, feature 1, where numbers are needed; encode .* or leave it out\.$"
    for refuse in (lambda: validate_rows(KNNClassifier(), X), lambda: NeighborSearch(X)):
        with pytest.raises(ValueError, match=said):
            refuse()


@pytest.mark.parametrize("X", ["rows.npy", Path("rows.npy")])
def test_a_file_is_opened_first(X):
    said = r"^X is 'rows.npy', where rows of numbers are needed; open a file of them with .*open_rows\.$"
    for refuse in (lambda: validate_rows(KNNClassifier(), X), lambda: NeighborSearch(X)):
        with pytest.raises(ValueError, match=said):
            refuse()


@pytest.mark.parametrize("X", [["red", "blue"], np.array("red"), np.array(["red", 2], dtype=object)])
def test_texts_become_rows_first(X):
    for refuse in (lambda: KNNClassifier().fit(X, [0, 1]), lambda: NeighborSearch(X)):
        with pytest.raises(ValueError, match=r"^X holds texts, where rows .* with TfidfVectorizer for example\.$"):
            refuse()


def test_what_is_missing_among_numbers_is_no_text():
    with pytest.raises(ValueError, match=r"^Row 1 holds NaN or infinity"):
        NeighborSearch([[1, 2], [None, 3]])
    with pytest.raises(ValueError, match=r"^Rows must form a matrix"):
        NeighborSearch(None)


def test_columns_that_are_no_numbers_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2], "b": [True, False], "c": np.array([1, 2.5], dtype=object)})
    check_columns(table.assign(d=pandas.Categorical([3, 4]), e=pandas.array([1, None], dtype="Int64")))
    check_columns(table.iloc[:0])
    for wrong in (
        pandas.Categorical(["x", "y"]),
        ["x", "y"],
        pandas.array(["x", "y"], dtype="string"),
        pandas.to_datetime([0, 1]),
        pandas.to_timedelta([0, 1]),
    ):
        with pytest.raises(ValueError, match=r"Column 'd' is of the kind .* where numbers are needed; encode it"):
            check_columns(table.assign(d=wrong))


def test_labels_are_all_there_and_of_one_kind():
    for right in (
        ["a", "b"], [1, 2.5], np.array(["a", "b"], dtype=object), np.array([1, 2.5, True], dtype=object),
        [[0, 1], [1, 1]], np.array([("a", "b"), None], dtype=object)[:1], 3, None,
    ):  # fmt: skip
        check_labels(right)
    for missing in (None, np.nan, float("nan")):
        with pytest.raises(ValueError, match=r"Row 1 of y has no label; give it one, or leave the row out\."):
            check_labels(np.array(["a", missing, "b"], dtype=object))
    with pytest.raises(ValueError, match=r"row 1 has no label; give it one, or leave the row out\."):
        check_labels([0.0, np.nan])
    with pytest.raises(ValueError, match=r"y holds texts and others \('a' and 1\); give labels of one kind\."):
        check_labels(np.array([1, "a"], dtype=object))


def test_labels_of_different_lengths():
    with pytest.raises(ValueError, match=r"y holds lists of different lengths; give one .* MultiLabelBinarizer"):
        check_labels([["a"], ["a", "b"]])


def test_labels_in_columns():
    with pytest.raises(ValueError, match=r"y should be a 1d array.*; give .*np\.asarray\(y\)\.argmax\(axis=1\)"):
        validate_rows(KNNClassifier(), np.eye(4), np.eye(4))


def test_gaps_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"a": pandas.array([1.0, 2.0], dtype="Float64"), "b": pandas.array([1, None], "Int64")}
    )
    with pytest.raises(ValueError, match=r"^X contains NaN in row 1, feature 1; fill in"):
        validate_rows(KNNClassifier(), table)


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    for labels in (pandas.Categorical(["a", None]), pandas.array(["a", None], dtype="string"), ["a", pandas.NaT]):
        with pytest.raises(ValueError, match="Row 1 of y has no label"):
            check_labels(pandas.Series(labels))
