"""Boosted neighbours in model files: what a fit used comes back to the last bit, and can be gone on with."""

import numpy as np
import pytest

import nearboost as nb
from models.fitted import WORDS, answers, queries, rows, two_labels
from nearboost.models import ModelFileError, load, save

N_ROWS = 120
pytestmark = pytest.mark.filterwarnings("ignore")

SETTINGS = {
    "unn of all, few vote": lambda: nb.UNNClassifier(5, n_prototypes=20, vote_from="all"),
    "unn without folds": lambda: nb.UNNClassifier(5, calibration=None, n_rounds=5, vote_weights="gaussian"),
    "n3 stopped early": lambda: nb.N3Classifier(5, early_stopping=True, n_rounds=12),
    "n3 from prototypes": lambda: nb.N3Classifier(3, start="zero", vote_from="prototypes", n_rounds=5),
    "n3 by codes of few": lambda: nb.N3Classifier(7, vote_weights="inn", n_prototypes=0.3),
    "n3 without a round": lambda: nb.N3Classifier(3, start="zero", vote_from="prototypes", n_rounds=0),
    "mlnn gaussian": lambda: nb.MLNNClassifier(kernel="gaussian", n_rounds=9),
    "mlnn adaptive of few": lambda: nb.MLNNClassifier(kernel="adaptive", sigma="sqrt", n_prototypes=30),
    "mlnn by codes": lambda: nb.MLNNClassifier(vote_weights="inn", n_rounds=9),
    "mapboost gaussian": lambda: nb.MAPBoostClassifier(estimator="gaussian", sigma=0.5, n_rounds=9),
    "mapboost one-vs-all": lambda: nb.MAPBoostClassifier(one_vs_all=True, n_prototypes=25),
    "mapboost, temperature": lambda: nb.MAPBoostClassifier(estimator="adaptive", calibration="temperature"),
    "rational": lambda: nb.N3Classifier(
        3, loss="hinge", vote_weights="uniform", start="zero", arithmetic="rational", n_rounds=6
    ),
}
SEVERAL = ["unn of all, few vote", "n3 stopped early", "n3 by codes of few", "mapboost one-vs-all"]


def again(model, path):
    save(model, path / "model.nb")
    return load(path / "model.nb")


def fitted(model, y=None):
    """With weights, some of them zero, and groups."""
    X = rows()[0][:N_ROWS]
    y = rows()[1][:N_ROWS] if y is None else y[:N_ROWS]
    weight = 1.0 + np.arange(N_ROWS) % 3
    weight[::17] = 0
    return model.fit(X, y, sample_weight=weight, groups=np.arange(N_ROWS) // 2)


def assert_same(one, other, Q):
    before, after = answers(one, Q), answers(other, Q)
    assert before.keys() == after.keys()
    for name, found in before.items():
        np.testing.assert_array_equal(after[name], found, err_msg=name)
    for mine, theirs in zip(one.explain(Q[:5]), other.explain(Q[:5]), strict=True):
        for name, value in vars(mine).items():
            np.testing.assert_array_equal(getattr(theirs, name), value, err_msg=name)


def assert_same_attributes(one, other):
    """All that a fit found, but for the graph where the rows are not in the file."""
    mine, theirs = ({n for n in vars(model) if n.endswith("_")} for model in (one, other))
    assert mine - theirs <= {"neighbors_"}
    assert not theirs - mine
    for name in sorted(theirs - {"neighbors_", "diagnostics_"}):
        before, after = getattr(one, name), getattr(other, name)
        if hasattr(before, "toarray"):
            before, after = before.toarray(), after.toarray()
        if isinstance(before, list) and isinstance(before[0], np.ndarray):
            before, after = np.concatenate(before), np.concatenate(after)
        np.testing.assert_array_equal(after, before, err_msg=name)
    for before, after in zip(getattr(one, "diagnostics_", []), getattr(other, "diagnostics_", []), strict=True):
        assert vars(before).keys() == vars(after).keys()
        assert all(np.array_equal(vars(before)[name], vars(after)[name]) for name in vars(before))
    if "held_out_rows_" in vars(one):
        np.testing.assert_array_equal(other.held_out_proba_, one.held_out_proba_)


@pytest.mark.parametrize("name", SETTINGS)
def test_all_settings(tmp_path, name):
    for y in (None, WORDS[rows()[1]], rows()[1] % 2 == 0):
        model = fitted(SETTINGS[name](), y)
        loaded = again(model, tmp_path)
        assert_same(model, loaded, queries())
        assert_same_attributes(model, loaded)
        np.testing.assert_array_equal(loaded.class_posteriors(queries()), model.class_posteriors(queries()))


@pytest.mark.parametrize("name", SEVERAL)
def test_several_labels(tmp_path, name):
    model = fitted(SETTINGS[name](), two_labels())
    assert_same(model, again(model, tmp_path), queries())


CHANGES = [
    (nb.N3Classifier(5), {"vote_weights": "uniform", "metric": "l1", "n_neighbors": 2, "vote_from": "prototypes"}),
    (nb.UNNClassifier(5, soft_lambda=0.3), {"soft_lambda": None, "start": "zero"}),
    (nb.MLNNClassifier(kernel="gaussian"), {"kernel": "knn", "one_vs_all": True}),
    (nb.MAPBoostClassifier(one_vs_all=True), {"one_vs_all": False, "calibration": "temperature"}),
    (nb.KNNClassifier(5), {"metric": "cosine", "search": "exact"}),
]


@pytest.mark.parametrize(("model", "settings"), CHANGES, ids=lambda one: type(one).__name__)
def test_settings_changed_after_the_fit_do_not_change_answers(tmp_path, model, settings):
    X, y = rows()
    model.fit(X[:N_ROWS], y[:N_ROWS])
    before = answers(model, queries())
    model.set_params(**settings)
    loaded = again(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    for name, found in answers(loaded, queries()).items():
        np.testing.assert_array_equal(found, before[name], err_msg=name)


@pytest.mark.parametrize("model", [nb.N3Classifier(5, n_rounds=9), nb.MLNNClassifier(5, n_rounds=9)], ids=str)
def test_what_was_loaded_can_be_pruned(tmp_path, model):
    model = fitted(model)
    assert_same(model.prune(20), again(model, tmp_path).prune(20), queries())


def test_only_prototypes_are_in_a_file_of_prototypes(tmp_path):
    model = again(fitted(nb.N3Classifier(5, n_prototypes=20)), tmp_path)
    assert not hasattr(model, "neighbors_")
    with pytest.raises(ValueError, match="training rows are not in the file"):
        model.prune(10)
    again(model, tmp_path).predict(queries())  # and can be written again


def test_settings_that_no_longer_hold_are_refused_when_saving(tmp_path):
    model = fitted(nb.N3Classifier(5, n_rounds=3)).set_params(metric="hamming")
    with pytest.raises((ModelFileError, ValueError), match="hamming"):
        save(model, tmp_path / "model.nb")
    assert not (tmp_path / "model.nb").exists()
