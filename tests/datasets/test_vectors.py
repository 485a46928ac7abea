"""Rows of numbers: the files they come in, what stays on disk, and one sentence for every mistake."""

import builtins
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.io import savemat

from nearboost.datasets import DataError, open_dataset

ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3)
NAMES = ["oak", "elm", "elm", "oak"]


def save(folder, rows=ROWS, labels=NAMES):
    np.save(folder / "X.npy", rows)
    if labels is not None:
        np.save(folder / "y.npy", labels)
    return folder


def test_rows_with_labels_beside_them(tmp_path):
    for path in (save(tmp_path), tmp_path / "X.npy"):
        found = open_dataset(path)
        assert (found.kind, found.classes, found.labels.tolist()) == ("vectors", ("elm", "oak"), NAMES)
        assert isinstance(found.items, np.memmap)
        assert found.items.dtype == np.float32
        assert not found.items.flags.writeable
        np.testing.assert_array_equal(found.items, ROWS)
        assert found.names == ["row 0", "row 1", "row 2", "row 3"]
    few = found.take([3, 1])
    np.testing.assert_array_equal(few.items, ROWS[[3, 1]])
    assert few.names == ["row 3", "row 1"]


def test_images_as_rows_stay_on_disk(tmp_path):
    stack = np.arange(4 * 2 * 5, dtype=np.uint8).reshape(4, 2, 5)
    found = open_dataset(save(tmp_path, stack, [3, 3, 11, 11]))
    assert isinstance(found.items, np.memmap)
    np.testing.assert_array_equal(found.items, stack.reshape(4, 10))
    assert found.classes == ("11", "3")


@pytest.mark.parametrize(
    "labels",
    [np.array([1.0, 2.0, 2.0, 1.0]), np.array([[1], [2], [2], [1]]), np.array([b"1", b"2", b"2", b"1"])],
    ids=["floats", "column", "bytes"],
)
def test_labels_become_text(tmp_path, labels):
    assert open_dataset(save(tmp_path, labels=labels)).labels.tolist() == ["1", "2", "2", "1"]


def test_several_labels_a_row(tmp_path):
    marks = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]])
    found = open_dataset(save(tmp_path, labels=marks))
    assert found.is_multilabel
    assert found.classes == ("0", "1", "2")
    assert found.counts == {"0": 2, "1": 2, "2": 1}
    two = found.with_classes(["2", "0"])
    np.testing.assert_array_equal(two.labels, [[1, 1], [1, 0]])
    assert two.names == ["row 0", "row 2"]


@pytest.mark.parametrize(
    "text",
    [
        "oak\nelm\nelm\noak\n",
        "label\noak\nelm\nelm\noak\n",
        "species\noak\nelm\nelm\noak\n",
        "Part;Tree\ntrain;oak\ntrain;elm\ntest;elm\ntest;oak\n",
        "label,part,group\noak,train,1\nelm,train,1\nelm,test,2\noak,test,2\n",
    ],
)
def test_a_table_of_labels(tmp_path, text):
    save(tmp_path, labels=None)
    (tmp_path / "labels.csv").write_text(text)
    found = open_dataset(tmp_path)
    assert found.labels.tolist() == NAMES
    if "part," in text:
        assert found.part.tolist() == ["train", "train", "test", "test"]
        assert found.groups.tolist() == ["1", "1", "2", "2"]


def test_arrays_in_one_file(tmp_path):
    np.savez(tmp_path / "whole.npz", X=ROWS, y=NAMES, groups=[1, 1, 2, 2])
    found = open_dataset(tmp_path / "whole.npz")
    assert (found.name, found.labels.tolist(), found.groups.tolist()) == ("whole", NAMES, ["1", "1", "2", "2"])
    np.savez(tmp_path / "parts.npz", X_train=ROWS, y_train=NAMES, X_test=ROWS[:2] + 1, y_test=NAMES[:2])
    found = open_dataset(tmp_path / "parts.npz")
    assert found.part.tolist() == ["train"] * 4 + ["test"] * 2
    np.testing.assert_array_equal(found.items[4:], ROWS[:2] + 1)


def test_rows_in_both_parts_are_reported(tmp_path):
    np.savez(tmp_path / "parts.npz", X_train=ROWS, y_train=NAMES, X_test=ROWS[:2], y_test=["elm", "elm"])
    [note] = open_dataset(tmp_path / "parts.npz").notes
    assert note == (
        "2 rows come more than once, byte for byte: 2 of them in train and in test, 1 with two labels "
        "(such as row 0 = row 4)."
    )


def test_a_matlab_file(tmp_path):
    savemat(tmp_path / "rows.mat", {"fea": ROWS, "gnd": [1, 2, 2, 1]})
    assert open_dataset(tmp_path / "rows.mat").labels.tolist() == ["1", "2", "2", "1"]
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file" + bytes(200))
    with pytest.raises(DataError, match=r"is a MATLAB 7\.3 file; write it again with save\(\.\.\., '-v7'\)"):
        open_dataset(tmp_path / "new.mat")


def write_table(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_a_parquet_table_of_numbers(tmp_path):
    columns = {"a": [1, 2, 3, 4], "Label": NAMES, "b": [0.5, 1.5, 2.5, 3.5], "split": ["train"] * 2 + ["test"] * 2}
    columns |= {"plate": [7, 7, 8, 8], "file_name": ["w", "x", "y", "z"]}
    found = open_dataset(write_table(tmp_path / "rows.parquet", columns, row_group_size=3))
    np.testing.assert_array_equal(found.items, [[1, 0.5], [2, 1.5], [3, 2.5], [4, 3.5]])
    assert found.labels.tolist() == NAMES
    assert found.part.tolist() == ["train", "train", "test", "test"]
    assert found.groups.tolist() == ["7", "7", "8", "8"]
    assert found.names == ["w", "x", "y", "z"]


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float32())])
def test_a_parquet_table_of_lists(tmp_path, kind):
    found = open_dataset(
        write_table(tmp_path / "r.PARQUET", {"embedding": pa.array(ROWS.tolist(), kind), "y": [0, 1, 1, 0]})
    )
    assert found.items.dtype == np.float32
    np.testing.assert_array_equal(found.items, ROWS)
    assert found.classes == ("0", "1")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, 2.0]}, "expected one called label"),
        ({"a": [1.0, 2.0], "label": ["x", None]}, "has no label in line 3"),
        ({"label": ["x", "y"]}, "has no columns of numbers beside label"),
        ({"a": [1.0, 2.0], "city": ["u", "v"], "label": ["x", "y"]}, "has string in the column 'city'"),
        ({"a": [1.0, None], "label": ["x", "y"]}, "no value in row 1 of the column 'a'"),
        ({"a": [1, None], "label": ["x", "y"]}, "no value in row 1 of the column 'a'"),
        ({"a": [[1.0], [1.0, 2.0]], "label": ["x", "y"]}, "lists of different lengths in 'a'"),
        ({"a": [[1.0], None], "label": ["x", "y"]}, "no value in row 1 of the column 'a'"),
        ({"a": [[1.0, 2.0, 3.0], [4.0]], "label": ["x", "y"]}, "lists of different lengths in 'a'"),
    ],
)
def test_mistakes_in_a_parquet_table(tmp_path, columns, message):
    with pytest.raises(DataError, match=message):
        open_dataset(write_table(tmp_path / "rows.parquet", columns))


def test_whole_numbers_as_labels_of_a_parquet_table(tmp_path):
    """A table with a gap somewhere gets floats of its whole numbers; an array of them has the same classes."""
    columns = {"a": [1.0, 2.0, 3.0], "label": [0.0, 1.0, 2.0]}
    assert open_dataset(write_table(tmp_path / "rows.parquet", columns)).classes == ("0", "1", "2")
    np.savez(tmp_path / "rows.npz", X=np.array([[1.0], [2.0], [3.0]]), y=np.array(columns["label"]))
    assert open_dataset(tmp_path / "rows.npz").classes == ("0", "1", "2")
    with pytest.raises(DataError, match="no label in"):
        open_dataset(write_table(tmp_path / "rows.parquet", columns | {"label": [0.0, np.nan, 2.0]}))


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe is neither a file nor a folder; save what it gives in a file"):
        open_dataset(tmp_path / "pipe")


def test_parquet_files_that_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        open_dataset(path)
    real = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r'pip install "nearboost\[tables\]"'):
        open_dataset(path)


class Harm:
    """What a pickle would run when loaded."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_objects_are_never_loaded(tmp_path):
    objects = np.array([Harm(), Harm()], dtype=object)
    save(tmp_path, objects, None)
    (tmp_path / "labels.csv").write_text("a\nb\n")
    with pytest.raises(DataError, match=r"not a readable \.npy file of numbers or text"):
        open_dataset(tmp_path)
    save(tmp_path, ROWS[:2], objects)
    (tmp_path / "labels.csv").unlink()
    with pytest.raises(DataError, match=r"y\.npy is not a readable .* save labels as text, y\.astype\(str\)"):
        open_dataset(tmp_path)
    np.savez(tmp_path / "o.npz", X=objects, y=[0, 1])
    with pytest.raises(DataError, match=r"not a readable \.npz file .* save labels as text"):
        open_dataset(tmp_path / "o.npz")


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (ROWS[:3], NAMES, "has 3 rows for 4 labels"),
        (ROWS[0], NAMES, r"rows of shape \(3,\)"),
        (ROWS.astype(str), NAMES, "expected numbers"),
        (np.where(ROWS == 7, np.nan, ROWS), NAMES, "NaN or infinite values in row 2"),
        (ROWS, ["oak"] * 4, "holds one class only, 'oak'"),
        (ROWS, np.array([0.5, 1, 1, 0]), r"not whole numbers; .* names: save those as text, y\.astype\(str\)"),
        (ROWS, np.array([np.nan, 1, 1, 0]), "not whole numbers"),
        (ROWS, np.array([np.inf, 1, 1, 0]), "not whole numbers"),
        (
            ROWS,
            np.array([2.0**53, 1, 1, 0]),
            "not whole numbers",
        ),  # or the next one, for all that a float can tell
        (ROWS, np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), "not all 0 or 1"),
        (ROWS, None, r"has no labels; expected y\.npy or labels\.npy or labels\.csv"),
        (ROWS[:0], np.array([], dtype=int), r"rows of shape \(0, 3\); expected some"),
    ],
)
def test_rows_or_labels_that_do_not_do(tmp_path, rows, labels, message):
    with pytest.raises(DataError, match=message):
        open_dataset(save(tmp_path, rows, labels))


def test_files_that_do_not_do(tmp_path):
    save(tmp_path, labels=None)
    (tmp_path / "labels.csv").write_text("label\noak\nelm\n")
    with pytest.raises(DataError, match=r"labels\.csv has 2 labels for the 4 rows of X\.npy"):
        open_dataset(tmp_path)
    (tmp_path / "labels.csv").write_text("")
    with pytest.raises(DataError, match="is empty"):
        open_dataset(tmp_path)
    np.savez(tmp_path / "a.npz", a=ROWS, b=NAMES)
    with pytest.raises(DataError, match="holds a, b; expected X and y, or X_train, y_train"):
        open_dataset(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x_train=ROWS, y_train=NAMES, x_test=ROWS[:, :2], y_test=NAMES)
    with pytest.raises(DataError, match=r"training rows of shape \(3,\) and test rows of \(2,\)"):
        open_dataset(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", x_train=ROWS, y_train=NAMES, x_test=ROWS, y_test=NAMES[:1])
    with pytest.raises(DataError, match="has 1 labels for 4 test rows"):
        open_dataset(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", X=ROWS, y=NAMES, groups=[1, 2])
    with pytest.raises(DataError, match=r"4 rows for groups of shape \(2,\)"):
        open_dataset(tmp_path / "d.npz")
    np.savez(tmp_path / "e.npz", X=ROWS, y=3)
    with pytest.raises(DataError, match="4 rows for 1 labels"):
        open_dataset(tmp_path / "e.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:100])
    with pytest.raises(DataError, match=r"cut\.npz is not a readable \.npz file"):
        open_dataset(tmp_path / "cut.npz")
    (tmp_path / "rows.xls").write_text("x")
    with pytest.raises(DataError, match=r"an unknown kind; expected \.npy, \.npz, \.mat, \.parquet, \.csv or"):
        open_dataset(tmp_path / "rows.xls")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match=r"text\.npz is not a \.npz file, whatever its name says"):
        open_dataset(tmp_path / "text.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no X\.npy"):
        open_dataset(tmp_path / "empty", "vectors")


@pytest.mark.parametrize("name", ["y.npy", "whole.npz", "rows.parquet"])
def test_damaged_files_give_a_sentence_or_data(tmp_path, name):
    """Wherever a byte is wrong or the file is cut."""
    save(tmp_path)
    np.savez_compressed(tmp_path / "whole.npz", x_train=ROWS, y_train=NAMES, x_test=ROWS, y_test=NAMES)
    write_table(tmp_path / "rows.parquet", {"a": ROWS[:, 0], "label": NAMES})
    path = tmp_path / name
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    sentences = []
    for place in rng.integers(0, len(whole), 60):
        path.unlink()  # and not written over: an earlier row may still be mapped to it
        path.write_bytes(whole[:place] if place % 3 == 0 else whole[:place] + rng.bytes(1) + whole[place + 1 :])
        try:
            open_dataset(tmp_path if name == "y.npy" else path)
        except DataError as error:
            sentences.append(str(error))
    assert len(sentences) > 10
    assert not any("\n" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    "labels", [np.full(4, 2**31 - 1, dtype=np.uint32).view("<U1"), np.array([b"\xff", b"a"] * 2)]
)
def test_labels_that_are_no_text(tmp_path, labels):
    with pytest.raises(DataError, match="has labels that are not text"):
        open_dataset(save(tmp_path, labels=labels))


def test_a_folder_without_permission_is_told(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nearboost.datasets.files.os.scandir", refuse)
    with pytest.raises(DataError, match=r"cannot be listed \(Permission denied\); check its permissions"):
        open_dataset(tmp_path)
