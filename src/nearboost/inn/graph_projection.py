"""Linear projections that keep a graph: rows with a weight between them stay near each other."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array
from nearboost.base.errors import warn_caller
from nearboost.base.estimator import Estimator
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema, of_rows
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_flag, check_not_negative, check_whole, validate_rows
from nearboost.problem.targets import encode_classes

SHARE_OF_VARIANCE = 0.98


class GraphProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator, ABC):
    """What all such projections share; they differ in the weights between rows.

    Rows are centred and brought to the principal axes that hold 98% of their variance. There, with the weights W
    made symmetric and D the diagonal of their sums, the directions are the solutions of

        X W Xᵀ a = μ (X D Xᵀ + r·tr(X D Xᵀ)/d·I) a

    with the largest μ. At r = 0 they are those of eq. (10) with the smallest eigenvalues, 1 − μ.
    """

    n_components: int | None
    supervised: bool
    ridge: float
    n_jobs: int | None
    verbose: int

    mean_: NDArray[np.float64]
    components_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]

    model_schema: ClassVar[Schema] = of_rows(
        {
            "mean_": Array("float64", ("n_features",)),
            "components_": Array("float64", ("n_components", "n_features")),
            "eigenvalues_": Array("float64", ("n_components",)),
        }
    )

    _cure = ""  # what helps where all weights are 0

    @abstractmethod
    def _weights(self, X: NDArray[Any], verbose: int) -> csr_array:
        """What each of two rows or more weighs for the others; not yet symmetric."""

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components, optional=True)
        check_flag("supervised", self.supervised)
        check_not_negative("ridge", self.ridge, "which is the problem as published")
        count_threads(self.n_jobs)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float32 or float64.
        y : array-like of shape (n_samples,) or None, default=None
            Class labels; ignored if ``supervised=False``.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        dtypes = [np.float64, np.float32]
        if self.supervised:
            X, y = validate_rows(self, X, y, dtype=dtypes, order="C", ensure_min_samples=2)
            parts: Sequence[Any] = members_of(encode_classes(y)[1])
        else:
            X = validate_rows(self, X, dtype=dtypes, order="C", ensure_min_samples=2)
            parts = [slice(None)]
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        axes, Z = principal_axes(X - self.mean_)
        n_components = self._count_components(len(X), len(axes))
        scatter, kept = self._second_moments(X, Z, parts)
        scatter[np.diag_indices_from(scatter)] += self.ridge * np.trace(scatter) / len(scatter)
        self.eigenvalues_, directions = largest_solutions(kept, scatter, n_components)
        # Either sign of a direction is right; in original coordinates, the largest entry becomes positive.
        _, self.components_ = svd_flip(None, directions.T @ axes, u_based_decision=False)
        return self

    def _count_components(self, n_samples: int, most: int) -> int:
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} is more than the {most} principal axes that hold "
                f"{SHARE_OF_VARIANCE:.0%} of the variance (n_samples={n_samples}, "
                f"n_features={self.n_features_in_}); use {most} or fewer, or None for all."
            )
        return most if self.n_components is None else self.n_components

    def _second_moments(
        self, X: NDArray[Any], Z: NDArray[np.float64], parts: Sequence[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Zᵀ D Z and Zᵀ W Z, divided by the sum of all weights, which are between rows of one part only."""
        n_axes, total = Z.shape[1], 0.0
        scatter, kept = np.zeros((n_axes, n_axes)), np.zeros((n_axes, n_axes))
        self._warn_of_lonely(parts)
        one = len(parts) == 1  # whose weights then have a bar of their own
        with progress_bar("Weights within classes", len(parts), 0 if one else self.verbose) as advance:
            for part in parts:
                rows = Z[part]
                if len(rows) > 1:
                    W = self._weights(X[part], self.verbose if one else 0)
                    W = W.maximum(W.T)  # eq. (9)
                    sums = W.sum(axis=1)
                    scatter += rows.T @ (sums[:, np.newaxis] * rows)
                    kept += rows.T @ (W @ rows)
                    total += sums.sum()
                advance()
        if not total > 0:
            raise ValueError(f"All weights between rows are 0, so there is nothing to keep; {self._cure}.")
        return scatter / total, (kept + kept.T) / (2 * total)

    def _warn_of_lonely(self, parts: Sequence[Any]) -> None:
        """Classes of one row have no weights; where there are no others, nothing has."""
        lonely = sum(not isinstance(part, slice) and len(part) == 1 for part in parts)
        if lonely == len(parts):
            raise ValueError(
                f"Each of the {lonely} classes has one row, which leaves no weights between rows of a class; "
                "give more rows, or use supervised=False."
            )
        if lonely:
            warn_caller(
                f"{lonely} of {len(parts)} classes have one row, which has no other of its class to stay near; "
                "they count for the mean and the principal axes only.",
            )

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Project rows on the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to project.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Projected rows, in the precision of X; the same in any batch of rows up to 1e-12 of the largest, 1e-5
            in float32.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, dtype=[np.float64, np.float32], reset=False)
        return ((X - self.mean_) @ self.components_.T).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self.supervised)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def members_of(encoded: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The rows of each class."""
    return np.split(np.argsort(encoded, kind="stable"), np.cumsum(np.bincount(encoded))[:-1])


def principal_axes(centred: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The axes that hold 98% of the variance, one a row, and where the rows lie on them."""
    if not 0 < np.square(centred).sum() < np.inf:
        raise ValueError(
            "The rows of X do not differ, or by numbers whose squares float64 cannot hold; "
            "give rows that differ, in another unit."
        )
    axes: NDArray[np.float64] = PCA(SHARE_OF_VARIANCE).fit(centred).components_
    return axes, centred @ axes.T


def largest_solutions(
    kept: NDArray[np.float64], scatter: NDArray[np.float64], n_solutions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest μ of ``kept`` a = μ ``scatter`` a, and their a as columns, of unit length."""
    size = len(scatter)
    try:
        values, vectors = eigh(kept, scatter, subset_by_index=[size - n_solutions, size - 1])
    except LinAlgError:
        raise ValueError(
            "The rows that have weights do not span all principal axes, so the problem has no solution; "
            "use a ridge above 0."
        ) from None
    return values[::-1], (vectors / np.linalg.norm(vectors, axis=0))[:, ::-1]
