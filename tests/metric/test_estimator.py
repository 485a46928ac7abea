"""ITML among scikit-learn's tools, and what it is for."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from metric.problems import noisy_rows, random_pairs
from nearboost import ITML, KNNClassifier, N3Classifier


@parametrize_with_checks([ITML()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_noise_is_shrunk_and_neighbours_gain(prior):
    X, y = noisy_rows(0)
    new, truth = noisy_rows(1)
    plain = KNNClassifier(1).fit(X, y).score(new, truth)
    model = make_pipeline(ITML(prior=prior, n_constraints=1000, tol=0.01), KNNClassifier(1)).fit(X, y)
    assert model.score(new, truth) > plain + 0.2
    weights = np.diag(model[0].metric_matrix_) * np.r_[1, np.full(9, 9)]  # per unit of deviation
    assert weights[0] > 2 * weights[1:].max()


def test_distances_after_the_map_are_those_of_the_metric():
    X, y = noisy_rows(0, m=60)
    model = ITML().fit(X, y)
    Z = model.transform(X)
    v = X[3] - X[8]
    assert np.sum((Z[3] - Z[8]) ** 2) == pytest.approx(v @ model.metric_matrix_ @ v)


def test_single_precision_stays_single():
    X, y = noisy_rows(0, m=60)
    X = X.astype(np.float32)
    model, exact = ITML().fit(X, y), ITML().fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(model.metric_matrix_, exact.metric_matrix_)
    Z = model.transform(X)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, exact.transform(X.astype(np.float64)), rtol=1e-6, atol=1e-6)


def test_pipeline_clone_pickle_and_search():
    X, y = noisy_rows(0, m=90)
    pipeline = make_pipeline(ITML(0.5), N3Classifier(5, n_rounds=10)).fit(X, y)
    again = clone(pipeline).fit(X, y)
    loaded = pickle.loads(pickle.dumps(pipeline))
    for other in (again, loaded):
        np.testing.assert_array_equal(other.predict_proba(X), pipeline.predict_proba(X))
    search = GridSearchCV(make_pipeline(ITML(), KNNClassifier(1)), {"itml__gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["itml__gamma"] in (0.1, 1.0)


def test_seeds():
    X, y = noisy_rows(0)
    one = ITML().fit(X, y).metric_matrix_
    np.testing.assert_array_equal(ITML(random_state=0).fit(X, y).metric_matrix_, one)
    assert not np.array_equal(ITML(random_state=1).fit(X, y).metric_matrix_, one)
    generator = np.random.RandomState(0)
    np.testing.assert_array_equal(ITML(random_state=generator).fit(X, y).metric_matrix_, one)


def test_names_of_the_columns():
    X, y = noisy_rows(0, m=60)
    assert ITML().fit(X, y).get_feature_names_out()[:2].tolist() == ["itml0", "itml1"]


def test_progress_is_shown_when_asked_for(capsys):
    X, y = noisy_rows(0, m=60)
    ITML().fit(X, y)
    assert capsys.readouterr().err == ""
    ITML(verbose=1).fit(X, y)
    assert "sweeps" in capsys.readouterr().err


def test_transform_before_fit():
    with pytest.raises(NotFittedError):
        ITML().transform([[1.0]])


PROBLEM = random_pairs(0)


def fit_pairs(X=PROBLEM[0], pairs=PROBLEM[1], same=PROBLEM[2], **settings):
    return ITML(**settings).fit_pairs(X, pairs, same)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0}, "gamma=0 must be a number above 0"),
        ({"gamma": np.inf}, "gamma=inf must be a number above 0 and at most"),
        ({"n_constraints": 0}, "n_constraints=0 must be a whole number of at least 1 or None"),
        ({"max_sweeps": 2.5}, "max_sweeps=2.5 must be a whole number"),
        ({"tol": -1}, "tol=-1 must be a number above 0"),
        ({"prior": "random"}, "use one of 'identity', 'covariance'"),
        ({"bounds": (0.0, 1.0)}, "0 < near <= far"),
        ({"bounds": (2.0, 1.0)}, "0 < near <= far"),
        ({"bounds": (1.0, np.nan)}, "0 < near <= far"),
        ({"bounds": (1.0, np.inf)}, "0 < near <= far"),
        ({"bounds": 1.0}, "must be two squared distances"),
        ({"bounds": "near"}, "must be two squared distances"),
        ({"bounds": (1e-320, 1e-319)}, "give bounds closer to squared distances"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        fit_pairs(**settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [0, 1]}, r"pairs has shape \(2,\); give two row numbers"),
        ({"pairs": np.empty((0, 2), int), "same": np.empty(0, bool)}, r"pairs has shape \(0, 2\)"),
        ({"pairs": [[0.0, 1.0]], "same": [True]}, "pairs holds float64 values; give whole numbers"),
        ({"pairs": [[0, 30]], "same": [True]}, "pairs names rows from 0 to 30; X has rows 0 to 29"),
        ({"pairs": [[-1, 3]], "same": [True]}, "pairs names rows from -1 to 3"),
        ({"same": [True]}, r"same has shape \(1,\) for 60 pairs"),
        ({"same": np.ones(60, int)}, "same holds int64 values; give True"),
        ({"X": np.where(PROBLEM[0] > 2, np.nan, PROBLEM[0])}, "X contains NaN in row"),
        ({"X": PROBLEM[0][:1]}, "1 sample"),
        ({"X": np.full((30, 5), 0.1)}, "All rows of X are equal; give rows that differ"),
        ({"X": PROBLEM[0] * 1e200}, "too far for squared distances in float64; multiply X"),
        ({"X": PROBLEM[0] * 1e-200}, "too little for squared distances in float64; multiply X"),
    ],
)
def test_wrong_data(given, message):
    with pytest.raises(ValueError, match=message):
        fit_pairs(**given)


def test_wrong_labels():
    X, y = noisy_rows(0, m=30)
    with pytest.raises(ValueError, match="y holds only one class; ITML needs rows of two classes or more"):
        ITML().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="Unknown label type"):
        ITML().fit(X, y + 0.5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ITML().fit(X, y[:-1])


def test_one_odd_row_among_thousands_needs_bounds():
    X = np.zeros((20_000, 2))
    X[0] = 1.0
    with pytest.raises(ValueError, match="pairs of rows drawn from X are equal; give bounds"):
        ITML().fit_pairs(X, [[0, 1], [2, 3]], [False, True])
    model = ITML(bounds=(1.0, 4.0)).fit_pairs(X, [[0, 1], [2, 3]], [False, True])
    assert np.ones(2) @ model.metric_matrix_ @ np.ones(2) > 2  # farther than before


@pytest.mark.parametrize(("flag", "word"), [(True, "near"), (False, "far")])
def test_pairs_of_one_kind_are_warned_about(flag, word):
    with pytest.warns(UserWarning, match=f"All 60 pairs are to be {word}; give pairs of both kinds"):
        model = fit_pairs(same=np.full(60, flag), bounds=(2.0, 12.0))
    eigenvalues = np.linalg.eigvalsh(model.metric_matrix_)
    assert eigenvalues[0] > 0
    assert np.all(eigenvalues <= 1 + 1e-12) if flag else np.all(eigenvalues >= 1 - 1e-12)


def test_a_fit_that_does_not_settle_says_so():
    with pytest.warns(UserWarning, match=r"after max_sweeps=2 \(tol=0.001\); raise max_sweeps or tol, or lower"):
        assert fit_pairs(max_sweeps=2).n_sweeps_ == 2
