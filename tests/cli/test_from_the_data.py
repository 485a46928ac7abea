"""``forget --data`` and ``prune --data``: the data is that of the model, and only items of the model are used."""

import numpy as np
import pytest

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit
from nearboost.models import load_model

SCALED = ["--scale", "--method", "slnd:max_passes=2"]


def write(folder, X, y):
    folder.mkdir(exist_ok=True)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return folder


@pytest.fixture
def rows(tmp_path):
    """Rows of two classes, all different."""
    rng = np.random.default_rng(0)
    y = np.array(["left", "right"] * 20)
    return write(tmp_path / "rows", rng.normal(size=(40, 3)) + 2 * (y == "right")[:, None], y)


@pytest.fixture
def some(rows, tmp_path):
    """A folder with some of the rows."""

    def take(chosen, name="some"):
        return write(tmp_path / name, *(np.load(rows / file)[chosen] for file in ("X.npy", "y.npy")))

    return take


def assert_equal(model, other, rows):
    """Equal answers and marks, and equal facts but for the name of the data."""
    one, two = load_model(model), load_model(other)
    np.testing.assert_array_equal(one.marks, two.marks)
    a, b = (found.predict_rows(np.load(rows / "X.npy")) for found in (one, two))
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.probabilities, b.probabilities)
    assert {**one.facts, "data": None} == {**two.facts, "data": None}


def test_what_was_forgotten_stays_forgotten(rows, some, tmp_path):
    """It came back with the next call, from the same data."""
    call("fit", rows, *SCALED, "--out", tmp_path / "m.nb")
    assert call("forget", tmp_path / "m.nb", "row 3", "--data", rows, "--out", tmp_path / "m.nb").code == Exit.DONE
    ended = call("forget", tmp_path / "m.nb", "row 7", "--data", rows, "--out", tmp_path / "m.nb")
    assert ended.code == Exit.PARTLY
    assert "Skipped row 3: it is not in the model." in ended.err
    call("fit", some(np.delete(np.arange(40), [3, 7])), *SCALED, "--out", tmp_path / "fresh.nb")
    assert_equal(tmp_path / "m.nb", tmp_path / "fresh.nb", rows)
    said = refused("forget", tmp_path / "m.nb", "row 3", "--data", rows, "--out", tmp_path / "m.nb")
    assert "The model has no item called 'row 3'" in said
    said = refused(
        "forget", tmp_path / "m.nb", *(f"row {i}" for i in range(40) if i not in (3, 7)), "--data", rows
    )
    assert "Nothing would be left to learn from; forget fewer items." in said


def test_pruning_brings_nothing_back(rows, some, tmp_path):
    call("fit", rows, "--method", "n3:n_neighbors=3", "--out", tmp_path / "m.nb")
    call("forget", tmp_path / "m.nb", "row 3", "--out", tmp_path / "m.nb")
    found = answer("prune", tmp_path / "m.nb", "--keep", 6, "--data", rows, "--out", tmp_path / "few.nb")
    assert found["skipped"] == {"row 3": "it is not in the model."}
    call("prune", tmp_path / "m.nb", "--keep", 6, "--out", tmp_path / "same.nb")
    assert_equal(tmp_path / "few.nb", tmp_path / "same.nb", rows)
    few = load_model(tmp_path / "few.nb")
    np.testing.assert_array_equal(few.origins.names, load_model(tmp_path / "same.nb").origins.names)
    fewer = ["prune", tmp_path / "few.nb", "--keep", 4, "--out", tmp_path / "fewer.nb"]
    assert call(*fewer, "--data", some(np.arange(4, 40))).code == Exit.FAILED


def test_settings_that_a_fit_chooses_stay_open(rows, tmp_path):
    """The number of neighbours was written down when a model was pruned, and no longer chosen."""
    call("fit", rows, "--method", "n3", "--out", tmp_path / "m.nb")
    call("prune", tmp_path / "m.nb", "--keep", 6, "--data", rows, "--out", tmp_path / "few.nb")
    assert load_model(tmp_path / "few.nb").last_step.n_neighbors == "auto"


@pytest.mark.parametrize("command", ["forget", "prune"])
def test_other_data(rows, some, tmp_path, command):
    words = {"forget": ["forget", tmp_path / "m.nb", "row 3"], "prune": ["prune", tmp_path / "m.nb", "--keep", 4]}
    call("fit", rows, "--method", "n3:n_prototypes=10", "--out", tmp_path / "m.nb")
    out = ["--out", tmp_path / "x.nb"]
    said = refused(*words[command], "--data", some(np.arange(10, 40)), *out)
    assert "10 of the 40 items of the model are not in some, such as 'row " in said
    assert said.endswith("; give all the data that it was fitted to, or fit a model to this.")
    said = refused(
        *words[command], "--data", write(tmp_path / "other", np.eye(4)[:, :3], ["left", "right"] * 2), *out
    )
    assert "40 of the 40 items" in said
    assert not (tmp_path / "x.nb").exists()


def test_an_item_that_is_gone_from_the_data(rows, some, tmp_path):
    """People may have deleted it; the file knows the names of those that vote."""
    call("fit", rows, "--method", "n3", "--scale", "--out", tmp_path / "m.nb")
    rest = some(np.delete(np.arange(40), 3))
    found = answer("forget", tmp_path / "m.nb", "row 3", "--data", rest, "--out", tmp_path / "m.nb")
    assert found["after"]["items"] == 39
    assert found["skipped"] == {}
    call("fit", rest, "--method", "n3", "--scale", "--out", tmp_path / "fresh.nb")
    assert_equal(tmp_path / "m.nb", tmp_path / "fresh.nb", rows)
    names = load_model(tmp_path / "m.nb").origins.names
    assert "row 3" not in names
    assert "row 39" in names  # its name in the model, where rows of the data moved up


def test_names_that_mean_two_items(rows, some, tmp_path):
    """Where rows moved in a file, they have other names there."""
    call("fit", rows, "--method", "n3:n_prototypes=10", "--out", tmp_path / "m.nb")
    known = load_model(tmp_path / "m.nb").origins.names.tolist()
    first = next(i for i in range(39) if f"row {i}" in known and f"row {i + 1}" not in known)
    rolled = some(np.roll(np.arange(40), -1), "rolled")
    said = refused("forget", tmp_path / "m.nb", f"row {first}", "--data", rolled, "--out", tmp_path / "x.nb")
    assert f"'row {first}' is one item of the model and another one of rolled" in said


def test_models_of_all_parts(images, tmp_path):
    """Items of the test part were lost."""
    call("fit", images.data, "--part", "all", "--features", "pixels", *SCALED, "--out", tmp_path / "m.nb")
    words = ["forget", tmp_path / "m.nb", "test/dots/12.png", "--data", images.data, "--out", tmp_path / "m.nb"]
    found = answer(*words)
    assert (found["before"]["items"], found["after"]["items"]) == (48, 47)


def test_added_items_are_not_lost(rows, some, tmp_path):
    first, more = some(np.arange(30), "first"), some(np.arange(30, 40), "more")
    call("fit", first, "--method", "n3", "--out", tmp_path / "m.nb")
    call("add", tmp_path / "m.nb", more, "--out", tmp_path / "m.nb")
    words = ["forget", tmp_path / "m.nb", "row 3", "--out", tmp_path / "x.nb", "--data"]
    assert "10 of the 40 items of the model are not in first" in refused(*words, first)
    assert answer(*words, rows)["after"]["items"] == 39
    assert load_model(tmp_path / "x.nb").facts["data"] == "rows"
    assert load_model(tmp_path / "x.nb").origins.names[-1] == "more/row 9"


def test_twins_of_which_one_was_forgotten(rows, some, tmp_path):
    twins = some(np.r_[0:40, 5])
    call("fit", twins, *SCALED, "--out", tmp_path / "m.nb")
    words = ["--data", twins, "--out", tmp_path / "m.nb"]
    found = answer("forget", tmp_path / "m.nb", "row 40", *words)
    assert found["twins"] == ["row 5"]
    said = refused("forget", tmp_path / "m.nb", "row 1", *words)
    assert "'row 5' and 'row 40' are the same, and the model's file does not say which of them" in said
    assert call("forget", tmp_path / "m.nb", "row 1", "--data", rows, "--out", tmp_path / "m.nb").code == Exit.DONE


@pytest.mark.parametrize("method", ["linear-svm", "rbf-svm", "lbfgs"])
def test_settings_by_folds_are_chosen_again(rows, some, tmp_path, method):
    """The unit of C and gamma comes from the rows, and so would tell of one that is forgotten."""
    X = np.load(rows / "X.npy")
    X[3] *= 100
    np.save(rows / "X.npy", X)
    call("fit", rows, "--method", method, "--out", tmp_path / "m.nb")
    answer("forget", tmp_path / "m.nb", "row 3", "--data", rows, "--out", tmp_path / "less.nb")
    call("fit", some(np.delete(np.arange(40), 3)), "--method", method, "--out", tmp_path / "fresh.nb")
    less, fresh = load_model(tmp_path / "less.nb").last_step, load_model(tmp_path / "fresh.nb").last_step
    assert repr(less) == repr(fresh)  # with all settings that are not the defaults
    np.testing.assert_array_equal(less.predict(X), fresh.predict(X))


def test_weights_of_classes_stay_with_their_classes(tmp_path):
    """A model made by hand may weigh classes by number, and a class may go."""
    from nearboost import SLNDClassifier
    from nearboost.models import Model, origins_of, save
    from nearboost.models.origins import make_marks, row_digests

    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 2)), np.arange(30) % 3
    classifier = SLNDClassifier(class_weight={1: 3.0, 2: 5.0}, max_passes=2, random_state=0).fit(X, codes)
    origins = origins_of(None, ["none"], codes[:1]).take(np.empty(0, np.int64))
    model = Model(None, classifier, ("a", "b", "c"), origins, {"items": 30}, make_marks(row_digests(X)))
    save(model, tmp_path / "m.nb")
    data = write(tmp_path / "data", X, np.array(["a", "b", "c"])[codes])
    gone = [f"row {i}" for i in range(0, 30, 3)]
    assert call("forget", tmp_path / "m.nb", *gone, "--data", data, "--out", tmp_path / "m.nb").code == Exit.DONE
    after = load_model(tmp_path / "m.nb")
    assert after.classes == ("b", "c")
    assert after.last_step.class_weight == {0: 3.0, 1: 5.0}
