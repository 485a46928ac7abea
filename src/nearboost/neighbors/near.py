"""Pairs of a tile that may be near enough, and their distances, by PyTorch's own operations.

`nearboost.neighbors.fused` does the same in one pass each, where Triton compiles for the device.
"""

from typing import NamedTuple

from nearboost.base.device import Tensor, import_torch
from nearboost.neighbors import lanes
from nearboost.neighbors.exact import cut
from nearboost.neighbors.halves import scores_of

STRIPS = 8  # of a tile, whose scores are made one after the other


class Side(NamedTuple):
    """Queries or rows of a tile: what they add to bounds as rows, their limits if they are queries, and groups."""

    shares: Tensor  # float64
    limits: Tensor | None
    groups: Tensor | None

    def part(self, some: slice) -> "Side":
        """Some of them."""
        limits, groups = (None if one is None else one[some] for one in self[1:])
        return Side(self.shares[some], limits, groups)


def near_pairs(
    products: Tensor, factor: float, queries: Side, rows: Side, most: int
) -> tuple[Tensor, Tensor] | None:
    """Lines and columns of the products whose score is within the query's limit, or the row's if it has one.

    None if these are more than ``most``.
    """
    torch, found, count = import_torch(), [], 0
    for strip in cut(len(products), -(-len(products) // STRIPS)):
        part, (shares, limits, groups) = products[strip], queries.part(strip)
        assert limits is not None
        near = scores_of(part, factor, rows.shares) <= limits[:, None]
        if rows.limits is not None:
            near |= (scores_of(part.T, factor, shares) <= rows.limits[:, None]).T
        if groups is not None:
            near &= (groups[:, None] < 0) | (groups[:, None] != rows.groups)
        count += int(near.count_nonzero())
        if count > most:
            return None
        lines, columns = near.nonzero(as_tuple=True)
        found.append((lines + strip.start, columns))
    lines, columns = map(torch.cat, zip(*found, strict=True))
    return lines, columns


def set_bits(bits: Tensor, most: int) -> tuple[Tensor, Tensor] | None:
    """Lines and columns of the bits that are set, eight columns a byte; None if these are more than ``most``.

    Few are: words of eight bytes are looked at first, then the bytes of those, then their bits.
    """
    torch = import_torch()
    words = bits.view(torch.int64)
    line, word = words.nonzero(as_tuple=True)
    if len(line) > most:
        return None
    parts = words[line, word].view(torch.uint8).unflatten(0, (-1, 8))
    at, byte = parts.nonzero(as_tuple=True)
    if len(at) > most:
        return None
    places = torch.arange(8, dtype=torch.uint8, device=bits.device)
    which, bit = ((parts[at, byte][:, None] >> places) & 1).nonzero(as_tuple=True)
    if len(which) > most:
        return None
    at, byte = at[which], byte[which]
    return line[at], 64 * word[at] + 8 * byte + bit


def measure_pairs(
    rows: Tensor,
    columns: Tensor,
    row_divisors: Tensor | None,
    queries: Tensor,
    lines: Tensor,
    query_divisors: Tensor | None,
    metric: str,
) -> Tensor:
    """What `kernels.search.measure` gives for pairs of a row and a query; divisors are those of the pairs."""
    placed = queries[lines].double()
    if query_divisors is not None:
        placed /= query_divisors[:, None]
    return lanes.measure(rows[columns], placed, row_divisors, metric)
