"""Three projections that keep a graph: of codes (INNLP), of neighbours (LPP), of sparse codes (SRLP)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.validation import check_choice, check_positive, check_whole
from nearboost.codes.dictionary import check_coding
from nearboost.codes.l1 import L1Dictionary
from nearboost.inn.coder import INNCoder
from nearboost.inn.graph_projection import GraphProjection
from nearboost.neighbors import NeighborSearch, as_csr

EDGES = ("heat", "binary")


class INNProjection(GraphProjection):
    """INNLP: a linear projection that keeps rows near the rows their INN codes are made of.

    Each row is coded by the others of its class, or by all others (see `INNCoder`). Two rows are tied by the
    larger of their weights in each other's codes, and the projection keeps tied rows together while it spreads the
    rest. Put it before a neighbour classifier. In the paper, rows are scaled to unit length before and after it,
    as in the example.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None means all, one for each principal axis kept.
    supervised : bool, default=True
        Code rows inside each class. Otherwise labels are ignored.
    regularization : float, default=0.05
        λ of the codes, as in `INNCoder`.
    coverage : float, default=0.95
        Share of the weights that the codes make up, as in `INNCoder`.
    neighborhood : int or None, default=None
        Code each row only by this many nearest others, or by all of a smaller class. None means by all.
    ridge : float, default=1e-3
        r: this fraction of the mean variance is added to that of every principal axis. 0 is the published problem.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions in the coordinates of X, of unit length; the one that keeps most comes first.
    eigenvalues_ : ndarray of shape (n_components,)
        μ of each direction, at most 1: 1 would keep every tie.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows; `transform` returns ``(X − mean_) @ components_.T``.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Eqs. (9) to (11) of Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality
    reduction". Codes are made from the rows as given. The rows are then centred, so that X below has columns
    ``x − mean_``, and projected on the principal axes that hold 98% of their variance. The directions solve

        X W Xᵀ a = μ (X D Xᵀ + r·tr(X D Xᵀ)/d·I) a

    with the largest μ, where W holds the ties, D their sums, and d is the number of axes. At r = 0 they are those
    of eq. (10), whose eigenvalue is 1 − μ; with a ridge, the smallest eigenvalues of (10) would belong to
    directions without variance. The length of a, which (10) leaves open, is 1. A class of one row has no ties. No
    dense matrix is larger than X or than features x features.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from nearboost import INNClassifier
    >>> from nearboost import INNProjection
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(Normalizer(), INNProjection(9), Normalizer(), INNClassifier())
    >>> print(f"{model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]):.3f}")
    0.968
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        supervised: bool = True,
        regularization: float = 0.05,
        coverage: float = 0.95,
        neighborhood: int | None = None,
        ridge: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.supervised = supervised
        self.regularization = regularization
        self.coverage = coverage
        self.neighborhood = neighborhood
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_coding(self._coder(self.neighborhood, 0))

    def _coder(self, neighborhood: int | None, verbose: int) -> INNCoder:
        return INNCoder(
            self.regularization,
            coverage=self.coverage,
            neighborhood=neighborhood,
            n_jobs=self.n_jobs,
            verbose=verbose,
        )

    def _weights(self, X: NDArray[Any], verbose: int) -> csr_array:
        near = None if self.neighborhood is None else min(self.neighborhood, len(X) - 1)
        return self._coder(near, verbose).fit(X).leave_one_out()


class LPP(GraphProjection):
    """Locality preserving projections: rows stay near their nearest neighbours.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None means all, one for each principal axis kept.
    supervised : bool, default=True
        Look for neighbours inside each class. Otherwise labels are ignored.
    n_neighbors : int, default=5
        Number of neighbours of each row, or all others of a smaller class.
    weights : {"heat", "binary"}, default="heat"
        Tie between a row and a neighbour at distance ρ: exp(−ρ²/t), or 1.
    bandwidth : float or None, default=None
        t, a squared distance. None takes the mean of ρ² over all neighbours, for each class by itself if
        ``supervised``.
    ridge : float, default=1e-3
        r: this fraction of the mean variance is added to that of every principal axis. 0 is the published problem.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions in the coordinates of X, of unit length; the one that keeps most comes first.
    eigenvalues_ : ndarray of shape (n_components,)
        μ of each direction, at most 1: 1 would keep every tie.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows; `transform` returns ``(X − mean_) @ components_.T``.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    He and Niyogi, "Locality preserving projections" (2003). Two rows are tied if one is among the neighbours of
    the other. The problem is eq. (10) of `INNProjection`, and it is solved in the same way.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import KNNClassifier
    >>> from nearboost import LPP
    >>> X, y = load_digits(return_X_y=True)
    >>> projection = LPP(9).fit(X[::2], y[::2])
    >>> model = KNNClassifier(1).fit(projection.transform(X[::2]), y[::2])
    >>> print(f"{model.score(projection.transform(X[1::2]), y[1::2]):.3f}")
    0.962
    """

    _cure = "raise bandwidth or use None"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        supervised: bool = True,
        n_neighbors: int = 5,
        weights: str = "heat",
        bandwidth: float | None = None,
        ridge: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.supervised = supervised
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_whole("n_neighbors", self.n_neighbors)
        check_choice("weights", self.weights, EDGES)
        check_positive("bandwidth", self.bandwidth, optional=True)

    def _weights(self, X: NDArray[Any], verbose: int) -> csr_array:
        k = min(self.n_neighbors, len(X) - 1)
        graph = NeighborSearch(X, n_jobs=self.n_jobs, verbose=verbose, copy=False).graph(k)
        indptr, indices = as_csr(graph)
        weights = np.ones(len(indices))
        if self.weights == "heat":
            squares = graph.distances.ravel() ** 2
            width = squares.mean() if self.bandwidth is None else self.bandwidth
            weights = np.exp(-squares / (width or 1.0))  # a mean of 0: all are equal
        return csr_array((weights, indices, indptr), shape=(len(X), len(X)))


class SRLP(GraphProjection):
    """Sparse representation based projection: rows stay near the rows their sparse codes are made of.

    Like `INNProjection`, with weights ``|w|`` of the codes that minimise ``½|x − Σ w_i x_i|² + λ Σ|w_i|`` over the
    other rows of the class, or over all others.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None means all, one for each principal axis kept.
    supervised : bool, default=True
        Code rows inside each class. Otherwise labels are ignored.
    regularization : float, default=0.05
        λ, above 0. It is compared with products of rows: the default is meant for rows of unit length.
    neighborhood : int or None, default=None
        Code each row only by this many nearest others, or by all of a smaller class. None means by all.
    ridge : float, default=1e-3
        r: this fraction of the mean variance is added to that of every principal axis. 0 is the published problem.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions in the coordinates of X, of unit length; the one that keeps most comes first.
    eigenvalues_ : ndarray of shape (n_components,)
        μ of each direction, at most 1: 1 would keep every tie.
    mean_ : ndarray of shape (n_features,)
        Mean of the fitted rows; `transform` returns ``(X − mean_) @ components_.T``.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Timofte and Van Gool, "Sparse representation based projections" (2011). Unlike INN codes, these depend on the
    origin: they are made from the rows as given, not centred.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from nearboost import KNNClassifier
    >>> from nearboost import SRLP
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(Normalizer(), SRLP(9), Normalizer(), KNNClassifier(1))
    >>> print(f"{model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]):.3f}")
    0.964
    """

    _cure = "lower regularization, or scale rows to unit length"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        supervised: bool = True,
        regularization: float = 0.05,
        neighborhood: int | None = None,
        ridge: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.supervised = supervised
        self.regularization = regularization
        self.neighborhood = neighborhood
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive("regularization", self.regularization)
        check_whole("neighborhood", self.neighborhood, optional=True)

    def _weights(self, X: NDArray[Any], verbose: int) -> csr_array:
        near = None if self.neighborhood is None else min(self.neighborhood, len(X) - 1)
        dictionary = L1Dictionary(X, self.regularization, neighborhood=near, n_jobs=self.n_jobs, verbose=verbose)
        return abs(dictionary.codes(X, np.arange(len(X), dtype=np.int32)))
