"""Second moments of a sample of rows, E[x xᵀ], their leading directions, and a scale in which they keep digits."""

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.base.rows import Block, RowSource
from nearboost.base.threads import count_threads, count_useful_threads, map_in_threads
from nearboost.linear import tensors

ROWS_AT_ONCE = 2048  # fixed, as sums depend on it in their last digits
LINES_AT_ONCE = 512  # of a matrix that directions are multiplied by; fixed as well
SMALL = 1024  # up to so many features a full decomposition is faster than a search for the leading part
ROUNDS, SPARE = 3, 0.1  # of the search: products with the matrix, and directions beyond those asked for
HESSIAN_SAMPLES = 10_000  # unless given
LOOKED_AT = 256  # rows whose size is measured
SMALLEST, LARGEST = 2.0**-6, 2.0**20  # norms of rows that are left as they are
LEAST_SPREAD = 1e-12  # of the second moment, that must lie about the mean


def draw_sample(ids: NDArray[np.int64], n_samples: int | None, seed: int) -> NDArray[np.int64]:
    """Rows for the second moments, drawn from all of these, in rising order."""
    wanted = min(len(ids), HESSIAN_SAMPLES if n_samples is None else n_samples)
    return np.sort(np.random.default_rng((seed, 1)).choice(ids, wanted, replace=False))


class Moment(Protocol):
    """A second-moment matrix, or whatever can be multiplied like one."""

    n_features: int
    dtype: np.dtype[Any]

    def times(self, directions: NDArray[Any]) -> NDArray[Any]:
        """Its product with a block of columns."""

    def diagonal(self) -> NDArray[np.float64]:
        """E[x_j²]."""


class MatrixMoment:
    """The matrix itself; products are made in the precision of ``dtype``, some lines at a time in each thread."""

    def __init__(self, matrix: NDArray[np.float64], dtype: np.dtype[Any], n_jobs: int | None = 1) -> None:
        self.matrix, self.n_features, self.dtype, self.n_jobs = matrix, len(matrix), dtype, n_jobs
        self._factor = matrix.astype(dtype, copy=False)

    def times(self, directions: NDArray[Any]) -> NDArray[Any]:
        product = np.empty(directions.shape, dtype=np.result_type(self._factor, directions))

        def fill(start: int) -> None:
            lines = slice(start, start + LINES_AT_ONCE)
            np.matmul(self._factor[lines], directions, out=product[lines])

        threads = count_useful_threads(self.n_jobs, self.n_features * directions.size)
        map_in_threads(fill, range(0, self.n_features, LINES_AT_ONCE), threads)
        return product

    def diagonal(self) -> NDArray[np.float64]:
        return np.diag(self.matrix)


class SampleMoment:
    """XᵀX/n without the matrix, of rows times the roots of their weights: for many or sparse features."""

    def __init__(self, sample: Block) -> None:
        self.sample, self.n_features, self.dtype = sample, sample.shape[1], np.dtype(sample.dtype)

    def times(self, directions: NDArray[Any]) -> NDArray[Any]:
        return self.sample.T @ (self.sample @ directions)

    def diagonal(self) -> NDArray[np.float64]:
        squares = self.sample.multiply(self.sample) if issparse(self.sample) else self.sample**2
        return np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()


class RowMoment(SampleMoment):
    """XXᵀ/n instead, which has the same eigenvalues."""

    def __init__(self, sample: Block) -> None:
        super().__init__(sample)
        self.n_features = sample.shape[0]

    def times(self, directions: NDArray[Any]) -> NDArray[Any]:
        return self.sample @ (self.sample.T @ directions)


def measure_moment(
    rows: RowSource,
    sample: NDArray[np.integer],
    weights: NDArray[np.floating],
    *,
    intercept: bool,
    memory: float,
    n_jobs: int | None,
    device: Any = None,
) -> tuple[Moment, float]:
    """The second moment of the sampled rows times a scale, and the scale; with ``intercept`` of (x, 1).

    The matrix is summed block by block, in float64 over blocks. Where it would take more than a quarter of
    ``memory``, the rows themselves are kept instead, as many as fit there; also where they are much fewer than
    features, and decomposed faster. Products are made on the ``device``, if any.
    """
    width = rows.n_features + intercept
    counts = weights[sample].astype(np.float64)  # sums must be 1 to more digits than means take away
    shares = np.sqrt(counts / counts.sum())
    sparse = issparse(rows.X)
    few = not sparse and 2 * len(sample) <= min(width, SMALL)
    as_rows = few or 8 * width**2 > memory / 4 or (sparse and width > SMALL)
    few_products = few or (not as_rows and width <= SMALL)
    dtype = np.dtype(np.float64) if few_products else rows.dtype  # small matrices can afford all digits
    scale = measure_scale(rows, sample, dtype)
    if as_rows:
        if not sparse:
            every = -(-len(sample) // max(2, int(memory / 4 / (width * rows.dtype.itemsize))))
            if every > 1:
                warn_of_few(len(sample[::every]), len(sample), memory)
            sample, shares = sample[::every], shares[::every] * np.sqrt(every)
        block = rows.take(sample).astype(dtype, copy=False)
        return SampleMoment(weighted_rows(block, shares, scale, intercept)), scale

    def product(piece: slice) -> NDArray[Any]:
        block = weighted_rows(rows.take(sample[piece]).astype(dtype, copy=False), shares[piece], scale, intercept)
        square = block.T @ block
        return square.toarray() if sparse else square

    pieces = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(sample), ROWS_AT_ONCE)]
    if device is not None:
        parts = [sample[piece] for piece in pieces], [shares[piece] for piece in pieces]
        total = tensors.second_moment(rows, *parts, dtype, scale, intercept, device)
        return MatrixMoment(total, dtype, n_jobs), scale
    total = np.zeros((width, width))
    threads = count_threads(n_jobs)
    for first in range(0, len(pieces), threads):  # no more products at a time than threads
        for square in map_in_threads(product, pieces[first : first + threads], threads):
            total += square
    return MatrixMoment(total, dtype, n_jobs), scale


def warn_of_few(n_rows: int, wanted: int, memory: float) -> None:
    """Say that the second moment comes from fewer rows than asked for."""
    warnings.warn(
        f"memory={memory:g} has room for the second moment of {n_rows} of {wanted} rows; give more, or fewer "
        "hessian_samples.",
        UserWarning,
        stacklevel=2,
    )


def measure_mean(
    rows: RowSource, sample: NDArray[np.integer], weights: NDArray[np.floating], scale: float
) -> NDArray[np.float64]:
    """The mean of the sampled rows times the scale, by weight."""
    total = np.zeros(rows.n_features)
    for start in range(0, len(sample), ROWS_AT_ONCE):
        part = sample[start : start + ROWS_AT_ONCE]
        total += (rows.take(part).T.astype(np.float64) * scale) @ weights[part].astype(np.float64)
    return total / weights[sample].sum(dtype=np.float64)


def spreads(about_zero: NDArray[np.float64], centre: NDArray[np.float64], dtype: np.dtype) -> NDArray[np.float64]:
    """√(E[x²] − c²) of each feature; 1 where that is nothing but rounding of sums in ``dtype``."""
    variance = about_zero - centre**2
    constant = variance <= about_zero * 100 * np.finfo(dtype).eps
    return np.sqrt(np.where(constant, 1.0, variance))


def standardize(moment: Moment, intercept: bool) -> tuple[Moment, NDArray[np.float64], NDArray[np.float64]]:
    """The second moment of ((x − c)/s, 1) from that of (x, 1), with c and s; where there is no 1, c is zero.

    What is given is changed in place, as there may be no room for another. Sparse rows are not centred.
    """
    n_features = moment.n_features - intercept
    about_zero, centre = moment.diagonal()[:n_features], np.zeros(n_features)
    if isinstance(moment, MatrixMoment):
        matrix = moment.matrix
        if intercept:
            centre = matrix[:-1, -1].copy()
            matrix[:-1, -1] = matrix[-1, :-1] = 0.0
        scale = spreads(about_zero, centre, moment.dtype)
        for row, c, s in zip(matrix, centre, scale, strict=False):  # the constant stays as it is
            row[:n_features] = (row[:n_features] - c * centre) / (s * scale)
        return MatrixMoment(matrix, moment.dtype, moment.n_jobs), centre, scale
    assert isinstance(moment, SampleMoment)
    sample = moment.sample
    if issparse(sample):
        scale = spreads(about_zero, centre, moment.dtype)
        by_column = np.append(1 / scale, 1.0) if intercept else 1 / scale
        return SampleMoment(type(sample)(sample.multiply(by_column.astype(sample.dtype)))), centre, scale
    if intercept:
        centre = sample[:, :-1].T @ sample[:, -1].astype(np.float64)
    scale = spreads(about_zero, centre, moment.dtype)
    for row in sample:
        row[:n_features] -= row[-1] * centre if intercept else 0.0
        row[:n_features] /= scale
    return moment, centre, scale


def weighted_rows(block: Block, factors: NDArray[np.floating], scale: float, intercept: bool) -> Block:
    """Each row times its factor and the scale; the factor itself is a last column where there is an intercept."""
    factors = factors.astype(block.dtype)[:, np.newaxis]
    scaling = factors * block.dtype.type(scale)
    if issparse(block):
        from scipy.sparse import csr_array, hstack

        scaled = block.multiply(scaling)
        return csr_array(hstack([scaled, csr_array(factors)]) if intercept else scaled)
    scaled = np.empty((len(block), block.shape[1] + intercept), dtype=block.dtype)
    np.multiply(block, scaling, out=scaled[:, : block.shape[1]])
    if intercept:
        scaled[:, -1:] = factors
    return scaled


def leading_eigenpairs(moment: Moment, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest eigenvalues, falling, and their vectors as columns; those that are zero by rounding left out.

    Small matrices are decomposed; of large ones the leading part is found by a block of directions that is
    multiplied a few times. What it misses matters little here: the directions found are orthonormal, and each
    gets the second moment it has.
    """
    n = moment.n_features
    if isinstance(moment, MatrixMoment) and n <= max(SMALL, 2 * rank):
        from scipy.linalg import eigh

        values, vectors = eigh(moment.matrix, driver="evd")  # faster than its driver for some of the eigenvalues
        values, vectors = values[-rank:], vectors[:, -rank:]
    elif isinstance(moment, SampleMoment) and moment.sample.shape[0] <= max(SMALL // 2, min(SMALL, 4 * rank)):
        values, vectors = _decompose_few(moment.sample, rank)
    elif isinstance(moment, SampleMoment) and moment.sample.shape[0] < n:
        values, vectors = _through_rows(moment.sample, *_search(RowMoment(moment.sample), rank))
    else:
        values, vectors = _search(moment, min(rank, n))
    values, vectors = values[::-1], vectors[:, ::-1]
    alive = values > max(values[0], 0.0) * np.sqrt(n) * np.finfo(moment.dtype).eps
    return values[alive], np.ascontiguousarray(_signed(vectors[:, alive]))


def _decompose_few(sample: Block, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenpairs of SᵀS from those of the smaller SSᵀ."""
    products = sample @ sample.T
    products = products.toarray() if issparse(products) else products
    values, vectors = np.linalg.eigh(products.astype(np.float64))
    return _through_rows(sample, values[-rank:], vectors[:, -rank:])


def _through_rows(
    sample: Block, values: NDArray[np.float64], vectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """An eigenvector v = Sᵀu/√λ of SᵀS for each u of SSᵀ."""
    values = np.maximum(values, 0.0)
    return values, (sample.T @ vectors) / np.sqrt(np.where(values > 0, values, 1.0))


def _search(moment: Moment, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Subspace iteration from a fixed random start, then the eigenpairs within the subspace."""
    from scipy.linalg import lu

    width = min(moment.n_features, rank + max(8, round(SPARE * rank)))
    directions = np.random.default_rng(0).standard_normal((moment.n_features, width)).astype(moment.dtype)
    for _ in range(ROUNDS - 1):  # L of LU spans the same as Q of QR, in a sixth of the time
        directions = lu(moment.times(directions), permute_l=True, overwrite_a=True, check_finite=False)[0]
    directions = np.linalg.qr(moment.times(directions))[0]
    within = directions.T @ moment.times(directions)
    values, turn = np.linalg.eigh((within + within.T) / 2)
    return values[-rank:].astype(np.float64), (directions @ turn[:, -rank:]).astype(np.float64)


def largest_eigenvalue(moment: Moment, scale: NDArray[np.float64], centre: NDArray[np.float64]) -> float:
    """Of the second moment of s · (x − c), c the mean or zero, by powers; a little below the truth at worst."""
    direction = np.ones(moment.n_features)
    size = 0.0
    for _ in range(30):
        scaled = scale * direction
        direction = scale * (moment.times(scaled) - centre * (centre @ scaled))
        size = float(np.linalg.norm(direction))
        if size == 0.0:
            return 0.0
        direction /= size
    return size


def _signed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest entry of each column positive, so that the signs do not depend on the library."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])


def measure_scale(rows: RowSource, sample: NDArray[np.integer], dtype: np.dtype) -> float:
    """A power of two that brings rows of extreme size to a norm near 1; 1 for all others.

    Second moments summed in ``dtype`` must be able to tell the rows from their mean.
    """
    size, spread = measure_size(rows, sample)
    least = max(LEAST_SPREAD, np.sqrt(rows.n_features) * float(np.finfo(dtype).eps))
    if 0 < spread < least:
        raise ValueError(
            f"Rows differ from their mean by {np.sqrt(spread):.1g} of their size, too little for second moments "
            f"in {dtype}; subtract the mean first (StandardScaler)."
        )
    return 1.0 if size == 0 or SMALLEST <= size <= LARGEST else float(2.0 ** -np.round(np.log2(size)))


def measure_size(rows: RowSource, sample: NDArray[np.integer]) -> tuple[float, float]:
    """The root mean square of the norms of some rows, and the share of their second moment about the mean."""
    block = rows.take(sample[:: -(-len(sample) // LOOKED_AT)]).astype(np.float64)
    largest = float(np.abs(block.data if issparse(block) else block).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    block = block / largest  # squares must not overflow
    mean = np.asarray(block.mean(axis=0)).ravel()
    if issparse(block):
        second = float((block.data**2).sum() / block.shape[0])
        spread = max(second - float(mean @ mean), 0.0) if block.shape[0] > 1 else 0.0  # but for rounding
    else:
        second = float((block**2).sum() / len(block))
        spread = float(((block - mean) ** 2).sum() / len(block))
    return min(largest * np.sqrt(second), np.finfo(float).max), spread / second
