"""`add` and `forget` end, to the last bit, where a fit on the same rows ends."""

import os

import numpy as np
import pyarrow
import pytest
from sklearn.base import clone

from nearboost import (
    INNClassifier,
    KNNClassifier,
    MAPBoostClassifier,
    MLNNClassifier,
    N3Classifier,
    NeighborSearch,
    UNNClassifier,
)
from nearboost.models import load, save

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N_ROWS = 160
BOOSTED = [N3Classifier, UNNClassifier, MLNNClassifier, MAPBoostClassifier]
QUERIES = np.random.default_rng(9).standard_normal((60, 4)) + 2


def rows(kind="smooth", seed=0, n_rows=N_ROWS):
    """Rows of three classes that overlap; on a grid with ties everywhere, or each many times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.standard_normal((n_rows, 4)) + 2 + 1.5 * np.eye(4)[y]
    if kind == "grid":
        X = np.round(X) + 8
    elif kind == "duplicates":
        X = X[rng.integers(0, 25, n_rows)]
    return X, np.array(["blue", "green", "red"])[y]


def assert_alike(changed, fresh):
    """Answers, coefficients, held-out figures and the graph."""
    assert type(changed) is type(fresh)
    assert changed.get_params() == fresh.get_params()
    np.testing.assert_array_equal(changed.classes_, fresh.classes_)
    np.testing.assert_array_equal(changed.predict_proba(QUERIES), fresh.predict_proba(QUERIES))
    np.testing.assert_array_equal(changed.predict(QUERIES), fresh.predict(QUERIES))
    np.testing.assert_array_equal(changed.voters_, fresh.voters_)
    for name in vars(fresh):
        if name.endswith("_") and name not in ("diagnostics_", "gram_seconds_"):
            assert_equal(getattr(changed, name), getattr(fresh, name))
    assert {name for name in vars(changed) if name.endswith("_")} == {
        name for name in vars(fresh) if name.endswith("_")
    }


def assert_equal(found, expected):
    if hasattr(expected, "indices") and hasattr(expected, "distances"):
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)
    elif hasattr(expected, "toarray"):
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


def both_ways(model, X, y, gone, *, new=20, **given):
    """Fit all but the last rows; forget some, add the last, and both: always what a fit on those rows finds."""
    first = slice(len(X) - new)
    fitted = clone(model).fit(X[first], y[first], **{name: values[first] for name, values in given.items()})
    before = fitted.predict_proba(QUERIES)
    last = {name: values[-new:] for name, values in given.items()}
    stay = np.setdiff1d(np.arange(len(X) - new), gone)
    grown = fitted.add(X[-new:], y[-new:], **last)
    assert_alike(grown, clone(model).fit(X, y, **given))
    shrunk = fitted.forget(gone)
    assert_alike(shrunk, clone(model).fit(X[stay], y[stay], **{name: v[stay] for name, v in given.items()}))
    rest = np.append(stay, np.arange(len(X) - new, len(X)))
    fresh = clone(model).fit(X[rest], y[rest], **{name: values[rest] for name, values in given.items()})
    assert_alike(grown.forget(gone), fresh)
    assert_alike(shrunk.add(X[-new:], y[-new:], **last), fresh)
    np.testing.assert_array_equal(fitted.predict_proba(QUERIES), before)  # the old one is left unchanged


@pytest.mark.pairs
@pytest.mark.parametrize("kind", ["smooth", "grid", "duplicates"])
@pytest.mark.parametrize("metric", ["l2", "cosine", "l1"])
@pytest.mark.parametrize("family", BOOSTED)
@pytest.mark.parametrize("share", [0.01, 0.2])
def test_equals_a_fit(family, metric, kind, share):
    X, y = rows(kind)
    gone = np.flatnonzero(np.random.default_rng(1).random(N_ROWS - 20) < share)
    both_ways(family(5, metric=metric, n_rounds=10), X, y, gone)


@pytest.mark.pairs
@pytest.mark.parametrize("family", BOOSTED)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"n_neighbors": "auto"}, {"n_prototypes": 0.3}, {"class_weight": "balanced"}]
)
def test_weights_and_groups(family, options, weighted, grouped):
    """Rows of weight 0 count in the numbers of rows; weights are those of the fit after rows have gone."""
    rng = np.random.default_rng(2)
    X, y = rows("grid")
    given = {}
    if weighted:
        given["sample_weight"] = rng.integers(0, 4, N_ROWS) / 3
        given["sample_weight"][[0, 70, N_ROWS - 21, N_ROWS - 1]] = 0
    if grouped:
        given["groups"] = np.array([f"track {number}" for number in rng.integers(0, 60, N_ROWS)])
    both_ways(family(**{"n_neighbors": 3, "n_rounds": 8} | options), X, y, [0, 3, 70, 71, 90, 139], **given)


@pytest.mark.parametrize(
    "model",
    [
        N3Classifier(3, vote_weights="inn", n_rounds=5),
        N3Classifier(3, vote_weights="gaussian", vote_from="prototypes", start="zero", n_rounds=5),
        N3Classifier(3, oracle="random", n_rounds=5, random_state=3),
        UNNClassifier(3, early_stopping=True, n_rounds=5),
        UNNClassifier(3, calibration=None, n_rounds=5),
        MLNNClassifier(3, kernel="adaptive", one_vs_all=True, n_rounds=5),
        MAPBoostClassifier(3, estimator="gaussian", n_prototypes=40, vote_from="all", n_rounds=5),
        N3Classifier(),
        KNNClassifier(3, vote_weights="gaussian"),
        KNNClassifier(3, metric="cosine"),
        INNClassifier(),
        INNClassifier(normalize=True),
        INNClassifier(metric="l1", neighborhood=10),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_settings(model, dtype):
    X, y = rows()
    both_ways(model, X.astype(dtype), y, [0, 1, 2, 33, 139])


@pytest.mark.parametrize("decision", ["weights", "residual"])
def test_inn_with_weights(decision):
    X, y = rows()
    weight = np.random.default_rng(0).integers(0, 3, N_ROWS).astype(float)
    model = INNClassifier(decision=decision, normalize=True)
    fitted = model.fit(X[:140], y[:140], sample_weight=weight[:140])
    stay = np.r_[10:140, 140:160]
    changed = fitted.add(X[140:], y[140:], sample_weight=weight[140:]).forget(range(10))
    fresh = clone(model).fit(X[stay], y[stay], sample_weight=weight[stay])
    np.testing.assert_array_equal(changed.decision_function(QUERIES), fresh.decision_function(QUERIES))
    np.testing.assert_array_equal(changed.voters_, fresh.voters_)
    for one, other in zip(changed.explain(QUERIES[:5]), fresh.explain(QUERIES[:5]), strict=True):
        np.testing.assert_array_equal(one.samples, other.samples)
        np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize("family", BOOSTED)
def test_several_labels(family):
    rng = np.random.default_rng(0)
    X, _ = rows()
    labels = (rng.random((N_ROWS, 4)) < 0.3).astype(int)
    options = {} if family in BOOSTED[:2] else {"one_vs_all": True}
    model = family(3, n_rounds=5, **options)
    both_ways(model, X, labels, [5, 6, 100])
    both_ways(model, X, labels, [5, 6, 100], sample_weight=rng.integers(0, 3, N_ROWS))


@pytest.mark.parametrize(
    "model", [*(family(3, n_rounds=5) for family in BOOSTED), KNNClassifier(3), INNClassifier()]
)
def test_classes_come_and_go(model):
    """Three classes become two, which have one column of scores; then four."""
    X, y = rows()
    fitted = clone(model).fit(X, y)
    stay = np.flatnonzero(y != "green")
    two = fitted.forget(np.flatnonzero(y == "green"))
    assert two.classes_.tolist() == ["blue", "red"]
    assert_alike(two, clone(model).fit(X[stay], y[stay]))
    new = np.array(["amber", "yellow"] * 10)
    grown = two.add(X[:20] + 5, new)
    assert_alike(grown, clone(model).fit(np.concatenate([X[stay], X[:20] + 5]), np.concatenate([y[stay], new])))


def test_a_class_of_weight_zero_rows_stays_one():
    """Its rows are not kept, but a fit would know the class."""
    X, y = rows()
    weight = np.where(y == "red", 0.0, 1.0)
    fitted = N3Classifier(3, n_rounds=5).fit(X, y, sample_weight=weight)
    assert_alike(fitted.forget([0, 1]), N3Classifier(3, n_rounds=5).fit(X[2:], y[2:], sample_weight=weight[2:]))
    without = fitted.forget(np.flatnonzero(y == "red"))
    assert without.classes_.tolist() == ["blue", "green"]
    assert_alike(
        without, N3Classifier(3, n_rounds=5).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    )


@pytest.mark.parametrize("model", [N3Classifier(3, n_rounds=5), KNNClassifier(3), INNClassifier()])
def test_nothing_is_forgotten_and_nearly_all_is(model):
    X, y = rows()
    fitted = clone(model).fit(X, y)
    assert_alike(fitted.forget([]), clone(model).fit(X, y))
    few = np.array([0, 1, 2, 3, 4, 5, 6])
    assert_alike(fitted.forget(np.arange(7, N_ROWS)), clone(model).fit(X[few], y[few]))


def test_all_but_two():
    X, y = rows()
    two = np.array([np.argmax(y == "blue"), np.argmax(y == "red")])
    for model in (N3Classifier(1, n_rounds=2), MLNNClassifier(1, n_rounds=2)):
        rest = np.setdiff1d(np.arange(N_ROWS), two)
        assert_alike(clone(model).fit(X, y).forget(rest), clone(model).fit(X[np.sort(two)], y[np.sort(two)]))


def test_numbers_and_frames():
    """Labels of numbers, weights given only to new rows, and columns with names."""
    X, y = rows()
    codes = np.searchsorted(np.unique(y), y) * 10
    frame = pyarrow.table(dict(zip("abcd", X.T, strict=True)))
    model = UNNClassifier(3, n_rounds=5)
    fitted = clone(model).fit(frame.slice(0, 140), codes[:140])
    weight = np.linspace(0, 2, 20)
    grown = fitted.add(frame.slice(140), codes[140:], sample_weight=weight)
    assert_alike(grown, clone(model).fit(frame, codes, sample_weight=np.append(np.ones(140), weight)))
    assert grown.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        fitted.add(frame.slice(140).rename_columns(list("zbcd")), codes[140:])


@pytest.mark.parametrize("family", BOOSTED)
def test_parameters_as_they_are_now(family):
    """A graph by another metric is not repaired but searched."""
    X, y = rows()
    fitted = family(3, n_rounds=5).fit(X, y)
    fitted.set_params(metric="l1", n_rounds=7, n_neighbors=9)
    assert_alike(fitted.forget([4]), clone(fitted).fit(np.delete(X, 4, axis=0), np.delete(y, 4)))


def test_after_prune_and_after_a_file(tmp_path):
    X, y = rows()
    weight = np.random.default_rng(0).integers(0, 3, N_ROWS) / 3
    groups = np.arange(N_ROWS) // 2
    fitted = N3Classifier(3, n_rounds=5).fit(X, y, sample_weight=weight, groups=groups)
    stay = np.arange(2, N_ROWS)
    fresh = N3Classifier(3, n_rounds=5).fit(X[stay], y[stay], sample_weight=weight[stay], groups=groups[stay])
    save(fitted, tmp_path / "all.nb")
    assert_alike(load(tmp_path / "all.nb").forget([0, 1]), fresh)
    pruned = fitted.prune(0.5)
    assert_alike(
        pruned.forget([0, 1]),
        N3Classifier(3, n_rounds=5, n_prototypes=0.5).fit(
            X[stay], y[stay], sample_weight=weight[stay], groups=groups[stay]
        ),
    )
    save(pruned, tmp_path / "few.nb")
    few = load(tmp_path / "few.nb")
    for change in (lambda: few.forget([0]), lambda: few.add(X[:2], y[:2])):
        with pytest.raises(ValueError, match="training rows are not in the file that this model comes from"):
            change()


@pytest.mark.parametrize("model", [N3Classifier(3, n_rounds=5), INNClassifier()])
def test_older_files_lack_what_is_needed(model):
    X, y = rows()
    fitted = clone(model).fit(X, y)
    del fitted._given_weight
    with pytest.raises(ValueError, match="comes from an older file, without the weights as given; fit it anew"):
        fitted.forget([0])


@pytest.mark.parametrize("model", [N3Classifier(3, n_rounds=5), KNNClassifier(3), INNClassifier(neighborhood=9)])
def test_rows_in_a_mapped_file(model, tmp_path):
    """They are read where they are, and copied into the new model; a file that was cut short is refused."""
    X, y = rows(n_rows=800)
    np.save(tmp_path / "X.npy", X)
    fitted = clone(model).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    changed = fitted.forget([0])
    assert_alike(changed, clone(model).fit(X[1:], y[1:]))
    os.truncate(tmp_path / "X.npy", 4096)
    for change in (lambda: fitted.forget([0]), lambda: fitted.add(X[:2], y[:2])):
        with pytest.raises(ValueError, match="was cut short after it was opened"):
            change()
    assert_alike(changed, clone(model).fit(X[1:], y[1:]))


def test_approximate_graphs():
    pytest.importorskip("faiss")
    X, y = rows()
    both_ways(N3Classifier(3, search="hnsw", n_rounds=5), X, y, [3, 4, 5])


def test_a_graph_of_the_users_is_refused():
    X, y = rows()
    fitted = N3Classifier(3, n_rounds=5).fit(X, y, graph=NeighborSearch(X).graph(3))
    for change in (lambda: fitted.forget([0]), lambda: fitted.add(X[:2], y[:2])):
        with pytest.raises(
            ValueError, match="fitted with a graph of yours, which cannot be repaired; fit it anew"
        ):
            change()


@pytest.mark.parametrize("model", [N3Classifier(3, n_rounds=5), KNNClassifier(3), INNClassifier()])
@pytest.mark.parametrize(
    ("rows_given", "said"),
    [
        ([N_ROWS], "There is no training row 160; they are numbered from 0 to 159"),
        ([-1], "There is no training row -1"),
        ([0.5], "rows must be a list of numbers of training rows"),
        (np.zeros(N_ROWS, bool), "rows must be a list of numbers of training rows"),
        (np.arange(N_ROWS), "Nothing would be left to learn from"),
    ],
)
def test_rows_that_are_refused(model, rows_given, said):
    X, y = rows()
    with pytest.raises(ValueError, match=said):
        clone(model).fit(X, y).forget(rows_given)


def test_what_else_is_refused():
    X, y = rows()
    fitted = N3Classifier(3, n_rounds=5).fit(X, y)
    grouped = N3Classifier(3, n_rounds=5).fit(X, y, groups=np.arange(N_ROWS) // 2)
    for change, said in (
        (lambda: fitted.forget(np.flatnonzero(y != "red")), "All samples that count are of one class"),
        (lambda: fitted.forget(np.arange(3, N_ROWS)), "n_neighbors=3 is too many for 3 training samples"),
        (lambda: fitted.add(X[:3, :2], y[:3]), "2 features"),
        (lambda: fitted.add(X[:3], [1, 2, 3]), "y are texts in the model and numbers here; give texts"),
        (lambda: fitted.add(X[:3], y[:3], groups=[1, 2, 3]), "fitted without groups"),
        (lambda: grouped.add(X[:3], y[:3]), "give the group of each new sample"),
        (lambda: grouped.add(X[:3], y[:3], groups=["a", "b", "c"]), "groups are numbers in the model"),
        (lambda: grouped.add(X[:3], y[:3], groups=[1, 2]), "give one per sample"),
        (lambda: N3Classifier().forget([0]), "not fitted"),
    ):
        with pytest.raises(ValueError, match=said):
            change()
    scaled = INNClassifier(normalize=True).fit(X, y).set_params(normalize=False)
    with pytest.raises(ValueError, match="scaled to unit length and kept so"):
        scaled.forget([0])


def test_repeated_changes_use_up_spare_columns():
    """Until none is left, and beyond."""
    X, y = rows(n_rows=400)
    model = N3Classifier(5, n_rounds=5)
    fitted, left = clone(model).fit(X, y), np.arange(400)
    widths = [fitted._graph.n_neighbors]
    for seed in range(6):
        gone = np.random.default_rng(seed).choice(len(left), 4, replace=False)
        fitted, left = fitted.forget(gone), np.delete(left, gone)
        widths.append(fitted._graph.n_neighbors)
    assert widths[0] == 7
    assert widths == sorted(widths, reverse=True)
    assert_alike(fitted, clone(model).fit(X[left], y[left]))
