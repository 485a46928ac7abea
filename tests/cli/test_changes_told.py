"""What ``nearboost add`` and ``nearboost forget`` choose again, leave out and say."""

import numpy as np
import pytest

from cli.calling import answer, call, refused
from nearboost import N3Classifier
from nearboost.cli.common import Exit
from nearboost.models import Model, load_model, origins_of, save


@pytest.fixture
def folder(tmp_path):
    """Rows and labels as a folder of data."""

    def write(name, X, y, **columns):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "X.npy", X)
        if columns:
            lines = [
                "label,group",
                *(f"{label},{group}" for label, group in zip(y, columns["groups"], strict=True)),
            ]
            (tmp_path / name / "labels.csv").write_text("\n".join(lines) + "\n")
        else:
            np.save(tmp_path / name / "y.npy", y)
        return tmp_path / name

    return write


def noisy(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["left", "right"])[np.arange(n) % 2]
    return rng.normal(size=(n, 2)) + (y == "right")[:, None], y


@pytest.mark.parametrize("method", ["knn", "weighted-knn"])
def test_neighbours_are_chosen_again(folder, tmp_path, method):
    """A fit chooses their number by folds, and it stayed as it was."""
    X, y = noisy()
    numbers = []
    for name, rows in (("all", slice(None)), ("some", slice(20))):
        call("fit", folder(name, X[rows], y[rows]), "--method", method, "--out", tmp_path / f"{name}.nb")
        numbers.append(load_model(tmp_path / f"{name}.nb").last_step.n_neighbors)
    assert numbers[0] != numbers[1]
    call("add", tmp_path / "some.nb", folder("more", X[20:], y[20:]), "--out", tmp_path / "grown.nb")
    call("forget", tmp_path / "all.nb", *(f"row {i}" for i in range(20, 60)), "--out", tmp_path / "less.nb")
    for one, other in (("grown", "all"), ("less", "some")):
        a, b = (load_model(tmp_path / f"{name}.nb") for name in (one, other))
        assert a.last_step.get_params() == b.last_step.get_params()
        np.testing.assert_array_equal(a.predict_rows(X).probabilities, b.predict_rows(X).probabilities)


def test_one_class_left(folder, tmp_path):
    """A fit would refuse it, too."""
    call("fit", folder("rows", *noisy()), "--method", "knn", "--out", tmp_path / "m.nb")
    said = refused("forget", tmp_path / "m.nb", *(f"row {i}" for i in range(0, 60, 2)), "--out", tmp_path / "x.nb")
    assert "Only items of 'right' would be left; forget fewer." in said
    call("forget", tmp_path / "m.nb", *(f"row {i}" for i in range(6, 60)), "--out", tmp_path / "few.nb")
    assert load_model(tmp_path / "few.nb").n_training == 6 < load_model(tmp_path / "m.nb").last_step.n_neighbors


def test_neighbours_chosen_by_groups(folder, tmp_path):
    """The file does not hold the groups, without which folds would be others."""
    X, y = noisy()
    call("fit", folder("tracks", X, y, groups=np.arange(60) // 6), "--method", "knn", "--out", tmp_path / "m.nb")
    words = ["forget", tmp_path / "m.nb", "row 1", "--out", tmp_path / "less.nb"]
    assert "were chosen by groups, which are not in the file; give the training data" in refused(*words)
    assert call(*words, "--data", tmp_path / "tracks").code == Exit.DONE


def test_items_that_are_in_the_model_already(folder, tmp_path):
    X, y = noisy()
    call("fit", folder("first", X[:40], y[:40]), "--method", "innc", "--out", tmp_path / "m.nb")
    words = ["--out", tmp_path / "grown.nb"]
    said = refused("add", tmp_path / "m.nb", folder("known", X[:4], y[:4]), *words)
    assert "All items of known are in the model already; to correct a label, forget the item first." in said
    ended = call("add", tmp_path / "m.nb", folder("more", X[36:50], y[36:50]), *words)
    assert ended.code == Exit.DONE
    assert "Note: 4 of 14 items of more were in the model already and were left out" in ended.err
    assert load_model(tmp_path / "grown.nb").n_training == 50


def test_twins_that_stay(folder, tmp_path):
    X, y = noisy()
    X[[7, 30]] = X[3]
    call("fit", folder("rows", X, y), "--method", "n3:n_neighbors=3", "--out", tmp_path / "m.nb")
    ended = call("forget", tmp_path / "m.nb", "row 3", "--out", tmp_path / "less.nb")
    assert "Note: row 7, row 30 stayed, though byte for byte the same as what was forgotten." in ended.err
    assert (
        answer("forget", tmp_path / "m.nb", "row 3", "row 7", "row 30", "--out", tmp_path / "x.nb")["twins"] == []
    )


def test_data_whose_items_are_gone(folder, tmp_path):
    X, y = noisy()
    call("fit", folder("first", X[:40], y[:40]), "--method", "innc", "--out", tmp_path / "m.nb")
    for name, rows in (("second", slice(40, 50)), ("third", slice(50, 60))):
        call("add", tmp_path / "m.nb", folder(name, X[rows], y[rows]), "--out", tmp_path / "m.nb")
    facts = answer("info", tmp_path / "m.nb")["facts"]
    assert facts["data"] == "first and second and third"
    assert facts["sources"] == [["first", 40], ["second", 10], ["third", 10]]
    names = load_model(tmp_path / "m.nb").origins.names
    call("forget", tmp_path / "m.nb", *names[:5], *names[40:50], "--out", tmp_path / "m.nb")
    facts = answer("info", tmp_path / "m.nb")["facts"]
    assert (facts["data"], facts["sources"]) == ("first and third", [["first", 35], ["third", 10]])
    call("forget", tmp_path / "m.nb", *names[50:], "--out", tmp_path / "m.nb")
    facts = answer("info", tmp_path / "m.nb")["facts"]
    assert facts["data"] == "first"
    assert "sources" not in facts


def test_what_is_said_of_classes_and_prototypes(folder, tmp_path):
    """Nothing of prototypes where there are none; and the notes of a fit."""
    X, y = noisy()
    call("fit", folder("first", X[:40], y[:40]), "--method", "innc", "--out", tmp_path / "m.nb")
    more = folder("more", np.r_[X[40:50], X[40:50]], ["up"] * 20)
    ended = call("add", tmp_path / "m.nb", more, "--out", tmp_path / "grown.nb")
    lines = ended.out.splitlines()
    before, after = (load_model(tmp_path / name).held_out_accuracy for name in ("m.nb", "grown.nb"))
    assert lines[1:] == ["New classes: up", f"Held-out accuracy {after:.1%}, before {before:.1%}"]
    assert "Note: 10 rows come more than once" in ended.err
    gone = load_model(tmp_path / "grown.nb").origins.names[40:]
    lines = call("forget", tmp_path / "grown.nb", *gone, "--out", tmp_path / "less.nb").out.splitlines()
    assert lines[1:] == ["Classes that are gone: up", f"Held-out accuracy {before:.1%}, before {after:.1%}"]
    found = answer("forget", tmp_path / "m.nb", "row 3", "--out", tmp_path / "less.nb")
    assert found["after"]["prototypes"] is None
    assert "gained" not in found


def test_no_weights_learned_after_an_addition(folder, tmp_path):
    """Classes far from each other, where no weights can better the plain vote."""
    X, y = noisy()
    X[y == "right"] += 20
    first, more = folder("first", X[:40], y[:40]), folder("more", X[40:], y[40:])
    call("fit", first, "--method", "n3", "--out", tmp_path / "m.nb")
    ended = call("add", tmp_path / "m.nb", more, "--out", tmp_path / "grown.nb")
    assert load_model(tmp_path / "grown.nb").last_step.n_rounds_ == 0
    assert "so no weights were learned" in ended.err


def test_weights_of_classes_stay_with_their_classes(folder, tmp_path):
    """Numbers of classes change when one comes or goes, and weights by number were then those of others."""
    rng = np.random.default_rng(0)
    X, codes, names = rng.normal(size=(45, 2)), np.arange(45) % 3, ("b", "c", "d")
    classifier = N3Classifier(3, class_weight={0: 2.0, 2: 5.0}).fit(X, codes)
    origins = origins_of(None, [f"row {i}" for i in range(45)], codes)
    save(Model(None, classifier, names, origins, {"items": 45}), tmp_path / "m.nb")
    call(
        "add",
        tmp_path / "m.nb",
        folder("more", rng.normal(size=(9, 2)), ["a"] * 9),
        "--out",
        tmp_path / "grown.nb",
    )
    grown = load_model(tmp_path / "grown.nb")
    assert grown.classes == ("a", "b", "c", "d")
    assert grown.last_step.class_weight == {1: 2.0, 3: 5.0}
    noughts = [f"row {i}" for i in range(0, 45, 3)]
    assert call("forget", tmp_path / "m.nb", *noughts, "--out", tmp_path / "less.nb").code == Exit.DONE
    less = load_model(tmp_path / "less.nb")
    assert less.last_step.class_weight == {1: 5.0}
    fresh = N3Classifier(3, class_weight={1: 5.0}).fit(X[codes > 0], codes[codes > 0] - 1)
    np.testing.assert_array_equal(less.last_step.predict_proba(X), fresh.predict_proba(X))
