"""``nearboost add`` and ``nearboost forget``: models of other items, as a fit would have made them."""

import io
import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image

from cli.calling import answer, call, refused
from cli.made import KINDS, texture
from nearboost.base.image_set import ImageSet
from nearboost.cli.common import Exit
from nearboost.models import load_model
from nearboost.models.origins import make_marks, row_digests

GONE = ["train/dots/03.png", "train/waves/11.png"]


@pytest.fixture(scope="module")
def rest(images, tmp_path_factory):
    """The images without those that are to be forgotten."""
    folder = tmp_path_factory.mktemp("rest") / "pictures"
    shutil.copytree(images.data, folder)
    for name in GONE:
        (folder / name).unlink()
    return folder


@pytest.fixture(scope="module")
def digits(vectors, tmp_path_factory):
    """Folders of some of the rows of digits."""

    def some(rows):
        folder = tmp_path_factory.mktemp("digits")
        for name in ("X.npy", "y.npy"):
            np.save(folder / name, np.load(vectors.data / name)[rows])
        return folder

    return some


def assert_same_model(one, other):
    """Equal answers, coefficients and held-out figures, by all that a file holds of them."""
    one, other = load_model(one), load_model(other)
    assert one.classes == other.classes
    assert one.n_training == other.n_training
    np.testing.assert_array_equal(one.marks, other.marks)
    for name in ("rows", "names", "labels", "hashes", "ends"):
        np.testing.assert_array_equal(getattr(one.origins, name), getattr(other.origins, name))
    a, b = one.last_step, other.last_step
    for name in ("held_out_accuracy_", "prototypes_", "n_rounds_", "temperature_", "voters_", "classes_"):
        np.testing.assert_array_equal(getattr(a, name, None), getattr(b, name, None))
    rows = np.random.default_rng(0).random((30, a.n_features_in_)) * 10
    np.testing.assert_array_equal(a.predict_proba(rows), b.predict_proba(rows))


def test_forget_images(images, rest, tmp_path):
    out = tmp_path / "fewer.nb"
    found = answer("forget", images.model, *GONE, "--out", out)
    assert found["before"]["items"] == 36
    assert found["after"]["items"] == 34
    assert found["skipped"] == {}
    before, after = load_model(images.model), load_model(out)
    assert found["before"]["held_out_accuracy"] == before.last_step.held_out_accuracy_
    assert found["after"]["held_out_accuracy"] == after.last_step.held_out_accuracy_
    old = {before.origins.names[i] for i in before.last_step.prototypes_}
    new = {after.origins.names[i] for i in after.last_step.prototypes_}
    assert (found["gained"], found["lost"]) == (len(new - old), len(old - new))
    call("fit", rest, "--features", "gist", "--method", "n3", "--out", tmp_path / "fresh.nb")
    assert_same_model(out, tmp_path / "fresh.nb")
    assert after.origins.picture(0) == before.origins.picture(0)
    assert answer("info", out)["training_rows_in_file"]


def test_what_is_said(images, tmp_path):
    ended = call("forget", images.model, GONE[0], "--out", tmp_path / "fewer.nb")
    assert ended.code == Exit.DONE
    first, accuracy, prototypes = ended.out.splitlines()
    assert first == f"Model: {tmp_path / 'fewer.nb'} (35 items of 3 classes, before 36 of 3)"
    assert accuracy.startswith("Held-out accuracy ")
    assert prototypes.startswith("Prototypes ")
    assert prototypes.endswith(" lost")
    assert f"{images.model} still holds them; delete it" in ended.err


def held(file):
    """All that a file holds, unpacked: members as they are, and arrays row by row."""
    with zipfile.ZipFile(file) as archive:
        members = [archive.read(name) for name in archive.namelist()]
    arrays = [np.load(io.BytesIO(one)) for one in members if one.startswith(b"\x93NUMPY")]
    return b"".join([*members, *(np.ascontiguousarray(array).tobytes() for array in arrays)])


def as_bytes(trace):
    """Texts as in headers and as in arrays; numbers and pictures as they are."""
    if isinstance(trace, str):
        return [trace.encode("utf-8"), trace.encode("utf-32-le")]
    return [trace if isinstance(trace, bytes) else trace.tobytes()]


def tells(file, trace):
    whole = held(file)
    return any(one in whole for one in as_bytes(trace))


def test_nothing_stays_of_an_image(images, tmp_path):
    out, file = tmp_path / "fewer.nb", images.data / GONE[0]
    call("forget", images.model, *GONE, "--out", out)
    model = load_model(images.model)
    place = model.origins.names.tolist().index(GONE[0])
    [content] = ImageSet([str(file)]).contents()
    row = model.describe([str(file)]).rows[0]
    marks = make_marks([content.digest])
    for trace in (GONE[0], content.digest, marks, row, model.origins.picture(place)):
        assert tells(images.model, trace)
        assert not tells(out, trace)


def test_nothing_stays_of_a_row(vectors, tmp_path):
    """Nor of a label that only it had."""
    folder = tmp_path / "digits"
    shutil.copytree(vectors.data, folder)
    X, y = (
        np.load(folder / "X.npy") + np.random.default_rng(0).random((150, 1)),
        np.load(folder / "y.npy").astype("U20"),
    )
    y[70] = "only one of its kind"
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    for method in ("n3:n_neighbors=5", "knn", "innc"):
        assert call("fit", folder, "--method", method, "--out", tmp_path / "all.nb").code == Exit.DONE
        assert call("forget", tmp_path / "all.nb", "row 70", "--out", tmp_path / "rest.nb").code == Exit.DONE
        for trace in ("row 70", make_marks(row_digests(X[70:71])), X[70], str(y[70])):
            assert tells(tmp_path / "all.nb", trace)
            assert not tells(tmp_path / "rest.nb", trace)
        assert load_model(tmp_path / "rest.nb").classes == ("nought", "one", "two")


@pytest.mark.parametrize("method", ["n3:n_neighbors=5", "unn", "mlnn", "mapboost", "knn", "innc"])
def test_add_rows_and_forget_them(vectors, digits, tmp_path, method):
    files = {name: tmp_path / f"{name}.nb" for name in ("some", "grown", "all", "back")}
    call("fit", digits(np.arange(120)), "--method", method, "--out", files["some"])
    more = digits(np.arange(120, 150))
    found = answer("add", files["some"], more, "--out", files["grown"])
    assert (found["before"]["items"], found["after"]["items"]) == (120, 150)
    call("fit", vectors.data, "--method", method, "--out", files["all"])
    grown, whole = load_model(files["grown"]), load_model(files["all"])
    X = np.load(vectors.data / "X.npy")
    np.testing.assert_array_equal(grown.predict_rows(X).probabilities, whole.predict_rows(X).probabilities)
    np.testing.assert_array_equal(grown.marks, whole.marks)
    assert grown.origins.names[120] == f"{more.name}/row 0"  # row 0 is taken
    assert grown.facts["data"].endswith(f" and {more.name}")
    call("forget", files["grown"], *grown.origins.names[120:], "--out", files["back"])
    assert_same_model(files["back"], files["some"])


def test_classes_come_and_go(vectors, digits, tmp_path):
    y = np.load(vectors.data / "y.npy")
    call("fit", digits(y != "one"), "--method", "n3", "--out", tmp_path / "two.nb")
    found = answer("add", tmp_path / "two.nb", digits(y == "one"), "--out", tmp_path / "three.nb")
    assert found["before"]["classes"] == ["nought", "two"]
    assert found["after"]["classes"] == ["nought", "one", "two"]
    call("fit", digits(np.argsort(y == "one", kind="stable")), "--method", "n3", "--out", tmp_path / "fresh.nb")
    three, fresh = load_model(tmp_path / "three.nb"), load_model(tmp_path / "fresh.nb")
    X = np.load(vectors.data / "X.npy")
    np.testing.assert_array_equal(three.predict_rows(X).probabilities, fresh.predict_rows(X).probabilities)
    np.testing.assert_array_equal(three.predict_rows(X).labels, fresh.predict_rows(X).labels)
    np.testing.assert_array_equal(three.origins.labels, fresh.origins.labels)
    ones = three.origins.names[three.origins.labels == 1]
    answer("forget", tmp_path / "three.nb", *ones, "--out", tmp_path / "again.nb")
    assert_same_model(tmp_path / "again.nb", tmp_path / "two.nb")
    noughts = three.origins.names[three.origins.labels == 0]
    said = refused("forget", tmp_path / "again.nb", *noughts, "--out", tmp_path / "one.nb")
    assert "All samples that count are of one class" in said
    assert not (tmp_path / "one.nb").exists()


def draw_new(folder, seed):
    """One new image of each class."""
    for kind in KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(texture(kind, seed)).save(folder / kind / "new.png")
    return folder


def test_add_images(images, tmp_path):
    """Thumbnails come too, and what is no image is skipped."""
    more = draw_new(tmp_path / "more", 77)
    (more / "dots" / "broken.png").write_bytes(b"no image")
    ended = call("add", images.model, more, "--out", tmp_path / "grown.nb")
    assert ended.code == Exit.PARTLY
    assert "Skipped dots/broken.png" in ended.err
    grown = load_model(tmp_path / "grown.nb")
    assert grown.n_training == 39
    assert grown.origins.names[-3:].tolist() == [f"{kind}/new.png" for kind in KINDS]
    assert grown.origins.picture(38)
    draw_new(more, 78)
    call("add", tmp_path / "grown.nb", more, "--out", tmp_path / "twice.nb")
    assert load_model(tmp_path / "twice.nb").origins.names[-1] == "more/waves/new.png"
    draw_new(more, 79)
    said = refused("add", tmp_path / "twice.nb", more, "--out", tmp_path / "thrice.nb")
    assert "The model has 'more/dots/new.png' already; give items of other names." in said


@pytest.mark.parametrize(
    ("options", "who"),
    [
        (["--features", "gist", "--method", "n3", "--scale"], "StandardScaler"),
        ([], "SIFTColorFisher and NearBoostClassifier"),
        (["--features", "pixels", "--method", "slnd"], "SLNDClassifier"),
        (["--features", "bag", "--method", "knn"], "BagOfFeatures"),
        (
            ["--features", "bag", "--method", "slnd", "--scale"],
            "BagOfFeatures and StandardScaler and SLNDClassifier",
        ),
        (["--features", "gist", "--method", "n3:n_prototypes=10"], None),
    ],
)
def test_refitted_where_it_cannot_be_exact(images, rest, tmp_path, options, who):
    model, out = tmp_path / "model.nb", tmp_path / "fewer.nb"
    call("fit", images.data, *options, "--out", model)
    said = refused("forget", model, *GONE, "--out", out)
    learned = (
        f"{who} {'depend' if ' and ' in who else 'depends'} on all items and must be refitted"
        if who
        else "training rows are not in the model"
    )
    assert learned in said
    assert said.endswith("give the training data with --data.")
    assert refused("add", model, images.data, "--out", out).endswith("fit a model to all the data.")
    assert not out.exists()
    found = answer("forget", model, *GONE, "--data", images.data, "--out", out)
    assert list(found["skipped"]) == ["train/dots/broken.png"]
    assert found["after"]["items"] == 34
    call("fit", rest, *options, "--out", tmp_path / "fresh.nb")
    assert answer("predict", out, images.data / "test") == answer(
        "predict", tmp_path / "fresh.nb", images.data / "test"
    )
    assert answer("info", out)["facts"] == answer("info", tmp_path / "fresh.nb")["facts"]
    np.testing.assert_array_equal(load_model(out).marks, load_model(tmp_path / "fresh.nb").marks)


def test_names_that_are_not_known(images, vectors, tmp_path):
    said = refused("forget", images.model, "train/dots/3.png", "--out", tmp_path / "x.nb")
    assert "The model has no item called 'train/dots/3.png', or no longer; names are such as" in said
    assert "'train/dots/03.png'" in said
    said = refused("forget", vectors.model, "row 3", "zzz", "--out", tmp_path / "x.nb")
    assert "The model has no item called 'zzz', or no longer; names are such as 'row 0'." in said
    said = refused("forget", vectors.model, "zzz", "--data", vectors.data, "--out", tmp_path / "x.nb")
    assert "The model has no item called 'zzz'" in said
    said = refused("forget", vectors.model, "train/dots/03.png", "--data", images.data, "--out", tmp_path / "x.nb")
    assert "This model takes rows of 64 numbers, and pictures holds images" in said
    assert "takes rows of 64 numbers" in refused("add", vectors.model, images.data)
    assert not (tmp_path / "x.nb").exists()


def test_over_the_model_itself(images, tmp_path):
    """Then nothing is left of the items, and nothing needs to be said."""
    model = shutil.copy(images.model, tmp_path / "model.nb")
    ended = call("forget", model, *GONE, "--out", model)
    assert ended.code == Exit.DONE
    assert ended.err == ""
    assert load_model(model).n_training == 34
    assert call("forget", model, "train/dots/00.png").code == Exit.DONE
    assert load_model(tmp_path / "model-forgot.nb").n_training == 33
    assert call("add", model, draw_new(tmp_path / "more", 77)).code == Exit.DONE
    assert load_model(tmp_path / "model-added.nb").n_training == 37


def test_items_with_several_labels(tmp_path):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 4)), (rng.random((60, 3)) < 0.4).astype(int)
    paths = {}
    for name, rows in (("some", slice(0, 50)), ("more", slice(50, 60)), ("all", slice(0, 60))):
        paths[name] = tmp_path / name
        paths[name].mkdir()
        np.save(paths[name] / "X.npy", X[rows])
        np.save(paths[name] / "y.npy", labels[rows])
    for name in ("some", "all"):
        assert call("fit", paths[name], "--out", tmp_path / f"{name}.nb", "--method", "n3:n_neighbors=3").code == 0
    answer("add", tmp_path / "some.nb", paths["more"], "--out", tmp_path / "grown.nb")
    grown, whole = load_model(tmp_path / "grown.nb"), load_model(tmp_path / "all.nb")
    np.testing.assert_array_equal(grown.predict_rows(X).probabilities, whole.predict_rows(X).probabilities)
    np.save(paths["more"] / "y.npy", np.array(["a", "b"] * 5))
    said = refused("add", tmp_path / "some.nb", paths["more"], "--out", tmp_path / "x.nb")
    assert "have several labels each and those of more one label" in said


def test_over_a_link_to_the_model(images, tmp_path):
    """The link was replaced, and no note said that the file behind it held everything still."""
    shutil.copy(images.model, tmp_path / "real.nb")
    (tmp_path / "m.nb").symlink_to(tmp_path / "real.nb")
    ended = call("forget", tmp_path / "m.nb", *GONE, "--out", tmp_path / "m.nb")
    assert "still holds" not in ended.err
    assert not set(GONE) & set(load_model(tmp_path / "real.nb").origins.names)


def test_names_may_stand_in_a_file(digits, tmp_path):
    rows = digits(range(60))
    call("fit", rows, "--method", "n3", "--out", tmp_path / "digits.nb")
    (tmp_path / "gone.txt").write_text("row 3\nrow 5\n\n")
    call("forget", tmp_path / "digits.nb", "row 7", "--from", tmp_path / "gone.txt", "--out", tmp_path / "some.nb")
    call("forget", tmp_path / "digits.nb", "row 3", "row 5", "row 7", "--out", tmp_path / "same.nb")
    assert (tmp_path / "some.nb").read_bytes() == (tmp_path / "same.nb").read_bytes()
    (tmp_path / "gone.txt").write_bytes(b"\xef\xbb\xbfrow 3\r\nrow 5\r\nrow 7\r\n")  # as Windows writes it
    call("forget", tmp_path / "digits.nb", "--from", tmp_path / "gone.txt", "--out", tmp_path / "again.nb")
    assert (tmp_path / "again.nb").read_bytes() == (tmp_path / "same.nb").read_bytes()
    (tmp_path / "gone.txt").write_bytes("café.jpg\n".encode("latin-1"))
    said = refused("forget", tmp_path / "digits.nb", "--from", tmp_path / "gone.txt")
    assert said.endswith("gone.txt is no UTF-8 text at byte 3; save it as UTF-8, a name on each line.")
    (tmp_path / "gone.txt").write_text("a\x85b.jpg\n", encoding="utf-8")
    assert "a\\x85b.jpg" in refused("forget", tmp_path / "digits.nb", "--from", tmp_path / "gone.txt")
    said = refused("forget", tmp_path / "digits.nb", code=Exit.USAGE)
    assert said == "Error: No items are named; give their names, or a file of them by --from."
    assert "gone.csv" in refused("forget", tmp_path / "digits.nb", "--from", tmp_path / "gone.csv")
