"""DescriptorPCA: local descriptors in their main directions."""

from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Size
from nearboost.base.errors import warn_caller
from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.base.schema import Schema
from nearboost.base.threads import one_matrix_thread
from nearboost.base.validation import check_whole
from nearboost.features.base import DESCRIPTOR_LENGTH, DescriptorLearner, checked_values, numbers

ROWS_PER_BLOCK = 8192
NO_VARIANCE = 1e-9  # of the largest: what rounding leaves of a direction that does not exist


class DescriptorPCA(DescriptorLearner):
    """Principal components of local descriptors, fitted to a sample of them; transforms lazily.

    Parameters
    ----------
    n_components : int, default=64
        Number of components; never more than the sample has directions.
    max_descriptors : int, default=200_000
        Maximum number of descriptors to learn from, about as many from each image.
    n_jobs : int or None, default=None
        Number of threads that read images in `fit`; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of the sample. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    components_ : ndarray of shape (``n_components_``, ``n_features_in_``)
        Directions; the largest entry of each is positive.
    mean_ : ndarray of shape (``n_features_in_``,)
        Mean descriptor.
    explained_variance_ : ndarray of shape (``n_components_``,)
        Variance in each direction.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Length of a descriptor.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import DescriptorPCA
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal(size=(50, 10)) * np.arange(1, 11) for _ in range(4)]
    >>> reduced = DescriptorPCA(3).fit(sets).transform(sets)
    >>> len(reduced), reduced[0].values.shape
    (4, (50, 3))
    """

    gives: ClassVar[str] = "sets"
    model_schema: ClassVar[Schema] = Schema(
        {
            "n_features_in_": DESCRIPTOR_LENGTH,
            "n_components_": Size(1, name="n_components"),
            "mean_": numbers("n_features"),
            "components_": numbers("n_components", "n_features", most=1.01),
            "explained_variance_": numbers("n_components", most=1e36),
        }
    )

    def __init__(
        self,
        n_components: int = 64,
        *,
        max_descriptors: int = 200_000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, sample: NDArray[np.float32]) -> None:
        with one_matrix_thread():  # the same sums for any number of threads
            mean, variances, directions = principal_directions(sample)
        rank = max(1, int((variances > NO_VARIANCE * max(variances[0], 0)).sum()))
        kept = min(self.n_components, rank)
        if kept < self.n_components:
            warn_caller(
                f"DescriptorPCA keeps {kept} components, not n_components={self.n_components}: the descriptors "
                "vary in no more directions.",
            )
        self.n_components_ = kept
        self.mean_: NDArray[np.float32] = mean.astype(np.float32)
        self.components_: NDArray[np.float32] = np.ascontiguousarray(directions[:kept], dtype=np.float32)
        self.explained_variance_ = variances[:kept].astype(np.float32)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components)

    def transform(self, X: Any) -> LocalSets:
        """Project the descriptors of each image.

        Parameters
        ----------
        X : LocalSets or list of array-like
            Local descriptors, one matrix or `LocalSet` per image.

        Returns
        -------
        LocalSets
            The descriptors of each image, computed when they are asked for.
        """
        check_is_fitted(self)
        now = copy(self)  # what is made later must not follow another fit

        def project(one: LocalSet) -> NDArray[np.float32]:
            return np.asarray((checked_values(now, one) - now.mean_) @ now.components_.T, dtype=np.float32)

        return LocalSets.of(X).map(project)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def principal_directions(
    sample: NDArray[np.float32],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, variances in falling order, and directions in rows with their largest entry positive."""
    mean = sample.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((len(mean), len(mean)))
    for start in range(0, len(sample), ROWS_PER_BLOCK):
        block = sample[start : start + ROWS_PER_BLOCK] - mean
        scatter += block.T @ block
    variances, columns = np.linalg.eigh(scatter / max(1, len(sample) - 1))
    directions = columns[:, ::-1].T
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return mean, variances[::-1], directions * signs[:, np.newaxis]
