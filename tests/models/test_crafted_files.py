"""Files in which every entry is of the right kind, and the whole would still crash, flood, lie or not answer."""

import hashlib
import io
import json
import zipfile
import zlib

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC

import nearboost
from cli.calling import refused as said_by
from models.fitted import pictures, queries, rows
from models.mutations import HEADER, HEADER_SUM, members, with_header, written
from models.test_attacks import changed, fitted, old_file, old_object, refused, with_array
from nearboost.base.validation import check_sparse
from nearboost.features import DenseSIFT, Gist
from nearboost.models import ModelFileError, load, save

NAMES = ("a", "b", "c", "d")


def array_at(path, coded):
    return np.lib.format.read_array(io.BytesIO(members(path)[f"arrays/{coded['array']}.npy"]))


def state_of(path):
    return json.loads(members(path)[HEADER])["root"]["state"]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_pointers_whose_differences_wrap_around(tmp_path, dtype):
    """From the largest number to the smallest is a step of 1 in machine numbers: scores were read anywhere."""
    path, ends = tmp_path / "m.nb", np.iinfo(dtype)
    save(fitted(nearboost.UNNClassifier(3, n_rounds=5)), path)
    shape, data, indices, pointers = state_of(path)["coefficients_"]["csr"]
    wild = np.full(shape[0] + 1, shape[1], dtype)
    wild[:4] = [0, ends.max, ends.min, -1]
    with_array(path, data["array"], np.ones(shape[1]))
    with_array(path, indices["array"], np.arange(shape[1], dtype=dtype))
    with_array(path, pointers["array"], wild)
    refused(path, "coefficients_, which must have row pointers that rise")


def test_pointers_of_sparse_queries_do_not_wrap_either():
    from scipy.sparse import csr_array

    X = csr_array(np.eye(4))
    X.indptr = np.array([0, 2**31 - 1, -(2**31), -1, 4], dtype=np.int32)
    with pytest.raises(ValueError, match="is broken"):
        check_sparse(X)


@pytest.mark.parametrize("position", [-(10**9), 625, 10**9])
def test_random_states_of_old_files(tmp_path, position):
    """NumPy takes the number of the next key as it is, and reads there."""
    state = {"random_state": {"tuple": ["MT19937", {"array": 0}, position, 0, 0.0]}}
    root = old_object("sklearn.PCA", 0, {"random_state": state}, {"n_features_in_": 4})
    old_file(tmp_path / "m.nb", root, [np.zeros(624, np.uint32)])
    refused(tmp_path / "m.nb", "must be the state of a random generator")


def test_a_header_that_is_larger_than_it_says(tmp_path):
    """2 MB of it became 2 GB, of which its declared length was cut off."""
    save(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb")
    contents = members(tmp_path / "m.nb")
    text, packer = contents.pop(HEADER), zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + b"".join(packer.compress(bytes(2**24)) for _ in range(4)) + packer.flush()
    entry = zipfile.ZipInfo(HEADER)
    entry.CRC, entry.file_size, entry.compress_size = zlib.crc32(text), len(text), len(packed)
    with zipfile.ZipFile(tmp_path / "m.nb", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        entry.compress_type, entry.header_offset = zipfile.ZIP_DEFLATED, archive.fp.tell()
        archive.fp.write(entry.FileHeader(False) + packed)
        archive.start_dir = archive.fp.tell()
        archive.filelist.append(entry)
        archive.NameToInfo[HEADER] = entry
    import tracemalloc

    tracemalloc.start()
    load(tmp_path / "m.nb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_a_header_of_millions_of_values(tmp_path):
    """95 KB of empty dicts became 2 GB."""
    save(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb")
    contents = members(tmp_path / "m.nb")
    text = contents[HEADER].rstrip()[:-1] + b', "more": [' + b"{}," * 1_000_000 + b"0]}"
    written(tmp_path / "m.nb", contents | {HEADER: text, HEADER_SUM: hashlib.sha256(text).hexdigest().encode()})
    refused(tmp_path / "m.nb", "a header of more than 2,000,000 values")


def test_numbers_that_a_dict_cannot_tell_apart(tmp_path):
    """Multiples of 2^61 - 1 have one hash: 40,000 of them took half a minute."""

    def change(header):
        header["root"]["parameters"]["metric"] = {"dict": [[k * (2**61 - 1), 0] for k in range(1, 100)]}

    refused(changed(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "more than 64 bits")
    with pytest.raises(ModelFileError, match="does not fit 64 bits"):
        save(fitted(nearboost.UNNClassifier(3, n_rounds=2)).set_params(n_rounds=10**30), tmp_path / "m.nb")


@pytest.mark.parametrize(
    ("fraction", "message"),
    [
        ("1/" + "1" * 10**6, "at most"),
        ("1/" + "1" * 299_990 + "g", "another form"),
        ("1/" + "3" * 299_000, "reduced"),
    ],
)
def test_fractions_that_take_minutes(tmp_path, fraction, message):
    """Zeros and other digits could be told apart in as many ways as there are, and each fraction is reduced."""

    def change(header):
        table = header["root"]["state"]["exact_coefficients_"][0]
        table["values"] = [fraction] * len(table["values"])

    exact = {"loss": "hinge", "vote_weights": "uniform", "start": "zero", "arithmetic": "rational"}
    model = fitted(nearboost.N3Classifier(3, n_rounds=4, **exact))
    refused(changed(model, tmp_path / "m.nb", change), message)


@pytest.mark.parametrize("kind", [str, object])
def test_texts_of_what_is_no_character(tmp_path, kind):
    """Python ends in a SystemError where it meets them."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES, dtype=kind)[y]), path)
    coded = state_of(path)["classes_"]
    with_array(path, coded.get("texts", coded)["array"], np.array([97, 98, 99, 2**32 - 1], np.uint32).view("U1"))
    refused(path, "texts that hold what is no character")


def test_texts_of_no_length(tmp_path):
    """They take no room in a file, and whatever lay in memory was read in their place."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES)[y]), path)
    head = io.BytesIO()
    np.lib.format.write_array_header_2_0(head, {"descr": "<U0", "fortran_order": False, "shape": (4,)})
    number, contents = state_of(path)["classes_"]["array"], members(path)
    contents[f"arrays/{number}.npy"] = head.getvalue()
    written(path, with_header(contents, json.loads(contents[HEADER])))
    refused(path, "of <U0, which is not allowed")


def test_texts_by_the_million(tmp_path):
    """Each is an object of its own: they took twenty times the memory of their array."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES, dtype=object)[y]), path)
    with_array(path, state_of(path)["classes_"]["texts"]["array"], np.full(1_000_001, "a"))
    refused(path, "more than 1,000,000 texts")


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "long" * 1000])
def test_errors_are_one_line_that_a_terminal_bears(tmp_path, name):
    def change(header):
        header["root"]["parameters"][name] = 1

    path = changed(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb", change)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800
    assert "\x1b" not in said_by("info", tmp_path / "m.nb\x1b[31m")


def test_versions_of_ones_own(tmp_path):
    def change(header):
        header["versions"]["scikit-learn"] = "9\n\x1b[31m"

    path = changed(fitted(PCA(2)), tmp_path / "m.nb", change)
    with pytest.warns(UserWarning, match="holds objects of scikit-learn 9 ") as caught:
        load(path)
    assert str(caught[0].message).isprintable()


def no_labels(path, state):
    with_array(path, state["classes_"]["array"], np.arange(0))


def one_class(path, state):
    save(nearboost.UNNClassifier(3, n_rounds=2).fit(queries(), np.arange(60) % 2), path)
    with_array(path, state_of(path)["classes_"]["array"], np.arange(1))


@pytest.mark.parametrize(
    ("make", "message"), [(no_labels, "must hold labels"), (one_class, "two classes at least")]
)
def test_classifiers_of_few_classes(tmp_path, make, message):
    path = tmp_path / "m.nb"
    save(fitted(nearboost.UNNClassifier(3, n_rounds=2)), path)
    make(path, state_of(path))
    refused(path, message)


def test_a_split_into_nothing(tmp_path):
    def change(header):
        header["root"]["state"]["estimators_"] = []

    model = nearboost.SplitClassifier(nearboost.KNNClassifier(3), 2, posterior="predict_proba")
    refused(changed(fitted(model), tmp_path / "m.nb", change), "must have a classifier for each part")


# What scikit-learn's classes say to a row when their attributes and parameters do not go together.
@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        (KNeighborsClassifier(3), {"n_neighbors": 1000}, "KNeighborsClassifier cannot predict"),
        (SVC(), {"break_ties": True, "decision_function_shape": "ovo"}, "SVC cannot predict"),
        (
            StandardScaler(with_mean=False, with_std=False),
            {"with_std": False, "with_mean": True},
            "cannot transform",
        ),
    ],
)
def test_parts_of_scikit_learn_that_cannot_answer(tmp_path, model, parameters, message):
    def change(header):
        header["root"]["parameters"] |= parameters

    refused(changed(fitted(model), tmp_path / "m.nb", change), message)
    with pytest.raises(ValueError, match=message):
        save(fitted(model).set_params(**parameters), tmp_path / "m.nb")


def test_a_transformer_that_only_classifies(tmp_path):
    def change(header):
        header["root"]["parameters"]["steps"][0][1]["parameters"]["solver"] = "lsqr"

    model = fitted(make_pipeline(LinearDiscriminantAnalysis(), nearboost.KNNClassifier()))
    refused(changed(model, tmp_path / "m.nb", change), "LinearDiscriminantAnalysis cannot transform")
    alone = fitted(LinearDiscriminantAnalysis(solver="lsqr"))
    save(alone, tmp_path / "m.nb")
    np.testing.assert_array_equal(load(tmp_path / "m.nb").predict(queries()), alone.predict(queries()))


def test_an_intercept_of_another_length(tmp_path):
    X, y = rows()
    path = tmp_path / "m.nb"
    save(LogisticRegression().fit(X, y % 2), path)
    state = state_of(path)
    with_array(path, state["coef_"]["array"], array_at(path, state["coef_"])[0])
    with_array(path, state["intercept_"]["array"], np.zeros(5))
    refused(path, "a row of coefficients for each class")


def test_steps_of_other_widths(tmp_path):
    def change(header):
        steps = header["root"]["parameters"]["steps"]
        steps[0], steps[1] = steps[1], steps[0]

    model = fitted(make_pipeline(PCA(9), MinMaxScaler(), PCA(5), nearboost.KNNClassifier()))
    refused(changed(model, tmp_path / "m.nb", change), "PCA takes rows of 64 numbers, and MinMaxScaler gives")
    union = FeatureUnion([("all", fitted(PCA(3))), ("few", PCA(3).fit(rows()[0][:, :9]))])
    with pytest.raises(ValueError, match="FeatureUnion needs steps that all take the same rows"):
        save(union, tmp_path / "m.nb")


@pytest.mark.parametrize("parts", [(Gist(side=64), PCA(2)), (DenseSIFT(), DenseSIFT())], ids=["kinds", "sets"])
def test_unions_of_what_does_not_stand_side_by_side(tmp_path, parts):
    """They ended in whatever NumPy or scikit-learn says to rows of several kinds."""
    fit = [one.fit(rows()[0] if isinstance(one, PCA) else pictures()) for one in parts]
    with pytest.raises(ValueError, match="FeatureUnion needs steps that"):
        save(FeatureUnion([("one", fit[0]), ("other", fit[1])]), tmp_path / "m.nb")


def test_a_pipeline_that_ends_in_nothing(tmp_path):
    def change(header):
        header["root"]["parameters"]["steps"][1][1] = "drop"

    path = changed(fitted(make_pipeline(StandardScaler(), PCA(2))), tmp_path / "m.nb", change)
    refused(path, r"model.steps\[1\], which must be a step")


def test_parts_that_begin_with_a_step_that_does_nothing(tmp_path):
    """Their pipeline does not know how many features it takes."""
    part = make_pipeline("passthrough", nearboost.KNNClassifier(3))
    model = fitted(nearboost.SplitClassifier(part, 2, posterior="predict_proba"))
    save(model, tmp_path / "m.nb")
    np.testing.assert_array_equal(load(tmp_path / "m.nb").predict(queries()), model.predict(queries()))


def test_numbers_that_no_step_takes(tmp_path):
    """The classifier refused them, in words for somebody who fits it."""
    path = tmp_path / "m.nb"
    save(fitted(make_pipeline(StandardScaler(), nearboost.KNNClassifier(3))), path)
    coded = json.loads(members(path)[HEADER])["root"]["parameters"]["steps"][0][1]["state"]["mean_"]
    with_array(path, coded["array"], np.full(64, -1e308))
    refused(path, "StandardScaler makes numbers that are not finite")
    union = FeatureUnion([("one", fitted(PCA(2)))], transformer_weights={"one": float("inf")})
    with pytest.raises(ValueError, match="transformer_weights must be finite"):
        save(union, path)


def test_steps_within_steps(tmp_path):
    """Each level tried all parts again."""
    model = fitted(PCA(2))
    for _ in range(7):
        model = FeatureUnion([("inner", model)])
    with pytest.raises(ValueError, match="nested more than 6 times"):
        save(model, tmp_path / "m.nb")


def union_of(model, n):
    """A header in which one step stands again and again."""

    def change(header):
        step = header["root"]["parameters"]["transformer_list"][0][1]
        header["root"]["parameters"]["transformer_list"] = [[f"{i}", step] for i in range(n)]

    return lambda path: changed(FeatureUnion([("one", model)]), path, change)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (union_of(Gist(side=512), 51), "more than 50 descriptors of images"),
        (union_of(Normalizer().fit(np.ones((1, 8192))), 600), "A row would have 4,915,200 numbers"),
        (union_of(Normalizer().fit(np.ones((1, 9))), 1000), "more than 1,000 objects of scikit-learn"),
        (union_of(Normalizer().fit(np.ones((1, 2**20))), 17), "take more than 16,777,216 features in all"),
        (union_of(Normalizer().fit(np.ones((1, 9))), 17), "FeatureUnion makes 153 numbers of 9; unite fewer"),
    ],
    ids=["descriptors", "widths", "objects", "tries", "copies"],
)
def test_small_files_of_much_work(tmp_path, make, message):
    """2 KB took minutes for an image or to load, 26 KB gigabytes for some rows."""
    refused(make(tmp_path / "m.nb"), message)


def test_unions_of_unions(tmp_path):
    """Each makes a few numbers of one, and all of them together thousands."""

    def change(header):
        steps = header["root"]["parameters"]["steps"]
        for i in range(1, 4):
            union = json.loads(json.dumps(steps[0][1]))
            for _, part in union["parameters"]["transformer_list"]:
                part["state"]["n_features_in_"] = 9 * 10**i
            steps.append([f"union{i}", union])

    parts = [(str(i), Normalizer().fit(np.ones((1, 9)))) for i in range(10)]
    path = changed(make_pipeline(FeatureUnion(parts)), tmp_path / "m.nb", change)
    refused(path, "Pipeline makes 90,000 numbers of 9; unite fewer parts")


def test_codes_of_many_searches(tmp_path):
    def change(header):
        for one in (header["root"], header["root"]["state"]["as_fitted"]):
            one["parameters"] |= {"regularization": 1e-5, "max_terms": 100_000}

    model = fitted(nearboost.INNClassifier(metric="l1"))
    refused(changed(model, tmp_path / "m.nb", change), "a search for each of 100,000 terms")
