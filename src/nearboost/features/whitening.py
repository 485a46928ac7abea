"""WhitenedPCA: main directions made about equally important, rows of unit length."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Size
from nearboost.base.estimator import Estimator
from nearboost.base.progress import Advance, progress_bar
from nearboost.base.rows import RowSource, check_rows, row_source
from nearboost.base.schema import Schema, of_rows
from nearboost.base.threads import matrix_threads
from nearboost.base.validation import check_not_negative, check_whole
from nearboost.features.base import as_seed, numbers, unit
from nearboost.features.mixture import mean_of, pieces

ROWS_PER_BLOCK = 1024
OVERSAMPLING = 10
MOST_DAMPING = 1e6
NO_VARIANCE = 1e-9  # of the largest


class WhitenedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Principal components over damped deviations, then rows of unit length: for neighbours on Fisher vectors.

    Component i is divided by √(λᵢ + μ·λ₁), with λ the variances in decreasing order: whitening lets weak
    directions count, damping keeps the weakest, which are noise, from counting too much. Without unit length at
    the end, it would do more harm than good.

    Parameters
    ----------
    n_components : int, default=1024
        Number of directions; never more than the rows have.
    damping : float, default=0.1
        μ: 0 whitens fully, large numbers (at most 1e6) leave plain principal components.
    n_passes : int, default=4
        Passes over the rows that sharpen the directions; each costs two products with the rows.
    n_jobs : int or None, default=None
        Number of threads of the matrix library; None uses all cores. Results agree to rounding.
    random_state : int, RandomState or None, default=None
        Seed of the first directions. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    components_ : ndarray of shape (``n_components_``, n_features)
        Directions.
    explained_variance_ : ndarray of shape (``n_components_``,)
        λ, the variances along them.
    mean_ : ndarray of shape (n_features,)
        Mean row.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Randomised subspace iteration (Halko, Martinsson and Tropp 2011) in float32, on blocks of rows, so that X may
    be a memory map larger than memory.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import WhitenedPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 50)) * np.arange(50)
    >>> Z = WhitenedPCA(10).fit_transform(X)
    >>> Z.shape, Z.dtype, np.allclose(np.linalg.norm(Z, axis=1), 1)
    ((200, 10), dtype('float32'), True)
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "n_components_": Size(1, name="n_components"),
            "mean_": numbers("n_features", dtype="float64"),
            "components_": numbers("n_components", "n_features", most=1.01),
            "explained_variance_": Array("float32", ("n_components",), low=0, high=1e36),
        }
    )

    def __init__(
        self,
        n_components: int = 1024,
        *,
        damping: float = 0.1,
        n_passes: int = 4,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.damping = damping
        self.n_passes = n_passes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float32 or float64.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        rows = row_source(check_rows(self, X, reset=True, accept_sparse=False, ensure_min_samples=2))
        width = min(self.n_components + OVERSAMPLING, *rows.shape)
        with matrix_threads(self.n_jobs), progress_bar("WhitenedPCA", self.n_passes + 1, self.verbose) as advance:
            self.mean_ = mean_of(rows, pieces(len(rows), ROWS_PER_BLOCK))
            basis = main_subspace(rows, self.mean_, width, self.n_passes, as_seed(self.random_state), advance)
            variances, turn = np.linalg.eigh(scatter_within(rows, self.mean_, basis) / (len(rows) - 1))
            advance()
        variances, directions = variances[::-1], (basis @ turn[:, ::-1]).T
        self.n_components_ = min(self.n_components, max(1, int((variances > NO_VARIANCE * variances[0]).sum())))
        self.explained_variance_ = np.maximum(variances[: self.n_components_], 0).astype(np.float32)
        self.components_ = np.ascontiguousarray(directions[: self.n_components_], dtype=np.float32)
        return self

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components)
        check_whole("n_passes", self.n_passes)
        check_not_negative("damping", self.damping, most=MOST_DAMPING)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Whiten rows and scale them to unit length.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to whiten.

        Returns
        -------
        ndarray of shape (n_samples, ``n_components_``), float32
            Rows of unit length; a row equal to the mean becomes zeros. The same in any batch of rows up to 1e-5.
        """
        check_is_fitted(self)
        source = row_source(check_rows(self, X, reset=False, accept_sparse=False))
        damped = self.explained_variance_ + np.float32(self.damping) * self.explained_variance_[0]
        deviations = np.sqrt(np.maximum(damped, np.finfo(np.float32).tiny))
        rows = np.empty((len(source), self.n_components_), dtype=np.float32)
        with matrix_threads(self.n_jobs):
            for part, block in centred_blocks(source, self.mean_):
                whitened = block @ self.components_.T / deviations
                rows[part] = unit(whitened, np.linalg.norm(whitened, axis=1, keepdims=True))
        return rows

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def centred_blocks(rows: RowSource, mean: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Some rows at a time, less the mean; in two steps, or float32 would lose what rows far from 0 differ in."""
    near = mean.astype(rows.dtype)
    rest = (mean - near).astype(np.float32)
    for start, found in rows.blocks(np.inf, ROWS_PER_BLOCK):
        block = np.asarray(found - near, dtype=np.float32)
        block -= rest
        yield slice(start, start + len(block)), block


def main_subspace(
    rows: RowSource, mean: NDArray[np.float64], width: int, n_passes: int, seed: int, advance: Advance
) -> NDArray[np.float32]:
    """Orthonormal columns that span about the first ``width`` principal directions; all of them where they fit."""
    n_features = rows.n_features
    if width == n_features:
        advance(n_passes)
        return np.eye(n_features, dtype=np.float32)
    basis = np.random.default_rng(seed).standard_normal((n_features, width), dtype=np.float32)
    for _ in range(n_passes):
        image = np.zeros((n_features, width))
        for _, block in centred_blocks(rows, mean):
            image += block.T @ (block @ basis)
        basis = np.linalg.qr(image)[0].astype(np.float32)
        advance()
    return basis


def scatter_within(rows: RowSource, mean: NDArray[np.float64], basis: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums of squares and products of the rows' coordinates."""
    scatter = np.zeros((basis.shape[1], basis.shape[1]))
    for _, block in centred_blocks(rows, mean):
        coordinates = (block @ basis).astype(np.float64)  # float32 sums would hide weak directions
        scatter += coordinates.T @ coordinates
    return scatter
