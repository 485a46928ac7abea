"""Linear classifiers and split ones come back from a file as they were, and linear ones go on learning."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import nearboost as nb
from models.fitted import WORDS, queries, rows, two_labels
from models.mutations import HEADER, members, with_header, written
from models.test_schemas_inn import assert_same, changed, returned
from nearboost.models import ModelFileError, load, save

pytestmark = pytest.mark.filterwarnings("ignore")  # of methods that would like more data

LEARNERS = {
    "slnd": lambda: nb.SLNDClassifier(),
    "slnd published": lambda: nb.SLNDClassifier(
        "hinge", rank=20, damping=0, step=0.01, balanced=True, max_passes=3
    ),
    "slnd averaged": lambda: nb.SLNDClassifier("log", rank=20, average=True, fit_intercept=False, max_passes=4),
    "slnd drawn": lambda: nb.SLNDClassifier(random_state=np.random.RandomState(3), max_passes=3),
    "plain": lambda: nb.LinearSGDClassifier(max_passes=3),
    "standard": lambda: nb.LinearSGDClassifier(scaling="standard", early_stopping=True, max_passes=3),
    "diagonal": lambda: nb.LinearSGDClassifier("squared", scaling="diagonal", fit_intercept=False, max_passes=3),
    "quasi-newton": lambda: nb.LinearSGDClassifier("log", scaling="quasi-newton", skip=2, max_passes=3),
    "quasi-newton of all": lambda: nb.LinearSGDClassifier(scaling="quasi-newton", skip=1, max_passes=3),
}
LABELS = {"words": lambda y: WORDS[y], "two": lambda y: y % 2 == 0}


def learned_on(model, other):
    X, y = rows()
    labels = model.classes_[y % len(model.classes_)]
    for block in (slice(60), slice(60, 200)):
        model.partial_fit(X[block], labels[block])
        other.partial_fit(X[block], labels[block])


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learning_goes_on_after_fit(name, labels, tmp_path):
    X, y = rows()
    model = LEARNERS[name]().fit(X, LABELS[labels](y))
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, queries())
    learned_on(model, loaded)
    assert_same(model, loaded, queries())
    assert_same(model, returned(loaded, tmp_path), queries())


@pytest.mark.parametrize("name", LEARNERS)
def test_learning_goes_on_after_blocks(name, tmp_path):
    X, y = rows()
    X = X.astype(np.float32)
    model = LEARNERS[name]().set_params(early_stopping=False).partial_fit(X, y, classes=range(5))
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, queries().astype(np.float32))
    learned_on(model, loaded)
    assert_same(model, loaded, queries().astype(np.float32))


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("kind", [nb.SLNDClassifier, nb.LinearSGDClassifier])
def test_first_blocks_are_collected_across_files(kind, form, tmp_path):
    """Rows that are too few to begin with are in the file: what comes after it begins with them again."""
    X, y = form(rows()[0]), rows()[1]
    weights = np.where(y == 0, 0.0, 2.0)
    model = kind(max_passes=3).partial_fit(X[:4], y[:4], range(5), sample_weight=weights[:4] + 1)
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, form(queries()))
    for block in (slice(4, 6), slice(6, 30), slice(30, 150), slice(150, 200)):
        for one in (model, loaded):
            one.partial_fit(X[block], y[block], sample_weight=weights[block])
        assert_same(model, loaded, form(queries()))
        loaded = returned(loaded, tmp_path)
    assert "first_rows" not in loaded.model_state()
    assert loaded.score(X, y) > 0.5


def test_first_rows_of_several_labels_are_collected_across_files(tmp_path):
    X, Y = rows()[0], two_labels()
    model = nb.SLNDClassifier(max_passes=3).partial_fit(X[:3], Y[:3])
    loaded = returned(model, tmp_path)
    for one in (model, loaded):
        one.partial_fit(X[3:90], Y[3:90])
    assert_same(model, loaded, queries())


@pytest.mark.parametrize(
    ("entry", "change", "why"),
    [
        ("first_rows", lambda a: a[:-1], "must have a length of 8"),
        ("first_rows", lambda a: a.astype(np.float32), "in the precision of its weights"),
        ("first_weights", lambda a: -a, "out of range"),
    ],
)
def test_first_rows_that_do_not_fit_are_refused(entry, change, why, tmp_path):
    path = tmp_path / "model.nb"
    X, y = rows()
    save(nb.SLNDClassifier(max_passes=2).partial_fit(X[:9], y[:9], range(5)), path)
    changed(path, entry, change)
    with pytest.raises(ModelFileError, match=why):
        load(path)


@pytest.mark.parametrize("averaged", [False, True])
def test_wide_sparse_rows(averaged, tmp_path):
    """What the leading eigenvectors leave out is learned as well, and goes on after a file."""
    X, y = rows()
    wide = csr_array(np.hstack([X, np.zeros((len(X), 2_000))]))
    Q = csr_array(np.hstack([queries(), np.zeros((len(queries()), 2_000))]))
    model = nb.SLNDClassifier(max_passes=3, average=averaged).fit(wide, y)
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, Q)
    for one in (model, loaded):
        one.partial_fit(wide[:60], y[:60]).partial_fit(wide[60:200].toarray(), y[60:200])
    assert_same(model, loaded, Q)


@pytest.mark.parametrize("kind", [nb.SLNDClassifier, nb.LinearSGDClassifier])
def test_several_labels(kind, tmp_path):
    model = kind(max_passes=3).fit(rows()[0], two_labels())
    loaded = returned(model, tmp_path)
    for one in (model, loaded):
        one.partial_fit(rows()[0][:50], two_labels()[:50])
    assert_same(model, loaded, queries())


def test_theory(tmp_path):
    X, y = rows()
    model = nb.SLNDClassifier("log", step="theory", rank=10).fit(X, y)
    assert_same(model, returned(model, tmp_path), queries())


@pytest.mark.parametrize("kind", [nb.SLNDClassifier, nb.LinearSGDClassifier])
def test_what_was_fitted_counts_whatever_is_set_later(kind, tmp_path):
    X, y = rows()
    model = kind(max_passes=3).fit(X, y)
    model.set_params(loss="squared", batch_size=7, fit_intercept=False, average=True)
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, queries())
    with pytest.raises(ValueError, match="average=True was False when learning began"):
        loaded.partial_fit(X, y)
    model.set_params(loss="auto", batch_size=64, fit_intercept=True, average=False)
    learned_on(model, loaded.set_params(loss="auto", batch_size=64, fit_intercept=True, average=False))
    assert_same(model, loaded, queries())


@pytest.mark.parametrize("normalization", ["l1", "l2", None])
def test_split_classifiers_are_normalized_as_they_were_fitted(normalization, tmp_path):
    X, y = rows()
    model = nb.SplitClassifier(nb.KNNClassifier(5), 4, normalization=normalization, posterior="predict_proba")
    model.fit(X, WORDS[y])
    model.set_params(normalization="l2" if normalization == "l1" else "l1", n_splits=7, mean="geometric")
    loaded = returned(model, tmp_path)
    assert_same(model, loaded, queries())
    assert loaded.parts_ == model.parts_


@pytest.mark.parametrize(
    ("entry", "change", "why"),
    [
        ("vectors", lambda a: a[:-1], "does not fit together"),
        ("weights", lambda a: a.astype(np.float32), "must have all its weights in one precision"),
        ("coef_", lambda a: a[:, :-1], "must have a length of 64"),
        ("eigenvalues_", lambda a: -a, "out of range"),
        ("classes_", lambda a: a[:-1], "must have a row of weights for each class"),
        (
            "classes_",
            lambda a: a + 0.5,
            "must hold labels that are whole numbers",
        ),  # `partial_fit` takes no others
    ],
)
def test_weights_that_do_not_fit_are_refused(entry, change, why, tmp_path):
    path = tmp_path / "model.nb"
    save(nb.SLNDClassifier(max_passes=2).fit(*rows()), path)
    changed(path, entry, change)
    with pytest.raises(ModelFileError, match=why):
        load(path)


def test_a_split_must_have_a_classifier_for_each_part(tmp_path):
    path = tmp_path / "model.nb"
    save(nb.SplitClassifier(nb.N3Classifier(5, n_rounds=3), 4).fit(*rows()), path)
    contents = members(path)
    header = json.loads(contents[HEADER])
    header["root"]["state"]["estimators_"].pop()
    written(path, with_header(contents, header))
    with pytest.raises(ModelFileError, match="does not fit together"):
        load(path)
