"""Answers are written to arrays and maps that users give, block by block, in the same bits."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import nearboost as nb
from nearboost.base import outputs
from nearboost.ensemble.calibrated import CalibratedScores
from nearboost.problem import classifier

rng = np.random.default_rng(0)
MODELS = {
    "knn": lambda: nb.KNNClassifier(5),
    "n3": lambda: nb.N3Classifier(5, n_rounds=9),
    "n3 inn votes": lambda: nb.N3Classifier(5, n_rounds=9, vote_weights="inn"),
    "mapboost": lambda: nb.MAPBoostClassifier(5, n_prototypes=20, n_rounds=9),
    "innc": lambda: nb.INNClassifier(normalize=True),
    "innc residual": lambda: nb.INNClassifier(decision="residual"),
    "src": lambda: nb.SRCClassifier(),
    "crc": lambda: nb.CRCClassifier(),
    "slnd": lambda: nb.SLNDClassifier(max_passes=2),
    "sgd": lambda: nb.LinearSGDClassifier(max_passes=2),
    "nearboost": lambda: nb.NearBoostClassifier(),
    "split": lambda: nb.SplitClassifier(nb.N3Classifier(5, n_rounds=9), 2),
    "svm": lambda: CalibratedScores(SVC()),
}
METHODS = ("predict", "predict_proba", "decision_function", "predict_top")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    X = X.astype(np.float32) / 16
    return X[:120], np.array(list("abcd"))[y[:120]], X[300:400]


@pytest.fixture
def small_blocks(monkeypatch):
    """Seven rows at a time."""
    monkeypatch.setattr(classifier, "BYTES_AT_ONCE", 64 * 4 * 7)


def mapped(path, array):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def like(path, answer, kind):
    """Where such answers can be written to, full of others."""
    if kind == "array":
        return np.zeros_like(answer)
    if kind == "column order":
        return np.asfortranarray(np.zeros_like(answer))
    return np.lib.format.open_memmap(path, "w+", answer.dtype, answer.shape)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_same_bits_into_any_array_from_any_rows(make, n_classes, digits, small_blocks, tmp_path):
    X, y, Q = digits
    some = y < "abcde"[n_classes]
    model = make().fit(X[some], y[some])
    on_disk = mapped(tmp_path / "Q.npy", Q)
    for name in METHODS:
        if not hasattr(model, name):
            continue
        settings = {"predict_top": (2,)}.get(name, ())
        expected = getattr(model, name)(Q, *settings)
        for rows in (Q, on_disk):
            for kind in ("array", "column order", "map"):
                out = like(tmp_path / "out.npy", expected, kind)
                assert getattr(model, name)(rows, *settings, out=out) is out
                np.testing.assert_array_equal(out, expected, strict=True)
        np.testing.assert_array_equal(getattr(model, name)(on_disk, *settings), expected, strict=True)
    labels, probabilities = model.predict(Q), model.predict_proba(Q)
    out = np.zeros_like(labels), np.zeros_like(probabilities)
    model.predict_with_proba(on_disk, out=out)
    np.testing.assert_array_equal(out[0], labels)
    np.testing.assert_array_equal(out[1], probabilities)


def test_several_labels_a_row(digits, small_blocks):
    X, y, Q = digits
    for model in (nb.N3Classifier(5, n_rounds=9), nb.SLNDClassifier(max_passes=2)):
        model.fit(X, (y[:, np.newaxis] == list("ab")).astype(int))
        for name in ("predict", "predict_proba", "decision_function"):
            expected = getattr(model, name)(Q)
            assert expected.shape == (len(Q), 2)
            np.testing.assert_array_equal(getattr(model, name)(Q, out=np.zeros_like(expected)), expected)


def test_rejected_answers(digits, small_blocks):
    X, y, Q = digits
    model = nb.N3Classifier(5, n_rounds=9).fit(X, y)
    best = model.predict_proba(Q).max(axis=1)
    middle = float(np.median(best))
    for label, dtype in (("nobody", "<U6"), (None, object), (3, object)):
        got = model.predict(Q, reject_below=middle, reject_label=label)
        assert got.dtype == dtype
        assert got.tolist() == [
            one if p >= middle else label for one, p in zip(model.predict(Q), best, strict=True)
        ]
        out = np.empty(len(Q), dtype=dtype)
        model.predict(Q, reject_below=middle, reject_label=label, out=out)
        assert out.tolist() == got.tolist()


def test_maps_of_other_numbers(digits, small_blocks, tmp_path):
    """Whole numbers, half precision and big-endian files are read as the arrays that they hold."""
    X, y, Q = digits
    X, Q = np.rint(X * 16), np.rint(Q * 16)
    for make in (nb.KNNClassifier, lambda: nb.SLNDClassifier(max_passes=2), nb.INNClassifier):
        model = make().fit(X, y)
        for dtype in ("u1", "f2", ">f4", ">f8", "i2"):
            on_disk = mapped(tmp_path / "Q.npy", Q.astype(dtype))
            np.testing.assert_array_equal(model.predict_proba(on_disk), model.predict_proba(Q.astype(dtype)))
        on_disk = mapped(tmp_path / "Q.npy", np.asfortranarray(Q))
        np.testing.assert_array_equal(model.predict_proba(on_disk), model.predict_proba(Q))


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        (np.zeros((99, 4)), r"out has the shape \(99, 4\), and the answers have \(100, 4\)"),
        (np.zeros((100, 5)), r"out has the shape \(100, 5\), and the answers have \(100, 4\)"),
        (np.zeros((100, 4), dtype=np.float32), "out holds float32, and the answers are float64"),
        (np.zeros((100, 4), dtype=np.complex128), "out holds complex128, and the answers are float64"),
        ([[0.0] * 4] * 100, r"out is of the kind list; give np.empty\(\(100, 4\), 'float64'\), or a map"),
    ],
)
def test_arrays_that_answers_do_not_fit(digits, out, sentence):
    X, y, Q = digits
    with pytest.raises(ValueError, match=sentence):
        nb.KNNClassifier().fit(X, y).predict_proba(Q, out=out)


def test_labels_need_room_for_their_letters(digits):
    X, y, Q = digits
    model = nb.KNNClassifier().fit(X, np.char.add("class ", y))
    with pytest.raises(ValueError, match="out holds <U3, and the answers are <U7"):
        model.predict(Q, out=np.empty(100, dtype="<U3"))
    wide = np.empty(100, dtype="<U30")
    assert model.predict(Q, out=wide).tolist() == model.predict(Q).tolist()


def test_places_that_cannot_be_written_to(digits, tmp_path, monkeypatch):
    X, y, Q = digits
    model = nb.KNNClassifier().fit(X, y)
    out = mapped(tmp_path / "out.npy", np.zeros((100, 4)))
    with pytest.raises(ValueError, match="out is read-only"):
        model.predict_proba(Q, out=out)
    both = np.zeros((100, 64), dtype=np.float64)
    with pytest.raises(ValueError, match="out lies in the memory of X"):
        model.predict_proba(both, out=both[:, :4])
    np.save(tmp_path / "rows.npy", both)
    read, written = (np.load(tmp_path / "rows.npy", mmap_mode=mode) for mode in ("r", "r+"))
    with pytest.raises(ValueError, match="out lies in the file of X"):
        model.predict_proba(read, out=written[:, :4])
    with pytest.raises(ValueError, match="out must be a pair of arrays"):
        model.predict_with_proba(Q, out=np.zeros((100, 4)))
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float64, (100, 4))
    with open(tmp_path / "out.npy", "r+b") as file:
        file.truncate(2000)
    with pytest.raises(ValueError, match=r"out.npy was cut short .*, to 2,000 of 3,328 bytes"):
        model.predict_proba(Q, out=out)


def test_a_full_disk_is_told_before_anything_is_written(digits, tmp_path, monkeypatch):
    X, y, Q = digits
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float64, (100, 4))

    def full(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(outputs, "reserve", full)
    with pytest.raises(OSError, match="No space left"):
        nb.KNNClassifier().fit(X, y).predict_proba(Q, out=out)


def test_nan_of_a_map_is_named_by_its_row(digits, small_blocks, tmp_path):
    X, y, Q = digits
    bad = Q.copy()
    bad[93, 5] = np.nan
    for make in MODELS.values():
        with pytest.raises(ValueError, match="Row 93 of the mapped file contains NaN"):
            make().fit(X, y).predict(mapped(tmp_path / "Q.npy", bad))


def test_nan_in_the_thousandth_block(digits, small_blocks, tmp_path):
    X, y, Q = digits
    many = np.tile(Q, (71, 1))
    many[7003, 5] = np.nan
    out = np.full(len(many), "?")
    with pytest.raises(ValueError, match="Row 7003 of the mapped file contains NaN"):
        nb.KNNClassifier().fit(X, y).predict(mapped(tmp_path / "Q.npy", many), out=out)
    assert (out == "?").nonzero()[0][0] == 7000  # blocks before it are answered


def test_a_file_that_shrinks_while_it_is_read(digits, small_blocks, tmp_path):
    X, y, Q = digits
    model, on_disk = nb.KNNClassifier().fit(X, y), mapped(tmp_path / "Q.npy", Q)
    blocks = model._score_blocks(on_disk)
    next(blocks)
    with open(tmp_path / "Q.npy", "r+b") as file:
        file.truncate(5000)
    with pytest.raises(ValueError, match="was cut short after it was opened"):
        next(blocks)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_hardly_any_rows(digits, n_rows, tmp_path):
    X, y, Q = digits
    model = nb.KNNClassifier().fit(X, y)
    if n_rows:
        on_disk = mapped(tmp_path / "Q.npy", Q[:1])
        np.testing.assert_array_equal(model.predict_proba(on_disk), model.predict_proba(Q[:1]))
    else:
        with pytest.raises(ValueError, match="0 sample"):
            model.predict_proba(Q[:0], out=np.empty((0, 4)))
