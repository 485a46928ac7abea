"""INN: a row as a weighted sum of a few samples, each the nearest neighbour of what the others left over."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nearboost.codes.dictionary import Dictionary, check_coding, check_neighborhood


class INNCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Iterative nearest neighbours: rows as sparse weighted sums of samples.

    The first term of a code is the nearest sample. The query then moves away from it by a share λ of their
    distance, the next term is the sample nearest to the moved query, and so on; term i weighs λ/(1+λ)^i, so that
    later samples mend what earlier ones left over. A sample may come back; its weights add up.

    Codes are exact: every nearest neighbour is the one that float64 distances give, ties going to the lower index,
    for any number of threads and any memory. Under L2 a term after the first costs as much as reading one row of
    distances between samples, whatever the number of features; under L1 it costs a search.

    Parameters
    ----------
    regularization : float
        λ, above 0. The smaller, the more terms and the closer the sum; a large one leaves the nearest neighbour
        alone.
    coverage : float
        The share of the weights' infinite sum, which is 1, that the terms make up, between 0 and 1.
    max_terms : int or None
        At most so many terms.
    tolerance : float
        Stop as soon as the Euclidean distance between a row and its sum is not above this; 0 never stops.
    metric : {"l2", "l1"}
        What nearest means.
    neighborhood : int or None
        Take the terms from so many nearest samples of the row alone: faster, and sums a little farther from it.
        None means from all.
    gram_memory : float or None
        Bytes for distances between samples, two for each pair (L2 without ``neighborhood``). Where all fit, `fit`
        computes them; else they are computed when needed, and as many kept as fit. None means half of the free
        memory, at most 8 GB. They are never written to a file: a loaded coder computes what it needs.
    n_jobs : int or None
        Threads; None means all cores.
    verbose : int
        Above 0, a progress bar on standard error.

    Attributes
    ----------
    terms_ : number of terms of a code that does not stop early, K of eq. (8) or ``max_terms``
    samples_ : the fitted rows, which are not copied: leave them as they are
    gram_seconds_ : how long `fit` took to compute the distances between all samples, 0.0 where it did not
    n_features_in_ : number of features

    Notes
    -----
    Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality reduction". They take
    λ from (0, 1); any positive number works. Sums are not renormalised: the weights of a code with K terms add up
    to 1 − (1+λ)^−K. `transform` finds a fitted row at once in itself; `leave_one_out` codes it by the others.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost import INNCoder
    >>> samples = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [9.0, 9.0]])
    >>> coder = INNCoder(0.5, coverage=0.9).fit(samples)
    >>> coder.terms_
    6
    >>> codes = coder.transform([[1.0, 2.2]])
    >>> print(codes.toarray().round(3))
    [[0.222 0.192 0.498 0.   ]]
    >>> print(coder.reconstruct(codes).round(2))
    [[0.77 1.99]]
    """

    def __init__(
        self,
        regularization: float = 0.05,
        *,
        coverage: float = 0.95,
        max_terms: int | None = None,
        tolerance: float = 0.0,
        metric: str = "l2",
        neighborhood: int | None = None,
        gram_memory: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.coverage = coverage
        self.max_terms = max_terms
        self.tolerance = tolerance
        self.metric = metric
        self.neighborhood = neighborhood
        self.gram_memory = gram_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows to code by; ``y`` is ignored."""
        check_coding(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], order="C")
        check_neighborhood(self.neighborhood, len(X))
        self._dictionary = Dictionary(X, self)
        self.samples_ = self._dictionary.samples
        self.terms_ = self._dictionary.series.n_terms
        self.gram_seconds_ = self._dictionary.gram_seconds
        return self

    def transform(self, X: Any) -> csr_array:
        """Codes of rows: weights of the fitted samples, of shape (n_rows, n_samples)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], order="C", reset=False)
        return self._sorted_codes(X)

    def leave_one_out(self) -> csr_array:
        """Codes of the fitted rows, each by all samples but itself; its duplicates count as others."""
        check_is_fitted(self)
        n_others = len(self.samples_) - 1
        if not n_others:
            raise ValueError("leave_one_out needs 2 samples or more; the coder was fitted on 1, fit it on more.")
        check_neighborhood(self.neighborhood, n_others)
        return self._sorted_codes(self.samples_, np.arange(n_others + 1, dtype=np.int32))

    def _sorted_codes(self, X: NDArray[Any], own: NDArray[np.int32] | None = None) -> csr_array:
        codes = self._dictionary.codes(X, own)
        codes.sort_indices()
        return codes

    def reconstruct(self, codes: ArrayLike | csr_array) -> NDArray[np.float64]:
        """The rows that codes stand for, the weighted sums of samples; not renormalised."""
        check_is_fitted(self)
        matrix: Any = codes if issparse(codes) else np.asarray(codes)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.samples_):
            raise ValueError(
                f"The codes have shape {matrix.shape}; give a matrix with one column for each of the "
                f"{len(self.samples_)} samples, as `transform` does."
            )
        return np.asarray(matrix @ self.samples_.astype(np.float64, copy=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.samples_)
