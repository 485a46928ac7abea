"""Files, blocks and memory: a mapped file gives what the array gives, in any order of its rows."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack, random_array

from linear.problems import noisy_classes
from nearboost.base import threads
from nearboost.base.rows import MappedRowSource, RowSource
from nearboost.linear import moments
from nearboost.linear.moments import (
    MatrixMoment,
    SampleMoment,
    largest_eigenvalue,
    leading_eigenpairs,
    measure_moment,
    standardize,
)
from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

QUICK = {"rank": 6, "damping": 0.01, "step": 0.02, "max_passes": 2}


def mapped(folder, X, mode="r"):
    file = folder / "rows.npy"
    np.save(file, X)
    return np.load(file, mmap_mode=mode)


@pytest.mark.pairs
@pytest.mark.parametrize("memory", [1e9, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [SLNDClassifier(**QUICK), SLNDClassifier(), LinearSGDClassifier(step=0.01)])
def test_a_mapped_file_is_an_array(tmp_path, memory, dtype, model):
    """Kept or made anew in each pass; the little memory also does without a second-moment matrix."""
    X, y = noisy_classes(3000)
    X = X.astype(dtype)
    model = model.set_params(memory=memory)
    array, file = model.fit(X, y).coef_, model.fit(mapped(tmp_path, X), y)
    np.testing.assert_array_equal(file.coef_, array)
    assert file.coef_.dtype == dtype
    np.testing.assert_array_equal(file.predict(mapped(tmp_path, X)), file.predict(X))


@pytest.mark.parametrize("model", [SLNDClassifier(**QUICK), SLNDClassifier(), LinearSGDClassifier(step=0.01)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.bool_])
def test_a_mapped_file_of_other_numbers_is_an_array_of_them(tmp_path, dtype, model):
    X = np.random.default_rng(0).integers(0, 4, (300, 5))
    X, y = (X - (dtype == np.bool_)).clip(0).astype(dtype), X[:, 0] > 1
    array, file = model.fit(X, y).coef_, model.fit(mapped(tmp_path, X), y).coef_
    assert file.dtype == (np.float32 if dtype == np.float16 else np.float64)
    np.testing.assert_array_equal(file, array)


def test_parts_and_private_maps(tmp_path):
    """A slice of a map knows where its rows lie, and a private map does not lose what was written to it."""
    X, y = noisy_classes(3000)
    expected = SLNDClassifier(**QUICK).fit(X[1001:2500], y[1001:2500]).coef_
    file = mapped(tmp_path, X)
    np.testing.assert_array_equal(SLNDClassifier(**QUICK).fit(file[1001:2500], y[1001:2500]).coef_, expected)
    private = mapped(tmp_path, np.zeros_like(X), mode="c")
    private[:] = X
    np.testing.assert_array_equal(SLNDClassifier(**QUICK).fit(private[1001:2500], y[1001:2500]).coef_, expected)
    np.testing.assert_array_equal(private, X)


def test_bad_values_in_a_mapped_file(tmp_path):
    X, y = noisy_classes(3000)
    X[2345, 3] = np.nan
    with pytest.raises(ValueError, match="Row 2345 of the mapped file contains NaN or infinity"):
        SLNDClassifier(**QUICK).fit(mapped(tmp_path, X), y)
    with pytest.raises(ValueError, match="X has 3 features, but SLNDClassifier is expecting 8"):
        SLNDClassifier(**QUICK).fit(X[:2000], y[:2000]).predict(mapped(tmp_path, X[:, :3]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SLNDClassifier(**QUICK).fit(mapped(tmp_path, X), y[:10])


def resident(file):
    """Kilobytes of this process's memory that are pages of the file."""
    counted, inside = 0, False
    with open("/proc/self/smaps", encoding="utf-8") as lines:
        for line in lines:
            if "-" in line.split()[0] and ":" not in line.split()[0]:
                inside = str(file) in line
            elif inside and line.startswith("Rss:"):
                counted += int(line.split()[1])
    return counted


def test_pages_are_given_back(tmp_path):
    X = np.random.default_rng(0).standard_normal((20_000, 64), dtype=np.float32)
    file = mapped(tmp_path, X)
    y = X[:, 0] > 0
    assert resident(tmp_path / "rows.npy") < 1000
    SLNDClassifier(**QUICK).fit(file, y).predict(file)
    assert resident(tmp_path / "rows.npy") < 1000  # of 5,000
    file.sum()
    assert resident(tmp_path / "rows.npy") > 4000  # what is read without care stays


@pytest.mark.parametrize("memory", [1e9, 3e5])
def test_a_sorted_file_learns_like_a_shuffled_one(tmp_path, memory):
    """Even where rows are not kept and are read in chunks; within half a point, as means over two seeds."""
    X, y = noisy_classes(25_000, n_features=30, n_classes=10, seed=1)
    X = X.astype(np.float32)
    order = np.argsort(y[:20_000], kind="stable")
    scores = []
    for rows, labels in ((X[:20_000], y[:20_000]), (X[order], y[order])):
        file = mapped(tmp_path, rows)
        models = [SLNDClassifier(memory=memory, random_state=seed).fit(file, labels) for seed in range(2)]
        scores.append(np.mean([model.score(X[20_000:], y[20_000:]) for model in models]))
    assert scores[0] > 0.8
    assert abs(scores[0] - scores[1]) < 0.005


def test_moments_in_blocks():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((5000, 7)), rng.uniform(0, 2, 5000)
    sample = np.sort(rng.choice(5000, 4500, replace=False))
    appended = np.hstack([X, np.ones((5000, 1))])[sample]
    expected = (appended * weights[sample, None]).T @ appended / weights[sample].sum()
    for n_jobs in (1, 2):
        moment, _ = measure_moment(RowSource(X), sample, weights, intercept=True, memory=1e9, n_jobs=n_jobs)
        assert isinstance(moment, MatrixMoment)
        np.testing.assert_allclose(moment.matrix, expected, rtol=0, atol=1e-12)
    with pytest.warns(UserWarning, match="memory=2000 has room for the second moment of 7 of 4500 rows") as caught:
        rows, _ = measure_moment(RowSource(X), sample, weights, intercept=True, memory=2000, n_jobs=1)
    assert len(caught) == 1
    assert isinstance(rows, SampleMoment)
    assert len(rows.sample) * 8 * 8 <= 2000 / 4 + 64
    block = rng.standard_normal((8, 3))
    with pytest.warns(UserWarning, match="memory=1 has room for the second moment of 2 of 4500 rows"):
        everything, _ = measure_moment(RowSource(X[:, :1]), sample, weights, intercept=True, memory=1, n_jobs=1)
    assert everything.n_features == 2
    np.testing.assert_allclose(moment.times(block), expected @ block, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moment.diagonal(), np.diag(expected), rtol=1e-12)


def test_leading_eigenpairs_of_many_features(monkeypatch):
    """A search finds the leading part well enough; what it finds is orthonormal."""
    monkeypatch.setattr(moments, "SMALL", 50)
    rng = np.random.default_rng(0)
    spectrum = np.arange(1, 301.0) ** -1.2
    basis = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    moment = MatrixMoment((basis * spectrum) @ basis.T, np.dtype(np.float64))
    values, vectors = leading_eigenpairs(moment, 40)
    assert values.shape == (40,)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-10)
    np.testing.assert_allclose(values[:20], spectrum[:20], rtol=0.01)
    np.testing.assert_allclose(values, spectrum[:40], rtol=0.2)
    np.testing.assert_allclose(np.diag(vectors.T @ moment.matrix @ vectors), values, rtol=1e-9)
    largest = largest_eigenvalue(moment, np.ones(300), np.zeros(300))
    assert 0.95 < largest <= 1.0 + 1e-12


def test_products_with_the_second_moment_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_THREADS", 1)
    monkeypatch.setattr(moments, "LINES_AT_ONCE", 50)
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(330, 330))
    one, several = (MatrixMoment(matrix, np.dtype(np.float32), n_jobs) for n_jobs in (1, 3))
    for directions in (rng.normal(size=(330, 7)).astype(np.float32), rng.normal(size=330)):
        product = several.times(directions)
        np.testing.assert_array_equal(product, one.times(directions))
        np.testing.assert_allclose(product, matrix @ directions, rtol=0, atol=1e-4)


def test_wide_sparse_rows():
    """Far more features than a second-moment matrix has room for."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    noise = random_array((400, 20_000), density=0.001, rng=rng)
    topics = csr_array(random_array((2, 20_000), density=0.001, rng=rng))
    X = csr_array(noise + 0.3 * topics[y])
    model = SLNDClassifier(max_passes=20).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    appended = np.hstack([X[:300].toarray(), np.ones((300, 1))])
    expected = np.linalg.eigvalsh(appended @ appended.T / 300)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, expected[: model.rank_], rtol=1e-9)


@pytest.mark.alone
@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_wide_sparse_rows_keep_to_the_memory(scaling):
    """Dense, these rows take 400 MB."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    first = csr_array(np.where(y == 1, 1.0, 0.5)[:, np.newaxis])
    X = csr_array(hstack([first, random_array((1000, 49_999), density=0.0002, rng=rng)]))
    model = LinearSGDClassifier(scaling=scaling, max_passes=2, memory=1e8, n_jobs=2)
    model.fit(X[:50], y[:50])  # what compiles kernels is not counted
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8
    assert model.report_["trials"]
    assert model.score(X, y) > 0.9


def test_offsets_of_mapped_rows(tmp_path):
    X = np.arange(4000.0).reshape(1000, 4)
    rows = MappedRowSource(mapped(tmp_path, X)[10:900])
    some = np.array([0, 5, 6, 500, 889])
    np.testing.assert_array_equal(rows.take(some), X[10:900][some])
    np.testing.assert_array_equal(rows.take(np.arange(100, 300)), X[110:310])


@pytest.mark.parametrize("n_rows", [500, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_moments_of_scaled_rows(n_rows, intercept):
    """From the moment of the rows alone, be it a matrix or rows that stand for it."""
    X, _ = noisy_classes(n_rows)
    X[:, 2], weights = 3.0, np.random.default_rng(0).random(n_rows)
    rows = RowSource(X)
    everyone = np.arange(rows.n_rows)
    shares = weights[everyone] / weights[everyone].sum()
    moment, _ = measure_moment(rows, everyone, weights, intercept=intercept, memory=1e9, n_jobs=1)
    assert isinstance(moment, MatrixMoment if n_rows == 500 else SampleMoment)
    scaled, centre, scale = standardize(moment, intercept)
    if intercept:
        np.testing.assert_allclose(centre, shares @ rows.X)
        assert scale[2] == 1.0  # a constant
    expected = (rows.X - centre) / scale
    if intercept:
        expected = np.hstack([expected, np.ones((rows.n_rows, 1))])
    expected = expected.T @ (shares[:, np.newaxis] * expected)
    np.testing.assert_allclose(scaled.times(np.eye(scaled.n_features)), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.delete(scaled.diagonal(), 2), 1.0)


@pytest.mark.parametrize("kind", ["array", "file"])
def test_half_precision_rows_are_taken_as_they_are(kind, tmp_path):
    X, y = noisy_classes(300)
    half = X.astype(np.float16)
    given = half if kind == "array" else mapped(tmp_path, half)
    models = [
        SLNDClassifier(max_passes=3, random_state=0).fit(rows, y) for rows in (given, half.astype(np.float32))
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].predict_proba(given), models[1].predict_proba(half.astype(np.float32)))
