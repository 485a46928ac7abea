"""Rows held out of learning: which they are."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_random_state

from nearboost.base.rows import row_source
from nearboost.base.threads import map_parts
from nearboost.problem.calibration import calibrate, exact_matches, log_losses
from nearboost.problem.targets import Labels, labels_from_classes

FEW_ROWS = 10_000  # up to here every row is held out once, in folds; beyond, one fold of so many rows at most
N_FOLDS = 10  # where every row is held out once
SHARE, ENOUGH = 5, 20_480  # a single part is a fifth of the rows; of very many, so many
TINY, SMALL, LARGE = 300, 800, 3_000  # rows, for cross-fitting every choice
MOST_HELD_OUT = 1_000  # rows of a fold, of a large set


def find_generator(random_state: Any) -> np.random.RandomState:
    """The generator of a seed, or the one given; None is the seed 0, so that fits repeat."""
    return check_random_state(0 if random_state is None else random_state)


def find_seed(random_state: Any) -> int:
    """A seed, as given or drawn from the generator given; None is 0, so that fits repeat."""
    generator = find_generator(random_state)  # which refuses what is no seed
    is_seed = random_state is None or isinstance(random_state, int | np.integer)
    return int((random_state or 0) if is_seed else generator.randint(2**31 - 1))


def number_folds(
    labels: Labels, groups: NDArray[np.integer], n_folds: int, draw: Callable[[int], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """The fold of each row: groups stay whole and are dealt out class by class, in an order drawn at random."""
    _, first_row, group_of_row = np.unique(groups, return_index=True, return_inverse=True)
    order = np.lexsort((draw(len(first_row)), labels.classes(first_row)))
    fold_of_group = np.empty(len(order), dtype=np.int64)
    fold_of_group[order] = np.arange(len(order)) % n_folds
    return fold_of_group[group_of_row]


def spread_folds(
    X: NDArray[Any], y: NDArray[Any], groups: NDArray[Any] | None, n_folds: int, random_state: Any
) -> NDArray[np.int64]:
    """The fold of each row of labelled data: classes spread, groups whole, equal rows together.

    There are no more folds than the largest class has groups; a single one where nothing can be held out.
    """
    classes, codes = np.unique(y, return_inverse=True)
    labels, together = labels_from_classes(codes, len(classes)), whole_groups(X, groups)
    n_folds = min(n_folds, len(most_groups(labels, together)))
    return number_folds(labels, together, n_folds, find_generator(random_state).random_sample)


def most_groups(labels: Labels, groups: NDArray[np.integer]) -> NDArray[np.int64]:
    """The groups of the class that is in most of them."""
    of_class, groups = distinct_pairs(labels.classes(), groups)
    classes, counts = np.unique(of_class, return_counts=True)
    return groups[of_class == classes[counts.argmax()]]


def deal_folds(
    labels: Labels, groups: NDArray[np.integer], random_state: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Rows of each fold to cross-fit by: ten folds that cover all rows, or one fold where there are many.

    None where every class has one group: of a row that is held out nobody of its class would be left.
    """
    if len(most_groups(labels, groups)) < 2:
        return []
    n_folds = max(N_FOLDS, -(-labels.n_rows // FEW_ROWS))
    fold_of_row = number_folds(labels, groups, n_folds, random_state.random_sample)
    folds = [np.flatnonzero(fold_of_row == fold) for fold in range(N_FOLDS)]
    if labels.n_rows > FEW_ROWS:
        return folds[:1]
    return [fold for fold in folds if 0 < len(fold) < labels.n_rows - 1]


def deal_parts(labels: Labels, groups: NDArray[np.integer], seed: int) -> list[NDArray[np.int64]]:
    """Rows of ten parts that can be held out in turn; of many rows five, or parts that are large enough.

    Fewer where there are fewer groups, and none where all rows are of one.
    """
    n_groups = len(distinct(groups))
    if n_groups < 2:
        return []
    n_parts = N_FOLDS if labels.n_rows <= FEW_ROWS else max(SHARE, labels.n_rows // ENOUGH)
    part_of_row = number_folds(labels, groups, min(n_parts, n_groups), np.random.default_rng(seed).random)
    return [np.flatnonzero(part_of_row == part) for part in range(min(n_parts, n_groups))]


def deal_cross_folds(
    labels: Labels, groups: NDArray[np.integer], random_state: np.random.RandomState
) -> list[NDArray[np.int64]]:
    """Rows of each fold to choose everything by: three folds, five of few rows, three times five of very few.

    Of a large set, three folds of a thousand rows are held out in turn. None where every class has one group.
    """
    n_rows = labels.n_rows
    apart = most_groups(labels, groups)
    n_folds = min(5 if n_rows < SMALL else 3, len(apart))
    if n_folds < 2:
        return []
    n_parts = n_folds if n_rows <= LARGE else max(n_folds, -(-n_rows // MOST_HELD_OUT))
    folds = []
    for _ in range(3 if n_rows < TINY else 1):
        fold_of_row = number_folds(labels, groups, n_parts, random_state.random_sample)
        folds += [np.flatnonzero(fold_of_row == fold) for fold in range(n_folds)]
    folds = [fold for fold in folds if 0 < len(fold) < n_rows]
    classes = labels.classes()
    if any(np.isin(classes[fold], np.delete(classes, fold)).any() for fold in folds):
        return folds
    # Few groups of several classes can be dealt out so that no class is in two folds.
    return [np.flatnonzero(groups == group) for group in apart[:n_folds]]


def best_scores(
    candidates: Iterable[NDArray[np.float64]], labels: Labels, weight: NDArray[np.float64]
) -> list[int]:
    """Of several scores of the same held-out rows, those that are right as often as any; the least log-loss first.

    "As often" allows for half a standard error of the difference, which is √n for n rows on which two disagree
    about being right. Errors alone are too coarse to see most of what is learned; log-loss, of calibrated scores,
    would alone leave the nearest neighbour, which is always sure, for more neighbours that err more often, and so
    it would within a whole standard error where a few hundred rows judge.
    """
    weight = weight / weight.mean()
    right, losses = [], []
    for scores in candidates:
        calibration, intercept = calibrate(scores, labels, weight)
        right.append(weight * exact_matches(scores + intercept, labels))
        losses.append(float(weight @ log_losses(calibration.probabilities(scores + intercept), labels)))
    most = max(range(len(losses)), key=lambda number: (right[number].sum(), -losses[number]))
    lacks = [right[most] - one for one in right]
    level = [number for number, lack in enumerate(lacks) if lack.sum() <= np.sqrt((lack**2).sum()) / 2]
    return sorted(level, key=losses.__getitem__)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values of an array, rising.

    `numpy.unique` hashes them, which takes a hundred times as long where most differ, as numbers of rows do.
    """
    ordered = np.sort(values, axis=None)
    return ordered[_changes(ordered)]


def distinct_pairs(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The different pairs of two arrays, rising by the first, then by the second."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    changes = _changes(first) | _changes(second)
    return first[changes], second[changes]


def _changes(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value differs from the one before."""
    changes = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes


def have_others(classes: NDArray[np.int64], groups: NDArray[np.integer], least: int = 1) -> NDArray[np.bool_]:
    """Whether a row's class is in so many other groups."""
    of_class, _ = distinct_pairs(classes, groups)
    return np.asarray(np.bincount(of_class)[classes] > least)


def mark_rows(X: Any, n_jobs: int | None = 1) -> NDArray[np.uint64]:
    """A number for each row, dense or sparse, that depends on its values alone; equal rows have the same."""
    if issparse(X):
        return _marks(_sparse_contents(X))
    rows = row_source(X)

    def mark(part: slice) -> NDArray[np.uint64]:
        return _marks(np.add(rows.part(part), 0.0, order="C"))  # −0 becomes 0

    return np.concatenate(map_parts(mark, rows.shape, n_jobs))


def _marks(contents: Iterable[Any]) -> NDArray[np.uint64]:
    digests = (hashlib.blake2b(content, digest_size=8).digest() for content in contents)
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _sparse_contents(X: Any) -> Iterator[bytes]:
    """Columns and values of each row, without zeros."""
    rows = csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    columns = rows.indices.astype(np.int64)
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield columns[start:end].tobytes() + rows.data[start:end].tobytes()


def join_equal_rows(marks: NDArray[np.integer], groups: NDArray[np.integer]) -> NDArray[np.int32]:
    """Groups in which equal rows are together: a copy of a row tells all about it. Named by first rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, contents = np.unique(marks, return_inverse=True)
    _, given = np.unique(groups, return_inverse=True)
    n_nodes = contents.max() + given.max() + 2  # a group and a content are joined by each row that has both
    joined = (np.ones(len(marks), dtype=np.int8), (contents, contents.max() + 1 + given))
    _, numbers = connected_components(coo_array(joined, shape=(n_nodes, n_nodes)), directed=False)
    _, first_row, group_of_row = np.unique(numbers[contents], return_index=True, return_inverse=True)
    return first_row[group_of_row].astype(np.int32)


def whole_groups(X: NDArray[Any], groups: NDArray[Any] | None, n_jobs: int | None = 1) -> NDArray[Any]:
    """The groups given, or single rows, with equal rows together; as they are where no row is there twice."""
    groups = np.arange(len(X)) if groups is None else np.asarray(groups)
    marks = mark_rows(X) if issparse(X) else _number_contents(X, n_jobs)
    return groups if len(distinct(marks)) == len(marks) else join_equal_rows(marks, groups)


def _number_contents(X: Any, n_jobs: int | None) -> NDArray[np.int64]:
    """A number for each dense row, the same for equal ones alone: marks are made of those that may be equal."""
    from nearboost.kernels import search as kernels

    rows = row_source(X).as_stored()
    bits = np.dtype(f"u{rows.dtype.itemsize}")
    found, numbers = np.empty(len(X), dtype=np.uint64), np.arange(len(X))

    def look(part: slice) -> None:
        block = np.ascontiguousarray(rows.part(part)).view(bits)
        kernels.fingerprint(block, bits.type(1 << (8 * bits.itemsize - 1)), found[part])

    map_parts(look, rows.shape, n_jobs)
    _, number, counts = np.unique(found, return_inverse=True, return_counts=True)
    repeated = np.flatnonzero(counts[number] > 1)
    numbers[repeated] = len(X) + np.unique(mark_rows(rows.only(repeated), n_jobs), return_inverse=True)[1]
    return numbers


def standard_error(right: NDArray[np.bool_], groups: NDArray[np.integer]) -> float:
    """Of a share of right answers; those of one group go together.

    It is no less than that of single rows with one more right and one wrong: a few rows without an error prove
    little.
    """
    _, group_of_row = np.unique(groups, return_inverse=True)
    by_group = np.bincount(group_of_row, right - right.mean())
    share = (right.sum() + 1) / (len(right) + 2)
    return float(max(np.sqrt(by_group @ by_group) / len(right), np.sqrt(share * (1 - share) / len(right))))
