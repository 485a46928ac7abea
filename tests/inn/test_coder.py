"""INNCoder among scikit-learn's tools, and what it says to bad input."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from codes.problems import random_rows
from nearboost import INNCoder
from nearboost.base import memory
from nearboost.codes import products

X, Q = random_rows(0)


@parametrize_with_checks([INNCoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([INNCoder(neighborhood=5), INNCoder(metric="l1"), INNCoder(gram_memory=1.0)])
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


def test_codes_are_sorted_sparse_rows():
    codes = INNCoder().fit(X).transform(Q)
    assert isinstance(codes, csr_array)
    assert codes.shape == (len(Q), len(X))
    assert codes.dtype == np.float64
    assert codes.has_sorted_indices
    assert codes.has_canonical_format


def test_sums_of_samples():
    coder = INNCoder().fit(X.astype(np.float32))
    codes = coder.transform(Q)
    sums = coder.reconstruct(codes)
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, codes.toarray() @ X.astype(np.float32).astype(float), rtol=0, atol=1e-12)
    np.testing.assert_allclose(coder.reconstruct(codes.toarray()), sums, rtol=0, atol=1e-12)


def test_a_fitted_row_is_its_own_code():
    coder = INNCoder().fit(X)
    codes = coder.fit_transform(X)
    np.testing.assert_array_equal(codes.indices, np.arange(len(X)))
    np.testing.assert_allclose(codes.data, 1 - 1.05**-62)


@pytest.mark.parametrize("settings", [{}, {"neighborhood": 10}, {"metric": "l1"}])
def test_clone_and_pickle(settings):
    coder = INNCoder(0.1, **settings).fit(X)
    expected = coder.transform(Q).toarray()
    np.testing.assert_array_equal(clone(coder).fit(X).transform(Q).toarray(), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(coder)).transform(Q).toarray(), expected)


@pytest.mark.parametrize("gram_memory", [None, 1e6])
def test_distances_are_not_written_to_files(gram_memory):
    rows, queries = random_rows(1, m=2000, n=40, d=3)
    coder = INNCoder(gram_memory=gram_memory).fit(rows)
    codes = coder.transform(queries)
    assert (coder.gram_seconds_ > 0) == (gram_memory is None)
    written = pickle.dumps(coder)
    assert len(written) < 10 * rows.nbytes  # all distances are 8 MB
    np.testing.assert_array_equal(pickle.loads(written).transform(queries).toarray(), codes.toarray())


def test_pipeline():
    y = (X[:, 0] > 0).astype(int)
    model = make_pipeline(INNCoder(neighborhood=20), LogisticRegression()).fit(X, y)
    assert model.score(Q, Q[:, 0] > 0) > 0.6
    assert INNCoder().fit(X).get_feature_names_out()[:2].tolist() == ["inncoder0", "inncoder1"]


def test_progress_is_shown_when_asked_for(capsys):
    INNCoder().fit(X).transform(Q)
    assert capsys.readouterr().err == ""
    coder = INNCoder(verbose=1).fit(X)
    assert "Distances between samples" in capsys.readouterr().err
    coder.transform(Q)
    assert "Coding" in capsys.readouterr().err


def test_memory_is_asked_for(monkeypatch):
    assert memory.free_memory() > 0
    monkeypatch.setattr(products, "free_memory", lambda: 6e9)
    assert products.usable_memory(None) == 3e9
    assert products.usable_memory(5.0) == 5.0
    monkeypatch.setattr(products, "free_memory", lambda: 6e10)
    assert products.usable_memory(None) == 8e9


def test_one_sample():
    coder = INNCoder().fit(X[:1])
    np.testing.assert_allclose(coder.transform(Q).toarray(), 1 - 1.05**-62)
    with pytest.raises(ValueError, match="leave_one_out needs 2 samples or more"):
        coder.leave_one_out()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularization": 0}, "regularization=0 must be a number above 0"),
        ({"regularization": -0.1}, "regularization=-0.1 must be a number above 0"),
        ({"regularization": np.inf}, "regularization=inf must be a number above 0"),
        (
            {"regularization": 1e-9},
            "ask for 3e[+]09 terms; raise regularization, lower coverage or give max_terms",
        ),
        ({"coverage": 0.0}, "coverage=0.0 must be a number above 0"),
        ({"coverage": 1.0}, "coverage=1.0 must be below 1, .* use 0.95 as published"),
        ({"coverage": np.nan}, "coverage=nan must be a number above 0"),
        ({"max_terms": 0}, "max_terms=0 must be a whole number of at least 1 or None"),
        ({"max_terms": 2.5}, "max_terms=2.5 must be a whole number"),
        ({"tolerance": -1.0}, "tolerance=-1.0 must be 0, which never stops early, or a number above 0"),
        ({"tolerance": np.nan}, "tolerance=nan must be 0"),
        ({"metric": "cosine"}, "metric='cosine' is not known; use one of 'l2', 'l1'"),
        ({"neighborhood": 0}, "neighborhood=0 must be a whole number of at least 1 or None"),
        ({"neighborhood": 61}, "neighborhood=61 is more than the n_samples=60 to choose from; use 60 or fewer"),
        ({"gram_memory": 0}, "gram_memory=0 must be a number above 0"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        INNCoder(**settings).fit(X)


def test_wrong_rows():
    broken = np.where(X > 2, np.nan, X)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        INNCoder().fit(broken)
    coder = INNCoder(neighborhood=60).fit(X)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        coder.transform(broken)
    with pytest.raises(ValueError, match="X has 4 features, but INNCoder is expecting 5 features"):
        coder.transform(Q[:, :4])
    with pytest.raises(ValueError, match="neighborhood=60 is more than the n_samples=59 to choose from"):
        coder.leave_one_out()
    with pytest.raises(
        ValueError, match=r"The codes have shape \(12, 59\); give a matrix with one column for each"
    ):
        coder.reconstruct(np.zeros((12, 59)))
    with pytest.raises(ValueError, match=r"The codes have shape \(60,\)"):
        coder.reconstruct(np.zeros(60))
    for method in ("transform", "reconstruct"):
        with pytest.raises(NotFittedError):
            getattr(INNCoder(), method)(Q)
    with pytest.raises(NotFittedError):
        INNCoder().leave_one_out()


@pytest.mark.parametrize("classifier", [LinearSVC(), SGDClassifier(random_state=0), LogisticRegression()])
def test_codes_go_into_linear_classifiers(classifier):
    digits, labels = load_digits(return_X_y=True)
    coder = INNCoder().fit(digits[:300])
    codes = coder.leave_one_out()
    assert codes.indices.dtype == codes.indptr.dtype == np.int32
    assert classifier.fit(codes, labels[:300]).score(coder.transform(digits[300:600]), labels[300:600]) > 0.75
