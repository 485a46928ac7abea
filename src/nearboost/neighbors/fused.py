"""`nearboost.neighbors.near` as kernels of Triton, which comes with PyTorch for GPUs: a pass over the input each.

To be imported where there is a GPU only.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from nearboost.base.device import Tensor
from nearboost.neighbors.halves import rounded_down
from nearboost.neighbors.lanes import N_LANES, fold
from nearboost.neighbors.near import Side, set_bits

LINES, COLUMNS = 16, 256  # of a tile that one program looks at: few enough to stay in registers
PAIRS = 64  # that one program measures


@triton.jit
def _near_bits(
    products, stride, shares, limits, groups, others_shares, others_limits, others_groups, bits, width,
    n_lines, n_columns, factor,
    MUTUAL: tl.constexpr, GROUPED: tl.constexpr, LINES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    line = tl.program_id(1) * LINES + tl.arange(0, LINES)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there_line, there_column = line < n_lines, column < n_columns
    nothing, everything = -float("inf"), float("inf")  # what is not there is not near
    place = line.to(tl.int64)[:, None]
    product = tl.load(products + place * stride + column, there_line[:, None] & there_column, other=0.0)
    product = factor * product.to(tl.float32)
    score = tl.load(others_shares + column, there_column, other=everything) + product
    near = score <= tl.load(limits + line, there_line, other=nothing)[:, None]
    if MUTUAL:
        score = tl.load(shares + line, there_line, other=everything)[:, None] + product
        near = near | (score <= tl.load(others_limits + column, there_column, other=nothing))
    if GROUPED:
        group = tl.load(groups + line, there_line, other=0)[:, None]
        near = near & ((group < 0) | (group != tl.load(others_groups + column, there_column, other=0)))
    parts = tl.reshape(near.to(tl.int32), (LINES, COLUMNS // 8, 8)) << tl.arange(0, 8)
    byte = tl.program_id(0) * (COLUMNS // 8) + tl.arange(0, COLUMNS // 8)
    tl.store(bits + place * width + byte, tl.sum(parts, 2).to(tl.uint8), there_line[:, None])


@triton.jit
def _lane_sums(
    rows, row_stride, row_step, columns, row_divisors,
    queries, query_stride, query_step, lines, query_divisors, sums, n_pairs, n_features,
    ROWS_DIVIDED: tl.constexpr, QUERIES_DIVIDED: tl.constexpr, ABSOLUTE: tl.constexpr,
    LANES: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n_pairs
    row = tl.load(columns + pair, there, other=0).to(tl.int64)[:, None] * row_stride
    query = tl.load(lines + pair, there, other=0).to(tl.int64)[:, None] * query_stride
    if ROWS_DIVIDED:
        row_divisor = tl.load(row_divisors + pair, there, other=1.0)[:, None]
    if QUERIES_DIVIDED:
        query_divisor = tl.load(query_divisors + pair, there, other=1.0)[:, None]
    lane = tl.arange(0, LANES)
    total = tl.zeros((PAIRS, LANES), dtype=tl.float64)
    for start in range(0, n_features, LANES):
        feature = (start + lane).to(tl.int64)[None, :]
        inside = there[:, None] & (feature < n_features)
        x = tl.load(rows + row + feature * row_step, inside, other=0.0).to(tl.float64)
        q = tl.load(queries + query + feature * query_step, inside, other=0.0).to(tl.float64)
        if ROWS_DIVIDED:
            x = x / row_divisor
        if QUERIES_DIVIDED:
            q = q / query_divisor
        gap = x - q
        total += tl.abs(gap) if ABSOLUTE else gap * gap
    tl.store(sums + pair[:, None] * LANES + lane[None, :], total, there[:, None])


def try_on(device: Any) -> None:
    """Compile and run both kernels once; raises what Triton raises."""
    numbers, places = torch.ones((2, 8), device=device), torch.zeros(2, dtype=torch.int64, device=device)
    side = Side(numbers[:, 0].double(), numbers[:, 0], None)
    near_pairs(numbers.half() @ numbers.half().T, 1.0, side, side, 4)
    measure_pairs(numbers, places, None, numbers, places, None, "l2")


def near_pairs(
    products: Tensor, factor: float, queries: Side, rows: Side, most: int
) -> tuple[Tensor, Tensor] | None:
    """See `near.near_pairs`."""
    n_lines, n_columns = products.shape
    blocks = triton.cdiv(n_columns, COLUMNS)
    bits = torch.empty((n_lines, blocks * COLUMNS // 8), dtype=torch.uint8, device=products.device)
    _near_bits[(blocks, triton.cdiv(n_lines, LINES))](
        products, products.stride(0),
        rounded_down(queries.shares), queries.limits, queries.groups,
        rounded_down(rows.shares), rows.limits, rows.groups,
        bits, bits.shape[1], n_lines, n_columns, factor,
        MUTUAL=rows.limits is not None, GROUPED=rows.groups is not None, LINES=LINES, COLUMNS=COLUMNS, num_warps=4,
    )  # fmt: skip
    return set_bits(bits, most)


def measure_pairs(
    rows: Tensor,
    columns: Tensor,
    row_divisors: Tensor | None,
    queries: Tensor,
    lines: Tensor,
    query_divisors: Tensor | None,
    metric: str,
) -> Tensor:
    """See `near.measure_pairs`."""
    sums = torch.empty((len(columns), N_LANES), dtype=torch.float64, device=rows.device)
    options: dict[str, Any] = {"enable_fp_fusion": False}  # a product is rounded before it is added
    _lane_sums[(triton.cdiv(len(columns), PAIRS),)](
        rows, *rows.stride(), columns, row_divisors,
        queries, *queries.stride(), lines, query_divisors, sums, len(columns), rows.shape[1],
        ROWS_DIVIDED=row_divisors is not None, QUERIES_DIVIDED=query_divisors is not None,
        ABSOLUTE=metric == "l1", LANES=N_LANES, PAIRS=PAIRS, **options,
    )  # fmt: skip
    return fold(sums)
