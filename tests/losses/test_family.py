"""Each loss against its own definition: derivatives, transfer, generator, weights, constants."""

import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from nearboost.losses import LOSSES, Loss, get_loss

LN2 = math.log(2)
ALL = list(LOSSES.values())
CALIBRATED = [loss for loss in ALL if loss.has_generator]
MARGINS = np.linspace(-4, 4, 81) + 0.013  # clear of the kinks at 0 and ±½


def each(losses):
    return pytest.mark.parametrize("loss", losses, ids=lambda loss: loss.name)


def central_difference(function, x, step=1e-5):
    return (function(x + step) - function(x - step)) / (2 * step)


@each(ALL)
def test_derivative_is_the_slope_of_the_value(loss):
    np.testing.assert_allclose(loss.derivative(MARGINS), central_difference(loss.value, MARGINS), atol=1e-8)


@each(ALL)
def test_second_derivative_is_the_slope_of_the_derivative(loss):
    expected = central_difference(loss.derivative, MARGINS)
    np.testing.assert_allclose(loss.second_derivative(MARGINS), expected, atol=1e-7)


@each(ALL)
def test_loss_is_convex_and_falls_through_zero(loss):
    assert np.all(np.diff(loss.derivative(np.linspace(-20, 20, 4001))) >= 0)
    assert loss.derivative(0.0) < 0
    assert np.all(loss.second_derivative(MARGINS) >= 0)


@each(CALIBRATED)
def test_curvature_is_largest_at_zero(loss):
    """What makes L = K / F''(0) safe."""
    assert loss.second_derivative(np.linspace(-20, 20, 4001)).max() == loss.second_derivative(0.0)


@each(CALIBRATED)
def test_derivative_is_the_posterior_less_one(loss):
    np.testing.assert_allclose(loss.derivative(MARGINS), loss.transfer(MARGINS) - 1, atol=1e-15)


@each(ALL)
def test_transfer_is_symmetric_and_increasing(loss):
    posterior = loss.transfer(MARGINS)
    np.testing.assert_allclose(posterior + loss.transfer(-MARGINS), 1, atol=1e-15)
    assert loss.transfer(0.0) == 0.5
    assert np.all(np.diff(posterior) >= 0)


@each(CALIBRATED)
def test_value_is_the_conjugate_of_the_generator(loss):
    """F(x) = (−g)*(−x) = max over p of g(p) − p x; for hinge less ln 2."""
    p = np.linspace(0, 1, 400_001)
    g = loss.generator(p)
    conjugate = np.array([np.max(g - p * x) for x in MARGINS])
    constant = LN2 if loss.name == "hinge" else 0.0
    np.testing.assert_allclose(loss.value(MARGINS), conjugate - constant, atol=1e-9)


@each(CALIBRATED)
def test_generator_is_symmetric_and_its_slope_is_the_start_margin(loss):
    p = np.linspace(0.05, 0.95, 90)
    np.testing.assert_allclose(loss.generator(p), loss.generator(1 - p), atol=1e-15)
    slope = central_difference(loss.generator, p, 1e-6)
    np.testing.assert_allclose(loss.margin_from_weight(p / loss.weight_scale), slope, atol=1e-7)


@each(ALL)
def test_weights_and_margins_invert_each_other(loss):
    margins = np.linspace(-0.5, 0.5, 51) if loss.name == "squared" else MARGINS
    weights = loss.weight_from_margin(margins)
    np.testing.assert_allclose(loss.weight_scale * weights, -loss.derivative(margins), rtol=1e-15)
    np.testing.assert_allclose(loss.margin_from_weight(weights), margins, rtol=1e-11, atol=1e-15)
    weights = np.linspace(0.001, 0.999, 99) / loss.weight_scale
    np.testing.assert_allclose(loss.weight_from_margin(loss.margin_from_weight(weights)), weights, rtol=1e-13)


def test_small_weights_keep_their_margins():
    """An easy example's weight is tiny; its margin must not drown in 1 − K·w."""
    for name, margin in [("exp", 300.0), ("log", 300.0), ("binlog", 300.0), ("mat", 1e8), ("hinge", 1e12)]:
        loss = get_loss(name)
        assert loss.margin_from_weight(loss.weight_from_margin(margin)) == pytest.approx(margin, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "scale", "curvature", "newton"),
    [
        ("log", LN2, 1 / 4, 4 * LN2),
        ("binlog", 1, LN2 / 4, 4 / LN2),
        ("mat", 1 / 2, 1 / 2, 1),
        ("hinge", 1, 1 / 4, 4),
        ("squared", 1, 1, 1),
        ("exp", 1, 1, 1),
    ],
)
def test_constants(name, scale, curvature, newton):
    loss = get_loss(name)
    assert loss.weight_scale == pytest.approx(scale, rel=1e-15)
    assert loss.curvature_at_zero == pytest.approx(curvature, rel=1e-15)
    assert loss.second_derivative(0.0) == pytest.approx(curvature, rel=1e-15)
    assert loss.newton_constant == pytest.approx(newton, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "value"),
    [("exp", 1), ("log", LN2), ("binlog", 1), ("mat", 0.5), ("hinge", -LN2), ("squared", 1 / 8)],
)
def test_value_at_zero(name, value):
    assert get_loss(name).value(0.0) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("size", [1e6, 1e300, sys.float_info.max])
@each(ALL)
def test_extreme_margins_neither_warn_nor_break(loss, size):
    margins = np.array([-size, size])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, derivative = loss.value(margins), loss.derivative(margins)
        curvature, posterior = loss.second_derivative(margins), loss.transfer(margins)
        weight = loss.weight_from_margin(margins)
    for result in [value, derivative, curvature, posterior, weight]:
        assert not np.isnan(result).any()
    np.testing.assert_allclose(posterior, [0, 1], atol=1e-5)
    if loss.name == "exp":
        assert value.tolist() == [np.inf, 0.0]
    else:
        assert np.isfinite(value).all()
        assert value[0] == pytest.approx(size, rel=2e-5)  # every calibrated loss tends to −x
        np.testing.assert_allclose(derivative, [-1, 0], atol=1e-5)


def test_tails_keep_their_digits():
    """Where the textbook form cancels to zero."""
    mat, log, hinge = get_loss("mat"), get_loss("log"), get_loss("hinge")
    assert mat.value(1e8) == pytest.approx(0.25e-8, rel=1e-15)  # 1 / 4x
    assert mat.value(1e300) == pytest.approx(0.25e-300, rel=1e-15)
    assert mat.derivative(1e8) == pytest.approx(-0.25e-16, rel=1e-15)  # −1 / 4x²
    assert log.value(500.0) == pytest.approx(math.exp(-500), rel=1e-15)
    assert log.derivative(500.0) == pytest.approx(-math.exp(-500), rel=1e-15)
    assert hinge.derivative(1e300) == pytest.approx(-1e-300, rel=1e-15)


def test_exact_values_at_the_ends():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ["log", "binlog", "mat", "hinge"]:
            loss = get_loss(name)
            assert loss.margin_from_weight([0.0, 1.0 / loss.weight_scale]).tolist() == [np.inf, -np.inf]
        assert get_loss("squared").margin_from_weight([0.0, 1.0]).tolist() == [0.5, -0.5]
        assert get_loss("exp").margin_from_weight([0.0, 1.0]).tolist() == [np.inf, 0.0]
        for name in ["log", "binlog", "mat", "squared"]:
            assert get_loss(name).generator([0.0, 1.0]).tolist() == [0.0, 0.0]
        assert get_loss("hinge").generator([0.0, 1.0]).tolist() == [-np.inf, -np.inf]


def test_squared_weights_tell_margins_on_the_curved_part_only():
    squared = get_loss("squared")
    assert squared.margin_from_weight(0.25) == 0.25  # ½ − w
    assert squared.weight_from_margin([0.5, 3.0]).tolist() == [0.0, 0.0]
    assert squared.margin_from_weight(0.0) == 0.5


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"Unknown loss 'hinges'.*'exp', 'log', 'binlog', 'mat', 'hinge', 'squared'"
    ):
        get_loss("hinges")


def test_exp_has_no_generator():
    with pytest.raises(ValueError, match="'exp' has no generator; use one of 'log'"):
        get_loss("exp").generator(0.3)


def test_values_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"Each weight must lie between 0 and 1\.4427; given 1\.5"):
        get_loss("log").margin_from_weight(1.5)
    with pytest.raises(ValueError, match="Each probability must lie between 0 and 1"):
        get_loss("mat").generator([0.5, np.nan])


@each(ALL)
def test_losses_are_small_immutable_values(loss):
    assert get_loss(loss.name) is loss
    assert isinstance(loss, Loss)
    assert pickle.loads(pickle.dumps(loss)) == loss
    with pytest.raises(AttributeError):
        loss.name = "other"
    assert [other.code for other in ALL] == list(range(len(ALL)))


def test_importing_losses_leaves_numba_alone():
    code = "import sys, nearboost.losses; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
