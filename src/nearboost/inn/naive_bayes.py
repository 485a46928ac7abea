"""NBNN and its relatives: an image is of the class that explains its local descriptors best."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nearboost.base.entries import Array, Part, Size
from nearboost.base.errors import warn_caller
from nearboost.base.estimator import Estimator
from nearboost.base.local_sets import LocalSets, NonTabularMixin
from nearboost.base.progress import Advance, progress_bar, silent
from nearboost.base.rows import RowSource
from nearboost.base.schema import CLASSES, Schema, set_fitted
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_choice, check_positive, check_whole
from nearboost.codes.dictionary import Dictionary, check_coding
from nearboost.codes.l1 import L1Dictionary
from nearboost.codes.series import Groups
from nearboost.inn.coder import INNCoder
from nearboost.inn.decisions import Classes, ClassSums, Decision, NearestNearby, NearestOfClasses
from nearboost.inn.image_sets import blocks_of, read_image, stack, warn_of_empty
from nearboost.problem.classifier import DecidingClassifierMixin
from nearboost.problem.held_out import mark_rows
from nearboost.problem.others import ENTRIES, UNKNOWN, HeldOut, HeldOutOnce, cross_fit
from nearboost.problem.targets import encode_classes, number_groups

REPRESENTATIONS = ("inn", "nn", "l1")
REGULARIZATION = {"inn": 0.1, "l1": 0.3}  # as published
MOST_DESCRIPTORS = 100_000  # of held-out images


class NaiveBayesNN(NonTabularMixin, DecidingClassifierMixin, ClassifierMixin, Estimator):
    """Classification of images by their local descriptors; nothing is learned, the descriptors are kept.

    Each descriptor of an image is compared with all training descriptors, whichever image they are from. Its
    evidence for each class is added up over the image, as if descriptors were independent.

    Parameters
    ----------
    representation : {"inn", "nn", "l1"}, default="inn"
        How a descriptor is compared. "inn" (NBINN): by its INN code; a class gets the weights of its descriptors.
        "nn" (NBNN): a class gets minus the squared distance to its nearest descriptor. "l1" (NBSR): by its
        l1-regularised code; a class gets its descriptors' share of the absolute weights.
    neighborhood : int or None, default=100
        Compare only with this many nearest training descriptors, or with all if there are fewer. Under "nn", a
        class that has none of them gets the distance of the farthest. None compares with all, which is slow for
        INN codes and takes up to half of the free memory (at most 8 GB) for distances between descriptors.
    regularization : float or None, default=None
        λ of the codes. None means 0.1 for "inn" and 0.3 for "l1", as published; "nn" has none.
    coverage : float, default=0.95
        Share of the weights that INN codes make up, as in `INNCoder`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    voters_ : ndarray of shape (n_voters,)
        Training images that an answer may come from: those that have descriptors.
    temperature_ : float
        Probabilities grow as exp(score / temperature_); at least 1/(n + 2) of them is the same for all classes,
        for n held-out images. Chosen on held-out images when first asked for.
    held_out_accuracy_ : float
        Share of right answers on training images, each compared with those of other folds: as many folds as
        classes have images (at most 40), equal images and groups whole; on so many of them that they have about
        100,000 descriptors. NaN, with a warning, if every class has a single group.
    n_features_in_ : int
        Length of a descriptor.

    Notes
    -----
    Section 5.1 of Timofte and Van Gool, "Iterative nearest neighbors for classification and dimensionality
    reduction", eqs. (13) to (16); NBNN is from Boiman, Shechtman and Irani (2008). Within a neighbourhood it is
    the local NBNN of McCann and Lowe (2012), whose background distance is that of the last of the M neighbours.
    Distances are Euclidean: whiten or normalise descriptors beforehand if that suits them.

    An image without descriptors is not an error. In `fit` it adds nothing; elsewhere its scores are all 0, its
    probabilities equal, and it gets the first class, with a warning.

    Examples
    --------
    Each image is a handful of points, most of which are the same in both classes.

    >>> import numpy as np
    >>> from nearboost import NaiveBayesNN
    >>> rng = np.random.default_rng(0)
    >>> def image(kind):
    ...     own = {"cat": [3.0, 0.0], "dog": [0.0, 3.0]}[kind]
    ...     return np.vstack([rng.normal(size=(6, 2)), own + 0.5 * rng.normal(size=(3, 2))])
    >>> labels = ["cat", "dog"] * 20
    >>> model = NaiveBayesNN().fit([image(kind) for kind in labels], labels)
    >>> model.predict([image("cat"), image("dog"), image("dog")])
    array(['cat', 'dog', 'dog'], dtype='<U3')
    """

    model_schema: ClassVar[Schema] = Schema(
        {
            **CLASSES,
            "as_fitted": Part(("NaiveBayesNN",), fitted=False),
            "voters_": Array("int64", ("n_voters",), low=0, rising=True),
            "n_features_in_": Size(1, name="n_features"),
            "descriptors": Array("float", ("n_descriptors", "n_features"), by_rows=True),
            "descriptor_classes": Array("int64", ("n_descriptors",), low=0, below="n_classes", every=True),
            **ENTRIES,
        },
        optional=("voters_", *ENTRIES),  # which older files do not know
    )

    def __init__(
        self,
        representation: str = "inn",
        *,
        neighborhood: int | None = 100,
        regularization: float | None = None,
        coverage: float = 0.95,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.representation = representation
        self.neighborhood = neighborhood
        self.regularization = regularization
        self.coverage = coverage
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Store the descriptors.

        Parameters
        ----------
        X : LocalSets or list of array-like
            One matrix of descriptors per image.
        y : array-like of shape (n_images,)
            Class labels.
        groups : array-like of shape (n_images,) or None, default=None
            Images of one group, such as frames of one film, are held out together where probabilities are
            calibrated. None makes each image a group of its own.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        sets, labels = LocalSets.of(X), column_or_1d(y)
        if len(sets) != len(labels):
            raise ValueError(f"There are {len(sets)} images and {len(labels)} labels; give one label per image.")
        self.classes_, encoded = encode_classes(labels)
        if len(self.classes_) < 2:
            given = "The labels hold only one class" if len(labels) else "There are no images"
            raise ValueError(f"{given}; give images of two classes or more.")
        images = [read_image(sets, number) for number in range(len(sets))]
        lengths = [len(rows) for rows in images]
        classes = np.repeat(encoded, lengths)
        descriptors = stack(images)
        empty = np.flatnonzero(np.bincount(classes, minlength=len(self.classes_)) == 0)
        if empty.size:
            raise ValueError(
                f"No image of class {self.classes_[empty[0]]} has any descriptors; give one that has, or leave "
                "the class out."
            )
        self.voters_ = np.flatnonzero(lengths)
        self.n_features_in_ = descriptors.shape[1]
        self._as_fitted, self._evidence = clone(self), self._compare_with(descriptors, classes)
        filled = np.array(lengths)[self.voters_]
        numbers = number_groups(groups, len(sets))[self.voters_]
        self._held_out = HeldOutOnce(partial(judge, self._evidence, filled, numbers))
        if isinstance(self._evidence, ClassSums) and isinstance(self._evidence.dictionary, Dictionary):
            self._evidence.dictionary.build_gram()
        return self

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        if not hasattr(self, "_evidence"):
            return {}
        return {
            **vars(self),
            "as_fitted": self._as_fitted,
            "descriptors": self._evidence.samples,
            "descriptor_classes": self._evidence.classes,
            **self._held_out.found.entries(),
        }

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Compare with the descriptors of a file."""
        set_fitted(self, state)
        self._as_fitted = state["as_fitted"]
        self._evidence = self._as_fitted._compare_with(state["descriptors"], state["descriptor_classes"])
        # Older files do not say which descriptors are of one image.
        known = HeldOut.of_entries(state) if "held_out_temperature" in state else UNKNOWN
        self._held_out = HeldOutOnce(partial(HeldOut, *known))

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_choice("representation", self.representation, REPRESENTATIONS)
        check_whole("neighborhood", self.neighborhood, optional=True)
        check_positive("regularization", self.regularization, optional=True)
        if self.representation == "nn" and self.regularization is not None:
            raise ValueError("representation='nn' has no regularization; leave it None.")
        check_coding(INNCoder(coverage=self.coverage))
        count_threads(self.n_jobs)

    def _compare_with(self, X: NDArray[Any], classes: Classes) -> Decision:
        near = None if self.neighborhood is None else min(self.neighborhood, len(X))
        if self.representation == "nn":
            if near is None:
                return NearestOfClasses(X, classes, self.n_jobs)
            return NearestNearby(X, classes, near, self.n_jobs)
        usual = REGULARIZATION[self.representation]
        regularization = usual if self.regularization is None else self.regularization
        if self.representation == "l1":
            sparse = L1Dictionary(X, regularization, neighborhood=near, n_jobs=self.n_jobs)
            return ClassSums(sparse, classes, np.ones(len(X)), to_one=True)  # eq. (14)
        how = INNCoder(
            regularization, coverage=self.coverage, neighborhood=near, n_jobs=self.n_jobs, verbose=self.verbose
        )
        check_coding(how)
        return ClassSums(QuietDictionary(X, how), classes, np.ones(len(X)))

    def _probabilities_from(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._held_out.found.probabilities(scores, scores)

    @property
    def temperature_(self) -> float:
        """What scores are divided by to get calibrated probabilities."""
        check_is_fitted(self)
        return self._held_out.found.calibration.temperature

    @property
    def held_out_accuracy_(self) -> float:
        """Share of right answers on held-out images; NaN, with a warning, if every class has one group."""
        check_is_fitted(self)
        return self._held_out.found.known_accuracy()

    def _score_blocks(self, X: Any) -> Iterator[NDArray[np.float64]]:
        yield self._score(X)

    def _score(self, X: Any) -> NDArray[np.float64]:
        """What the descriptors of each image say for each class, added up, eq. (16)."""
        check_is_fitted(self)
        sets = LocalSets.of(X)
        scores = np.zeros((len(sets), len(self.classes_)))
        lengths: list[int] = []
        with progress_bar("Scoring images", len(sets), self.verbose) as advance:
            for block, descriptors in blocks_of(sets, self.n_features_in_):
                if len(descriptors):
                    evidence = self._evidence.scores(descriptors)
                    ends = np.cumsum(block)
                    for place, rows in enumerate(np.split(evidence, ends[:-1]), start=len(lengths)):
                        scores[place] = rows.sum(axis=0)
                lengths += block
                advance(len(block))
        warn_of_empty(lengths)
        # An image whose descriptors all have empty codes is no evidence for any class: that deserves a warning.
        silent = np.flatnonzero(~scores.any(axis=1) & (np.array(lengths) > 0))
        if silent.size and self._as_fitted.representation == "l1":
            warn_caller(
                f"No descriptor of {silent.size} of {len(sets)} images has any weights, first image {silent[0]}, "
                "so that no class is likelier than another; use a smaller regularization.",
            )
        return scores


def judge(evidence: Decision, lengths: NDArray[np.int64], groups: NDArray[np.int32]) -> HeldOut:
    """How good sums of evidence are on the training images, each compared with those of other groups.

    ``lengths`` are the numbers of descriptors of images, which follow each other.
    """
    starts, numbers = np.cumsum(lengths) - lengths, np.repeat(np.arange(len(lengths)), lengths)
    marks = np.add.reduceat(mark_rows(evidence.samples), starts)  # equal for equal sets of descriptors

    def scores_by_others(held: NDArray[np.int64], groups: NDArray[np.int32]) -> NDArray[np.float64]:
        rows = np.flatnonzero(np.isin(numbers, held))
        found = evidence.scores_by_others(rows, groups[numbers])
        sums = np.zeros((len(lengths), found.shape[1]))
        np.add.at(sums, numbers[rows], found)
        return sums[held]

    most = max(1, int(MOST_DESCRIPTORS / lengths.mean()))
    return cross_fit(marks, evidence.classes[starts], groups, scores_by_others, most)


class QuietDictionary(Dictionary):
    """Codes without a progress bar of their own: that of the images is shown."""

    def codes(
        self,
        Q: NDArray[Any] | RowSource,
        own: Groups | None = None,
        groups: Groups | None = None,
        advance: Advance | None = silent,
    ) -> csr_array:
        return super().codes(Q, own, groups, advance)
