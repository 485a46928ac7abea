"""The kernels of Triton find and measure what PyTorch's operations do."""

import numpy as np
import pytest

from devices import needs_torch, on_gpu
from nearboost.base.device import open_device
from nearboost.neighbors import near

pytestmark = [needs_torch, *on_gpu]


@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("n_lines", "n_columns"), [(1, 1), (16, 256), (37, 500), (130, 2051)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_pairs_within_limits(dtype, n_lines, n_columns, grouped, mutual):
    import torch

    from nearboost.neighbors import fused

    device, rng = open_device("gpu"), np.random.default_rng(0)

    def side(n: int, limited: bool) -> near.Side:
        limits = rng.normal(-3.0, 1.0, n).astype(np.float32)
        limits[rng.random(n) < 0.1] = -np.inf
        groups = torch.tensor(rng.integers(-1, 4, n), dtype=torch.int32, device=device) if grouped else None
        shares = torch.tensor(rng.random(n), device=device)
        return near.Side(shares, torch.tensor(limits, device=device) if limited else None, groups)

    products = torch.tensor(rng.standard_normal((n_lines, n_columns)), device=device).to(getattr(torch, dtype))
    sides = side(n_lines, True), side(n_columns, mutual)
    expected = near.near_pairs(products, -2.0, *sides, n_lines * n_columns)
    found = fused.near_pairs(products, -2.0, *sides, n_lines * n_columns)
    assert expected is not None
    assert found is not None
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.cpu(), other.cpu())
    if len(expected[0]):
        assert fused.near_pairs(products, -2.0, *sides, len(expected[0]) - 1) is None


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("n_features", [1, 31, 32, 100])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_distances_of_pairs_to_the_last_bit(dtype, n_features, divided, metric):
    import torch

    from nearboost.neighbors import fused

    device, rng = open_device("gpu"), np.random.default_rng(0)
    rows, queries = (
        torch.tensor(rng.standard_normal((n, n_features)), device=device).to(getattr(torch, dtype))
        for n in (300, 70)
    )
    columns, lines = (torch.tensor(rng.integers(0, n, 1000), device=device) for n in (300, 70))
    divisors = [torch.tensor(rng.random(1000) + 0.5, device=device) if divided else None for _ in range(2)]
    given = rows, columns, divisors[0], queries, lines, divisors[1], metric
    np.testing.assert_array_equal(fused.measure_pairs(*given).cpu(), near.measure_pairs(*given).cpu())


def test_rows_that_are_strided_are_read_where_they_are():
    """Tensors are searched without a copy: columns of a wider one, or one that was transposed."""
    import torch

    from nearboost.neighbors import fused

    device, rng = open_device("gpu"), np.random.default_rng(0)
    columns, lines = (torch.tensor(rng.integers(0, 40, 300), device=device) for _ in range(2))
    wide, other = (torch.tensor(rng.standard_normal((80, 90)), device=device) for _ in range(2))
    for view in (lambda X: X[:, :33], lambda X: X.T[:, :50], lambda X: X[::2, 1::3]):
        given = view(wide), columns, None, view(other), lines, None, "l2"
        np.testing.assert_array_equal(fused.measure_pairs(*given).cpu(), near.measure_pairs(*given).cpu())
