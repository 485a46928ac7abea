"""Extraction into a store: killed and resumed, changed files, broken files, fingerprints."""

import csv
import json
import logging
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from features.pictures import as_bytes, picture
from features.real_images import files_of
from features.slow_descriptor import SlowMeans
from nearboost.features import store as module
from nearboost.features.bif import BioInspiredFeatures
from nearboost.features.extraction import extract, images_to_rows
from nearboost.features.fingerprint import fingerprint
from nearboost.features.gist import Gist
from nearboost.features.nimble import Nimble
from nearboost.features.pyramid import SpatialPyramid
from nearboost.features.sift import DenseSIFT

Image = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")

CHILD = """
import sys
from nearboost.features import store
from nearboost.features.extraction import extract
from features.slow_descriptor import SlowMeans
store.LINES_AT_ONCE = int(sys.argv[4])
extract(sys.argv[1], SlowMeans(sys.argv[3], wait=0.05), sys.argv[2], n_jobs=2)
print("finished")
"""


def save_pictures(folder, n, seed=0):
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        Image.fromarray(as_bytes(picture(20, 25 + i % 3, seed + i))).save(folder / f"{i:03d}.png")


def noted(path):
    return path.read_text().split() if path.exists() else []


def expected_rows(files):
    pixels = [np.asarray(Image.open(file)) for file in files]
    return np.array([[one.mean(), one.std(), *one.shape] for one in pixels], dtype=np.float32)


def the_store(folder):
    [found] = [path for path in folder.iterdir() if path.is_dir()]
    return found


@pytest.mark.alone
def test_killed_and_resumed(tmp_path):
    """A process is killed several times on its way; no image that had its line is described again."""
    images, stores, notes = tmp_path / "images", tmp_path / "stores", tmp_path / "notes"
    lines_at_once = 4
    save_pictures(images, 60)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CHILD, *map(str, (images, stores, notes, lines_at_once))]
    n_described = 0
    for _ in range(2):
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while len(noted(notes)) < n_described + 15 and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        assert child.communicate()[0] == b""
        n_described = len(noted(notes))
        lines = module.read_lines(the_store(stores) / "done.jsonl")
        assert 0 < len(lines) < 60
    store = extract(images, SlowMeans(str(notes), wait=0.05), stores, n_jobs=2)
    assert {entry.status for entry in store.table} == {"ok"}
    np.testing.assert_allclose(store.X, expected_rows(store.files), rtol=1e-6)
    names = noted(notes)
    assert set(names) == {f"{i:03d}.png" for i in range(60)}
    assert len(names) <= 60 + 2 * (lines_at_once + 2)  # at each kill: what waited for its line, and two at work
    before = len(names)
    again = extract(images, SlowMeans(str(notes), wait=0.05), stores)
    assert len(noted(notes)) == before
    np.testing.assert_array_equal(again.X, store.X)


def test_resumes_from_any_byte(tmp_path, monkeypatch):
    """Whatever part of the lines and rows reached the disk, the end is the same."""
    monkeypatch.setattr(module, "LINES_AT_ONCE", 1)
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 5)
    (images / "bad.png").write_bytes(b"nothing")
    descriptor = SlowMeans(str(notes))
    whole = extract(images, descriptor, tmp_path / "whole", n_jobs=1)
    text = (whole.folder / "done.jsonl").read_bytes()
    for cut in range(0, len(text) + 1, 23):
        place = tmp_path / f"cut{cut}" / whole.folder.name
        place.mkdir(parents=True)
        (place / "done.jsonl").write_bytes(text[:cut])
        n_kept = text[:cut].count(b"\n")
        if cut:  # rows come before lines: those beyond the lines are there in part
            rows = np.load(whole.folder / "rows.npy")
            rows[n_kept + 1 :] = 99
            np.save(place / "rows.npy", rows)
        notes.unlink(missing_ok=True)
        store = extract(images, descriptor, tmp_path / f"cut{cut}", n_jobs=1)
        np.testing.assert_array_equal(store.X, whole.X)
        assert [entry.status for entry in store.table] == ["ok"] * 5 + ["failed"]
        assert len(noted(notes)) == 5 - min(n_kept, 5)


def test_only_what_changed_is_described_again(tmp_path):
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 6)
    descriptor = SlowMeans(str(notes))
    first = extract(images, descriptor, tmp_path / "stores")
    assert isinstance(first.X, np.memmap)
    notes.unlink()
    Image.fromarray(as_bytes(picture(31, 33, 77))).save(images / "002.png")
    (images / "005.png").rename(images / "moved.png")
    (images / "003.png").unlink()
    save_pictures(images / "deeper", 2, seed=50)
    second = extract(images, descriptor, tmp_path / "stores")
    assert sorted(noted(notes)) == ["000.png", "001.png", "002.png"]  # one changed, two new ones further down
    assert second.folder == first.folder
    names = [Path(file).relative_to(images).as_posix() for file in second.files]
    assert names == ["000.png", "001.png", "002.png", "004.png", "deeper/000.png", "deeper/001.png", "moved.png"]
    np.testing.assert_allclose(second.X, expected_rows(second.files), rtol=1e-6)
    notes.unlink()
    chosen = [images / "moved.png", images / "000.png", images / "moved.png"]
    np.testing.assert_array_equal(extract(chosen, descriptor, tmp_path / "stores").X, second.X[[6, 0, 6]])
    assert not notes.exists()


def test_files_of_all_kinds(tmp_path):
    """What can be read is described; what cannot is in the table, with a sentence, and stops nothing."""
    images = tmp_path / "images"
    save_pictures(images, 2)
    pixels = as_bytes(picture(40, 50, 5, channels=3))
    Image.fromarray(pixels).convert("CMYK").save(images / "cmyk.jpg")
    Image.fromarray(pixels).quantize(16).save(images / "palette.png")
    Image.fromarray((picture(40, 50, 6) * 65535).astype(np.uint16)).save(images / "deep.png")
    Image.fromarray(pixels).save(images / "misnamed.jpg", format="PNG")
    Image.fromarray(pixels).save(images / "sound.jpg")
    (images / "truncated.jpg").write_bytes((images / "sound.jpg").read_bytes()[:500])
    (images / "corrupt.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(200)))
    (images / "empty.png").write_bytes(b"")
    (images / "text.jpg").write_text("this is no image")
    (images / "notes.txt").write_text("and this is not looked at")
    content = (images / "000.png").read_bytes()
    header = b"IHDR" + struct.pack(">II", 10_000, 10_000) + content[24:29]
    (images / "huge.png").write_bytes(content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:])
    (images / "folder.png").mkdir()
    (images / "gone.png").symlink_to(images / "nowhere")
    store = extract(images, BioInspiredFeatures((1, 2), 8), tmp_path / "stores")
    status = {Path(entry.file).name: entry.status for entry in store.table}
    sound = {"000.png", "001.png", "cmyk.jpg", "palette.png", "deep.png", "misnamed.jpg", "sound.jpg"}
    assert {name for name, said in status.items() if said == "ok"} == sound
    broken = {"truncated.jpg", "corrupt.png", "empty.png", "text.jpg", "huge.png"}
    assert {Path(entry.file).name for entry in store.failed} == broken
    messages = {Path(entry.file).name: entry.message for entry in store.failed}
    for entry in store.failed:
        assert Path(entry.file).name in entry.message
        assert entry.row == -1
    assert store.X.shape == (7, 16)
    with open(store.folder / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["file"], row["status"], int(row["row"])) for row in rows] == [
        (entry.file, entry.status, entry.row) for entry in store.table
    ]
    assert "100,000,000 pixels, more than" in messages["huge.png"]
    some = [images / "000.png", images / "not there.png"]
    missing = extract(some, BioInspiredFeatures((1, 2), 8), tmp_path / "stores")
    assert missing.failed[0].message.endswith("not there.png cannot be opened: No such file or directory.")


def test_nothing_but_broken_files(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"")
    store = extract(tmp_path, BioInspiredFeatures(), tmp_path / "stores")
    assert store.files == []
    with pytest.raises(ValueError, match=r"No file could be described; .*table.csv says why"):
        _ = store.X


def test_faults_of_the_moment_do_not_last(tmp_path):
    """A file that could not be opened, or changed under the descriptor's hands, is tried again."""
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 2)

    class Hasty(SlowMeans):
        trouble = True

        def transform(self, X):
            if self.trouble and X[0].endswith("000.png"):
                raise ValueError("cannot be opened") from OSError(24, "Too many open files")
            rows = super().transform(X)
            if self.trouble:
                Path(X[0]).write_bytes(Path(X[0]).read_bytes() + b"more")
            return rows

    store = extract(images, Hasty(str(notes)), tmp_path / "stores")
    assert [entry.status for entry in store.table] == ["failed", "failed"]
    assert "changed while it was read" in store.table[1].message
    Hasty.trouble = False
    assert extract(images, Hasty(str(notes)), tmp_path / "stores").X.shape == (2, 4)


def test_mistakes_of_ours_stop_it(tmp_path):
    images = tmp_path / "images"
    save_pictures(images, 3)
    with pytest.raises(
        TypeError, match="DenseSIFT gave LocalSets for one image and not one row of numbers; put an"
    ):
        extract(images, DenseSIFT(), tmp_path / "stores")
    with pytest.raises(Exception, match="not fitted"):
        extract(images, SpatialPyramid(), tmp_path / "stores")
    with pytest.raises(ValueError, match="is not a folder; give one, or a list of files"):
        extract(tmp_path / "nowhere", DenseSIFT(), tmp_path / "stores")
    arrays = [picture(20, 25, 0)]
    for describe in (
        lambda: extract(arrays, Gist(), tmp_path / "stores"),
        lambda: images_to_rows(arrays, [Gist()], tmp_path / "stores"),
    ):
        with pytest.raises(TypeError, match="A store needs paths of files, not ndarray"):
            describe()

    class Growing(SlowMeans):
        def transform(self, X):
            return np.ones((1, 1 + int(Path(X[0]).stem)), dtype=np.float32)

    with pytest.raises(TypeError, match="The descriptor gave 2 numbers, after 1 before"):
        extract(images, Growing("notes"), tmp_path / "stores", n_jobs=1)


def test_numbers_that_are_none(tmp_path):
    images = tmp_path / "images"
    save_pictures(images, 2)

    class Bad(SlowMeans):
        def transform(self, X):
            return np.full((1, 3), np.nan if X[0].endswith("000.png") else 1.0)

    store = extract(images, Bad("notes"), tmp_path / "stores")
    assert "gives NaN or infinite numbers" in store.failed[0].message
    assert store.X.shape == (1, 3)


def test_one_writer_at_a_time(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="locks are those of POSIX")
    images, descriptor = tmp_path / "images", SlowMeans(str(tmp_path / "notes"))
    save_pictures(images, 1)
    store = extract(images, descriptor, tmp_path / "stores")
    with open(store.folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="Another process is writing to"):
            extract(images, descriptor, tmp_path / "stores")
    extract(images, descriptor, tmp_path / "stores")


def test_equal_descriptors_share_a_store(tmp_path):
    """They differ in what changes no number, and are not in each other's way."""
    save_pictures(tmp_path / "images", 2)
    files = sorted(map(str, (tmp_path / "images").iterdir()))
    first, second = BioInspiredFeatures((1,), 8, n_jobs=1), BioInspiredFeatures((1,), 8, n_jobs=2)
    one, other = images_to_rows(files, [first, second], tmp_path / "stores")
    assert one.file == other.file == the_store(tmp_path / "stores") / "rows.npy"
    assert (one.transformer, other.transformer) == (first, second)
    np.testing.assert_array_equal(one.X, first.transform(files))
    np.testing.assert_array_equal(one.X, other.X)


@pytest.mark.alone
def test_same_for_any_threads(tmp_path, capsys):
    images = tmp_path / "images"
    save_pictures(images, 12)
    pipeline = make_pipeline(DenseSIFT(step=6, bin_sizes=(3,)), SpatialPyramid(levels=(1,), n_words=6))
    pipeline.fit(sorted(map(str, images.glob("*.png")))[:6])
    one = extract(images, pipeline, tmp_path / "one", n_jobs=1)
    two = extract(images, pipeline, tmp_path / "two", n_jobs=2, verbose=1)
    assert "Describing" in capsys.readouterr().err
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.X, pipeline.transform(one.files))
    assert one.folder.name == two.folder.name
    assert "SpatialPyramid" in (one.folder / "descriptor.txt").read_text()


def test_fingerprints():
    """Settings, fitted arrays and versions count; threads and talk do not."""
    same = fingerprint(BioInspiredFeatures((1, 2), 8))
    assert fingerprint(BioInspiredFeatures((1, 2), 8, n_jobs=2, verbose=1)) == same
    assert fingerprint(BioInspiredFeatures([1, np.int64(2)], 8)) == same
    assert fingerprint(BioInspiredFeatures((1, 2), 9)) != same

    class Newer(BioInspiredFeatures):
        descriptor_version = 2

    class Newest(Newer):
        descriptor_version = 3

    Newest.__qualname__ = Newer.__qualname__
    assert fingerprint(Newer()) != fingerprint(Newest())
    rows = np.random.default_rng(0).normal(size=(40, 5))

    def fitted(some):
        return make_pipeline(FunctionTransformer(np.abs), PCA(2, random_state=0)).fit(some)

    assert fingerprint(fitted(rows)) == fingerprint(fitted(rows.copy()))
    assert fingerprint(fitted(rows)) != fingerprint(fitted(rows[:30]))
    assert fingerprint(PCA(2, random_state=np.random.RandomState(0))) != fingerprint(PCA(2, random_state=1))
    with pytest.raises(ValueError, match="of which no fingerprint can be taken"):
        fingerprint(FunctionTransformer(lambda x: x))
    with pytest.raises(ValueError, match="of which no fingerprint can be taken"):
        fingerprint(PCA(logging.getLogger()))


def test_fingerprints_of_fitted_descriptors():
    """They follow the training images and do not change with use."""
    images = [picture(60, 70, seed) for seed in range(6)]
    small = {"n_filters": 8, "filter_size": 4, "short_side": 48, "window": 24, "stride": 2, "n_patches": 500}
    makers = [
        lambda: make_pipeline(DenseSIFT(step=8, bin_sizes=(4,)), SpatialPyramid(levels=(1, 2), n_words=8)),
        lambda: Nimble(20, 5, **small),
    ]
    for make in makers:
        fitted = make().fit(images[:4])
        before = fingerprint(fitted)
        list(fitted.transform(images))
        assert fingerprint(fitted) == before == fingerprint(make().fit(images[:4]))
        assert fingerprint(make().fit(images[:5])) != before
        assert fingerprint(make()) != before


@pytest.mark.data
def test_scenes(tmp_path):
    paths, _ = files_of("scene15/train", 5, "*.jpg", kinds=4)
    store = extract(paths, BioInspiredFeatures((2,), 16), tmp_path)
    assert store.files == [str(path) for path in paths]
    np.testing.assert_array_equal(store.X, BioInspiredFeatures((2,), 16).transform(paths))


def test_names_of_any_bytes(tmp_path):
    images = tmp_path / "images"
    save_pictures(images, 1)
    content = (images / "000.png").read_bytes()
    names = [b"new\nline.png", '\u00fcn\u00ef, "quoted".png'.encode(), b"\xff\xfe.png"]
    try:
        for name in names:
            Path(os.fsdecode(os.fsencode(images) + b"/" + name)).write_bytes(content + name)
    except OSError:
        pytest.skip("this file system has names of its own kind")
    (images / "no\nimage.png").write_bytes(b"nothing")
    store = extract(images, BioInspiredFeatures((1,), 8), tmp_path / "stores")
    assert store.X.shape == (4, 8)
    [failed] = store.failed
    assert failed.message.startswith(f"{images}/no\nimage.png is not an image of a known kind")
    with open(store.folder / "table.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 5


def test_messages_name_their_own_file(tmp_path):
    """Files of one content share its line, and not the name of the first."""
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"")
    descriptor = BioInspiredFeatures((1,), 8)
    store = extract(tmp_path, descriptor, tmp_path / "stores")
    assert [entry.message for entry in store.table] == [
        f"{tmp_path / name} is empty: it has 0 bytes." for name in ("a.png", "b.png")
    ]
    (tmp_path / "a.png").rename(tmp_path / "moved.png")
    store = extract(tmp_path, descriptor, tmp_path / "stores")
    assert [Path(entry.file).name in entry.message for entry in store.table] == [True, True]


def test_half_a_line_among_others(tmp_path):
    """A disk that was full for a moment leaves half a line, and whole ones after it."""
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 5)
    descriptor = SlowMeans(str(notes))
    store = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    rows, lines = np.array(store.X), (store.folder / "done.jsonl").read_text().splitlines(keepends=True)
    (store.folder / "done.jsonl").write_text(lines[0] + lines[1][:30] + "".join(lines[1:]))
    notes.unlink()
    again = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    assert noted(notes) == ["001.png"]
    np.testing.assert_array_equal(again.X, rows)


@pytest.mark.parametrize(
    "edit",
    [
        {"row": -1},
        {"row": -3},
        {"row": 5},
        {"row": 2**70},
        {"row": 1.0},
        {"row": "1"},
        {"row": None},
        {"row": True},
        {"status": "failed"},
        {"status": []},
        {"message": 3},
        {"content": 3},
        {"content": None},
    ],
)
def test_lines_that_no_store_writes_are_made_again(tmp_path, edit):
    """A row of another image must not be taken for this one's, nor a line break the store."""
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 5)
    descriptor = SlowMeans(str(notes))
    store = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    rows, lines = np.array(store.X), (store.folder / "done.jsonl").read_text().splitlines(keepends=True)
    lines[1] = json.dumps(json.loads(lines[1]) | edit) + "\n"
    (store.folder / "done.jsonl").write_text("".join([*lines, "[1]\n", "7\n"]))
    notes.unlink()
    again = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    assert noted(notes) == ["001.png"]
    np.testing.assert_array_equal(again.X, rows)


def test_half_a_line_at_the_end_is_cut_off(tmp_path):
    """What is written after it must not become its second half."""
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 2)
    descriptor = SlowMeans(str(notes))
    store = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    done = store.folder / "done.jsonl"
    done.write_bytes(done.read_bytes()[:-10])
    extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    notes.unlink()
    extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    assert noted(notes) == []


def test_rows_that_are_gone_are_made_anew(tmp_path):
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 3)
    descriptor = SlowMeans(str(notes))
    store = extract(images, descriptor, tmp_path / "stores")
    (store.folder / "rows.npy").unlink()
    save_pictures(images, 4)
    again = extract(images, descriptor, tmp_path / "stores")
    np.testing.assert_allclose(again.X, expected_rows(again.files), rtol=1e-6)


@pytest.mark.parametrize(
    "damage", ["cut", "cut to the header", "cut in the header", "other numbers", "other width"]
)
def test_damaged_rows_are_made_anew(tmp_path, damage):
    """Whole rows of a file that was cut short are kept; nothing is made of the others but anew."""
    images, notes = tmp_path / "images", tmp_path / "notes"
    save_pictures(images, 6)
    descriptor = SlowMeans(str(notes))
    store = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    file, rows = store.folder / "rows.npy", np.array(store.X)
    width = 4 * rows.shape[1]
    n_kept = 0
    if damage == "cut":
        n_kept = 4
        file.write_bytes(file.read_bytes()[: 128 + n_kept * width + 1])
    elif damage == "other numbers":
        np.save(file, rows.astype(np.float64))
    elif damage == "other width":
        np.save(file, np.zeros((0, rows.shape[1] + 1), np.float32))
    else:
        file.write_bytes(file.read_bytes()[: 128 if damage == "cut to the header" else 60])
    notes.unlink()
    again = extract(images, descriptor, tmp_path / "stores", n_jobs=1)
    np.testing.assert_array_equal(again.X, rows)
    assert len(noted(notes)) == len(rows) - n_kept


def test_wrong_settings_are_not_blamed_on_files(tmp_path):
    images = tmp_path / "images"
    save_pictures(images, 1)
    for descriptor in (Gist(side=5), make_pipeline(Gist(side=5), PCA(1))):
        with pytest.raises(ValueError, match="side=5 must be a whole number of at least 32"):
            extract(images, descriptor, tmp_path / "stores")


def test_rows_in_a_frame(tmp_path):
    """scikit-learn's transformers give data frames where they are told to."""

    class Frame:
        def __init__(self, rows):
            self.rows = rows

        def __array__(self, dtype=None, copy=None):
            return self.rows

    class Framed(SlowMeans):
        def transform(self, X):
            return Frame(super().transform(X))

    images = tmp_path / "images"
    save_pictures(images, 2)
    store = extract(images, Framed(str(tmp_path / "notes")), tmp_path / "stores")
    np.testing.assert_allclose(store.X, expected_rows(store.files), rtol=1e-6)


def test_several_rows_for_one_content(tmp_path):
    """Rows of fields: as many as there are cells, none included, found again in a second call."""
    from nearboost.base.image_set import Content
    from nearboost.features.store import open_store

    class Fields:
        def item(self, index):
            return f"field {index}"

        def has_changed(self, index):
            return False

    contents = [Content("a"), Content("b"), Content("c")]
    rows = [np.full((n, 4), n, np.float32) for n in (3, 0, 5)]
    with open_store("cells", tmp_path, Fields(), contents[:2]) as store:
        for i in (1, 0):
            store.write(i, rows[i])
        store.close()
    with open_store("cells", tmp_path, Fields(), contents) as store:
        assert list(store.wanted) == [2]
        store.write(2, rows[2])
        made = store.close()
    assert [entry.count for entry in made.table] == [3, 0, 5]
    for entry, expected in zip(made.table, rows, strict=True):
        np.testing.assert_array_equal(made.rows[entry.row : entry.row + entry.count], expected)
    np.testing.assert_array_equal(made.X, np.concatenate(rows))
