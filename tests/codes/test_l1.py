"""Codes by l1-regularised least squares are the minimum, over every kind of samples."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from codes.problems import GENERIC, NASTY, random_rows
from nearboost.codes import l1, scores
from nearboost.codes.l1 import L1Dictionary
from nearboost.neighbors import NeighborSearch
from reference.lasso import lasso_code

KINDS = [kind for kind in GENERIC + NASTY if kind != "huge"]  # squares of those overflow


def objective(X, q, w, regularization):
    return np.sum((q - w @ X) ** 2) / 2 + regularization * np.abs(w).sum()


def assert_least(X, Q, codes, regularization, barred=None):
    """The conditions of Karush, Kuhn and Tucker, and the duality gap they promise."""
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    rests = Q - codes @ X
    slopes = rests @ X.T
    if barred is not None:
        slopes[np.arange(len(Q)), barred] = 0.0
    rounding = 1e-12 * np.linalg.norm(X, axis=1).max() * np.linalg.norm(Q, axis=1, keepdims=True)
    slack = 2e-9 * regularization + rounding
    assert np.all(np.abs(slopes) <= regularization + slack)
    assert np.all((np.abs(slopes - regularization * np.sign(codes)) <= slack) | (codes == 0))
    scales = np.minimum(1.0, regularization / np.maximum(np.abs(slopes).max(axis=1), 1e-300))[:, np.newaxis]
    half = np.sum(Q**2, axis=1) / 2
    dual = half - np.sum((Q - scales * rests) ** 2, axis=1) / 2
    primal = np.sum(rests**2, axis=1) / 2 + regularization * np.abs(codes).sum(axis=1)
    assert np.all(primal - dual <= 4e-9 * half + rounding[:, 0] * np.abs(codes).sum(axis=1))


@pytest.mark.pairs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 5, 30])
def test_codes_are_the_least(kind, d):
    X, Q = random_rows(d, kind, m=150, n=8, d=d)
    for regularization in (1.0, 0.1, 1e-3):
        codes = L1Dictionary(X, regularization).codes(Q)
        assert_least(X, Q, codes.toarray(), regularization)
        assert np.diff(codes.indptr).max() <= d  # linearly independent samples
        assert codes.has_canonical_format
        assert np.all(codes.data != 0)


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_better_by_scikit_learn(kind):
    X, Q = random_rows(1, kind, m=60, n=8)
    codes = L1Dictionary(X, 0.1).codes(Q).toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it stops early on some of these
        lasso = Lasso(0.1 / 5, fit_intercept=False, tol=1e-14, max_iter=20_000)
        others = [lasso.fit(X.T, q).coef_ for q in Q]
    for q, w, other in zip(Q, codes, others, strict=True):
        assert objective(X, q, w, 0.1) <= objective(X, q, other, 0.1) + 1e-12 * np.sum(q**2)


@pytest.mark.parametrize(("m", "d"), [(40, 5), (400, 20), (30, 60)])
def test_codes_are_those_of_the_reference(m, d):
    X, Q = random_rows(2, m=m, n=6, d=d)
    expected = [lasso_code(X, q, 0.3) for q in Q]
    codes = L1Dictionary(X, 0.3).codes(Q).toarray()
    np.testing.assert_allclose(codes, expected, rtol=0, atol=1e-9)
    near = L1Dictionary(X, 0.3, neighborhood=15).codes(Q).toarray()
    np.testing.assert_allclose(near, [lasso_code(X, q, 0.3, 15) for q in Q], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [*GENERIC, "ties", "near ties"])
def test_neighborhoods(kind):
    X, Q = random_rows(3, kind, m=200, n=8, d=12)
    codes = L1Dictionary(X, 0.05, neighborhood=40).codes(Q).toarray()
    near = np.sort(NeighborSearch(X).search(Q, 40).indices, axis=1)
    for q, code, own in zip(Q, codes, near, strict=True):
        assert_least(X[own], q[np.newaxis], code[np.newaxis, own], 0.05)
        assert not np.delete(code, own).any()


def test_a_neighborhood_of_all():
    X, Q = random_rows(4)
    own = np.arange(60, dtype=np.int32)
    everyone = L1Dictionary(X, 0.1)
    for queries, barred in ((Q, None), (X, own)):
        expected = everyone.codes(queries, barred).toarray()
        for size in (59, 60) if barred is not None else (60,):
            codes = L1Dictionary(X, 0.1, neighborhood=size).codes(queries, barred).toarray()
            np.testing.assert_allclose(codes, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("neighborhood", [None, 20])
@pytest.mark.parametrize("kind", GENERIC)
def test_a_row_without_itself(kind, neighborhood):
    X, _ = random_rows(5, kind, m=80)
    own = np.where(np.arange(80) % 5 == 0, -1, np.arange(80)).astype(np.int32)
    codes = L1Dictionary(X, 0.1, neighborhood=neighborhood).codes(X, own).toarray()
    for i in range(80):
        if own[i] < 0:  # its own best sample, or of equal samples one
            expected = L1Dictionary(X, 0.1, neighborhood=neighborhood).codes(X[i : i + 1]).toarray()[0]
        else:
            assert codes[i, i] == 0
            others = L1Dictionary(np.delete(X, i, axis=0), 0.1, neighborhood=neighborhood)
            expected = np.insert(others.codes(X[i : i + 1]).toarray()[0], i, 0.0)
        np.testing.assert_allclose(codes[i], expected, rtol=0, atol=1e-9)


def test_leave_one_out_inside_a_small_class():
    X, _ = random_rows(6, m=2)
    codes = L1Dictionary(X, 0.01).codes(X, np.arange(2, dtype=np.int32)).toarray()
    assert codes[0, 1] != 0
    assert codes[0, 0] == codes[1, 1] == 0
    assert L1Dictionary(X[:1], 0.01).codes(X[:1], np.zeros(1, dtype=np.int32)).nnz == 0


def test_duplicates_take_nothing_away():
    """Copies of samples change no fit, and no two copies are in one code."""
    X, Q = random_rows(7, m=50, d=8)
    plain = L1Dictionary(X, 0.1).codes(Q).toarray()
    for copies in (np.vstack([X, X, X]), np.repeat(X, 3, axis=0), np.vstack([X, X + 1e-12])):
        codes = L1Dictionary(copies, 0.1).codes(Q).toarray()
        np.testing.assert_allclose(codes @ copies, plain @ X, rtol=0, atol=1e-8)
        assert np.all(np.count_nonzero(codes, axis=1) == np.count_nonzero(plain, axis=1))


def test_what_has_no_weights():
    X, Q = random_rows(8)
    dictionary = L1Dictionary(X, 0.1)
    assert dictionary.codes(np.zeros((3, 5))).nnz == 0
    assert dictionary.codes(Q[:0]).shape == (0, 60)
    assert L1Dictionary(np.zeros((4, 5)), 0.1).codes(Q).nnz == 0
    for q in Q:
        largest = np.abs(X @ q).max()
        assert L1Dictionary(X, largest * (1 + 1e-6)).codes(q[np.newaxis]).nnz == 0
        [sample] = L1Dictionary(X, largest * (1 - 1e-6)).codes(q[np.newaxis]).indices
        assert sample == np.abs(X @ q).argmax()
    X[7] = 0.0
    assert not L1Dictionary(X, 1e-3).codes(Q).toarray()[:, 7].any()


@pytest.mark.alone
@pytest.mark.parametrize("neighborhood", [None, 50])
def test_threads_and_pieces_do_not_matter(neighborhood, monkeypatch):
    X, Q = random_rows(9, m=400, n=70, d=20, dtype=np.float32)
    own = np.where(np.arange(70) % 2, np.arange(70), -1).astype(np.int32)
    expected = L1Dictionary(X, 0.2, neighborhood=neighborhood, n_jobs=1).codes(Q, own)
    for n_jobs, size, at_once in [(2, 64, 64), (2, 7, 3), (3, 1, 1), (1, 1000, 500)]:
        monkeypatch.setattr(scores, "QUERIES_PER_PIECE", size)
        monkeypatch.setattr(l1, "AT_ONCE", at_once)
        codes = L1Dictionary(X, 0.2, neighborhood=neighborhood, n_jobs=n_jobs).codes(Q, own)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(codes, name), getattr(expected, name))


def test_floats_and_pickles():
    X, Q = random_rows(10, m=90, dtype=np.float32)
    dictionary = L1Dictionary(X, 0.05)
    codes = dictionary.codes(Q)
    doubles = L1Dictionary(X.astype(np.float64), 0.05).codes(Q.astype(np.float64))
    np.testing.assert_array_equal(codes.toarray(), doubles.toarray())
    again = pickle.loads(pickle.dumps(dictionary)).codes(Q)
    np.testing.assert_array_equal(codes.toarray(), again.toarray())


def test_rounding_in_the_way_is_told(monkeypatch):
    X, Q = random_rows(11, m=90)
    monkeypatch.setattr(l1, "TOLERANCE", 0.0)
    monkeypatch.setattr(l1, "ROUNDING", 0.0)
    with pytest.warns(ConvergenceWarning, match=r"of 12 codes are not exact because rounding stood in the way; "):
        codes = L1Dictionary(X, 0.05).codes(Q)
    assert_least(X, Q, codes.toarray(), 0.05)  # no digit is missing all the same


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularization": 0.0}, "regularization=0.0 must be a number above 0"),
        ({"regularization": -1}, "regularization=-1 must be a number above 0"),
        ({"neighborhood": 0}, "neighborhood=0 must be a whole number of at least 1 or None"),
        ({"neighborhood": 61}, "neighborhood=61 is more than the n_samples=60"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_wrong_settings(settings, message):
    X, _ = random_rows(12)
    with pytest.raises(ValueError, match=message):
        L1Dictionary(X, **({"regularization": 0.1} | settings))


def test_numbers_too_large():
    X, Q = random_rows(13, "huge")
    with pytest.raises(
        ValueError, match=r"holds a value of \d\.\d+e\+250, whose products with others may overflow"
    ):
        L1Dictionary(X, 0.1)
    with pytest.raises(ValueError, match="divide the rows by a number, and regularization by its square"):
        L1Dictionary(random_rows(13)[0], 0.1).codes(Q)
