"""MATLAB files: the layouts that are known, and one sentence for those that are not."""

import numpy as np
import pytest
from scipy.io import savemat

from nearboost.datasets import read_mat

ROWS = np.arange(60.0).reshape(5, 12)
LABELS = np.array([1, 1, 2, 2, 2])


def write(folder, **variables):
    path = folder / "faces.mat"
    savemat(path, variables)
    return path


def test_rows_and_labels(tmp_path):
    rows = read_mat(write(tmp_path, fea=ROWS.astype(np.uint8), gnd=LABELS[:, np.newaxis]))
    assert rows.X.dtype == np.uint8
    np.testing.assert_array_equal(rows.X, ROWS)
    np.testing.assert_array_equal(rows.y, LABELS)
    assert rows.X_test is None


@pytest.mark.parametrize("field", ["X", "x"])
@pytest.mark.parametrize(
    "values",
    [ROWS, ROWS.T, np.moveaxis(ROWS.reshape(5, 3, 4), 0, 2), ROWS.reshape(5, 3, 4)],
    ids=["rows", "columns", "images last", "images first"],
)
def test_structs_of_rows_or_images(tmp_path, field, values):
    part = {field: values, "y": LABELS}
    rows = read_mat(write(tmp_path, TrainSet=part, TestSet={field: values, "y": LABELS[::-1]}))
    for found in (rows.X, rows.X_test):
        np.testing.assert_array_equal(found, ROWS)
    np.testing.assert_array_equal(rows.y, LABELS)
    np.testing.assert_array_equal(rows.y_test, LABELS[::-1])


def test_both_structs_are_read_alike(tmp_path):
    """A square test set would do as rows as well, and a stack as wide as it is long by either axis."""
    wide, square = np.arange(28.0).reshape(4, 7), np.arange(16.0).reshape(4, 4)
    rows = read_mat(write(tmp_path, TrainSet={"X": wide, "y": range(7)}, TestSet={"X": square, "y": range(4)}))
    np.testing.assert_array_equal(rows.X, wide.T)
    np.testing.assert_array_equal(rows.X_test, square.T)
    stack = np.arange(75.0).reshape(5, 3, 5)
    rows = read_mat(write(tmp_path, fea=stack, gnd=LABELS))
    np.testing.assert_array_equal(rows.X[1], stack[:, :, 1].ravel())


def test_mistakes_are_named(tmp_path):
    good = {"X": ROWS, "y": LABELS}
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_mat(tmp_path / "none.mat")
    with pytest.raises(ValueError, match="holds a, b; expected fea and gnd"):
        read_mat(write(tmp_path, a=1, b=2))
    with pytest.raises(ValueError, match="has the fields X; expected"):
        read_mat(write(tmp_path, TrainSet=good, TestSet={"X": ROWS}))
    with pytest.raises(ValueError, match=r"TestSet.X has shape \(5, 12\) for 3 labels"):
        read_mat(write(tmp_path, TrainSet=good, TestSet={"X": ROWS, "y": LABELS[:3]}))
    with pytest.raises(ValueError, match="make no rows of one length; arrange both alike"):
        read_mat(write(tmp_path, TrainSet=good, TestSet={"X": ROWS[:, :6], "y": LABELS}))
    with pytest.raises(ValueError, match="finite numbers"):
        read_mat(write(tmp_path, fea=ROWS * np.nan, gnd=LABELS))
    with pytest.raises(ValueError, match="the labels of fea holds something other than finite numbers"):
        read_mat(write(tmp_path, fea=ROWS, gnd=LABELS * np.nan))
    with pytest.raises(ValueError, match="finite numbers"):
        read_mat(write(tmp_path, fea=np.array([["a", "b"], ["c", "d"]]), gnd=[1, 2]))


def test_files_that_cannot_be_read(tmp_path):
    path = write(tmp_path, fea=ROWS, gnd=LABELS)
    whole = path.read_bytes()
    for n in (0, 40, 200, len(whole) - 20):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match=r"cut off|holds"):
            read_mat(path)
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600))
    with pytest.raises(ValueError, match="write it again with save"):
        read_mat(path)
    path.write_text("no such thing at all\n" * 20)
    with pytest.raises(ValueError, match="not a readable"):
        read_mat(path)
