"""DiagonalGMM and k-means: one round against a plain reading, fits against scikit-learn, awkward rows."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost.datasets import open_rows
from nearboost.features.gmm import DiagonalGMM
from nearboost.neighbors import cluster_classes, k_means
from reference import mixture as reference


def clusters(n=600, d=5, k=4, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    centers = spread * rng.normal(size=(k, d))
    return centers[rng.integers(0, k, n)] + rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d)


def a_start(X, k, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2, k)
    return weights / weights.sum(), X[rng.permutation(len(X))[:k]].copy(), np.tile(X.var(axis=0), (k, 1))


def one_round(X, start, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DiagonalGMM(len(start[0]), max_iter=1, start=start, min_variance=1e-9, **settings).fit(X)


@parametrize_with_checks([DiagonalGMM(2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DiagonalGMM(3, tol=0.1, n_jobs=1)])
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_one_round_is_the_plain_reading(offset):
    X = clusters(300) * [1, 10, 0.01, 3, 1] + offset
    start = a_start(X, 4)
    model = one_round(X, start)
    weights, means, variances, mean_log = reference.em_step(X, *start)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-5)
    np.testing.assert_allclose((model.means_ - means) / X.std(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(model.variances_, variances, rtol=1e-4)
    assert model.log_likelihood_ == pytest.approx(mean_log, abs=1e-4)
    shares, logs = reference.posterior(X, model.weights_, model.means_, model.variances_)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-4)
    np.testing.assert_allclose(model.score_samples(X), logs, atol=1e-3)
    assert model.score(X) == pytest.approx(logs.mean(), abs=1e-4)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_good_as_scikit_learn_from_the_same_start(dtype):
    X = clusters(4000, d=12, k=6, spread=1.0).astype(dtype)
    start = a_start(X, 6, seed=1)
    settings = {"max_iter": 20, "tol": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        own = DiagonalGMM(6, start=start, **settings).fit(X)
        theirs = GaussianMixture(
            6, covariance_type="diag", weights_init=start[0], means_init=start[1], precisions_init=1 / start[2],
            **settings,
        ).fit(X)  # fmt: skip
    assert own.score(X) == pytest.approx(theirs.score(X), abs=1e-3)
    np.testing.assert_allclose(own.means_, theirs.means_, atol=0.05)


def test_the_likelihood_never_falls():
    X = clusters(800)
    mixture, scores = a_start(X, 5, seed=3), []
    for _ in range(12):
        model = one_round(X, mixture)
        scores.append(model.log_likelihood_)
        mixture = (model.weights_, model.means_, model.variances_)
    assert np.all(np.diff(scores) > -1e-5)
    assert scores[-1] > scores[0] + 0.1


def test_starts_from_k_means_and_converges():
    X = clusters(1500, spread=12.0)
    model = DiagonalGMM(4).fit(X)
    assert model.converged_
    assert model.n_iter_ < 100
    labels = model.predict(X)
    within = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in range(4))
    assert within < 0.05 * ((X - X.mean(axis=0)) ** 2).sum()
    with pytest.warns(ConvergenceWarning, match="has not converged in max_iter=2 rounds; raise max_iter or tol"):
        DiagonalGMM(4, max_iter=2, tol=0.0, start=a_start(X, 4)).fit(X)


def test_empty_components_come_back():
    X = clusters(500, spread=1.0)
    weights, means, variances = a_start(X, 3)
    means[1] = 1e6  # nobody is near
    model = DiagonalGMM(3, start=(weights, means, variances)).fit(X)
    assert model.weights_.min() > 0.01
    assert np.isfinite(model.score(X))
    _, logs = reference.posterior(X[:20], model.weights_, model.means_, model.variances_)
    np.testing.assert_allclose(model.score_samples(X[:20]), logs, atol=1e-3)


def test_awkward_rows():
    same = DiagonalGMM(3).fit(np.ones((10, 4)))
    assert np.isfinite(same.score(np.ones((10, 4))))
    few = np.repeat([[0.0, 0], [1, 1]], 20, axis=0)
    model = DiagonalGMM(5).fit(few)
    assert model.weights_.sum() == pytest.approx(1)
    assert np.isfinite(model.score_samples(few)).all()
    least = DiagonalGMM(2, min_variance=0.04).fit(few).variances_
    np.testing.assert_allclose(least, 0.04 * few.var(axis=0)[np.newaxis].repeat(2, axis=0), rtol=1e-6)
    constant = np.column_stack([clusters(100, d=2), np.full(100, 7.0)])
    assert np.isfinite(DiagonalGMM(2).fit(constant).means_).all()


@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(n_jobs, monkeypatch):
    monkeypatch.setattr("nearboost.features.mixture.ROWS_PER_PIECE", 300)
    X = clusters(2000).astype(np.float32)
    one, other = DiagonalGMM(4, n_jobs=1).fit(X), DiagonalGMM(4, n_jobs=n_jobs).fit(X)
    for name in ("weights_", "means_", "variances_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_repeats_and_seeds():
    X = clusters(500, spread=1.0)
    first, again = DiagonalGMM(5).fit(X), clone(DiagonalGMM(5)).fit(X)
    np.testing.assert_array_equal(first.means_, again.means_)
    assert not np.array_equal(first.means_, DiagonalGMM(5, random_state=4).fit(X).means_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).score_samples(X), first.score_samples(X))


def test_progress(capsys):
    DiagonalGMM(2, verbose=1).fit(clusters(100))
    shown = capsys.readouterr().err
    assert "k-means" in shown
    assert "EM" in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
        ({"n_components": 601}, "Found array with 600 sample.* while a minimum of 601 is required"),
        ({"max_iter": 0}, "max_iter=0 must be"),
        ({"tol": -1}, "tol=-1 must be a number of at least 0"),
        ({"min_variance": 0}, "min_variance=0 must be a number above 0"),
        ({"start": (1, 2)}, "start must hold weights, means and variances of the shapes"),
        ({"start": (np.ones(2), np.ones((2, 5)), np.zeros((2, 5)))}, "weights and variances above 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        DiagonalGMM(**{"n_components": 2} | settings).fit(clusters(600))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1"])
def test_a_map_is_fitted_as_an_array(dtype, tmp_path, monkeypatch):
    monkeypatch.setattr("nearboost.features.mixture.NUMBERS_PER_PIECE", 900)
    monkeypatch.setattr("nearboost.features.mixture.NUMBERS_PER_BLOCK", 100)
    X = (20 + 9 * np.random.default_rng(0).normal(size=(700, 3))).astype(dtype)
    X[::2] += 25
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model, other = DiagonalGMM(3).fit(X), DiagonalGMM(3).fit(mapped)
    for name in ("weights_", "means_", "variances_", "log_likelihood_", "n_iter_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    for name in ("predict_proba", "predict", "score_samples", "score"):
        np.testing.assert_array_equal(getattr(other, name)(mapped), getattr(model, name)(X))
        np.testing.assert_array_equal(getattr(other, name)(open_rows(tmp_path)), getattr(model, name)(X))


def test_answers_to_several_files_go_into_maps(tmp_path, monkeypatch):
    monkeypatch.setattr("nearboost.features.mixture.NUMBERS_PER_BLOCK", 100)
    X = clusters(600)
    for part in range(2):
        np.save(tmp_path / f"{part}.npy", X[300 * part : 300 * part + 300])
    model, rows = DiagonalGMM(3).fit(X), open_rows(tmp_path)
    for name in ("predict_proba", "predict", "score_samples"):
        expected = getattr(model, name)(X)
        out = np.lib.format.open_memmap(tmp_path / f"{name}.out", "w+", expected.dtype, expected.shape)
        assert getattr(model, name)(rows, out=out) is out
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(ValueError, match=r"out has the shape \(600,\), and the answers have \(600, 3\)"):
        model.predict_proba(X, out=np.empty(600, np.float32))


def test_nan_of_a_map_is_named(tmp_path):
    X = np.random.default_rng(0).normal(size=(700, 3))
    X[555, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="Row 555 of the mapped file contains NaN"):
        DiagonalGMM(3).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))


def test_k_means_of_a_map(tmp_path, monkeypatch):
    monkeypatch.setattr("nearboost.neighbors.clustering.NUMBERS_PER_BLOCK", 100)
    X = np.random.default_rng(0).normal(size=(700, 3)).astype(np.float32)
    X[5] = 100  # as far as a centre that loses its rows may go
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for one, other in zip(k_means(mapped, 9), k_means(X, 9), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    classes = np.arange(700) % 2
    for one, other in zip(cluster_classes(mapped, classes, 9, 0), cluster_classes(X, classes, 9, 0), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_k_means_finds_clusters():
    X = clusters(900, spread=20.0).astype(np.float32)
    centers, labels = k_means(X, 4)
    for k in range(4):
        np.testing.assert_allclose(centers[k], X[labels == k].mean(axis=0), atol=1e-3)
    gaps = np.linalg.norm(X[:, np.newaxis] - centers, axis=2)
    np.testing.assert_array_equal(labels, gaps.argmin(axis=1))
    np.testing.assert_array_equal(k_means(X, 4, n_jobs=1)[0], k_means(X, 4, n_jobs=3)[0])


def test_k_means_fills_empty_clusters(monkeypatch):
    X = clusters(200, spread=20.0).astype(np.float32)
    bad = np.vstack([X[:2], np.full((2, 5), 1e6)]).astype(np.float32)
    monkeypatch.setattr("nearboost.neighbors.clustering._spread_seeds", lambda rows, n, seed: bad.copy())
    _, labels = k_means(X, 4)
    assert len(np.unique(labels)) == 4


def test_k_means_needs_rows():
    with pytest.raises(ValueError, match="5 centres need as many rows; there are 4"):
        k_means(np.eye(4, dtype=np.float32), 5)


@pytest.mark.parametrize("far", [1e19, 1e25, 1e300])
def test_rows_that_are_very_far_away(far):
    model = DiagonalGMM(3).fit(clusters())
    rows = np.array([[far] * 5, [-far] * 5])
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-6)
    assert np.all(model.score_samples(rows) < -1e20)
    assert np.isfinite(model.score_samples(rows)).all()


def test_settings_of_the_next_fit():
    X = clusters(200)
    model = DiagonalGMM(3).fit(X)
    shares = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(n_components=5).predict_proba(X), shares)
