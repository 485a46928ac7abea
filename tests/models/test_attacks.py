"""Files made with ill intent, which once ran code, wrote memory, or filled it: one sentence each, no more."""

import copy
import hashlib
import io
import json
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import nearboost
from cli.calling import refused as said_by
from models.fitted import queries, rows
from models.mutations import HEADER, members, npy, with_header, written
from nearboost.models import Model, ModelFileError, load, save

OLD = Path(__file__).parent / "old"


def fitted(model):
    X, y = rows()
    return model.fit(X[:60], y[:60])


def changed(model, path, change):
    """A file of a model with another header and all checksums right."""
    save(model, path)
    contents = members(path)
    header = json.loads(contents[HEADER])
    change(header)
    written(path, with_header(contents, header))
    return path


def with_array(path, number, array):
    contents = members(path)
    header = json.loads(contents[HEADER])
    written(path, with_header(contents | {f"arrays/{number}.npy": npy(array)}, header))


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_no_cache_of_a_pipeline(tmp_path):
    """It made `nearboost suspects` fit through joblib, which unpickles what lies in that folder."""

    def change(header):
        header["root"]["parameters"]["memory"] = "cache"

    model = fitted(make_pipeline(StandardScaler(), nearboost.KNNClassifier()))
    refused(changed(model, tmp_path / "m.nb", change), r"model\.memory, which is not kept in model files")
    model.memory = str(tmp_path / "cache")
    save(model, tmp_path / "m.nb")
    assert load(tmp_path / "m.nb").memory is None


@pytest.mark.parametrize("part", [1, 2], ids=["indices", "pointers"])
def test_no_index_beside_the_rows(tmp_path, part):
    """Pointers of one's own choice made scores add numbers at addresses of one's own choice."""
    save(fitted(nearboost.UNNClassifier(3, n_rounds=5)), tmp_path / "m.nb")
    header = json.loads(members(tmp_path / "m.nb")[HEADER])
    for entry in ("coefficients_", "members", "held_out_scores_"):
        number = header["root"]["state"][entry]["csr"][1 + part]["array"]
        contents = members(tmp_path / "m.nb")
        array = np.lib.format.read_array(io.BytesIO(contents[f"arrays/{number}.npy"]))
        for wild in (-1, 2**31 - 1, 10**6):
            array[len(array) // 2] = wild
            path = tmp_path / f"{entry}.nb"
            written(path, contents)
            with_array(path, number, array)
            refused(path, entry)


def test_no_graph_beside_the_rows(tmp_path):
    save(fitted(nearboost.N3Classifier(3, n_rounds=5)), tmp_path / "m.nb")
    header = json.loads(members(tmp_path / "m.nb")[HEADER])
    number = header["root"]["state"]["graph_indices"]["array"]
    array = np.lib.format.read_array(io.BytesIO(members(tmp_path / "m.nb")[f"arrays/{number}.npy"]))
    array[3, 0] = 60
    with_array(tmp_path / "m.nb", number, array)
    refused(tmp_path / "m.nb", "graph_indices, which holds numbers out of range")


def test_arrays_are_used_once(tmp_path):
    """306 KB of shared texts became 9 GB."""

    def change(header):
        state = header["root"]["state"]
        state["graph_distances"] = copy.deepcopy(state["rows"])

    path = changed(fitted(nearboost.N3Classifier(3, n_rounds=5)), tmp_path / "m.nb", change)
    refused(path, r"uses its array \d+ twice")


def old_file(path, root, arrays=()):
    """A file of format 2 around an entry."""
    contents = {f"arrays/{number}.npy": npy(array) for number, array in enumerate(arrays)}
    versions = {"nearboost": "1", "numpy": "2", "scikit-learn": "1.8.0"}
    told = [{"dtype": array.dtype.str, "shape": list(array.shape), "sha256": ""} for array in arrays]
    written(path, with_header(contents, {"format": 2, "versions": versions, "root": root, "arrays": told}))


def old_object(name, number, parameters=None, state=None):
    return {"object": name, "number": number, "parameters": parameters or {}, "state": state or {}}


def test_shared_pipelines_of_old_files(tmp_path):
    """3 KB of them asked for 8^12 transforms."""
    inner = old_object("sklearn.Normalizer", 0, {"norm": "l2", "copy": True}, {"n_features_in_": 4})
    for level in range(1, 12):
        steps = [{"tuple": ["a0", inner]}, *({"tuple": [f"a{i}", {"same": level - 1}]} for i in range(1, 8))]
        inner = old_object("sklearn.Pipeline", level, {"steps": steps})
    old_file(tmp_path / "m.nb", inner)
    started = time.process_time()
    refused(tmp_path / "m.nb", "too many objects")
    assert time.process_time() - started < 10


def test_shared_texts_of_old_files(tmp_path):
    texts = np.full(10_000, "a" * 30)
    shared = [{"texts": {"array": 0}} for _ in range(3_000)]
    root = old_object("sklearn.Normalizer", 0, {"norm": shared}, {"n_features_in_": 4})
    old_file(tmp_path / "m.nb", root, [texts])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(tmp_path / "m.nb", "again and again")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def test_objects_of_old_files_that_hold_themselves(tmp_path):
    steps = [{"tuple": ["a", {"same": 0}]}]
    old_file(tmp_path / "m.nb", old_object("sklearn.Pipeline", 0, {"steps": steps}))
    refused(tmp_path / "m.nb", "nested too deeply")


@pytest.mark.parametrize("name", ["Leverage", "NeighborSearch", "MeasuredRows", "Dictionary", "Recipe"])
def test_internal_classes_have_no_names(tmp_path, name):
    def change(header):
        header["root"] = {"class": name, "parameters": {}, "state": {}}

    refused(changed(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "not in the table of names")


def test_private_arrays_of_other_versions(tmp_path):
    """Those of SVC are scikit-learn's own affair, which it may change."""

    def change(header):
        header["versions"]["scikit-learn"] = "0.1.2"

    path = changed(fitted(SVC()), tmp_path / "m.nb", change)
    refused(path, r"holds an SVC of scikit-learn 0\.1\.2, whose private arrays .* fit the model again")
    path = changed(fitted(PCA(3)), tmp_path / "m.nb", change)
    with pytest.warns(UserWarning, match=r"holds objects of scikit-learn 0\.1\.2"):
        load(path)


def test_neighbors_of_scikit_learn_are_made_from_their_rows(tmp_path):
    """Numbers of samples of one's own choice ended the process."""
    model = fitted(KNeighborsClassifier(3))
    header = json.loads(members(changed(model, tmp_path / "m.nb", lambda header: None))[HEADER])
    assert set(header["root"]["state"]) == {"n_features_in_", "classes_", "rows", "codes"}
    np.testing.assert_array_equal(load(tmp_path / "m.nb").predict(queries()), model.predict(queries()))


@pytest.mark.parametrize("command", ["info", "predict", "explain", "suspects", "prune", "evaluate"])
def test_the_command_line_says_one_sentence(tmp_path, command):
    """Whatever was changed: no traceback, and exit code 1."""

    def change(header):
        header["root"]["state"]["classifier"]["state"]["rows"] = {"csr": [[10**9, 10**9], 1, 2, 3]}
        header["root"]["state"]["facts"] = []

    X, _ = rows()
    model = Model(None, fitted(nearboost.KNNClassifier()), ("a", "b", "c", "d"), None, {"items": 60})
    path = changed(model, tmp_path / "m.nb", change)
    np.savetxt(tmp_path / "x.csv", X[:5], delimiter=",")
    words = {
        "info": [],
        "prune": ["--keep", 10, "--out", tmp_path / "p.nb"],
        "suspects": ["--data", tmp_path / "x.csv"],
    }.get(command, [tmp_path / "x.csv"])
    assert said_by(command, path, *words).startswith(f"Error: {path} holds ")


def test_nothing_is_left_running_or_imported(tmp_path):
    """A refused file has imported none of the classes that it names after the first that is refused."""
    model = fitted(make_pipeline(StandardScaler(), nearboost.KNNClassifier()))

    def change(header):
        header["root"]["parameters"]["steps"][0][1]["class"] = "os.system"

    path = changed(model, tmp_path / "m.nb", change)
    program = (
        "import sys; from nearboost.models import ModelFileError, load\n"
        f"try: load({str(path)!r})\n"
        "except ModelFileError: print('nearboost.boosting.knn' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False"]


def test_the_header_is_the_one_that_was_summed(tmp_path):
    save(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb")
    contents = members(tmp_path / "m.nb")
    assert hashlib.sha256(contents[HEADER]).hexdigest().encode() == contents["model.json.sha256"]
    with zipfile.ZipFile(tmp_path / "m.nb") as archive:
        assert archive.testzip() is None
