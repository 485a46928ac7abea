"""Files that are damaged, cut short, or made with ill intent: one sentence, and nothing runs."""

import hashlib
import io
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import nearboost
from models.fitted import rows
from nearboost.models import Model, ModelFileError, load, load_model, save
from nearboost.models import archive as model_archive
from nearboost.models.files import read_header
from nearboost.models.info import read_summary

HEADER, HEADER_SUM = "model.json", "model.json.sha256"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.nb"
    X, y = rows()
    model = make_pipeline(StandardScaler(), nearboost.UNNClassifier(3, n_rounds=5)).fit(X[:60], y[:60])
    save(model, path)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents, sums=True):
    """A zip of these members, with a fitting checksum of the header."""
    if sums:
        contents = contents | {HEADER_SUM: hashlib.sha256(contents[HEADER]).hexdigest().encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def with_header(good, path, change):
    """The file with another header."""
    contents = members(good)
    header = json.loads(contents[HEADER])
    header = change(header) or header
    return write(path, contents | {HEADER: json.dumps(header).encode()})


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.endswith(".")
    assert "\n" not in said
    return said


def npy(array, **how):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(2, 0), **how)
    return file.getvalue()


def replaced(good, path, content):
    """The file with another first array and its checksum."""
    contents = members(good) | {"arrays/0.npy": content}
    header = json.loads(contents[HEADER])
    header["arrays"][0]["sha256"] = hashlib.sha256(content).hexdigest()
    return write(path, contents | {HEADER: json.dumps(header).encode()})


def unn_of(header):
    """The classifier in the header of the good file."""
    return header["root"]["parameters"]["steps"][1][1]


def test_rewritten_file_loads(good, tmp_path):
    """The tools of these tests make sound files when nothing is wrong."""
    assert load(with_header(good, tmp_path / "same", lambda header: None)).predict(rows()[0]).shape == (240,)


@pytest.mark.parametrize("name", ["os.system", "Popen", "builtins.eval", "sklearn.FunctionTransformer", "", None])
def test_name_that_is_not_in_the_table(good, tmp_path, name):
    def change(header):
        header["root"]["class"] = name

    refused(with_header(good, tmp_path / "bad", change), "which is not in the table of names")


def test_nothing_is_imported_for_an_unknown_name(good, tmp_path):
    """Neither the module of that name nor, before it is known to be sound, any other of the table."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")

    def change(header):
        header["root"] = {"class": "evil", "parameters": {}, "state": {}}

    path = with_header(good, tmp_path / "bad", change)
    program = (
        "import sys; from nearboost.models import load, ModelFileError\n"
        f"try: load({str(path)!r})\n"
        "except ModelFileError: print('evil' in sys.modules, 'nearboost.boosting.unn' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert ended.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "arrays/../../evil", "arrays/999.npy", "evil.py"])
def test_strange_members(good, tmp_path, name):
    refused(write(tmp_path / "bad", members(good) | {name: b"evil"}), f"holds the member '{name}'")
    assert not (tmp_path.parent / "evil").exists()


def test_members_twice(good, tmp_path):
    path = write(tmp_path / "bad", members(good))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(HEADER, b"{}")
    refused(path, "some twice")


@pytest.mark.parametrize("name", ["arrays/1.npy", "model.json.sha256"])
def test_missing_members(good, tmp_path, name):
    contents = members(good)
    del contents[name]
    refused(write(tmp_path / "bad", contents, sums=False), f"lacks the member '{name}'")


def test_array_that_is_not_there(good, tmp_path):
    def change(header):
        unn_of(header)["state"]["rows"] = {"array": 10**6}

    refused(with_header(good, tmp_path / "bad", change), "asks for the array 1000000")


def test_wrong_checksums(good, tmp_path):
    contents = members(good)
    changed = bytearray(contents["arrays/0.npy"])
    changed[-1] ^= 1
    refused(write(tmp_path / "array", contents | {"arrays/0.npy": bytes(changed)}), "does not fit its checksum")
    text = contents[HEADER].replace(b'"n_neighbors": 3', b'"n_neighbors": 5')
    assert text != contents[HEADER]
    refused(write(tmp_path / "header", contents | {HEADER: text}, sums=False), "changed or damaged")


def test_cut_short_anywhere(good, tmp_path):
    whole = good.read_bytes()
    for length in [*range(0, len(whole), len(whole) // 60), *range(len(whole) - 30, len(whole))]:
        path = tmp_path / "short"
        path.write_bytes(whole[:length])
        refused(path, "cut short or damaged")


def test_flipped_bits(good, tmp_path):
    """Anywhere in the file: refused, or without any effect."""
    whole = good.read_bytes()
    rng = np.random.default_rng(0)
    expected = load(good).predict(rows()[0])
    n_refused = 0
    for place in rng.integers(0, len(whole), 300):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        path = tmp_path / "flipped"
        path.write_bytes(bytes(changed))
        try:
            np.testing.assert_array_equal(load(path).predict(rows()[0]), expected)
        except ModelFileError:
            n_refused += 1
    assert n_refused > 200


def test_huge_declared_sizes(good, tmp_path, monkeypatch):
    """Refused from the zip's list of members, before anything is unpacked."""
    bomb = members(good)
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in bomb.items():
            archive.writestr(name, bytes(2**26) if name == "arrays/0.npy" else content)
    with pytest.raises(ModelFileError, match="more than the 1,000,000 allowed for it; load"):
        load(path, max_bytes=10**6)
    monkeypatch.setattr(model_archive, "ALWAYS_ALLOWED", 10**6)
    refused(path, "when unpacked, more than the")
    monkeypatch.setattr(model_archive, "MOST_HEADER", 1000)
    refused(good, "declares a header of")


def test_sizes_that_cannot_be(good, tmp_path):
    whole = bytearray(write(tmp_path / "bad", members(good)).read_bytes())
    place = whole.rindex(b"PK\x01\x02", 0, whole.index(b"arrays/0.npy", whole.index(b"PK\x01\x02")))
    whole[place + 24 : place + 28] = (2**31).to_bytes(4, "little")
    (tmp_path / "bad").write_bytes(bytes(whole))
    refused(tmp_path / "bad", "declares an impossible")


class Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('ran')",))


def test_pickled_arrays(good, tmp_path):
    objects = npy(np.array([Evil()], dtype=object), allow_pickle=True)
    refused(replaced(good, tmp_path / "objects", objects), "which is not allowed in model files")
    refused(replaced(good, tmp_path / "pickle", pickle.dumps(Evil())), "is not a plain npy array")
    (tmp_path / "plain").write_bytes(pickle.dumps(Evil()))
    refused(tmp_path / "plain", "is not a model file")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.zeros(3))[:-8], "does not fit its size"),
        (npy(np.zeros(3)) + b"more", "does not fit its size"),
        (npy(np.zeros(3)).replace(b"(3,), }", b"(2**62,), }"), "is not a plain npy array"),
        (npy(np.zeros(3)).replace(b"(3,), } ", b"(-3,), }"), "does not fit its size"),
        (npy(np.zeros(3, dtype="V8")), "which is not allowed"),
        (npy(np.zeros(3, dtype="M8[s]")), "which is not allowed"),
        (b"", "is not a plain npy array"),
    ],
)
def test_arrays_that_are_none(good, tmp_path, content, message):
    refused(replaced(good, tmp_path / "bad", content), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"format": NaN}', "with NaN, which is not JSON"),
        (b'{"format": 1, "x": Infinity}', "with Infinity"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[1, 2]", "does not state its format"),
        (b'{"format": "1"}', "does not state its format"),
        (b'{"format": 1}', "does not fit together"),
        (b'{"format": ' + b"9" * 5000 + b"}", "is not JSON"),
    ],
)
def test_headers_that_are_none(good, tmp_path, text, message):
    refused(write(tmp_path / "bad", members(good) | {HEADER: text}), message)


def test_deep_nesting(good, tmp_path):
    def change(header):
        deep = []
        for _ in range(400):
            deep = [deep]
        unn_of(header)["parameters"]["class_weight"] = deep

    refused(with_header(good, tmp_path / "bad", change), "nested too deeply")


def test_sparse_matrices_that_point_beside_themselves(tmp_path):
    X, y = rows()
    model = nearboost.UNNClassifier(3, n_rounds=5).fit(X[:60], y[:60])
    model.coefficients_.indices[0] = 10**6
    with pytest.raises(ModelFileError, match="coefficients_ cannot be saved: it must have indices below"):
        save(model, tmp_path / "bad")


def test_formats(good, tmp_path):
    def newer(header):
        header["format"] = 99

    refused(with_header(good, tmp_path / "new", newer), "knows formats up to 3; upgrade nearboost")

    def older(header):
        header["format"] = 0

    old = with_header(good, tmp_path / "old", older)
    refused(old, "is of format 0, which is no longer read; load it with nearboost")


def test_parameters_of_other_versions(good, tmp_path):
    def without(header):
        del unn_of(header)["parameters"]["balance"]

    assert load(with_header(good, tmp_path / "older", without))[1].balance == "uniform"

    def more(header):
        unn_of(header)["parameters"]["invented"] = 1

    said = r"unnclassifier\.invented, which this version does not know; load it with the version of nearboost"
    refused(with_header(good, tmp_path / "newer", more), said)

    def entry(header):
        unn_of(header)["state"]["invented"] = 1

    refused(with_header(good, tmp_path / "entry", entry), said)


def test_other_scikit_learn(good, tmp_path):
    def change(header):
        header["versions"]["scikit-learn"] = "0.1.2"

    with pytest.warns(UserWarning, match=r"holds objects of scikit-learn 0\.1\.2"):
        load(with_header(good, tmp_path / "old", change))


def test_files_of_other_kinds(tmp_path):
    refused(tmp_path / "nowhere", "does not exist")
    refused(tmp_path, "is a folder")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", "is not a model file")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.txt", "text")
    refused(tmp_path / "zip", "not a model of nearboost")


def test_looking_into_a_file_is_fast(good):
    """Neither scikit-learn nor any class of the file is imported."""
    program = (
        "import sys; from nearboost.models.info import read_summary\n"
        f"print(read_summary({str(good)!r})['holds'], 'sklearn' in sys.modules, "
        "'nearboost.boosting' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["sklearn.Pipeline", "False", "False"]


def test_header_alone(good):
    header = read_header(good)
    assert header["root"]["class"] == "sklearn.Pipeline"
    assert header["bytes"] > 1000


def named(text):
    return text


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FunctionTransformer(named), "model is of class sklearn.preprocessing.*FunctionTransformer"),
        (
            make_pipeline(nearboost.ITML(named)),
            r"model\.steps\[0\]\.itml\..* is the function named",
        ),
        (
            nearboost.UNNClassifier(class_weight={"a": named}),
            r"model\.class_weight\['a'\] is the function named",
        ),
        (nearboost.UNNClassifier(np.array([1, object()])), r"model\.n_neighbors is of class numpy\.ndarray"),
        (nearboost.UNNClassifier(np.ma.array([1])), r"model\.n_neighbors is of class numpy\.ma"),
        (nearboost.UNNClassifier(nearboost.UNNClassifier), r"model\.n_neighbors is of class UNNClassifier"),
        (nearboost.UNNClassifier({1, 2}), r"model\.n_neighbors is of class builtins\.set"),
        (lambda: 0, "model is the function <lambda>"),
        (object(), r"model is of class builtins\.object"),
    ],
)
def test_refused_at_saving(model, message, tmp_path):
    with pytest.raises(ModelFileError, match=message) as caught:
        save(model, tmp_path / "model.nb")
    assert not list(tmp_path.iterdir())
    assert str(caught.value).endswith(".")


def test_trees_of_scikit_learn(tmp_path):
    """They are planted again from the rows."""
    X, y = rows()
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X[:, :3], y)
    save(model, tmp_path / "model.nb")
    loaded = load(tmp_path / "model.nb")
    np.testing.assert_array_equal(loaded.predict_proba(X[:, :3]), model.predict_proba(X[:, :3]))


def test_names_that_are_no_text(tmp_path):
    """Names of files may hold any bytes."""
    X, y = rows()
    model = nearboost.UNNClassifier(3, n_rounds=3, class_weight={"caf\udce9": 2.0})
    model.fit(X[:60], np.where(y[:60] > 1, "caf\udce9", "tea"))
    save(model, tmp_path / "model.nb")
    assert load(tmp_path / "model.nb").class_weight == model.class_weight


def test_lists_that_hold_themselves(tmp_path):
    endless: list = []
    endless.append(endless)
    with pytest.raises(ModelFileError, match="nested too deeply for a model file, or holds itself"):
        save(nearboost.UNNClassifier(endless), tmp_path / "model.nb")


def test_objects_that_hold_themselves(tmp_path):
    X, y = rows()
    model = make_pipeline(StandardScaler(), nearboost.KNNClassifier()).fit(X, y)
    model.steps.append(("again", model))
    with pytest.raises(ModelFileError, match="nested too deeply for a model file, or holds itself"):
        save(model, tmp_path / "model.nb")


def test_a_failed_save_leaves_the_old_file(good, tmp_path):
    path = tmp_path / "model.nb"
    path.write_bytes(good.read_bytes())
    with pytest.raises(ModelFileError):
        save(make_pipeline(FunctionTransformer(named)), path)
    assert path.read_bytes() == good.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["classes"].__setitem__(1, None),
        lambda state: state.pop("facts"),
        lambda state: state.__setitem__("facts", None),
        lambda state: state.__setitem__("classifier", {"tuple": []}),
    ],
)
def test_models_of_other_parts(change, tmp_path):
    """With a checksum that fits: whoever changes a header can write that as well."""
    X, y = rows()
    save(
        Model(None, KNeighborsClassifier().fit(X, y), ("a", "b", "c", "d"), None, {"items": len(X)}),
        tmp_path / "a.nb",
    )
    path = with_header(
        tmp_path / "a.nb", tmp_path / "b.nb", lambda header: change(header["root"]["state"]) and None
    )
    for look in (load_model, read_summary):
        with pytest.raises(ModelFileError, match="it was changed"):
            look(path)


@pytest.mark.parametrize(("name", "said"), [("marks", "it was changed"), ("invented", "does not know")])
def test_models_of_more_parts(name, said, tmp_path):
    X, y = rows()
    save(Model(None, KNeighborsClassifier().fit(X, y), ("a", "b", "c", "d"), None, {}), tmp_path / "a.nb")
    path = with_header(
        tmp_path / "a.nb", tmp_path / "b.nb", lambda header: header["root"]["state"].__setitem__(name, "none")
    )
    with pytest.raises(ModelFileError, match=said):
        load_model(path)


def test_models_from_before_marks(tmp_path):
    """Of this format too: the field came later and has a default."""
    X, y = rows()
    save(Model(None, KNeighborsClassifier().fit(X, y), ("a", "b", "c", "d"), None, {}), tmp_path / "a.nb")
    path = with_header(tmp_path / "a.nb", tmp_path / "b.nb", lambda header: header["root"]["state"].pop("marks"))
    assert load_model(path).marks is None


def test_versions_that_are_not_told(good, tmp_path):
    path = with_header(good, tmp_path / "model.nb", lambda header: header["versions"].pop("scikit-learn") and None)
    refused(path, "does not fit together")
