"""DiagonalGMM: a mixture of Gaussians without correlations, fitted in blocks of float32."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Flag, Integer, Number
from nearboost.base.errors import warn_caller
from nearboost.base.estimator import Estimator
from nearboost.base.outputs import gathered
from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource, check_rows, row_source
from nearboost.base.schema import Schema, of_rows
from nearboost.base.threads import count_threads, map_in_threads, one_matrix_thread
from nearboost.base.validation import check_not_negative, check_positive, check_whole
from nearboost.features.base import as_seed, numbers
from nearboost.features.mixture import (
    Mixture,
    Posterior,
    Scale,
    Sums,
    block_rows,
    expected_sums,
    moments_of,
    pieces,
)
from nearboost.neighbors import k_means

ROWS_TO_START, NUMBERS_TO_START = 2**16, 2**25  # for k-means
ROWS_TO_SEED = 20  # for each component, however long rows are
EMPTY = 1e-3  # rows: a component with less to itself is given half of the largest one


class DiagonalGMM(Estimator):
    """A mixture of Gaussians with diagonal covariances, fitted by expectation maximisation.

    Rows are standardised and processed in blocks of float32 with sums in float64: fast, in little memory, and with
    the same result for any number of threads.

    Parameters
    ----------
    n_components : int, default=16
        Number of Gaussians.
    max_iter : int, default=100
        Maximum number of EM rounds.
    tol : float, default=1e-3
        Stop when a round raises the mean log-likelihood of a row by less than this.
    min_variance : float, default=1e-2
        Lower bound of a component's variances, as a fraction of the feature's variance over all rows.
    start : tuple (weights, means, variances) or None, default=None
        Initial mixture; None starts from k-means.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of k-means. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each Gaussian.
    means_ : ndarray of shape (n_components, n_features)
        Mean of each Gaussian.
    variances_ : ndarray of shape (n_components, n_features)
        Variances of each Gaussian.
    log_likelihood_ : float
        Mean log-likelihood of the fitted rows, before the last round's update.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether ``tol`` was reached.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    A component that loses all its rows restarts as half of the largest one, moved by half a deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import DiagonalGMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal(8, 2, (500, 2))])
    >>> model = DiagonalGMM(2).fit(X)
    >>> print(np.sort(model.means_[:, 0]).round(1), model.weights_.round(2))
    [-0.1  8.1] [0.5 0.5]
    """

    # The mixture of standardised features, and what standardises them.
    model_schema: ClassVar[Schema] = of_rows(
        {
            "weights_": Array("float64", ("n_components",), above=0, high=1, least=1),
            "means": numbers("n_components", "n_features", dtype="float64", most=1e9),
            "variances": Array("float64", ("n_components", "n_features"), low=1e-18, high=1e18),
            "center": numbers("n_features", dtype="float64", most=1e150),
            "deviation": Array("float64", ("n_features",), low=1e-150, high=1e150),
            "log_likelihood_": Number(finite=False),
            "n_iter_": Integer(1),
            "converged_": Flag(),
        }
    )

    def __init__(
        self,
        n_components: int = 16,
        *,
        max_iter: int = 100,
        tol: float = 1e-3,
        min_variance: float = 1e-2,
        start: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.min_variance = min_variance
        self.start = start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixture to rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. A memory-mapped file is read in blocks, with the same result.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        checks: dict[str, Any] = {"accept_sparse": False, "order": "C", "ensure_min_samples": self.n_components}
        rows = row_source(check_rows(self, X, reset=True, **checks))
        mean, deviation = moments_of(rows)
        mixture = self._first(rows, mean, deviation)
        with one_matrix_thread():
            mixture = self._improve(rows, Scale(mean, 1 / deviation), mixture)
        self._keep(mixture, mean, deviation)
        return self

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components)
        check_whole("max_iter", self.max_iter)
        check_not_negative("tol", self.tol)
        check_positive("min_variance", self.min_variance, most=1)

    def model_state(self) -> dict[str, Any]:
        """What a model file keeps."""
        if not hasattr(self, "_mixture"):
            return {}
        _, means, variances = self._mixture
        standard = {
            "means": means,
            "variances": variances,
            "center": self._scale.mean,
            "deviation": self._deviation,
        }
        return vars(self) | standard

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take back what a model file kept."""
        kept = dict(state)
        mixture = Mixture(kept.pop("weights_"), kept.pop("means"), kept.pop("variances"))
        self._keep(mixture, kept.pop("center"), kept.pop("deviation"))
        self.__dict__.update(kept)

    def _keep(self, mixture: Mixture, mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> None:
        self.weights_ = mixture.weights
        self.means_ = mixture.means * deviation + mean
        self.variances_ = mixture.variances * np.square(deviation)
        self._mixture, self._scale, self._deviation = mixture, Scale(mean, 1 / deviation), deviation

    def _first(self, X: RowSource, mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> Mixture:
        from nearboost.kernels.encoding import add_by_label

        if self.start is not None:
            return standardised(check_start(self.start, self.n_components, X.n_features), mean, deviation)
        seed = as_seed(self.random_state)
        most = min(ROWS_TO_START, max(ROWS_TO_SEED * self.n_components, NUMBERS_TO_START // X.n_features))
        some = X.only(np.sort(np.random.default_rng(seed).permutation(len(X))[:most]))
        rows = np.empty(some.shape, dtype=np.float32)
        for start in range(0, len(some), size := block_rows(some)):
            part = slice(start, min(start + size, len(some)))
            rows[part] = (some.part(part) - mean) / deviation
        _, labels = k_means(rows, self.n_components, seed, n_jobs=self.n_jobs, verbose=self.verbose)
        sums, squares = np.zeros((2, self.n_components, X.n_features))
        counts = np.zeros(self.n_components)
        add_by_label(rows, labels, sums, counts)
        add_by_label(np.square(rows, out=rows), labels, squares, np.zeros_like(counts))
        return self._maximised(Sums(counts, np.hstack([sums, squares]), 0.0))

    def _improve(self, X: RowSource, scale: Scale, mixture: Mixture) -> Mixture:
        """Rounds of expectation and maximisation."""
        before, self.converged_ = -np.inf, False
        with progress_bar("EM", self.max_iter, self.verbose) as advance:
            for n_rounds in range(1, self.max_iter + 1):
                sums = expected_sums(X, Posterior(mixture, scale), self.n_jobs)
                mixture = self._maximised(sums)
                self.n_iter_, self.log_likelihood_ = n_rounds, sums.log_likelihood / len(X)
                advance()
                if self.log_likelihood_ - before < self.tol:  # of the mixture before this round's change
                    self.converged_ = True
                    advance(self.max_iter - self.n_iter_)
                    break
                before = self.log_likelihood_
            else:
                warn_caller(
                    f"DiagonalGMM has not converged in max_iter={self.max_iter} rounds; raise max_iter or tol.",
                    ConvergenceWarning,
                )
        return mixture

    def _maximised(self, sums: Sums) -> Mixture:
        """The mixture that fits the shares best; empty components take half of the largest one."""
        counts = np.maximum(sums.counts, np.finfo(np.float64).tiny)
        n_features = sums.moments.shape[1] // 2
        means, squares = np.hsplit(sums.moments / counts[:, np.newaxis], [n_features])
        variances = np.maximum(squares - np.square(means), self.min_variance)
        weights = sums.counts / sums.counts.sum()
        for empty in np.flatnonzero(sums.counts < EMPTY):
            largest = int(weights.argmax())
            weights[empty] = weights[largest] = weights[largest] / 2
            variances[empty] = variances[largest]
            means[empty] = means[largest] + 0.5 * np.sqrt(variances[largest])
        return Mixture(weights, means, variances)

    def predict_proba(self, X: Any, *, out: Any = None) -> NDArray[np.float32]:
        """Posterior probability of each component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Probabilities that sum to 1 in every row.
        """
        return gathered((np.ascontiguousarray(shares.T) for shares, _ in self._evaluate(X)), X, out)

    def predict(self, X: Any, *, out: Any = None) -> NDArray[np.intp]:
        """The most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples,)
            Component numbers.
        """
        return gathered((shares.argmax(axis=0) for shares, _ in self._evaluate(X)), X, out)

    def score_samples(self, X: Any, *, out: Any = None) -> NDArray[np.float32]:
        """Log-likelihood of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows. A memory-mapped or opened file is read in blocks.
        out : ndarray or None, default=None
            An array or map of the same shape and type to write the answers to, and to return.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-likelihoods.
        """
        return gathered((logs for _, logs in self._evaluate(X)), X, out)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query rows.
        y : None, default=None
            Ignored.

        Returns
        -------
        float
            Mean log-likelihood.
        """
        return float(self.score_samples(X).mean(dtype=np.float64))

    def gradients(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Fisher score of a set of rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The set.

        Returns
        -------
        ndarray of shape (2, n_components, n_features)
            Gradients by the means and by the variances.
        """
        check_is_fitted(self)
        # float32 would lose what differs from a narrow Gaussian far from the middle
        posterior = Posterior(self._mixture, self._scale, np.float64)
        counts, moments, _ = expected_sums(row_source(rows), posterior, n_jobs=1)
        weights, means, variances = self._mixture
        first, second = np.hsplit(moments, 2)
        own = counts[:, np.newaxis]
        by_means = (first - means * own) / np.sqrt(variances)
        by_variances = ((second - 2 * means * first + np.square(means) * own) / variances - own) / np.sqrt(2)
        return np.stack([by_means, by_variances]) / (len(rows) * np.sqrt(weights)[:, np.newaxis])

    def _evaluate(self, X: Any) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Posterior probabilities, components x rows, and log-likelihoods of some rows at a time."""
        check_is_fitted(self)
        source = row_source(check_rows(self, X, reset=False, accept_sparse=False, order="C"))
        posterior, size = Posterior(self._mixture, self._scale), block_rows(source)

        def work(part: slice) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            return posterior.shares(block[part], posterior.room(part.stop - part.start))

        for _, block in source.blocks(np.inf, 2 * count_threads(self.n_jobs) * size):
            with one_matrix_thread():
                found = map_in_threads(work, pieces(len(block), size), self.n_jobs)
            yield from found


def check_start(start: Any, n_components: int, n_features: int) -> Mixture:
    """Weights, means and variances that a user gives, in original features."""
    shapes = [(n_components,), (n_components, n_features), (n_components, n_features)]
    given = [np.asarray(part, dtype=np.float64) for part in start] if len(start) == 3 else []
    if [part.shape for part in given] != shapes:
        raise ValueError(f"start must hold weights, means and variances of the shapes {shapes}.")
    mixture = Mixture(*given)
    positive = (mixture.weights > 0).all() and (mixture.variances > 0).all()
    if not positive or not all(np.isfinite(part).all() for part in given):
        raise ValueError("start must hold finite numbers, and weights and variances above 0.")
    return mixture._replace(weights=mixture.weights / mixture.weights.sum())


def standardised(mixture: Mixture, mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> Mixture:
    weights, means, variances = mixture
    return Mixture(weights, (means - mean) / deviation, variances / np.square(deviation))
