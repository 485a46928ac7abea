"""WhitenedPCA: against NumPy's decomposition; damping, rank, memory maps, scikit-learn's checks."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost.datasets import open_rows
from nearboost.features.whitening import WhitenedPCA


def rows(n=300, d=40, seed=0, decay=0.8):
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * decay ** np.arange(d)) @ directions + rng.normal(size=d)


def plain(X, Q, k, damping):
    mean = X.mean(axis=0)
    _, singular, directions = np.linalg.svd(X - mean, full_matrices=False)
    variances = singular**2 / (len(X) - 1)
    whitened = (Q - mean) @ directions[:k].T / np.sqrt(variances[:k] + damping * variances[0])
    return whitened / np.linalg.norm(whitened, axis=1, keepdims=True), directions[:k], variances[:k]


@parametrize_with_checks([WhitenedPCA()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([WhitenedPCA(2), WhitenedPCA(3, damping=0.0, n_jobs=1)])
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize("damping", [0.0, 0.05, 1.0])
@pytest.mark.parametrize(("k", "d"), [(6, 40), (40, 40), (5, 120)])
def test_against_the_full_decomposition(damping, k, d):
    X, Q = rows(d=d), rows(50, d=d)
    model = WhitenedPCA(k, damping=damping, n_passes=8, n_jobs=1).fit(X)
    expected, directions, variances = plain(X, Q, k, damping)
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(np.abs((model.components_ * directions).sum(axis=1)), 1, atol=1e-3)
    got = model.transform(Q)
    assert got.dtype == np.float32
    signs = np.sign((model.components_ * directions).sum(axis=1))
    np.testing.assert_allclose(got * signs, expected, atol=0.02 if k == 40 and damping == 0 else 5e-3)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-5)


def test_few_passes_keep_most_variance():
    X = rows(500, 300, decay=0.99)
    best = plain(X, X, 20, 0)[2].sum()
    assert WhitenedPCA(20).fit(X).explained_variance_.sum() > 0.98 * best


def test_never_more_components_than_the_rank():
    X = rows(12, 40)
    assert WhitenedPCA().fit(X).n_components_ == 11
    narrow = rows(200, 40)[:, :3] @ np.random.default_rng(0).normal(size=(3, 40))
    assert WhitenedPCA(30).fit(narrow).transform(narrow).shape == (200, 3)
    same = WhitenedPCA(5).fit(np.ones((9, 4)))
    np.testing.assert_array_equal(same.transform(np.ones((2, 4))), 0)


@pytest.mark.alone
def test_a_memory_map_is_never_in_memory(tmp_path):
    X = rows(12000, 400).astype(np.float32)
    expected = WhitenedPCA(8).fit(X).transform(X[:5])
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    size = X.nbytes
    del X
    tracemalloc.start()
    try:
        model = WhitenedPCA(8).fit(mapped)
        model.transform(mapped)
        assert tracemalloc.get_traced_memory()[1] < size / 3
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(model.transform(mapped[:5]), expected, atol=1e-4)


@pytest.mark.alone
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_map_is_fitted_as_an_array(dtype, tmp_path):
    X = rows(3000, 20).astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model, other = WhitenedPCA(8).fit(X), WhitenedPCA(8).fit(mapped)
    np.testing.assert_array_equal(other.mean_, model.mean_)
    np.testing.assert_array_equal(other.transform(mapped), model.transform(X))


def test_several_files_are_whitened_as_an_array(tmp_path):
    X = rows(3000, 20)
    for part in range(2):
        np.save(tmp_path / f"{part}.npy", X[1500 * part : 1500 * part + 1500])
    model = WhitenedPCA(8).fit(X)
    np.testing.assert_array_equal(model.transform(open_rows(tmp_path)), model.transform(X))


def test_repeats_for_any_threads():
    X = rows(700, 90)
    one = WhitenedPCA(10, n_jobs=1).fit(X).transform(X)
    for other in (WhitenedPCA(10, n_jobs=2), clone(WhitenedPCA(10))):
        np.testing.assert_allclose(other.fit(X).transform(X), one, atol=1e-4)
    model = WhitenedPCA(10).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))


def test_progress_and_names(capsys):
    model = WhitenedPCA(3, verbose=1).fit(rows())
    assert "WhitenedPCA" in capsys.readouterr().err
    assert model.get_feature_names_out().tolist() == ["whitenedpca0", "whitenedpca1", "whitenedpca2"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be"),
        ({"damping": -0.1}, "damping=-0.1 must be a number of at least 0"),
        ({"n_passes": 0}, "n_passes=0 must be"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        WhitenedPCA(**settings).fit(rows())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_from_zero(dtype):
    X = (rows() + 1e5).astype(dtype)
    expected, _, _ = plain(X.astype(np.float64), X.astype(np.float64), 6, 0.1)
    found = WhitenedPCA(6, n_passes=8).fit_transform(X)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-3)
