"""Lower bounds of distances on a device, from products in half precision or, for L1, from float32 sums.

docs/design/gpu.md derives them. A distance is bounded by the score of a pair, which is the row's share plus
``factor`` times what both have in common, plus the query's share; rows and queries are treated alike.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from nearboost.base.device import Tensor, import_torch
from nearboost.neighbors.exact import cut

HALF = 2.0**-11  # of a number that is rounded to half precision
SINGLE = 2.0**-23  # of one addition in float32, however it is rounded
SPLIT = 2.0**-12  # how the error of a cast is shared by row and query: near its own size
BELOW = 2.0**-13  # more than a product of norms near TOP can lose below the range of half precision
TOP = 2.0**7  # most that the norm of a row becomes: products then stay below 2¹⁵
FAR = 2.0**8  # a query of a larger norm has no bounds
FAR_L1 = 2.0**60
NO_LIMIT = float(np.finfo(np.float32).max)  # what infinity is rounded to
UNDERFLOW = 2.0**-120
SUMS_AT_ONCE = 2**28  # a GPU starts no kernel for 2³¹ sums, of which a large tile has more


class Shadow(NamedTuple):
    """Some rows as bounds see them, and what they add to a bound: −inf where there is none."""

    rows: Tensor
    shares: Tensor  # float64

    def part(self, columns: slice) -> "Shadow":
        """Some of them."""
        return Shadow(self.rows[columns], self.shares[columns])


class Bounds(Protocol):
    """Lower bounds of the ``power``-th power of distances between rows times ``scale``."""

    power: int
    scale: float
    factor: float  # of a product in a score

    def cast(self, placed: Tensor) -> Shadow:
        """The shadow of rows in float64."""

    def products(self, queries: Shadow, rows: Shadow) -> Tensor:
        """What a pair has in common, the same for rows of each other."""


def choose_bounds(metric: str, centre: Any, scale: float, largest: float, device: Any) -> Bounds:
    """Bounds for rows around a centre: of norms below 1 after scaling (2 for cosine), or of values up to the
    largest for L1."""
    if metric == "l1":
        return SingleBounds(centre, float(np.ldexp(1.0, -np.frexp(largest)[1])), device)
    return HalfBounds(centre, scale * TOP / (2 if metric == "cosine" else 1), device)


class HalfBounds:
    """|x − q|² ≥ share(x) + share(q) − 2 x̂q̂, where x̂q̂ is a product of halves, rounded to half."""

    power, factor = 2, -2.0

    def __init__(self, centre: Any, scale: float, device: Any) -> None:
        torch = import_torch()
        self.scale = scale
        self._centre = torch.as_tensor(centre, dtype=torch.float64, device=device)
        self._loss = HALF + SPLIT + (1.25 * len(centre) + 32) * SINGLE

    def cast(self, placed: Tensor) -> Shadow:
        """See `Bounds`."""
        moved = (placed - self._centre) * self.scale
        norms = moved.square().sum(1)
        far = ~(norms <= FAR**2)  # not a number, where differences overflow
        moved[far] = 0.0
        halves = moved.half()
        rounded = halves.double()
        shares = norms - self._loss * rounded.square().sum(1) - BELOW
        shares -= moved.sub_(rounded).square_().sum(1) / SPLIT
        shares[far] = -np.inf
        return Shadow(halves, shares)

    def products(self, queries: Shadow, rows: Shadow) -> Tensor:
        """See `Bounds`."""
        return queries.rows @ rows.rows.T


class SingleBounds:
    """Σ|x − q| ≥ Σ|x̂ − q̂| less what the casts to float32 moved, and the rounding of the sum."""

    power, factor = 1, 1.0

    def __init__(self, centre: Any, scale: float, device: Any) -> None:
        torch = import_torch()
        self.scale = scale
        self._centre = torch.as_tensor(centre, dtype=torch.float64, device=device)
        self._loss = (1.25 * len(centre) + 32) * SINGLE

    def cast(self, placed: Tensor) -> Shadow:
        """See `Bounds`."""
        moved = (placed - self._centre) * self.scale
        far = ~(moved.abs().sum(1) <= FAR_L1)
        moved[far] = 0.0
        singles = moved.float()
        shares = -(1 + 2 * SINGLE) * moved.sub_(singles).abs_().sum(1) - len(self._centre) * UNDERFLOW
        shares[far] = -np.inf
        return Shadow(singles, shares)

    def products(self, queries: Shadow, rows: Shadow) -> Tensor:
        """See `Bounds`."""
        sums = queries.rows.new_empty(len(queries.rows), len(rows.rows))
        for strip in cut(len(sums), SUMS_AT_ONCE // max(1, len(rows.rows))):
            sums[strip] = import_torch().cdist(queries.rows[strip], rows.rows, p=1)
        return sums.mul_(max(1 - self._loss, 0.0))


def scores_of(products: Tensor, factor: float, shares: Tensor) -> Tensor:
    """Bounds without the queries' shares, in float32."""
    return rounded_down(shares).add(products, alpha=factor)


def rounded_down(numbers: Tensor) -> Tensor:
    """float64 numbers in float32, never larger."""
    torch = import_torch()
    singles = numbers.float()
    return torch.where(singles > numbers, singles.nextafter(singles.new_full((), -np.inf)), singles)


def rounded_up(numbers: Tensor) -> Tensor:
    """float64 numbers in float32, never smaller but finite."""
    return (-rounded_down(-numbers)).clamp_(max=NO_LIMIT)
