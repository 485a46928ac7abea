"""The references themselves: what their theorems promise, and what ties do to floats."""

import numpy as np
import pytest

from reference import n3, rational, unn

N3_LOSSES = sorted(n3.K)
UNN_LOSSES = ["exp", "log", "mat"]


def random_graph(rng, m, k):
    """Neighbour lists without self."""
    return np.array([rng.permutation(np.delete(np.arange(m), i))[:k] for i in range(m)])


def random_problem(seed, m=40, k=5, n_classes=4):
    """Neighbour lists and the ±1 codes of labels that neighbours tend to share."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=m)
    distance = np.abs(points[:, None] - points) + np.diag(np.full(m, np.inf))
    indices = np.argsort(distance, axis=1, kind="stable")[:, :k]
    labels = np.clip(np.round(points + rng.normal(scale=0.3, size=m)) + 1, 0, n_classes - 1).astype(int)
    labels[:n_classes] = np.arange(n_classes)
    return indices, np.where(labels[:, None] == np.arange(n_classes), 1, -1)


def tied_problem(seed):
    """A small graph with few distinct weights, hence many equal sums."""
    rng = np.random.default_rng(seed)
    m, n_classes, k = (int(rng.integers(*span)) for span in [(8, 16), (2, 6), (2, 5)])
    labels = rng.integers(0, n_classes, m)
    return random_graph(rng, m, k), np.where(labels[:, None] == np.arange(n_classes), 1, -1)


def run_both(seed, oracle, tie_window, n_rounds=6):
    """Picks of class 0 by rational arithmetic and by floats."""
    indices, codes = tied_problem(seed)
    exact = [row[0] for row in rational.start_weights(codes)]
    certified = rational.n3_hinge(indices.tolist(), codes[:, 0], exact, n_rounds=n_rounds, oracle=oracle)
    floats = n3.n3(
        indices, codes[:, 0], n3.start_weights(codes)[:, 0], loss="hinge", n_rounds=n_rounds, oracle=oracle,
        tie_window=tie_window,
    )  # fmt: skip
    return certified, floats


def test_n3_start_weights():
    single = np.array([[1, -1, -1, -1]])
    several = np.array([[1, 1, -1, -1, -1]])
    np.testing.assert_allclose(n3.start_weights(single), [[1 / 2, 1 / 6, 1 / 6, 1 / 6]])
    np.testing.assert_allclose(n3.start_weights(several), [[1 / 4, 1 / 4, 1 / 6, 1 / 6, 1 / 6]])
    exact = rational.start_weights(several.tolist())
    np.testing.assert_array_equal(np.array(exact, dtype=float), n3.start_weights(several))


def test_unn_start_weights_put_half_on_each_side():
    y = np.array([1, -1, -1, -1])
    np.testing.assert_allclose(unn.start_weights(y), [1 / 2, 1 / 6, 1 / 6, 1 / 6])
    v = np.array([5.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(unn.start_weights(y, v), [1 / 2, 1 / 8, 1 / 4, 1 / 8])
    np.testing.assert_allclose(unn.start_weights(y, v, balance="none"), v / 9)


@pytest.mark.pairs
@pytest.mark.parametrize("loss", N3_LOSSES)
@pytest.mark.parametrize("oracle", ["delta", "decrease"])
@pytest.mark.parametrize("weighted", [False, True])
def test_n3_risk_never_rises(loss, oracle, weighted):
    for seed in range(5):
        indices, codes = random_problem(seed)
        rng = np.random.default_rng(seed)
        votes = rng.uniform(0.1, 1, indices.shape) if weighted else None
        v = rng.uniform(0.1, 3, len(codes)) if weighted else None
        run = n3.n3(
            indices, codes[:, 1], n3.start_weights(codes)[:, 1], loss=loss, n_rounds=60, oracle=oracle,
            votes=votes, example_weight=v,
        )  # fmt: skip
        assert len(run.picks) > 5
        assert np.diff(run.risk).max() <= 1e-12
        np.testing.assert_allclose(np.bincount(run.picks, run.deltas, len(codes)), run.alpha, rtol=1e-12)


@pytest.mark.parametrize("loss", N3_LOSSES)
def test_n3_weights_are_a_function_of_the_boosted_margin(loss):
    """w = −F'(y H + g'(K w₁)) / K: the printed updates, composed, equal one formula."""
    indices, codes = random_problem(3)
    y, start = codes[:, 2], n3.start_weights(codes)[:, 2]
    run = n3.n3(indices, y, start, loss=loss, n_rounds=30)
    score = (run.alpha * y)[indices].sum(axis=1)
    margin = y * score + n3.start_margins(loss, start)
    slope = {
        "log": 1 / (1 + np.exp(margin)),
        "binlog": 1 / (1 + 2.0**margin),
        "mat": (1 - margin / np.sqrt(1 + margin**2)) / 2,
        "hinge": (1 + np.maximum(0, -margin)) / (2 + np.abs(margin)),
        "squared": np.clip(0.5 - margin, 0, 1),
    }[loss]
    np.testing.assert_allclose(run.weights, slope / n3.K[loss], rtol=1e-9)
    assert run.risk[-1] == pytest.approx(n3.loss_value(loss, margin).sum(), rel=1e-12)


@pytest.mark.parametrize("delta", ["closed_form", "exact"])
@pytest.mark.parametrize("oracle", ["delta", "decrease"])
@pytest.mark.parametrize("weighted", [False, True])
def test_unn_exponential_risk_never_rises(delta, oracle, weighted):
    for seed in range(3):
        indices, codes = random_problem(seed, m=25)
        y = codes[:, 1]
        votes = np.random.default_rng(seed).uniform(0.1, 1, indices.shape) if weighted else None
        run = unn.unn(
            indices, y, unn.start_weights(y), loss="exp", n_rounds=12, delta=delta, oracle=oracle, votes=votes
        )
        assert run.picks
        assert len(set(run.picks)) == len(run.picks)
        assert run.risk[0] == pytest.approx(1)
        assert np.diff(run.risk).max() <= 1e-12
        assert run.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("loss", UNN_LOSSES)
def test_unn_exact_root_solves_its_equation(loss):
    rng = np.random.default_rng(0)
    w, signed = rng.uniform(0.01, 0.2, 8), rng.uniform(0.2, 1, 8) * np.array([1, 1, 1, 1, 1, -1, -1, -1])
    delta = unn.exact_root(loss, w, signed)
    assert signed @ unn.move_weights(loss, w, delta * signed) == pytest.approx(0, abs=1e-13)


def test_unn_exact_root_is_the_closed_form_for_exp_alone():
    w, signs = np.array([0.3, 0.2, 0.1, 0.2]), np.array([1.0, 1.0, -1.0, -1.0])
    assert unn.exact_root("exp", w, signs) == pytest.approx(unn.closed_form("exp", 0.5, 0.3), rel=1e-12)
    for loss in ["log", "mat"]:
        assert unn.exact_root(loss, w, signs) != pytest.approx(unn.closed_form(loss, 0.5, 0.3), rel=0.01)


@pytest.mark.parametrize("oracle", ["delta", "decrease"])
def test_floats_with_the_window_pick_as_rational_arithmetic(oracle):
    for seed in range(100):
        (picks, deltas, alpha, weights), floats = run_both(seed, oracle, tie_window=1e-10)
        assert floats.picks == picks
        np.testing.assert_allclose(floats.deltas, np.array(deltas, dtype=float), rtol=1e-9)
        np.testing.assert_allclose(floats.alpha, np.array(alpha, dtype=float), rtol=1e-9)
        np.testing.assert_allclose(floats.weights, np.array(weights, dtype=float), rtol=1e-9)


def test_a_bare_float_maximum_picks_by_the_last_bit():
    certified, bare = run_both(seed=4, oracle="delta", tie_window=0.0)
    assert certified[0] == [1, 6, 11, 10, 1, 11]
    assert bare.picks == [1, 6, 11, 10, 11, 1]


def test_without_the_window_a_cancelled_sum_would_go_on_boosting():
    """Every exact η is zero or below; floats leave 3e-17 and would keep a prototype for it."""
    certified, bare = run_both(seed=47, oracle="delta", tie_window=0.0)
    assert certified[0] == []
    assert bare.picks
    assert max(bare.deltas) < 1e-15


def test_two_class_problems_are_mirror_images():
    """Swapping the classes changes no y_ic y_jc and no start weight: same picks, same steps."""
    indices, codes = random_problem(6, n_classes=2)
    first, second = codes[:, 0], codes[:, 1]
    start = n3.start_weights(codes)
    for loss in N3_LOSSES:
        runs = [n3.n3(indices, codes[:, c], start[:, c], loss=loss, n_rounds=20) for c in (0, 1)]
        assert runs[0].picks == runs[1].picks
        assert runs[0].deltas == runs[1].deltas
    runs = [unn.unn(indices, y, unn.start_weights(y), loss="exp", n_rounds=20) for y in (first, second)]
    assert runs[0].picks == runs[1].picks


def test_examples_nobody_is_near_are_never_picked():
    """Example 7 is in no list, so n_7 = 0; a floor on n_j leaves out more."""
    rng = np.random.default_rng(1)
    indices = np.array([rng.permutation(np.setdiff1d(np.arange(30), [i, 7]))[:4] for i in range(30)])
    codes = np.where(rng.integers(0, 3, 30)[:, None] == np.arange(3), 1, -1)
    start = n3.start_weights(codes)[:, 0]
    counts = np.bincount(indices.ravel(), minlength=30)
    for floor in [0, 1, 5]:
        run = n3.n3(indices, codes[:, 0], start, loss="log", n_rounds=50, min_reverse_neighbors=floor)
        assert run.picks
        assert counts[run.picks].min() >= max(1, floor)
