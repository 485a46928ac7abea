"""FisherVector: how an image's descriptors differ from a mixture that fits all images."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.entries import Misfit, Part, entry_of
from nearboost.base.local_sets import LocalSet
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_flag, check_positive, check_whole
from nearboost.features.base import DESCRIPTOR_LENGTH, NORMS, SetEncoder, normalised, unit
from nearboost.features.gmm import DiagonalGMM


def _check_mixture(state: Mapping[str, Any]) -> None:
    if entry_of(state["gmm_"], "n_features_in_") != state["n_features_in_"]:
        raise Misfit("must have a mixture of its own descriptors")


class FisherVector(SetEncoder):
    """Local descriptors as one row: gradients of their log-likelihood under a mixture of Gaussians.

    K Gaussians and descriptors of length d give 2·K·d numbers: gradients by the means, then by the variances, each
    by Gaussian, then by dimension. So each of 2·K equal parts of a row is a single gradient.

    Parameters
    ----------
    n_components : int, default=16
        K, the number of Gaussians.
    power : float, default=0.5
        Every number x becomes ``sign(x)·|x|^power``; 1 leaves it unchanged.
    norm : {"l2", "l1", None}, default="l2"
        Norm that the whole row is divided by, at the end.
    per_gaussian : bool, default=False
        First scale the gradients of each Gaussian, by mean and variance together, to unit length. No Gaussian then
        outweighs the others, which helps neighbours; put `WhitenedPCA` after it.
    max_descriptors : int, default=200_000
        Maximum number of descriptors to learn from, about as many from each image.
    max_iter : int, default=100
        Maximum number of EM rounds, as in `DiagonalGMM`.
    tol : float, default=1e-3
        Stop when a round gains less log-likelihood per row than this, as in `DiagonalGMM`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of the mixture. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    gmm_ : DiagonalGMM
        The fitted mixture.
    n_features_in_ : int
        Length of a descriptor.

    Notes
    -----
    Perronnin, Sánchez and Mensink (2010), for N descriptors x, shares γ_k(x) of Gaussian k, weight w, mean μ and
    deviation σ: Σ γ_k (x − μ)/σ / (N √w) and Σ γ_k ((x − μ)²/σ² − 1) / (N √(2w)). An image without descriptors
    becomes a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import FisherVector
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal(loc=i, size=(60, 4)) for i in range(3)]
    >>> rows = FisherVector(2).fit_transform(sets)
    >>> rows.shape, rows.dtype
    ((3, 16), dtype('float32'))
    """

    model_schema: ClassVar[Schema] = Schema(
        {"n_features_in_": DESCRIPTOR_LENGTH, "gmm_": Part(("DiagonalGMM",))}, check=_check_mixture
    )

    def __init__(
        self,
        n_components: int = 16,
        *,
        power: float = 0.5,
        norm: str | None = "l2",
        per_gaussian: bool = False,
        max_descriptors: int = 200_000,
        max_iter: int = 100,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.power = power
        self.norm = norm
        self.per_gaussian = per_gaussian
        self.max_descriptors = max_descriptors
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, sample: NDArray[np.float32]) -> None:
        self.gmm_ = DiagonalGMM(
            self.n_components,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(sample)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components)
        check_positive("power", self.power, most=1)
        check_choice("norm", self.norm, NORMS)
        check_flag("per_gaussian", self.per_gaussian)

    def _encode(self, values: NDArray[np.float32], one: LocalSet, i: int) -> NDArray[np.float64]:
        return self._normalised(self.gmm_.gradients(values))

    def _normalised(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        """A row from gradients of shape (2, Gaussians, dimensions)."""
        gradients = np.sign(gradients) * np.abs(gradients) ** self.power
        if self.per_gaussian:
            gradients = unit(gradients, np.linalg.norm(gradients, axis=(0, 2), keepdims=True))
        return normalised(gradients.ravel(), self.norm)

    @property
    def _n_features_out(self) -> int:
        return 2 * self.gmm_.means_.size
