"""What all classifiers answer alike: labels and probabilities at once, parameters checked, and who may vote."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import nearboost as nb
from nearboost.problem.classifier import voters_of

VOTING = {
    "knn": lambda: nb.KNNClassifier(5),
    "n3": lambda: nb.N3Classifier(5, n_rounds=9),
    "n3 of few": lambda: nb.N3Classifier(5, n_prototypes=20, n_rounds=9),
    "unn": lambda: nb.UNNClassifier(5, n_rounds=9),
    "mlnn": lambda: nb.MLNNClassifier(5, n_rounds=9),
    "mapboost": lambda: nb.MAPBoostClassifier(5, n_prototypes=20, n_rounds=9),
    "innc": lambda: nb.INNClassifier(),
    "src": lambda: nb.SRCClassifier(),
    "split": lambda: nb.SplitClassifier(nb.N3Classifier(5, n_prototypes=20, n_rounds=9), 2),
    "split pipelines": lambda: nb.SplitClassifier(
        make_pipeline(StandardScaler(), nb.KNNClassifier(5)), 2, posterior="predict_proba"
    ),
}
OTHERS = {
    "slnd": lambda: nb.SLNDClassifier(max_passes=2),
    "sgd": lambda: nb.LinearSGDClassifier(max_passes=2),
    "crc": lambda: nb.CRCClassifier(decision="weights"),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:120] / 16, np.array(list("abcd"))[y[:120]], X[300:340] / 16


@pytest.mark.parametrize("make", [*VOTING.values(), *OTHERS.values()], ids=[*VOTING, *OTHERS])
def test_labels_and_probabilities_at_once(make, digits):
    X, y, Q = digits
    model = make().fit(X, y)
    labels, probabilities = model.predict_with_proba(Q)
    np.testing.assert_array_equal(labels, model.predict(Q))
    np.testing.assert_array_equal(probabilities, model.predict_proba(Q))


def test_labels_and_probabilities_take_one_search(digits, monkeypatch):
    X, y, Q = digits
    model, searches = nb.N3Classifier(5, n_rounds=9).fit(X, y), []
    search = nb.NeighborSearch.search
    monkeypatch.setattr(nb.NeighborSearch, "search", lambda *given: searches.append(1) or search(*given))
    model.predict_with_proba(Q)
    assert len(searches) == 1


@pytest.mark.parametrize("make", VOTING.values(), ids=VOTING)
def test_voters(make, digits):
    X, y, Q = digits
    with pytest.raises(NotFittedError):
        _ = make().voters_
    model = make().fit(X, y)
    voters = model.voters_
    assert np.all(np.diff(voters) > 0)
    assert voters[0] >= 0
    assert voters[-1] < len(X)
    if hasattr(model, "prototypes_") and model.n_prototypes is not None:
        np.testing.assert_array_equal(voters, model.prototypes_)
    if hasattr(model, "explain"):
        named = [getattr(one, "prototypes", getattr(one, "samples", None)) for one in model.explain(Q)]
        assert set(np.concatenate(named)) <= set(voters)


def test_rows_of_no_weight_do_not_vote(digits):
    X, y, _ = digits
    weight = np.ones(len(X))
    weight[::3] = 0
    counted = np.flatnonzero(weight)
    np.testing.assert_array_equal(nb.N3Classifier(5).fit(X, y, sample_weight=weight).voters_, counted)
    np.testing.assert_array_equal(nb.INNClassifier().fit(X, y, sample_weight=weight).voters_, counted)


def test_voters_of_all_parts(digits):
    X, y, _ = digits
    split = VOTING["split"]().fit(X, y)
    np.testing.assert_array_equal(split.voters_, np.unique([one.voters_ for one in split.estimators_]))
    assert len(VOTING["split pipelines"]().fit(X, y).voters_) == len(X)


def test_voters_of_scikit_learns_classifiers(digits):
    X, y, _ = digits
    machine = SVC().fit(X, y)
    np.testing.assert_array_equal(voters_of(machine), np.sort(machine.support_))
    neighbors = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X, y)
    np.testing.assert_array_equal(voters_of(neighbors), np.arange(len(X)))
    assert len(voters_of(LogisticRegression().fit(X, y))) == 0


def test_voters_are_not_guessed(digits):
    X, y, _ = digits
    selected = LogisticRegression().fit(X, y)
    selected.support_, selected.n_samples_fit_ = np.ones(X.shape[1], dtype=bool), 5  # as of selected features
    assert len(voters_of(selected)) == 0


def test_parameters_are_checked_without_data():
    nb.N3Classifier(5).check_parameters()
    with pytest.raises(ValueError, match="n_neighbors"):
        nb.N3Classifier(0).check_parameters()
    with pytest.raises(ValueError, match="batch_size"):
        nb.SLNDClassifier(batch_size=0).check_parameters()
