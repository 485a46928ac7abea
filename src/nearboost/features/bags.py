"""BagOfFeatures: how often an image's descriptors are nearest to each visual word."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.local_sets import LocalSet
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_whole
from nearboost.features.base import DESCRIPTOR_LENGTH, NORMS, SetEncoder, as_seed, normalised, numbers
from nearboost.neighbors import k_means, nearest_centers


class BagOfFeatures(SetEncoder):
    """Local descriptors as one row: a histogram of the visual words they are nearest to.

    Parameters
    ----------
    n_words : int, default=500
        Number of words; they are the centres of k-means.
    norm : {"l1", "l2", None}, default="l1"
        Norm that a histogram is divided by; None leaves counts.
    max_descriptors : int, default=200_000
        Maximum number of descriptors to learn from, about as many from each image.
    max_rounds : int, default=30
        Maximum number of k-means rounds.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of k-means. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, ``n_features_in_``)
        The words.
    n_features_in_ : int
        Length of a descriptor.

    Notes
    -----
    An image without descriptors becomes a row of zeros. Compare histograms by L1, or take square roots before L2.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import BagOfFeatures
    >>> rng = np.random.default_rng(0)
    >>> sets = [rng.normal(loc=10 * rng.integers(0, 3, (40, 1)), size=(40, 2)) for _ in range(4)]
    >>> bags = BagOfFeatures(3).fit_transform(sets)
    >>> bags.shape, bags.sum(axis=1).round(3)
    ((4, 3), array([1., 1., 1., 1.], dtype=float32))
    """

    model_schema: ClassVar[Schema] = Schema(
        {
            "n_features_in_": DESCRIPTOR_LENGTH,
            "words_": numbers("n_words", "n_features", by_rows=True, least=1),
        }
    )

    def __init__(
        self,
        n_words: int = 500,
        *,
        norm: str | None = "l1",
        max_descriptors: int = 200_000,
        max_rounds: int = 30,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_words = n_words
        self.norm = norm
        self.max_descriptors = max_descriptors
        self.max_rounds = max_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, sample: NDArray[np.float32]) -> None:
        if len(sample) < self.n_words:
            raise ValueError(
                f"n_words={self.n_words} needs as many descriptors; {len(sample)} were drawn, use fewer words."
            )
        self.words_, _ = k_means(
            sample,
            self.n_words,
            as_seed(self.random_state),
            max_rounds=self.max_rounds,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_words", self.n_words)
        check_whole("max_rounds", self.max_rounds)
        check_choice("norm", self.norm, NORMS)

    def _encode(self, values: NDArray[np.float32], one: LocalSet, i: int) -> NDArray[np.float64]:
        words, _ = nearest_centers(values, self.words_)
        return normalised(np.bincount(words, minlength=len(self.words_)).astype(np.float64), self.norm)

    @property
    def _n_features_out(self) -> int:
        return len(self.words_)
