"""Rows of any size, and those that rounding cannot tell apart."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linear.problems import noisy_classes
from nearboost.base.rows import RowSource
from nearboost.linear.moments import measure_scale, measure_size
from nearboost.linear.sgd import SCALINGS, LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

X, Y = noisy_classes(600)
Q, TRUTH = X[400:], Y[400:]
X, Y = X[:400], Y[:400]
MODELS = [SLNDClassifier(), *(LinearSGDClassifier(scaling=scaling) for scaling in SCALINGS)]
DOUBLE = np.dtype(np.float64)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("size", "dtype"),
    [(1e22, np.float32), (1e-22, np.float32), (1e-12, np.float64), (1e200, np.float64), (1e-200, np.float64)],
)
def test_rows_of_extreme_size(model, size, dtype):
    model.fit((X * size).astype(dtype), Y)
    assert model.score((Q * size).astype(dtype), TRUTH) > 0.8  # a guess has 0.38
    later = (X * size).astype(dtype)
    assert model.partial_fit(later, Y).score(later, Y) > 0.8


def test_a_power_of_two_is_exact():
    """Beyond ordinary sizes the unit of X has no meaning; within them the constant stays a 1."""
    far, farther = (SLNDClassifier().fit(X * 2.0**power, Y) for power in (60, 65))
    np.testing.assert_array_equal(far.coef_ * 2.0**60, farther.coef_ * 2.0**65)
    np.testing.assert_array_equal(far.intercept_, farther.intercept_)
    everyone = np.arange(400)
    assert measure_scale(RowSource(X), everyone, DOUBLE) == 1.0
    assert measure_scale(RowSource(X * 2.0**60), everyone, DOUBLE) == 32 * measure_scale(
        RowSource(X * 2.0**65), everyone, DOUBLE
    )
    assert measure_scale(RowSource(np.zeros((4, 2))), np.arange(4), DOUBLE) == 1.0


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_size_and_spread(form):
    rows = X[:200] + 5  # no more than are looked at
    size, spread = measure_size(RowSource(form(rows)), np.arange(200))
    second = (rows**2).sum(axis=1).mean()
    assert size == pytest.approx(np.sqrt(second), rel=1e-12)
    assert spread == pytest.approx(rows.var(axis=0).sum() / second, rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_too_far_off_centre(model, dtype):
    with pytest.raises(ValueError, match=r"Rows differ from their mean by .* subtract the mean first"):
        model.fit((X + 1e8).astype(dtype), Y)
    model.fit(np.ones((400, 3), dtype=dtype), Y)  # equal rows are no matter of rounding
    assert len(set(model.predict(Q[:, :3] ** 0))) == 1


def test_features_off_centre_are_not_constant():
    """A spread of a thousandth of the mean, in single precision."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    far = (scaled + 2000).astype(np.float32)
    settings = {"step": 0.01, "max_passes": 3}
    model = LinearSGDClassifier(scaling="standard", **settings).fit(far / 4, Y)
    plain = LinearSGDClassifier(**settings).fit(scaled, Y)
    np.testing.assert_allclose(model.coef_ / 4, plain.coef_, rtol=0, atol=2e-3)
