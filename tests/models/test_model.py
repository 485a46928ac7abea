"""Models as nouns: what they describe, predict and remember."""

import hashlib
import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearboost
from cli.made import image_folder, texture
from models.fitted import queries, rows
from nearboost.base.image_set import ImageSet
from nearboost.base.rows import row_source
from nearboost.datasets import Dataset
from nearboost.features import Gist
from nearboost.models import Model, load, novelty, origins_of, save
from nearboost.models.evaluation import count_known, evaluate_model
from nearboost.models.explanation import explain
from nearboost.models.mislabelled import judge_rows
from nearboost.models.novelty import learn_novelty
from nearboost.models.origins import make_marks, row_digests
from nearboost.models.pruning import prune_model
from nearboost.models.suspects import suspects_in_rows
from nearboost.neighbors import NeighborSearch

CLASSES = ("nought", "one", "two", "three")


def model_of(classifier, y=None):
    X, labels = rows()
    labels = labels if y is None else y
    fitted = classifier.fit(X, labels)
    origins = origins_of(None, [f"row {i}" for i in range(len(X))], labels.astype(np.int64))
    return Model(None, fitted, CLASSES, origins, {"items": len(X)}).only_voters()


def test_rows():
    model = model_of(nearboost.UNNClassifier(5))
    said = model.predict(queries())
    np.testing.assert_array_equal(said.labels, np.array(CLASSES)[model.classifier.predict(queries())])
    np.testing.assert_array_equal(said.probabilities, model.classifier.predict_proba(queries()))
    order, chances = said.top(2)
    np.testing.assert_array_equal(order[:, 0], said.probabilities.argmax(axis=1))
    assert (chances[:, 0] >= chances[:, 1]).all()
    assert said.top(99)[0].shape == (60, 4)
    with pytest.raises(ValueError, match="fitted on rows of numbers; give a matrix"):
        model.predict(["picture.png"])


def test_answers_take_as_many_threads_as_they_are_given(monkeypatch):
    """`nearboost predict --threads 1` of rows, and `evaluate`, took all cores."""
    seen = []

    class Telling(nearboost.KNNClassifier):
        def predict_with_proba(self, X, *, out=None):
            seen.append(self.n_jobs)
            return super().predict_with_proba(X, out=out)

    def telling_search(X, *, n_jobs, copy):
        seen.append(n_jobs)
        return NeighborSearch(X, n_jobs=n_jobs, copy=copy)

    usual = np.random.default_rng(0).normal(size=(2000, rows()[0].shape[1]))
    model = replace(model_of(Telling(5)), novelty=learn_novelty(usual))
    monkeypatch.setattr(novelty, "NeighborSearch", telling_search)
    default = model.predict(queries())
    labels = np.array(CLASSES)[model.classifier.predict(queries())]
    dataset = Dataset("queries", "vectors", queries(), labels, CLASSES, [f"row {i}" for i in range(len(labels))])
    assert seen == [None, None]
    for ask in (
        lambda: model.predict(queries(), n_jobs=1),
        lambda: next(model.predict_blocks(row_source(queries()), n_jobs=1)),
        lambda: evaluate_model(model, dataset, n_jobs=1),
    ):
        seen.clear()
        said = ask()
        assert seen == [1, 1]
        if not isinstance(said, dict):
            np.testing.assert_array_equal(said.probabilities, default.probabilities)
            np.testing.assert_array_equal(said.typicality, default.typicality)
    assert model.classifier.n_jobs is None


def test_images(tmp_path):
    """Paths and arrays, one at a time; what is none is skipped, and all others are as if it were not there."""
    folder = image_folder(tmp_path / "pictures", 4, divided=False)
    paths = sorted(map(str, folder.rglob("*.png")))
    sound = [path for path in paths if "broken" not in path]
    features = Gist(side=64)
    labels = np.repeat([0, 1, 2], 4)
    classifier = nearboost.KNNClassifier(1).fit(features.transform(sound), labels)
    model = Model(features, classifier, ("dots", "stripes", "waves"), None, {"items": 12})
    said = model.predict(paths)
    [(place, why)] = said.skipped.items()
    assert "broken" in paths[place]
    assert "not an image" in why
    assert [paths[i] for i in said.places] == sound
    np.testing.assert_array_equal(said.labels, np.array(model.classes)[labels])
    arrays = [np.asarray(Image.open(path)) for path in sound]
    np.testing.assert_array_equal(model.predict(arrays).probabilities, said.probabilities)
    with pytest.raises(ValueError, match="Nothing could be described"):
        model.predict([paths[place]])


def test_origins(tmp_path):
    folder = image_folder(tmp_path / "pictures", 4, divided=False)
    paths = sorted(map(str, folder.rglob("*.png")))
    labels = np.arange(len(paths))
    origins = origins_of(paths, paths, labels)
    some = origins.take(np.array([1, 5, 11]))
    assert some.names.tolist() == [paths[i] for i in (1, 5, 11)]
    assert [some.place(row) for row in (1, 5, 11)] == [0, 1, 2]
    assert some.place(2) is None
    assert some.place(99) is None
    for row in (1, 5, 11):
        assert some.picture(some.place(row)) == origins.picture(row) == ImageSet(paths).thumbnail(row)
        with open(paths[row], "rb") as file:
            assert some.hashes[some.place(row)] == hashlib.file_digest(file, "sha256").hexdigest()
    broken = paths.index(next(path for path in paths if "broken" in path))
    assert origins.picture(broken) is None
    empty = origins.take(np.array([], dtype=int))
    assert len(empty.names) == 0
    again = some.take(np.array([5]))
    assert again.picture(0) == origins.picture(5)


def test_marks_of_equal_rows_are_equal():
    assert len(set(row_digests(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]])))) == 1


def test_items_that_could_not_be_read_are_not_known_again():
    marks = make_marks(["", "0f" * 32, "0e" * 32])
    assert marks[0] == 0
    found = SimpleNamespace(marks=lambda n_jobs: marks)
    assert count_known(SimpleNamespace(marks=marks[:2]), found) == 1


@pytest.mark.parametrize("shape", [(200, 100), (100, 200, 3), (30, 30, 4)])
def test_thumbnails(shape, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    with Image.open(io.BytesIO(ImageSet([tmp_path / "a.png"]).thumbnail(0))) as small:
        assert small.format == "JPEG"
        assert max(small.size) == min(64, max(shape[:2]))
        assert small.width / small.height == pytest.approx(shape[1] / shape[0], rel=0.05)


def test_thumbnail_of_deep_pixels(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "deep.tif", (texture("dots", 0).astype(np.float32) - 10) * 3 + 30)
    with Image.open(io.BytesIO(ImageSet([tmp_path / "deep.tif"]).thumbnail(0))) as small:
        assert np.asarray(small).max() > 200


@pytest.mark.parametrize(
    "classifier",
    [
        nearboost.UNNClassifier(5),
        nearboost.MLNNClassifier(),
        nearboost.INNClassifier(),
        make_pipeline(StandardScaler(), nearboost.N3Classifier(5, n_rounds=9)),
    ],
)
def test_votes_after_loading(classifier, tmp_path):
    model = model_of(classifier)
    save(model, tmp_path / "model.nb")
    loaded = load(tmp_path / "model.nb")
    before, after = explain(model, queries()[:5]), explain(loaded, queries()[:5])
    assert before == after
    assert all(vote.voters for vote in before)
    assert loaded.facts == model.facts


def test_votes_add_up_to_scores():
    model = model_of(make_pipeline(StandardScaler(), nearboost.N3Classifier(5, n_rounds=9)))
    scores = model.classifier.decision_function(queries()[:5])
    for name in CLASSES:
        totals = [sum(vote.balance) for vote in explain(model, queries()[:5], name)]
        np.testing.assert_allclose(totals, scores[:, CLASSES.index(name)], atol=1e-12)


def test_voters():
    few = model_of(nearboost.UNNClassifier(5, n_prototypes=20))
    np.testing.assert_array_equal(few.voters, few.classifier.prototypes_)
    np.testing.assert_array_equal(few.origins.rows, few.voters)
    assert len(model_of(nearboost.INNClassifier()).voters) == 240
    assert len(model_of(nearboost.SLNDClassifier()).origins.rows) == 0
    split = model_of(nearboost.SplitClassifier(nearboost.N3Classifier(5, n_prototypes=10, n_rounds=5), 2))
    assert 10 < len(split.voters) <= 20


def test_pruning_inside_a_pipeline(tmp_path):
    model = model_of(make_pipeline(StandardScaler(), nearboost.UNNClassifier(5)))
    save(model, tmp_path / "model.nb")
    pruned = prune_model(load(tmp_path / "model.nb"), 30)
    assert len(pruned.voters) == 30
    inside = model.last_step.prune(30)
    np.testing.assert_array_equal(
        pruned.predict(queries()).probabilities, inside.predict_proba(model.before_last_step(queries()))
    )
    with pytest.raises(ValueError, match="SLNDClassifier has no prototypes to prune"):
        prune_model(model_of(nearboost.SLNDClassifier()), 30)


@pytest.mark.parametrize("by", ["group", "content"])
def test_held_out_keeps_groups_and_copies_apart(by):
    """Nearly the same row in the same group must not judge, nor a copy in no group."""
    X, y = rows()
    twice, labels, groups = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(len(y)), 2)
    if by == "group":
        twice[::2] += 1e-6
    else:
        groups = None
    wrong = labels.copy()
    wrong[:2] = (labels[:2] + 1) % 4
    apart = judge_rows(twice, wrong, 4, groups, 1, 0)
    assert apart[:2].argmax(axis=1).tolist() == labels[:2].tolist()
    np.testing.assert_allclose(apart.sum(axis=1), 1)


def test_suspects_among_rows():
    X, y = rows()
    given = y.copy()
    given[[3, 70, 150]] = (y[[3, 70, 150]] + 1) % 4
    model = model_of(nearboost.KNNClassifier(5), given)
    names = [f"row {i}" for i in range(len(y))]
    found = suspects_in_rows(model, X, np.array(CLASSES)[given], names, most=3)
    assert {one.name for one in found.suspects} == {"row 3", "row 70", "row 150"}
    assert all(one.own < one.other for one in found.suspects)
    alone = np.append(np.zeros(20, int), 1)
    with pytest.raises(ValueError, match="A class has one item or group only"):
        judge_rows(X[:21], alone, 4, None, 1, 0)
