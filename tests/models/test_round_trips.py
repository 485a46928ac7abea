"""What is saved and loaded says the same, to the last bit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.svm import SVC

import nearboost
import nearboost.features
from models.fitted import (
    CLASSIFIERS,
    OF_IMAGES,
    OF_PATCHES,
    TRANSFORMERS,
    WORDS,
    answers,
    binarizer,
    patches,
    pictures,
    queries,
    rows,
    two_labels,
)
from models.test_attacks import changed
from nearboost.models import Model, ModelFileError, load, save
from nearboost.models.names import MODULES, class_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of methods that would like more data


def assert_same(model, loaded, X):
    before, after = answers(model, X), answers(loaded, X)
    assert before
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
        assert np.asarray(after[name]).dtype == np.asarray(before[name]).dtype


def returned(model, tmp_path):
    save(model, tmp_path / "model.nb")
    return load(tmp_path / "model.nb")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, tmp_path):
    X, y = rows()
    model = CLASSIFIERS[name]().fit(X, WORDS[y])
    loaded = returned(model, tmp_path)
    assert repr(loaded) == repr(model)
    assert_same(model, loaded, queries())
    assert_same(model, returned(loaded, tmp_path), queries())


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name, tmp_path):
    X, y = rows()
    model = TRANSFORMERS[name]().fit(X, y)
    assert_same(model, returned(model, tmp_path), queries())


@pytest.mark.parametrize("name", OF_IMAGES)
def test_features(name, tmp_path):
    model = OF_IMAGES[name]().fit(pictures())
    assert_same(model, returned(model, tmp_path), pictures())


@pytest.mark.parametrize("name", OF_PATCHES)
def test_naive_bayes(name, tmp_path):
    model = OF_PATCHES[name]().fit(patches(), ["a", "b"] * 5)
    assert_same(model, returned(model, tmp_path), patches())


@pytest.mark.parametrize("kind", ["UNNClassifier", "N3Classifier", "SLNDClassifier", "LinearSGDClassifier"])
def test_multilabel(kind, tmp_path):
    model = getattr(nearboost, kind)().fit(rows()[0], two_labels())
    assert_same(model, returned(model, tmp_path), queries())


def test_float32_and_labels_of_objects(tmp_path):
    X, y = rows()
    model = nearboost.UNNClassifier(3, n_rounds=5).fit(X.astype(np.float32), WORDS[y].astype(object))
    loaded = returned(model, tmp_path)
    assert loaded.classes_.dtype == object
    assert_same(model, loaded, queries().astype(np.float32))


def test_parameters_out_of_arrays(tmp_path):
    """As a search over an array of choices sets them."""
    X, y = rows()
    [metric], [n_neighbors] = np.array(["l1"]), np.array([3])
    model = nearboost.UNNClassifier(n_neighbors, metric=metric, n_rounds=2).fit(X, y)
    save(Model(None, model, tuple(np.array(["a", "b", "c", "d"])), None, {}), tmp_path / "m.nb")
    loaded = load(tmp_path / "m.nb")
    assert [type(one) for one in (loaded.classifier.metric, *loaded.classes)] == [str] * 5
    assert (loaded.predict(X).labels == Model(None, model, ("a", "b", "c", "d"), None, {}).predict(X).labels).all()


def test_not_fitted(tmp_path):
    with pytest.raises(ModelFileError, match="model cannot be saved: it is not fitted"):
        save(nearboost.UNNClassifier(3), tmp_path / "model.nb")


def test_random_state(tmp_path):
    seeds = [SVC(random_state=np.random.RandomState(3)).fit(*rows()) for _ in range(2)]
    seeds[1] = returned(seeds[1], tmp_path)
    assert seeds[0].random_state.randint(1000) == seeds[1].random_state.randint(1000)


def test_binarizer(tmp_path):
    model = binarizer()
    np.testing.assert_array_equal(returned(model, tmp_path).transform(WORDS), model.transform(WORDS))


def test_a_loaded_model_lives_on(tmp_path):
    """It is pruned, explained, asked for another mean and learns on, as if it had never left."""
    X, y = rows()
    boosted = nearboost.UNNClassifier(5).fit(X, y)
    loaded = returned(boosted, tmp_path)
    assert_same(boosted.prune(30), loaded.prune(30), queries())
    for one, other in zip(boosted.explain(queries()), loaded.explain(queries()), strict=True):
        np.testing.assert_array_equal(one.contributions, other.contributions)
    linear = nearboost.SLNDClassifier().fit(X, y)
    again = returned(linear, tmp_path)
    if hasattr(linear, "partial_fit"):
        assert_same(linear.partial_fit(X[:50], y[:50]), again.partial_fit(X[:50], y[:50]), queries())


def test_rows_that_never_vote_are_left_out(tmp_path):
    X, y = rows()
    few = nearboost.UNNClassifier(5, n_prototypes=20).fit(X, y)
    everyone = nearboost.UNNClassifier(5).fit(X, y)
    sizes = []
    for model in (few, everyone):
        save(model, tmp_path / "model.nb")
        sizes.append((tmp_path / "model.nb").stat().st_size)
    assert sizes[0] < sizes[1] / 2
    loaded = returned(few, tmp_path)
    assert_same(few, loaded, queries())
    with pytest.raises(ValueError, match="The training rows are not in the file"):
        loaded.prune(10)


@pytest.mark.parametrize("name", ["n3", "innc", "inn codes", "slnd", "sgd of ours"])
def test_the_same_bytes_twice(tmp_path, name):
    """Times that a fit took are not in its file."""
    make = (CLASSIFIERS | TRANSFORMERS)[name]
    for file in ("a", "b"):
        save(make().fit(*rows()), tmp_path / file)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    save(load(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "c").stat().st_size <= 1.01 * (tmp_path / "a").stat().st_size


def test_files_of_earlier_versions_that_hold_times(tmp_path):
    def with_times(header):
        state = header["root"]["state"]
        state |= {"gram_seconds_": 1.5} if "gram_seconds_" in state else {}
        state.get("report_", {})["seconds"] = {"choice": 1.5}

    path = tmp_path / "model.nb"
    assert load(changed(nearboost.INNCoder().fit(*rows()), path, with_times)).gram_seconds_ == 1.5
    linear = load(changed(nearboost.SLNDClassifier().fit(*rows()), path, with_times))
    assert linear.report_["seconds"] == {"choice": 1.5}


def test_every_public_estimator_can_be_saved():
    public = [getattr(nearboost, name) for name in nearboost.__all__]
    public += [getattr(nearboost.features, name) for name in nearboost.features.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    assert len(kinds) > 20
    for kind in kinds:
        assert class_of(kind.__name__) is kind


def test_every_name_of_the_table_is_there():
    for name in MODULES:
        assert class_of(name).__name__ == name.rpartition(".")[2]


@pytest.mark.parametrize("kind", ["N3Classifier", "INNClassifier", "SRCClassifier", "CRCClassifier", "Gist"])
def test_progress_is_not_kept(kind, tmp_path, capsys):
    """Whether somebody watched a fit changes neither the bytes nor what later calls print."""
    files = [tmp_path / f"{verbose}.nb" for verbose in (0, 1)]
    for verbose, file in enumerate(files):
        if kind == "Gist":
            model = nearboost.features.Gist(verbose=verbose).fit(pictures())
        else:
            model = getattr(nearboost, kind)(verbose=verbose).fit(*rows())
        save(model, file)
    capsys.readouterr()
    assert files[0].read_bytes() == files[1].read_bytes()
    load(files[1]).transform(pictures()) if kind == "Gist" else load(files[1]).predict(queries())
    assert capsys.readouterr().err == ""
