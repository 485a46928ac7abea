"""INN: a row as a weighted sum of a few samples, each the nearest neighbour of what the others left over."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from nearboost.base.device import need_device
from nearboost.base.entries import Array, Misfit, Number, Part
from nearboost.base.estimator import Estimator
from nearboost.base.loading import loaded
from nearboost.base.rows import check_rows, row_source
from nearboost.base.schema import Schema, of_rows, set_fitted
from nearboost.base.validation import check_sparse
from nearboost.codes.dictionary import Dictionary, check_coding, check_neighborhood
from nearboost.inn.code_classifier import rows_to_keep

CURE = "give fewer samples, or neighborhood=, which reads them from a file"


def _check_samples(state: Mapping[str, Any]) -> None:
    if not len(state["samples_"]):
        raise Misfit("must have samples")


class INNCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Iterative nearest neighbours (INN): rows as sparse weighted sums of samples.

    The first term of a code is the nearest sample. The query then moves away from it by a fraction λ of their
    distance, the next term is the sample nearest to the moved query, and so on. Term i weighs λ/(1+λ)^i, so that
    later samples mend what earlier ones left over. A sample may come back; its weights add up.

    Codes are exact: every nearest neighbour is the one given by float64 distances, with ties going to the lower
    index, for any number of threads and any amount of memory. Under L2, each term after the first costs as much as
    reading one row of distances between samples, whatever the number of features; under L1 it costs a search.

    Parameters
    ----------
    regularization : float, default=0.05
        λ, above 0. The smaller it is, the more terms a code has and the closer its sum; with a large λ the nearest
        neighbour is almost alone.
    coverage : float, default=0.95
        Share of the weights' infinite sum, which is 1, that the terms make up; between 0 and 1.
    max_terms : int or None, default=None
        Maximum number of terms.
    tolerance : float, default=0.0
        Stop as soon as a row is within this Euclidean distance of its sum; 0 never stops.
    metric : {"l2", "l1"}, default="l2"
        Distance that nearest neighbours are found by.
    neighborhood : int or None, default=None
        Take terms only from this many nearest samples of the row: faster, with sums a little farther from it. None
        means from all. With it, samples of a memory-mapped file stay there.
    search : {"exact", "gpu"}, default="exact"
        How the samples of a ``neighborhood`` are found (and all of ``metric="l1"``). "gpu", or "gpu:1" for the
        second, finds the same and needs ``pip install "nearboost[gpu]"``.
    gram_memory : float or None, default=None
        Bytes for distances between samples, two per pair (L2 without ``neighborhood``). If all fit, `fit` computes
        them; otherwise they are computed when needed, and as many are kept as fit. None means half of the free
        memory, at most 8 GB. They are never saved: a loaded model computes what it needs. Of samples in a file,
        bytes to search them in; None means half of the free memory.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    terms_ : int
        Number of terms of a code that does not stop early: K of eq. (8), or ``max_terms``.
    samples_ : ndarray of shape (n_samples, n_features)
        The fitted rows: a copy, or with ``neighborhood`` the memory-mapped file that was given.
    gram_seconds_ : float
        Seconds `fit` spent on the distances between all samples; 0.0 if it did not compute them, and in a model
        from a file.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality reduction". They take
    λ from (0, 1); any positive number works. Sums are not renormalised: the weights of a code with K terms add up
    to 1 − (1+λ)^−K. `transform` codes a fitted row by itself; `leave_one_out` codes it by the others.

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

    model_schema: ClassVar[Schema] = of_rows(
        {
            "as_fitted": Part(("INNCoder",), fitted=False),
            "samples_": Array("float", ("n_rows", "n_features"), by_rows=True),
            "gram_seconds_": Number(low=0),
        },
        dropped=("gram_memory",),  # suits one machine
        check=_check_samples,
    )

    def __init__(
        self,
        regularization: float = 0.05,
        *,
        coverage: float = 0.95,
        max_terms: int | None = None,
        tolerance: float = 0.0,
        metric: str = "l2",
        neighborhood: int | None = None,
        search: str = "exact",
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
        self.search = search
        self.gram_memory = gram_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the rows to code by.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. Those of a memory-mapped file stay there with ``neighborhood``, and must fit in memory
            without.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        need_device(self.search)
        samples = check_rows(self, X, reset=True, accept_sparse=False, keep=True, order="C")
        self._take(samples if self.neighborhood is not None else loaded(samples, CURE), clone(self))
        self.gram_seconds_ = self._dictionary.build_gram()
        return self

    def _take(self, samples: NDArray[Any], as_fitted: Self) -> None:
        """Code by these from now on, in the way of another coder, whose parameters stay as they are."""
        check_neighborhood(as_fitted.neighborhood, len(samples))
        self.samples_, self._as_fitted = samples, as_fitted
        self._dictionary = Dictionary(samples, as_fitted)
        self.terms_ = self._dictionary.series.n_terms

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_coding(self)

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        if not hasattr(self, "samples_"):
            return {}
        kept = {"samples_": rows_to_keep(self.samples_), "as_fitted": self._as_fitted}
        return {**vars(self), **kept, "gram_seconds_": 0.0}  # equal fits give equal files

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Code by the samples of a file."""
        set_fitted(self, state)
        self._take(state["samples_"], state["as_fitted"])

    def transform(self, X: Any) -> csr_array:
        """Code rows by the fitted samples.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to code.

        Returns
        -------
        csr_array of shape (n_rows, n_samples)
            Weights of the samples.
        """
        check_is_fitted(self)
        return self._sorted_codes(check_rows(self, X, reset=False, accept_sparse=False, order="C"))

    def leave_one_out(self) -> csr_array:
        """Code each fitted row by all samples but itself; its duplicates count as others.

        Returns
        -------
        csr_array of shape (n_samples, n_samples)
            Weights of the samples.
        """
        check_is_fitted(self)
        n_others = len(self.samples_) - 1
        if not n_others:
            raise ValueError("leave_one_out needs 2 samples or more; the coder was fitted on 1, fit it on more.")
        check_neighborhood(self._as_fitted.neighborhood, n_others)
        return self._sorted_codes(self.samples_, np.arange(n_others + 1, dtype=np.int32))

    def _sorted_codes(self, X: Any, own: NDArray[np.int32] | None = None) -> csr_array:
        codes = self._dictionary.codes(X, own)
        codes.sort_indices()
        return codes

    def reconstruct(self, codes: ArrayLike | csr_array) -> NDArray[np.float64]:
        """The weighted sums of samples that codes stand for.

        Parameters
        ----------
        codes : {array-like, csr_array} of shape (n_rows, n_samples)
            Weights of the samples.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Sums, not renormalised.
        """
        check_is_fitted(self)
        check_sparse(codes)
        matrix: Any = codes if issparse(codes) else np.asarray(codes)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.samples_):
            raise ValueError(
                f"The codes have shape {matrix.shape}; give a matrix with one column for each of the "
                f"{len(self.samples_)} samples, as `transform` does."
            )
        samples = row_source(self.samples_)
        if samples.lie_in_memory:
            return np.asarray(matrix @ self.samples_.astype(np.float64, copy=False))
        used = np.unique(matrix.nonzero()[1])  # no others are read
        return np.asarray(matrix[:, used] @ samples.take(used).astype(np.float64, copy=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.samples_)
