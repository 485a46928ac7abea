"""Files of formats 1 and 2 whose entries, shared or contradictory, once crashed, flooded or ran forever."""

import json
import time
from pathlib import Path

import numpy as np

from models.mutations import HEADER, members, npy, with_header, written
from models.test_attacks import old_file, old_object, refused
from nearboost.models import archive as model_archive
from nearboost.models import load
from nearboost.models.old_records import Decoder

OLD = Path(__file__).parent / "old"


class OldFile:
    """The header and arrays of a sound file, to be changed."""

    def __init__(self, name):
        self.contents = members(OLD / name)
        self.header = json.loads(self.contents[HEADER])
        self.state = self.header["root"]["state"]

    def add(self, array):
        number = len(self.header["arrays"])
        self.header["arrays"].append({"dtype": array.dtype.str, "shape": list(array.shape), "sha256": ""})
        self.contents[f"arrays/{number}.npy"] = npy(array)
        return {"array": number}

    def csr(self, shape, data, indices, indptr):
        return {"sparse": ["csr_array", shape, self.add(data), self.add(indices), self.add(indptr)]}

    def write(self, path):
        written(path, with_header(self.contents, self.header))
        return path


def labels(file, shape, *parts):
    return old_object(
        "Labels", 800, state={"members": file.csr(shape, *parts), "n_classes": 4, "multilabel": True}
    )


def test_rows_that_are_taken_again_and_again(tmp_path):
    """2^32 + 2^16 entries are 2^16 in 32 bits: SciPy wrote the others beside its array."""
    file, n = OldFile("format-1/unn.nb"), 2**16
    pointers = np.array([0, n], np.int32)
    file.state["_labels"] = labels(file, [1, n], np.ones(n, np.int8), np.arange(n, dtype=np.int32), pointers)
    file.state |= {"_kept": file.add(np.zeros(1, np.int64)), "_searched_rows": file.add(np.zeros(n + 1, np.int64))}
    refused(file.write(tmp_path / "m.nb"), "rows that vote twice")


def test_labels_of_billions_of_classes(tmp_path):
    """A matrix may be as wide as it likes, and zeros for all of its columns took 80 GB."""
    file = OldFile("format-1/unn.nb")
    parts = np.ones(40, np.int8), np.zeros(40, np.int64), np.arange(41)
    file.state["_labels"] = labels(file, [40, 10**10], *parts)
    refused(file.write(tmp_path / "m.nb"), "must have a length of 10000000000")


def test_descriptors_of_one_array(tmp_path):
    file = OldFile("format-1/nbnn.nb")
    rows = old_object("Rows", 901, state={"X": file.add(np.zeros((10, 128), np.float32))})
    first = old_object("NeighborSearch", 900, state={"rows": rows})
    file.state["_evidence"] = old_object("PerClass", 899, state={"_searches": [first, *[{"same": 900}] * 9]})
    refused(file.write(tmp_path / "m.nb"), "the descriptors of a class twice")


def test_a_history_of_arrays(tmp_path):
    file = OldFile("format-2/slnd.nb")
    risks = [file.add(np.zeros(1000))] * 1000
    file.state["history_"] = {"dict": [["risk", risks], ["held_out_accuracy", [0.5]]]}
    refused(file.write(tmp_path / "m.nb"), "does not fit together")


def test_classifiers_of_one_array(tmp_path):
    """Each of them made its own search, however small the file."""
    file = OldFile("format-1/split.nb")
    first = file.state["estimators_"][0]
    file.state["estimators_"] = [first, *[{"same": first["number"]}] * 900]
    refused(file.write(tmp_path / "m.nb"), "uses its arrays again and again")


def test_lists_of_one_record(tmp_path):
    inner = old_object("sklearn.Normalizer", 0, {"norm": [0] * 10_000}, {"n_features_in_": 4})
    steps = [{"tuple": ["a", inner]}, *({"tuple": [f"a{i}", {"same": 0}]} for i in range(900))]
    old_file(tmp_path / "m.nb", old_object("sklearn.Pipeline", 1, {"steps": steps}))
    refused(tmp_path / "m.nb", "uses its lists again and again")


def test_a_matrix_that_stands_again_and_again(tmp_path):
    """It was checked each time, for hours in all."""
    file, n = OldFile("format-1/unn.nb"), 10**6
    once = file.csr([1, 1], np.ones(n), np.zeros(n, np.int32), np.array([0, n], np.int32))
    file.state["_more"] = [once] * 10_000
    started = time.process_time()
    model = load(file.write(tmp_path / "m.nb"))
    assert time.process_time() - started < 5
    assert model.predict(np.zeros((2, 11))).shape == (2,)


def test_generators_of_one_array(tmp_path):
    file = OldFile("format-1/unn.nb")
    keys = file.add(np.zeros(624, np.uint32))
    state = {"random_state": {"tuple": ["MT19937", keys, 624, 0, 0.0]}}
    file.state["_more"] = [state] * 2
    with model_archive.open_archive(file.write(tmp_path / "m.nb"), 2**30) as archive:
        one, other = Decoder(archive).decode(archive.header["root"])["_more"]
    assert one is other


def test_more_memory_than_there_is(tmp_path, monkeypatch):
    def none_left(*args):
        raise MemoryError

    monkeypatch.setattr(model_archive, "_read_array", none_left)
    refused(OldFile("format-1/unn.nb").write(tmp_path / "m.nb"), "needs more memory than there is")
