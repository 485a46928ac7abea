"""Two scores of a query from codes over the training rows: the vote of all, and the residual inside each class."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.products import Factor
from nearboost.metric.landmarks import squared_lengths

REGULARIZATION, N_TERMS = 0.3, 12
ON_SPHERE = 0.1  # the regularization there: what tells rows of one length apart is finer
MOST_FOR_ALL = 1_500  # rows; beyond, the vote is among the nearest
N_NEAR = 100
MOST_GAPS = 2**27  # numbers, of distances within classes: half a gigabyte
GAPS_PER_NUMBER = 64  # of the rows: distances of short rows are made for each query instead
NARROW = 64  # features up to which distances are made from differences, at the price of products
# Half squared distance; what kernels take for a row that may not be picked lies so far beyond that less a share of
# this it is the same number: among such rows alone, none ever comes before the first.
FARTHEST = np.float32(1e22)
QUERIES_AT_ONCE, SCORES_AT_ONCE = 256, 2**24
Rows = NDArray[np.float32]
Groups = NDArray[np.int32]


def term_weights(regularization: float) -> NDArray[np.float32]:
    """w_t = λ/(1+λ)^t."""
    return (regularization * (1 + regularization) ** -np.arange(1.0, N_TERMS + 1)).astype(np.float32)


def to_sphere(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows of length 1; what has no length stays 0."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


@dataclass(frozen=True)
class Codes:
    """Rows picked for some queries, among all and inside each class, and the squared residuals of the latter."""

    voters: NDArray[np.int32]  # (queries, terms)
    members: NDArray[np.int32]  # (queries, classes, terms); −1 where no row of the class is allowed
    squares: NDArray[np.float32]  # (queries, classes); NaN there


class CodedRows:
    """Training rows in the metric, which queries are coded by.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
    classes : class number of each row
    n_classes : number of classes; one without rows counts as the farthest
    weight : what each row counts in the vote
    on_sphere : whether queries are of length 1, and the rows too or centres of such
    """

    def __init__(
        self,
        rows: Rows,
        classes: NDArray[np.integer],
        n_classes: int,
        weight: NDArray[np.float64],
        on_sphere: bool = False,
    ) -> None:
        self.order = np.argsort(classes, kind="stable")
        self.rows = np.ascontiguousarray(rows[self.order])
        self.classes, self.n_classes = classes[self.order], n_classes
        self.weight, self.on_sphere = weight[self.order], on_sphere
        self._measured = Measured(self.rows)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=n_classes))])
        self.terms = term_weights(ON_SPHERE if on_sphere else REGULARIZATION)
        everything = np.array([0, len(rows)])
        self._all_rows: PartsWithGaps | NearbyParts
        self._by_class: PartsWithGaps | NearbyParts
        if len(rows) <= MOST_FOR_ALL:
            gaps = gaps_within(self.rows, everything)
            self._all_rows = PartsWithGaps(self, everything, gaps)
            self._by_class = PartsWithGaps(self, self.starts, gaps.within(self.starts))
        else:
            self._all_rows = NearbyParts(self, everything)
            most = min(MOST_GAPS, max(MOST_FOR_ALL**2, GAPS_PER_NUMBER * self.rows.size))
            few = np.sum(np.diff(self.starts) ** 2) <= most
            self._by_class = (
                PartsWithGaps(self, self.starts, gaps_within(self.rows, self.starts))
                if few
                else NearbyParts(self, self.starts)
            )

    @cached_property
    def padded(self) -> Rows:
        """The rows filled up with zeros to whole vectors."""
        from nearboost.kernels.vectors import LANES

        return np.pad(self.rows, ((0, 0), (0, -self.rows.shape[1] % LANES)))

    @property
    def notes(self) -> list[str]:
        """What many rows have changed."""
        said = {
            f"The vote is among the {N_NEAR} rows nearest to a query.": self._all_rows,
            f"Residuals are of codes among the {N_NEAR} nearest rows of each class.": self._by_class,
        }
        return [note for note, parts in said.items() if isinstance(parts, NearbyParts)]

    def halves(self, Q: Rows) -> Rows:
        """½|q − x|²."""
        return self._measured.halves(Q, np.empty((len(Q), len(self.rows)), dtype=np.float32))

    def code(self, halves: Rows, groups: Groups, own_groups: Groups) -> Codes:
        """Codes of queries, given their ``halves``, over rows of other groups; no row has the group −1."""
        groups = groups[self.order]
        voters, _ = self._all_rows.code(halves, groups, own_groups)
        members, squares = self._by_class.code(halves, groups, own_groups)
        firsts = self.starts[:-1, np.newaxis].astype(np.int32)
        return Codes(voters[:, 0], np.where(members < 0, members, members + firsts), squares)

    def scores(self, codes: Codes) -> tuple[Rows, Rows]:
        """Vote and residual, one column for each class."""
        n_queries, n_classes = codes.squares.shape
        cells = np.arange(n_queries)[:, np.newaxis] * n_classes + self.classes[codes.voters]
        counted = self.terms * self.weight[codes.voters]
        vote = np.bincount(cells.ravel(), counted.ravel(), n_queries * n_classes).reshape(codes.squares.shape)
        return vote.astype(np.float32), relative_residuals(codes.squares)


class Gaps(NamedTuple):
    """Half squared distances between rows of one part; those of row r of part p begin at place_p + r·stride_p."""

    values: Rows
    places: NDArray[np.int64]
    strides: NDArray[np.int64]

    def within(self, starts: NDArray[np.int64]) -> "Gaps":
        """The same distances, of a single part, seen as those within parts of it."""
        firsts, stride = starts[:-1], self.strides[0]
        return Gaps(self.values, firsts * (stride + 1), np.full(len(firsts), stride))


def gaps_within(rows: Rows, starts: NDArray[np.int64]) -> Gaps:
    """All distances within parts of the rows; each row's padded to whole vectors."""
    from nearboost.kernels.class_codes import LANES

    sizes = np.diff(starts)
    strides = -(-sizes // LANES) * LANES
    places = np.concatenate([[0], np.cumsum(sizes * strides)])
    values = np.zeros(places[-1] + LANES, dtype=np.float32)  # kernels may read a vector more
    for part, (start, size, stride) in enumerate(zip(starts[:-1], sizes, strides, strict=True)):
        own = values[places[part] : places[part + 1]].reshape(size, stride)[:, :size]
        part_rows = rows[start : start + size]
        Measured(part_rows).halves(part_rows, own)
    return Gaps(values, places[:-1], strides)


@dataclass(frozen=True)
class PartsWithGaps:
    """Codes inside parts of the rows, from all distances within them."""

    of: CodedRows
    starts: NDArray[np.int64]
    gaps: Gaps

    def code(self, halves: Rows, groups: Groups, own_groups: Groups) -> tuple[NDArray[np.int32], Rows]:
        """Picks and squared residuals, for each query and part."""
        from nearboost.kernels import class_codes as kernels

        picks, squares = room_for(len(halves), len(self.starts) - 1)
        kernels.code_classes(halves, groups, own_groups, self.starts, *self.gaps, self.of.terms, picks, squares)
        return picks, squares


@dataclass(frozen=True)
class NearbyParts:
    """Codes among the nearest rows of each part, whose distances are made for each query."""

    of: CodedRows
    starts: NDArray[np.int64]

    def code(self, halves: Rows, groups: Groups, own_groups: Groups) -> tuple[NDArray[np.int32], Rows]:
        """Picks and squared residuals, for each query and part."""
        from nearboost.kernels import class_codes as kernels

        picks, squares = room_for(len(halves), len(self.starts) - 1)
        of = self.of
        kernels.code_nearby(halves, groups, own_groups, self.starts, of.padded, N_NEAR, of.terms, picks, squares)
        return picks, squares


def room_for(n_queries: int, n_parts: int) -> tuple[NDArray[np.int32], Rows]:
    """Picks and squared residuals, not yet made."""
    return (
        np.empty((n_queries, n_parts, N_TERMS), dtype=np.int32),
        np.empty((n_queries, n_parts), dtype=np.float32),
    )


class Measured:
    """Rows that others are measured from: half squared distances, at most FARTHEST."""

    def __init__(self, rows: Rows) -> None:
        narrow = rows.shape[1] <= NARROW
        self._columns = np.ascontiguousarray(rows.T) if narrow else None
        self._factor = None if narrow else Factor(rows.T)
        self._norms = half_norms(rows)

    def halves(self, Q: Rows, out: Rows) -> Rows:
        """½|q − x|²: from differences where features are few, as rows may lie close together then."""
        from nearboost.kernels import class_codes as kernels

        if self._factor is None:
            kernels.halves_from_differences(Q, self._columns, FARTHEST, out)
        else:
            self._factor.after(Q, out)
            kernels.halves_from_products(out, half_norms(Q), self._norms, FARTHEST)
        return out


def half_norms(rows: Rows) -> Rows:
    """½|x|²."""
    norms: Rows = squared_lengths(rows)
    norms *= 0.5
    return norms


def relative_residuals(squares: NDArray[Any]) -> Rows:
    """1 − r²/mean r²."""
    squares = filled(squares)
    means = squares.mean(axis=1, keepdims=True)
    return (1 - np.divide(squares, means, out=np.ones_like(squares), where=means > 0)).astype(np.float32)


def filled(squares: NDArray[Any]) -> NDArray[Any]:
    """A class without a row that is allowed counts as the farthest."""
    return np.where(np.isnan(squares), np.nanmax(squares, axis=1, keepdims=True), squares)


def pieces_of(n_queries: int, coded: CodedRows) -> list[slice]:
    """Blocks of queries, the same for any number of threads."""
    most = max(len(coded.rows), N_TERMS * coded.n_classes)  # distances, or picks inside classes
    size = max(1, min(QUERIES_AT_ONCE, SCORES_AT_ONCE // most))
    return [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
