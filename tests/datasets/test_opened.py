"""Rows of files in batches: same numbers and types whatever the files are, and a sentence where there are none."""

import builtins
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pad
import pyarrow.parquet as pq
import pytest

from nearboost import INNClassifier, KNNClassifier, NeighborSearch, SLNDClassifier
from nearboost.base.rows import row_source
from nearboost.datasets import DataError, open_rows, opened

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(50, 6)).astype(np.float32)


def write_table(path, columns, **settings):
    pq.write_table(pa.table(columns), path, **settings)
    return path


def lists(rows, kind=None):
    return pa.array(list(rows), type=kind or pa.list_(pa.from_numpy_dtype(rows.dtype)))


def npy(folder):
    np.save(folder / "rows.npy", ROWS)
    return folder / "rows.npy"


def npy_folder(folder):
    for part, rows in enumerate(np.array_split(ROWS, [7, 7, 31])):
        np.save(folder / f"part-{part}.npy", rows)
    (folder / "README.txt").write_text("not a file of rows")
    return folder


def columns(folder):
    names = {f"f{i}": ROWS[:, i] for i in range(6)} | {"label": ["x"] * 50, "file_name": ["y"] * 50}
    return write_table(folder / "rows.parquet", names, row_group_size=13)


def fixed_lists(folder):
    return write_table(folder / "rows.parquet", {"e": lists(ROWS, pa.list_(pa.float32(), 6))}, row_group_size=13)


def free_lists(folder):
    return write_table(folder / "rows.parquet", {"e": lists(ROWS)}, row_group_size=13)


def parquet_folder(folder):
    for part, rows in enumerate(np.array_split(ROWS, 3)):
        write_table(folder / f"part-{part}.parquet", {"e": lists(rows)})
    return folder


def dataset_of_files(folder):
    return pad.dataset(parquet_folder(folder))


def dataset_in_memory(folder):
    return pad.dataset(pa.table({"e": lists(ROWS, pa.large_list(pa.float32()))}))


FORMS = (
    npy, npy_folder, columns, fixed_lists, free_lists, parquet_folder, dataset_of_files, dataset_in_memory,
)  # fmt: skip


@pytest.mark.parametrize("make", FORMS)
def test_the_same_rows_in_any_blocks(make, tmp_path):
    (tmp_path / "given").mkdir()
    rows = open_rows(make(tmp_path / "given"), tmp_path / "copies")
    assert (rows.shape, rows.stored, len(rows)) == ((50, 6), np.float32, 50)
    for room, most, lengths in (
        (24 * 7, None, [7] * 7 + [1]),
        (1e9, None, [50]),
        (1e9, 20, [20, 20, 10]),
        (1, 9, [1] * 50),
    ):
        blocks = list(rows.blocks(room, most))
        assert [len(block) for _, block in blocks] == lengths
        assert [start for start, _ in blocks] == np.cumsum([0, *lengths[:-1]]).tolist()
        np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), ROWS, strict=True)
    np.testing.assert_array_equal(np.asarray(rows), ROWS, strict=True)
    mapped = rows.in_any_order()
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, ROWS, strict=True)
    np.testing.assert_array_equal(rows.take(np.array([0, 6, 7, 8, 49])), ROWS[[0, 6, 7, 8, 49]])


@pytest.mark.parametrize("make", FORMS)
def test_models_of_opened_files_are_those_of_arrays(make, tmp_path):
    (tmp_path / "given").mkdir()
    rows, y = open_rows(make(tmp_path / "given"), tmp_path / "copies"), np.arange(50) % 3
    for model in (SLNDClassifier(max_passes=2), KNNClassifier()):
        expected = model.fit(ROWS, y).predict_proba(ROWS)
        np.testing.assert_array_equal(model.predict_proba(rows), expected)
        np.testing.assert_array_equal(model.fit(rows, y).predict_proba(rows), expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i4", "?", ">f4", ">f2"])
def test_numbers_stay_as_they_are(dtype, tmp_path):
    values = (ROWS * 10).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    rows = open_rows(tmp_path / "a.npy")
    assert rows.stored == values.dtype
    assert rows.dtype == (np.float32 if dtype in ("f2", "f4") else np.float64)
    [(_, block)] = rows.blocks(1e9)
    np.testing.assert_array_equal(block, values.astype(rows.dtype), strict=True)
    if dtype[0] != ">":
        table = write_table(tmp_path / "a.parquet", {"e": lists(values)})
        found = open_rows(table, tmp_path / "copies")
        assert found.stored == (np.uint8 if dtype == "?" else values.dtype)
        np.testing.assert_array_equal(found.in_any_order(), values)


def test_types_of_several_files_and_columns_meet(tmp_path):
    np.save(tmp_path / "a.npy", ROWS.astype(np.float16))
    np.save(tmp_path / "b.npy", ROWS)
    assert open_rows(tmp_path).stored == np.float32
    table = write_table(
        tmp_path / "c.parquet", {"a": pa.array([1, 2], pa.int16()), "b": pa.array([0.5, 1.5], pa.float32())}
    )
    np.testing.assert_array_equal(np.asarray(open_rows(table)), np.float32([[1, 0.5], [2, 1.5]]), strict=True)


def test_columns_by_name(tmp_path):
    table = write_table(tmp_path / "a.parquet", {"id": ["x", "y"], "e": [[1.0, 2.0], [3.0, 4.0]], "label": [7, 8]})
    np.testing.assert_array_equal(np.asarray(open_rows(table, columns=["e"])), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(open_rows(table, columns=["label", "e"])), [[7, 1, 2], [8, 3, 4]])
    with pytest.raises(DataError, match="has no column 'f'; its columns are id, e, label"):
        open_rows(table, columns=["f"])
    with pytest.raises(DataError, match=r"columns='e' must be a list of names; give \['e'\]"):
        open_rows(table, columns="e")
    np.save(tmp_path / "a.npy", ROWS)
    with pytest.raises(DataError, match="has no columns with names"):
        open_rows(tmp_path / "a.npy", columns=["e"])


def test_columns_of_several_files_are_the_same(tmp_path):
    write_table(tmp_path / "0.parquet", {"a": [1.0], "b": [2.0]})
    write_table(tmp_path / "1.parquet", {"b": [2.0], "a": [1.0]})
    with pytest.raises(DataError, match=r"1\.parquet and .*0\.parquet have columns of different names, or in"):
        open_rows(tmp_path)


def test_a_folder_with_a_file_X_is_that_file(tmp_path):
    np.save(tmp_path / "X.npy", ROWS)
    np.save(tmp_path / "y.npy", np.arange(50))
    np.testing.assert_array_equal(open_rows(tmp_path).in_any_order(), ROWS)


def test_a_copy_is_made_once_and_of_these_numbers_alone(tmp_path):
    given, folder = tmp_path / "given", tmp_path / "below" / "copies"
    given.mkdir()
    first = open_rows(parquet_folder(given), folder).in_any_order()
    [file] = folder.iterdir()
    made = file.stat().st_ino
    again = shutil.copytree(given, tmp_path / "other" / "given")
    for place in (given, again):  # wherever the files are
        np.testing.assert_array_equal(open_rows(place, folder).in_any_order(), first)
        assert [(one.name, one.stat().st_ino) for one in folder.iterdir()] == [(file.name, made)]
    # Other numbers in a file of the same size and time.
    part = given / "part-1.parquet"
    before = part.stat()
    write_table(part, {"e": lists(np.array_split(ROWS, 3)[1] + 1)})
    os.truncate(part, max(part.stat().st_size, before.st_size))
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed = open_rows(given, folder).in_any_order()
    np.testing.assert_array_equal(changed[17:34], ROWS[17:34] + 1)
    np.testing.assert_array_equal(first, ROWS)
    assert len(list(folder.iterdir())) == 2
    os.truncate(file, 500)  # half a copy is none
    np.testing.assert_array_equal(open_rows(again, folder).in_any_order(), ROWS)


def test_a_copy_that_fails_leaves_nothing(tmp_path, monkeypatch):
    rows = open_rows(npy_folder(tmp_path), tmp_path / "copies")
    monkeypatch.setattr(opened.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 9, 0))
    with pytest.raises(DataError, match=r"takes 1,200 bytes, more than are free in .*copies; make room there"):
        rows.in_any_order()
    monkeypatch.undo()
    real = opened.OpenedRows._stored_blocks
    passes = []

    def full(self, step=None):
        passes.append(1)
        yield from real(self, step)
        if len(passes) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(opened.OpenedRows, "_stored_blocks", full)
    with pytest.raises(DataError, match="make room there"):
        rows.in_any_order()
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_copy_is_never_one_of_the_files(tmp_path):
    with pytest.raises(DataError, match=r"where the files of .* lie, and a copy there would be taken"):
        open_rows(npy_folder(tmp_path), tmp_path / ".").in_any_order()
    one = open_rows(free_lists(tmp_path), tmp_path)
    np.testing.assert_array_equal(one.in_any_order(), ROWS)


def test_blocks_of_any_size(tmp_path):
    rows = open_rows(npy(tmp_path))
    assert repr(rows) == "OpenedRows('rows', 50 rows of 6 float32)"
    for room, most, n_blocks in ((0, None, 50), (np.inf, None, 1), (1e9, 0, 50)):
        assert len(list(rows.blocks(room, most))) == len(list(row_source(ROWS).blocks(room, most))) == n_blocks


def test_any_order_needs_a_folder(tmp_path):
    rows = open_rows(npy_folder(tmp_path))
    with pytest.raises(DataError, match="needed in any order; give open_rows a folder="):
        SLNDClassifier().fit(rows, np.arange(50) % 3)


def test_rows_of_another_length_are_refused(tmp_path):
    rows, y = open_rows(npy_folder(tmp_path)), np.arange(50) % 3
    with pytest.raises(ValueError, match="X has 6 features, but INNClassifier is expecting 5 features"):
        INNClassifier().fit(ROWS[:, :5], y).predict(rows)


def test_nan_is_named_by_file_and_row(tmp_path):
    npy_folder(tmp_path)
    bad = np.array_split(ROWS, [7, 7, 31])[2].copy()
    bad[3, 2] = np.inf
    np.save(tmp_path / "part-2.npy", bad)
    model = KNNClassifier().fit(ROWS, np.arange(50) % 3)
    with pytest.raises(DataError, match=r"part-2\.npy holds NaN or infinite values in row 3; fill or drop it"):
        model.predict(open_rows(tmp_path))
    np.save(tmp_path / "part-2.npy", bad.astype(np.float16))
    with pytest.raises(DataError, match=r"in row 3; half values overflow beyond 65,504, so divide rows before"):
        model.predict(open_rows(tmp_path))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            {"e": [[1.0, 2.0]] * 5 + [[1.0]]},
            r"t\.parquet has .* different lengths in 'e': 1 numbers in row 5, 2 before",
        ),
        ({"e": [[1.0, 2.0]] * 5 + [None]}, r"t\.parquet holds no value in row 5 of the column 'e'"),
        (
            {"e": [[1.0, 2.0]] * 5 + [[1.0, None]]},
            r"t\.parquet holds a list with a gap in row 5 of",
        ),
        ({"a": [1, 2, None]}, r"t\.parquet holds no value in row 2 of the column 'a'"),
        ({"a": [1.0, 2.0, np.nan]}, r"t\.parquet holds NaN or infinite values in row 2"),
        (
            {"a": [1.0], "city": ["u"]},
            r"t\.parquet has string in the column 'city'; expected numbers, or .*; rename it",
        ),
        ({"e": [["u"]]}, r"t\.parquet has list<.*string> in the column 'e'; expected numbers"),
        ({"label": ["u"]}, r"t\.parquet has no columns of numbers beside label"),
        ({"a": pa.array([], pa.float32())}, r"t\.parquet has no rows"),
        ({"e": pa.array([[], []], pa.list_(pa.float32()))}, r"t\.parquet has rows of no numbers; give some"),
        ({"e": [[[1.0, 2.0], [3.0]], [[4.0], [5.0]]]}, r"1 numbers in row 0, 2 before"),
        ({"e": [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], None]]}, r"holds a list with a gap in row 2 of"),
    ],
)
@pytest.mark.parametrize("size", [2, 100])
def test_mistakes_in_a_table(tmp_path, table, sentence, size, monkeypatch):
    monkeypatch.setattr(opened, "BYTES_AT_ONCE", 16 * size)
    with pytest.raises(DataError, match=sentence):
        np.asarray(open_rows(write_table(tmp_path / "t.parquet", table)))


def test_mistakes_in_files_and_folders(tmp_path):
    def refused(path, sentence):
        with pytest.raises(DataError, match=sentence) as told:
            open_rows(path)
        assert "\n" not in str(told.value)

    refused(tmp_path, r"holds no files that end in \.npy or \.parquet")
    refused(tmp_path / "nowhere.npy", r"nowhere\.npy does not exist")
    np.save(tmp_path / "a.npy", ROWS)
    np.save(tmp_path / "b.npy", ROWS[:, :5])
    refused(tmp_path, r"b\.npy has 5 numbers in row 0, and .*a\.npy has 6")
    write_table(tmp_path / "b.parquet", {"e": lists(ROWS)})
    refused(tmp_path, r"holds both a\.npy and b\.parquet; give a folder of one kind")
    whole = (tmp_path / "a.npy").read_bytes()
    for length in (0, 5, 60, 128, 300):
        (tmp_path / "cut.npy").write_bytes(whole[:length])
        refused(tmp_path / "cut.npy", r"cut\.npy is not a readable \.npy file")
    for name, array, said in (
        ("flat", ROWS[0], r"holds float32 of shape \(6,\); give a matrix"),
        ("deep", ROWS.reshape(50, 3, 2), r"holds float32 of shape \(50, 3, 2\)"),
        ("text", np.array([["a"]]), r"holds <U1 of shape \(1, 1\)"),
        ("complex", ROWS.astype(complex), "holds complex128"),
        ("none", ROWS[:0], "has no rows; give some"),
        ("narrow", ROWS[:, :0], "has rows of no numbers|not a readable"),
    ):
        np.save(tmp_path / f"{name}.npy", array)
        refused(tmp_path / f"{name}.npy", said)
    (tmp_path / "rows.xls").write_text("x")
    refused(tmp_path / "rows.xls", r"of an unknown kind; expected \.npy or \.parquet")
    os.mkfifo(tmp_path / "pipe.npy")
    refused(tmp_path / "pipe.npy", r"pipe\.npy is no file")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    refused(tmp_path / "broken.parquet", r"broken\.parquet is not a readable Parquet file")


class Harm:
    """What a pickle would run when loaded."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[Harm()]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="holds Python objects, and loading these could run code"):
        open_rows(tmp_path / "a.npy")


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    npy_folder(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    np.testing.assert_array_equal(np.asarray(open_rows(tmp_path / "link")), ROWS)


def test_files_that_change_while_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "BYTES_AT_ONCE", 24)
    npy_folder(tmp_path)
    blocks = open_rows(tmp_path).blocks(24)
    next(blocks)
    os.truncate(tmp_path / "part-0.npy", 200)
    with pytest.raises(ValueError, match="was cut short after it was opened"):
        list(blocks)


def test_without_pyarrow(tmp_path, monkeypatch):
    path = free_lists(tmp_path)
    real = builtins.__import__

    def without_pyarrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r'pip install "nearboost\[tables\]"'):
        open_rows(path)


def test_opened_files_are_queries_of_a_search(tmp_path):
    rows = np.random.default_rng(0).integers(0, 9, (60, 4)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    queries = open_rows(tmp_path / "rows.npy")
    assert not queries.lie_in_memory
    found, expected = (NeighborSearch(rows[:40]).search(Q, 3) for Q in (queries, rows))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_a_search_reads_opened_rows_as_maps(tmp_path):
    rows = open_rows(npy_folder(tmp_path), folder=tmp_path / "copies")
    search = NeighborSearch(rows, memory=2**24)
    assert np.shares_memory(search.rows.X, rows.in_any_order())
    np.testing.assert_array_equal(search.graph(3).indices, NeighborSearch(ROWS).graph(3).indices)
    with pytest.raises(DataError, match="give open_rows a folder="):
        NeighborSearch(open_rows(tmp_path))


@pytest.mark.parametrize("given", [ROWS, None, 3])
def test_what_is_no_path_is_told(given):
    with pytest.raises(DataError, match="open_rows opens files, and path is of the kind"):
        open_rows(given)


def test_a_table_that_lost_its_columns_is_told(tmp_path):
    rows = open_rows(write_table(tmp_path / "rows.parquet", {"e": lists(ROWS)}))
    write_table(tmp_path / "other.parquet", {"f": lists(ROWS)})
    os.replace(tmp_path / "other.parquet", tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r"rows.parquet is not a readable Parquet file"):
        list(rows.blocks(100))
