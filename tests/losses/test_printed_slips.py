"""Where print and mathematics part: every claim of docs/errata.md that a number can settle."""

import math

import numpy as np
import pytest

from nearboost.losses import get_loss
from reference import n3, unn

LN2 = math.log(2)
MARGINS = np.linspace(-3, 3, 61)


def slope_of(function, x, step=1e-6):
    return (function(x + step) - function(x - step)) / (2 * step)


def neighbour_problem():
    rng = np.random.default_rng(5)
    points = rng.normal(size=60)
    distance = np.abs(points[:, None] - points) + np.diag(np.full(60, np.inf))
    labels = np.where(points + rng.normal(scale=0.5, size=60) > 0.3, 0, rng.integers(1, 4, 60))
    codes = np.where(labels[:, None] == np.arange(4), 1, -1)
    return np.argsort(distance, axis=1, kind="stable")[:, :5], codes[:, 0], n3.start_weights(codes)[:, 0]


def test_printed_binlog_does_not_match_its_transfer():
    def printed(x):
        return np.log(1 + 2.0**-x)

    binlog = get_loss("binlog")
    posterior = 1 / (1 + 2.0**-MARGINS)
    np.testing.assert_allclose(slope_of(binlog.value, MARGINS), posterior - 1, atol=1e-9)
    np.testing.assert_allclose(slope_of(printed, MARGINS), LN2 * (posterior - 1), atol=1e-9)
    np.testing.assert_allclose(printed(MARGINS), LN2 * binlog.value(MARGINS), rtol=1e-14)
    # 4/ln²2 is K/F''(0) of neither: the printed F has K = ln 2 and F''(0) = ln²2/4.
    assert binlog.newton_constant == pytest.approx(4 / LN2)
    assert (4 / LN2**2) / binlog.newton_constant == pytest.approx(1 / LN2)


def test_printed_matsushita_is_twice_the_loss_of_its_generator():
    def printed(x):
        return np.exp(np.arcsinh(-x))

    mat = get_loss("mat")
    np.testing.assert_allclose(printed(MARGINS), 2 * mat.value(MARGINS), rtol=1e-12)
    p = np.linspace(0, 1, 200_001)
    conjugate = [np.max(np.sqrt(p * (1 - p)) - p * x) for x in MARGINS]
    np.testing.assert_allclose(mat.value(MARGINS), conjugate, atol=1e-8)
    assert 0.5 / mat.newton_constant == 0.5


@pytest.mark.parametrize(
    ("loss", "learning_rate", "constant"), [("binlog", 1 / LN2, 4 / LN2**2), ("mat", 0.5, 0.5)]
)
def test_learning_rate_reproduces_the_printed_step_and_it_still_descends(loss, learning_rate, constant):
    indices, y, w = neighbour_problem()
    run = n3.n3(indices, y, w, loss=loss, n_rounds=80, learning_rate=learning_rate)
    members = np.flatnonzero((indices == run.picks[0]).any(axis=1))
    eta = np.sum(w[members] * y[members] * y[run.picks[0]])
    assert run.deltas[0] == pytest.approx(constant * eta / len(members), rel=1e-12)
    assert np.diff(run.risk).max() <= 1e-12


def test_printed_log_update_forgets_a_factor():
    """Eq. (8): (1 − w ln 2) in the denominator; (1 − w) ln 2 is printed. They agree at w = 1 only."""
    log = get_loss("log")
    w, shift = np.array([0.1, 0.5, 0.9]), 0.7
    by_definition = log.weight_from_margin(log.margin_from_weight(w) + shift)
    corrected = w / (w * LN2 + (1 - w * LN2) * np.exp(shift))
    printed = w / (w * LN2 + (1 - w) * LN2 * np.exp(shift))
    np.testing.assert_allclose(corrected, by_definition, rtol=1e-12)
    np.testing.assert_allclose(n3.move_weights("log", w, shift), by_definition, rtol=1e-12)
    assert np.all(printed / by_definition > 1.05)
    still = w / (w * LN2 + (1 - w) * LN2)
    np.testing.assert_allclose(still, w / LN2)  # a step of zero would raise every weight by 1/ln 2


def test_hinge_generator_needs_its_bracket_closed_early():
    hinge = get_loss("hinge")
    p = np.linspace(0.02, 0.98, 49)
    error = np.minimum(p, 1 - p)
    np.testing.assert_allclose(hinge.generator(p), np.log(2 * error) + 1 - 2 * error, atol=1e-15)
    np.testing.assert_allclose(np.log(2 * error + 1 - 2 * error), 0, atol=1e-15)  # as printed: constant


def test_hinge_transfer_is_right_once_h_is_read_as_defined():
    """With H(x) = max(0, −x), 1 + H(−x) is 1 + max(0, x)."""
    hinge = get_loss("hinge")
    np.testing.assert_allclose(hinge.transfer(MARGINS), (1 + np.maximum(0, MARGINS)) / (2 + np.abs(MARGINS)))
    np.testing.assert_allclose(
        slope_of(hinge.value, MARGINS + 1e-3), hinge.transfer(MARGINS + 1e-3) - 1, atol=1e-8
    )


def test_start_margin_of_the_hinge_is_two_less_than_printed():
    """Eq. (B.5) of the thesis prints g'(w₁) = ‖1 + y y_i‖₁ = 1/w₁; it is 1/w₁ − 2."""
    w = np.array([1 / 2, 1 / 6, 1 / 18])
    np.testing.assert_allclose(get_loss("hinge").margin_from_weight(w), 1 / w - 2, atol=1e-14)


def test_closed_forms_of_unn_solve_the_approximate_equation_only():
    """Eq. (2.28) replaces the moved weight by w times the loss's own slope; exp alone loses nothing."""
    w, signs = np.array([0.3, 0.2, 0.1, 0.2]), np.array([1.0, 1.0, -1.0, -1.0])
    for loss, exact in [("exp", True), ("log", False), ("mat", False)]:
        delta = unn.closed_form(loss, 0.5, 0.3)
        approximate = 0.5 * get_loss(loss).derivative(delta) - 0.3 * get_loss(loss).derivative(-delta)
        assert approximate == pytest.approx(0, abs=1e-15)
        left = signs @ unn.move_weights(loss, w, delta * signs)
        assert (abs(left) < 1e-15) == exact


def test_firing_rate_has_a_pole_as_printed():
    """R(C) = G·C / (1 + Ref·G·C) with G = 2000 and Ref = 0.005 explodes at C = −0.1."""

    def printed(contrast):
        return 2000 * contrast / (1 + 0.005 * 2000 * contrast)

    assert printed(-0.1 + 1e-9) < -1e9
    assert printed(-0.1 - 1e-9) > 1e9
    contrast = np.linspace(-1, 1, 2001)
    assert np.all(np.abs(np.sign(contrast) * printed(np.abs(contrast))) < 200)


def test_image_counts_of_the_scene_sets():
    """The multi-class paper's own class sizes add up to the printed totals, 100 short of the files."""
    eight = 360 + 328 + 374 + 410 + 260 + 308 + 356 + 292
    printed_13 = eight + 241 + 174 + 151 + 289 + 216
    assert (eight, printed_13, printed_13 + 315 + 311) == (2688, 3759, 4385)


def test_a_positive_edge_may_belong_to_a_wrong_answer():
    """[ML] (5): with symmetric codes the edge averages over all classes, so it hides who is ahead of whom."""
    h = np.array([1.0, 1.1, -2.1])
    y = np.array([1, -1 / 2, -1 / 2])
    np.testing.assert_allclose(y @ h / 3, 0.5)
    assert h.argmax() != 0
    rng = np.random.default_rng(0)
    for _ in range(1000):  # a right answer always has a positive edge: h sums to zero
        h = rng.normal(size=5)
        h -= h.mean()
        y = np.full(5, -1 / 4)
        y[h.argmax()] = 1
        assert y @ h > 0
