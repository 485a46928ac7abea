"""SpatialPyramid: weights of visual words, pooled over ever smaller cells of an image."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.entries import Choice, Integer, Misfit, Number
from nearboost.base.local_sets import LocalSet
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_flag, check_positive, check_whole, check_wholes
from nearboost.features.base import DESCRIPTOR_LENGTH, SetEncoder, as_seed, check_length, numbers
from nearboost.features.codings import CODINGS, REGULARIZATION, Coding, learn_atoms
from nearboost.neighbors import k_means

POOLINGS = ("max", "mean")
NORMALIZATIONS = {"l1": 1, "l2": 2}
LARGEST_LEVEL, MOST_LEVELS, MOST_NEIGHBORS = 256, 16, 50
# Smaller ones take very long, or leave equations without a solution.
LEAST_REGULARIZATION, MOST_REGULARIZATION = {"inn": 1e-3, "sparse": 1e-3, "llc": 1e-10, "hard": 0.0}, 1e6
GRAM_MEMORY = 2**28  # bytes, of a loaded pyramid


def _check_regularization(state: Mapping[str, Any]) -> None:
    if not LEAST_REGULARIZATION[state["coding"]] <= state["regularization"] <= MOST_REGULARIZATION:
        raise Misfit("must have a regularization that suits its coding")


class SpatialPyramid(SetEncoder):
    """Images as weights of visual words, pooled over the whole image and over cells of it.

    Each local descriptor is coded by the words of a learned dictionary. Level n of the pyramid cuts the image into
    n x n cells; in each cell, the weights of each word are pooled over the descriptors whose centres lie there.

    Parameters
    ----------
    coding : {"inn", "sparse", "llc", "hard"}, default="inn"
        "inn" (INN-SPM): weights of an iterative-nearest-neighbours code. "sparse" (ScSPM): absolute weights of the
        l1-regularised code, over a dictionary learned for such codes. "llc": the affine sum of the nearest words.
        "hard": 1 for the nearest word. Words are k-means centres except for "sparse".
    levels : tuple of int, default=(1, 2, 4)
        Cells per row and column of each level; at most 16 levels.
    pooling : {"max", "mean"}, default="max"
        The largest weight in a cell, at least 0; or the mean.
    n_words : int, default=1024
        Size of the dictionary.
    regularization : float or None, default=None
        λ of "inn" and "sparse" (at least 0.001), β of "llc" (1e-10). None means 0.1, 0.15 and 1e-4.
    n_neighbors : int, default=5
        Number of words that "llc" uses, at most 50.
    root : bool, default=True
        Replace pooled weights by their square roots, keeping signs.
    normalization : {"l2", "l1", None}, default="l2"
        Norm that makes rows unit length; None leaves them as they are.
    max_descriptors : int, default=200_000
        Maximum number of descriptors to learn from, about as many from each image.
    n_jobs : int or None, default=None
        Number of threads, each with the codes of one image; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of the words. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, ``n_features_in_``)
        The dictionary.
    n_features_in_ : int
        Length of a descriptor.

    Notes
    -----
    INN-SPM is section 5.3 of Timofte and Van Gool, "Iterative nearest neighbors for classification and
    dimensionality reduction", which refers to Yang et al. (2009) for ScSPM: 1,024 words, levels 1-2-4, max
    pooling. LLC is the fast variant of Wang et al. (2010). The square root is not in these papers. Only LLC has
    weights below 0; max pooling takes them for 0, the weight in all descriptors that do not use the word.

    A row holds levels, their cells row by row, and the words of each cell. Cells without descriptors pool to 0,
    and a row of zeros stays so.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from nearboost.features import DenseSIFT, SpatialPyramid
    >>> images = [np.random.default_rng(i).integers(0, 255, (60, 80), dtype=np.uint8) for i in range(6)]
    >>> pyramid = make_pipeline(DenseSIFT(step=6, bin_sizes=(4,)), SpatialPyramid(levels=(1, 2), n_words=20))
    >>> pyramid.fit_transform(images).shape
    (6, 100)
    """

    model_schema: ClassVar[Schema] = Schema(
        {
            "n_features_in_": DESCRIPTOR_LENGTH,
            "words_": numbers("n_words", "n_features", by_rows=True, least=1),
            "coding": Choice(*CODINGS),
            "regularization": Number(),
            "n_near": Integer(1, "n_words"),
        },
        check=_check_regularization,
    )

    def __init__(
        self,
        coding: str = "inn",
        levels: tuple[int, ...] = (1, 2, 4),
        pooling: str = "max",
        *,
        n_words: int = 1024,
        regularization: float | None = None,
        n_neighbors: int = 5,
        root: bool = True,
        normalization: str | None = "l2",
        max_descriptors: int = 200_000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.coding = coding
        self.levels = levels
        self.pooling = pooling
        self.n_words = n_words
        self.regularization = regularization
        self.n_neighbors = n_neighbors
        self.root = root
        self.normalization = normalization
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, sample: NDArray[np.float32]) -> None:
        if len(sample) < self.n_words:
            raise ValueError(
                f"n_words={self.n_words} is more than the {len(sample)} descriptors drawn; use fewer words, or "
                "give more images or a larger max_descriptors."
            )
        seed = as_seed(self.random_state)
        regularization = float(self.regularization or REGULARIZATION.get(self.coding, 0.0))
        if self.coding == "sparse":
            self.words_ = learn_atoms(
                sample, self.n_words, regularization, seed, n_jobs=self.n_jobs, verbose=self.verbose
            )
        else:
            self.words_, _ = k_means(sample, self.n_words, seed, n_jobs=self.n_jobs, verbose=self.verbose)
        self._coding = Coding(self.coding, regularization, int(self.n_neighbors) if self.coding == "llc" else 1)
        self._codes = self._coding.by(self.words_)

    def model_state(self) -> dict[str, Any]:
        """What a model file keeps: words, and how the fit said to code by them."""
        return vars(self) | self._coding._asdict() if hasattr(self, "_coding") else {}

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take back what a model file kept; what codes by the words is made anew."""
        self.n_features_in_, self.words_ = state["n_features_in_"], state["words_"]
        self.check_parameters()  # now that the number of words is known
        self._coding = Coding(state["coding"], state["regularization"], state["n_near"])
        self._codes = self._coding.by(self.words_, GRAM_MEMORY)

    def _encode(self, values: NDArray[np.float32], one: LocalSet, i: int) -> NDArray[np.float32]:
        cells = self._cells(one, i)
        codes = self._codes(np.ascontiguousarray(values))
        if self._coding.coding == "sparse":
            codes = abs(codes)
        pooled = pool(codes, cells, self._n_cells, self.pooling).ravel()
        if self.root:
            pooled = np.sign(pooled) * np.sqrt(np.abs(pooled))
        if self.normalization is not None:
            pooled /= np.linalg.norm(pooled, NORMALIZATIONS[self.normalization]) or 1.0
        return pooled

    def _cells(self, one: LocalSet, i: int) -> NDArray[np.int64]:
        """The cells that each descriptor lies in, one for each level, numbered through all levels."""
        if one.positions is None and tuple(self.levels) != (1,):
            raise ValueError(
                f"Image {i} has descriptors without positions; give LocalSets that have them, or use levels=(1,)."
            )
        places = np.zeros((len(one), 2)) if one.positions is None else np.asarray(one.positions)
        if places.shape != (len(one), 2):
            raise ValueError(f"Image {i} has positions of shape {places.shape} for {len(one)} descriptors.")
        if np.isnan(places).any():
            raise ValueError(f"Image {i} has positions that are NaN; drop such descriptors.")
        cells, first = np.empty((len(one), len(self.levels)), dtype=np.int64), 0
        for number, level in enumerate(map(int, self.levels)):
            column, row = np.floor(np.clip(places * level, 0, level - 1)).astype(np.int64).T
            cells[:, number] = first + row * level + column
            first += level**2
        return cells

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_choice("coding", self.coding, CODINGS)
        check_whole("n_words", self.n_words)
        self._check_regularization()
        check_whole("n_neighbors", self.n_neighbors, most=MOST_NEIGHBORS)
        if self.coding == "llc" and self.n_neighbors > self.n_words:
            raise ValueError(f"n_neighbors={self.n_neighbors} is more than n_words={self.n_words}; use fewer.")
        check_choice("pooling", self.pooling, POOLINGS)
        check_wholes("levels", self.levels, LARGEST_LEVEL, n_most=MOST_LEVELS, such_as=(1, 2, 4))
        check_flag("root", self.root)
        check_choice("normalization", self.normalization, (*NORMALIZATIONS, None))
        n_words = len(self.words_) if hasattr(self, "words_") else int(self.n_words)
        check_length(n_words * self._n_cells, "use fewer words or levels")

    def _check_regularization(self) -> None:
        check_positive("regularization", self.regularization, most=MOST_REGULARIZATION, optional=True)
        least = LEAST_REGULARIZATION[self.coding]
        if self.regularization is not None and self.regularization < least:
            raise ValueError(
                f"regularization={self.regularization} is too small for coding={self.coding!r}; use {least:g} or "
                "more, or None."
            )

    @property
    def _n_cells(self) -> int:
        return sum(int(level) ** 2 for level in self.levels)

    @property
    def _n_features_out(self) -> int:
        return len(self.words_) * self._n_cells


def pool(codes: csr_array, cells: NDArray[np.int64], n_cells: int, pooling: str) -> NDArray[np.float32]:
    """Weights by cell and word; cells without descriptors have zeros."""
    from nearboost.kernels.encoding import pool_largest, pool_sums

    pooled = np.zeros((n_cells, codes.shape[1]))
    largest_or_sum = pool_largest if pooling == "max" else pool_sums
    ends, words = codes.indptr.astype(np.int64), codes.indices.astype(np.int32)
    largest_or_sum(ends, words, codes.data.astype(np.float64), cells, pooled)
    if pooling == "mean":
        counts = np.bincount(cells.ravel(), minlength=n_cells)
        pooled /= np.maximum(counts, 1)[:, np.newaxis]
    return pooled.astype(np.float32)
