"""An attack on the bounds of docs/design/gpu.md: what rounds, rounds as badly as it may."""

import numpy as np
import pytest

from devices import needs_torch, on_devices
from nearboost.base.device import open_device
from nearboost.kernels import search as kernels
from nearboost.neighbors import METRICS as METRICS_BY_NAME
from nearboost.neighbors import NeighborSearch, halves, lanes, near, row_norms
from nearboost.neighbors.gpu_tiles import smallest
from nearboost.neighbors.halves import SINGLE
from nearboost.neighbors.lanes import measure
from neighbors.brute_force import lane_sum
from neighbors.test_exact import KINDS, METRICS, make

pytestmark = needs_torch

HARD = [
    "steps of a tenth",
    "huge offset",
    "mixed scales",
    "subnormal halves",
    "near overflow",
    "wide",
    "tiny rows",
]


def hard(kind, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 24))
    if kind == "steps of a tenth":
        return rng.integers(1, 30, (n_rows, 24)) * 0.1
    if kind == "huge offset":
        return X + 1e9
    if kind == "mixed scales":
        return X * 10.0 ** rng.integers(-9, 5, (n_rows, 1)) * 10.0 ** rng.integers(-3, 3, 24)
    if kind == "subnormal halves":
        X[:, 1:] *= 1e-6
        return X
    if kind == "near overflow":
        return X * 65_504 / np.abs(X).max()
    if kind == "wide":
        return rng.standard_normal((n_rows, 3000)) ** 3
    if kind == "tiny rows":
        X[1::2] *= 1e-7
        return X
    return make(kind, n_rows, seed)


def shadows_and_sums(device, kind, metric):
    """The bounds of a method, shadows of queries and rows, and what is measured of all pairs, as bounds count."""
    import torch

    X = hard(kind, 300)
    Q = np.concatenate([X[:40], hard(kind, 20, seed=1), -3 * X[:4]])
    rows, bounds = (method := NeighborSearch(X, metric, method=device)._backend).rows, method.bounds
    assert rows.unit == 1.0
    if metric == "cosine":
        X, Q = X / row_norms(X)[:, np.newaxis], Q / row_norms(Q)[:, np.newaxis]
    sums = np.array([lane_sum(np.abs(X - q) if metric == "l1" else (X - q) ** 2) for q in Q])
    queries, rows = (bounds.cast(torch.from_numpy(one).to(open_device(device))) for one in (Q, X))
    return bounds, queries, rows, sums * bounds.scale**bounds.power


def as_numbers(tensor):
    return tensor.cpu().double().numpy()


def found_scores(bounds, queries, rows):
    return as_numbers(halves.scores_of(bounds.products(queries, rows), bounds.factor, rows.shares))


def worst_scores(bounds, queries, rows):
    """Each sum makes a row look farther away by all that additions may lose, and is rounded as on a device."""
    import torch

    q, x = as_numbers(queries.rows), as_numbers(rows.rows)
    lost = 1.25 * x.shape[1] * SINGLE
    if bounds.power == 1:
        sums = np.abs(q[:, np.newaxis] - x).sum(axis=2) * (1 + lost)
        return (sums.astype(np.float32) * np.float32(1 - bounds._loss)).astype(float) + as_numbers(rows.shares)
    products = torch.from_numpy(q @ x.T - lost * np.abs(q) @ np.abs(x).T).half()
    return as_numbers(rows.shares) - 2 * as_numbers(products)


@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [*KINDS, *HARD])
def test_bounds_never_exceed_what_is_measured(kind, metric, device):
    bounds, queries, rows, sums = shadows_and_sums(device, kind, metric)
    own = as_numbers(queries.shares)[:, np.newaxis]
    for scores in (
        found_scores(bounds, queries, rows),
        worst_scores(bounds, queries, rows),
    ):
        assert (scores + own <= sums).all()


def aligned(part):
    """Bounds of the distance of rows to themselves, 0, for rows that come close to one part of the bound."""
    import torch

    rng = np.random.default_rng(0)
    X = {
        "HALF": rng.integers(1, 16, (300, 24)).astype(float),  # no cast and no addition rounds, but products do
        "SPLIT": np.full((1, 24), 1 + 0.99 * 2.0**-11),  # all features are rounded down, and none is far from it
        "SINGLE": np.full((1, 2**19), 2.0**-9),  # a long sum of numbers that are exact
    }[part]
    bounds = halves.HalfBounds(np.zeros(X.shape[1]), 1.0, torch.device("cpu"))
    shadow = bounds.cast(torch.from_numpy(X))
    return (worst_scores(bounds, shadow, shadow) + as_numbers(shadow.shares)[:, np.newaxis]).diagonal()


@pytest.mark.parametrize("part", ["HALF", "SPLIT", "SINGLE"])
def test_each_part_of_the_bound_is_needed(part, monkeypatch):
    assert (aligned(part) <= 0).all()
    monkeypatch.setattr(halves, "BELOW", 0.0)
    if part == "SPLIT":
        monkeypatch.setattr(halves.HalfBounds, "cast", without_casts)
    else:
        monkeypatch.setattr(halves, part, 0.0)
    assert (aligned(part) > 0).any()


def without_casts(bounds, placed):
    rows = placed.half()
    loss = bounds._loss - halves.SPLIT
    return halves.Shadow(rows, placed.square().sum(1) - loss * rows.double().square().sum(1))


@on_devices
@pytest.mark.parametrize(("metric", "error"), [("l2", 3e-3), ("cosine", 3e-3), ("l1", 1e-5)])
def test_bounds_are_close(metric, error, device):
    """Loose bounds would be right as well, and rule nothing out. The error is of the norms, or of the sum."""
    bounds, queries, rows, sums = shadows_and_sums(device, "gaussian", metric)
    found = found_scores(bounds, queries, rows) + as_numbers(queries.shares)[:, np.newaxis]
    size = sums.max()
    if metric != "l1":
        norms = [np.square(as_numbers(one.rows)).sum(axis=1) for one in (queries, rows)]
        size = norms[0][:, np.newaxis] + norms[1]
    assert ((sums - found) / size).max() < error


@on_devices
def test_rows_too_far_for_half_precision_have_no_bounds(device):
    import torch

    bounds = halves.HalfBounds(np.zeros(4), 1.0, open_device(device))
    rows = torch.tensor(
        [[1.0, 2.0, 2.0, 0.0], [1e5, 0.0, 0.0, 0.0], [1e300, 1e300, 0.0, 0.0]], dtype=torch.float64
    )
    shadow = bounds.cast(rows.to(open_device(device)))
    assert torch.isfinite(shadow.rows).all()
    assert as_numbers(shadow.shares)[1:].tolist() == [-np.inf, -np.inf]
    assert abs(float(shadow.shares[0]) - 9.0) < 0.01


@on_devices
@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("d", [1, 31, 32, 33, 64, 100, 1027])
def test_sums_have_the_bits_of_the_kernel(d, metric, device):
    import torch

    rng = np.random.default_rng(d)
    X, q, divisors = rng.standard_normal((50, d)), rng.standard_normal(d), rng.uniform(0.1, 5, 50)
    lanes = np.empty(kernels.N_LANES)
    expected = [
        kernels.measure(x, q, divisor, METRICS_BY_NAME[metric], lanes)
        for x, divisor in zip(X, divisors, strict=True)
    ]
    rows, queries, by = (
        torch.from_numpy(one).to(open_device(device)) for one in (X, np.tile(q, (50, 1)), divisors)
    )
    np.testing.assert_array_equal(as_numbers(measure(rows, queries, by, metric)), expected)


@on_devices
def test_norms_have_the_bits_of_the_kernel(device):
    import torch

    X = hard("mixed scales", 2000) * np.ldexp(1.0, np.random.default_rng(0).integers(-400, 400, (2000, 1)))
    found = lanes.row_norms(torch.from_numpy(X).to(open_device(device)))
    np.testing.assert_array_equal(found, row_norms(X))


@on_devices
@pytest.mark.parametrize(("n_columns", "count"), [(5, 9), (300, 20), (4000, 3), (4017, 30)])
def test_smallest_in_two_stages(n_columns, count, device):
    """Also with many equal scores, and with none left."""
    import torch

    rng = np.random.default_rng(0)
    for scores in (
        rng.standard_normal((7, n_columns)),
        rng.integers(0, 9, (7, n_columns)),
        np.full((7, n_columns), np.inf),
    ):
        given = torch.from_numpy(scores.astype(np.float32)).to(open_device(device))
        values, columns = smallest(given, count)
        expected = np.sort(scores, axis=1)[:, :count]
        np.testing.assert_array_equal(as_numbers(values), expected.astype(np.float32))
        np.testing.assert_array_equal(as_numbers(given.gather(1, columns)), as_numbers(values))
        assert all(len(set(row)) == len(row) for row in columns.tolist())


@pytest.mark.parametrize("share", [0.0, 0.002, 0.3, 1.0])
def test_bits_that_are_set_are_found(share):
    import torch

    expected = np.random.default_rng(0).random((37, 320)) < share
    packed = torch.from_numpy(np.packbits(expected, axis=1, bitorder="little"))
    lines, columns = near.set_bits(packed, expected.sum())
    np.testing.assert_array_equal(np.stack([lines.numpy(), columns.numpy()]), np.nonzero(expected))
    if share:
        assert near.set_bits(packed, expected.sum() - 1) is None
