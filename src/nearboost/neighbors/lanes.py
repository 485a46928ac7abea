"""Sums over features on a device, in the order of `kernels.search.measure`: the same bits.

Each operation rounds on its own, because PyTorch has written its result before the next one begins. Divisors are
tensors: by a plain number PyTorch may multiply with its reciprocal.
"""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import Tensor, to_device
from nearboost.neighbors.ruler import powers_of_two, refuse_zero_norms

N_LANES = 32


def lane_sums(terms: Tensor) -> Tensor:
    """Sums of rows in float64: feature f is summed in lane f % 32, then over the lanes."""
    lanes = terms.new_zeros(len(terms), N_LANES)
    for start in range(0, terms.shape[1], N_LANES):
        part = terms[:, start : start + N_LANES]
        lanes[:, : part.shape[1]] += part
    return fold(lanes)


def fold(lanes: Tensor) -> Tensor:
    """The sums of all lanes, folded in halves."""
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def measure(rows: Tensor, queries: Tensor, divisors: Tensor | None, metric: str) -> Tensor:
    """For each pair of a row and a query in float64: Σ (row / divisor − query)², or of absolute values for L1."""
    gaps = rows.double()
    if divisors is not None:
        gaps = gaps / divisors[:, None]
    gaps = gaps - queries
    return lane_sums(gaps.abs_() if metric == "l1" else gaps.mul_(gaps))


def row_norms(rows: Tensor, first: int = 0) -> NDArray[np.float64]:
    """As `ruler.row_norms`. Roots are NumPy's: those of PyTorch may be off by one bit."""
    units = powers_of_two(largest_values(rows))
    scaled = rows.double() / to_device(units, rows.device)[:, None]
    norms = np.sqrt(lane_sums(scaled.mul_(scaled)).cpu().numpy()) * units
    refuse_zero_norms(norms, first)
    return norms


def largest_values(rows: Tensor) -> NDArray[np.float64]:
    """As `ruler.largest_values`."""
    return np.asarray(rows.abs().amax(1).double().cpu().numpy())
