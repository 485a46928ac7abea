"""What a classifier learns from: labels as ±1 codes, what rows count, and which belong together."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from nearboost.base.rows import row_source
from nearboost.base.validation import check_choice, check_labels, plain
from nearboost.problem.groups import name_groups

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """One-versus-rest codes of all rows, as the sparse matrix of the +1 entries.

    ``members`` has one column per class problem; two classes are mirror images, so they make one
    column, in which the second class is +1. ``n_classes`` counts classes, not columns.
    """

    members: csr_array
    n_classes: int
    multilabel: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.members.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of class problems."""
        return int(self.members.shape[1])

    @cached_property
    def by_column(self) -> Any:
        """The same matrix by columns."""
        return self.members.tocsc()

    @cached_property
    def positives_per_row(self) -> NDArray[np.int64]:
        """How many of the row's class codes are +1, n_i in the start weights of N3."""
        if not self.multilabel:
            return np.ones(self.n_rows, dtype=np.int64)
        return np.diff(self.members.indptr)

    def members_of(self, column: int) -> NDArray[np.int32]:
        """Rows on the class's side, rising."""
        by_column = self.by_column
        return np.asarray(by_column.indices[by_column.indptr[column] : by_column.indptr[column + 1]])

    def codes(self, column: int) -> NDArray[np.int8]:
        """±1 of every row."""
        codes = np.full(self.n_rows, -1, dtype=np.int8)
        codes[self.members_of(column)] = 1
        return codes

    def signs(self, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """±1 of some rows, one column per class problem."""
        return np.where(self.members[rows].toarray() > 0, 1.0, -1.0)

    def classes(self, rows: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """Class number of each row, or of some: its first label where it may have several, −1 without any."""
        indptr = self.members.indptr
        starts, ends = (indptr[:-1], indptr[1:]) if rows is None else (indptr[rows], indptr[rows + 1])
        if self.n_columns == 1 and not self.multilabel:
            return (ends > starts).astype(np.int64)
        columns = np.append(self.members.indices, -1)  # rows without a label at the end would look beyond
        return np.where(ends > starts, columns[starts], -1).astype(np.int64)

    def shares(self, weight: Weights) -> Weights:
        """The prior: the share of the weight on each column's side."""
        return np.asarray(self.members.T @ weight) / weight.sum()

    def accuracy(self, scores: NDArray[Any], rows: NDArray[np.integer], weights: NDArray[np.floating]) -> float:
        """The share of some rows, by weight, that scores classify correctly; of labels where there are several."""
        if self.multilabel:
            right = ((scores > 0) == (self.signs(rows) > 0)).mean(axis=1)
        elif self.n_columns == 1:
            right = (scores[:, 0] > 0) == (self.classes(rows) > 0)
        else:
            right = scores.argmax(axis=1) == self.classes(rows)
        return min(1.0, float(weights @ right / weights.sum()))

    def take(self, rows: NDArray[np.integer] | slice) -> "Labels":
        """The labels of some rows."""
        return Labels(self.members[rows], self.n_classes, self.multilabel)


def labels_from_classes(encoded: NDArray[np.integer], n_classes: int) -> Labels:
    """Labels of a single-label problem from class numbers 0 … C−1."""
    n_rows = len(encoded)
    if n_classes == 2:
        members = csr_array((encoded == 1).astype(np.int8)[:, None])
    else:
        ones = np.ones(n_rows, dtype=np.int8)
        members = csr_array(
            (ones, encoded.astype(np.int32), np.arange(n_rows + 1, dtype=np.int32)), shape=(n_rows, n_classes)
        )
    return Labels(members, n_classes, multilabel=False)


def labels_from_indicator(indicator: NDArray[Any]) -> Labels:
    """Labels of a multilabel problem from a 0/1 matrix, one column per label."""
    members = csr_array(indicator)
    if not np.all((members.data == 0) | (members.data == 1)):
        raise ValueError("A label matrix must hold 0 and 1 only: 1 where the row has the label.")
    members = csr_array(members.astype(np.int8))
    members.eliminate_zeros()
    members.sort_indices()
    return Labels(members, indicator.shape[1], multilabel=True)


@dataclass(frozen=True)
class Coding:
    """Which labels there are: classes of which a row has one, or columns of a 0/1 matrix."""

    classes: NDArray[Any]
    multilabel: bool

    @property
    def n_columns(self) -> int:
        """Number of class problems."""
        return 1 if len(self.classes) == 2 and not self.multilabel else len(self.classes)

    def encode(self, y: NDArray[Any]) -> Labels:
        """Codes of labels, all of which must be known."""
        check_targets(y)
        if self.multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes):
                raise ValueError(
                    f"y has shape {y.shape}; it must have one column for each of {len(self.classes)} labels."
                )
            return labels_from_indicator(y)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(
                f"y holds {plain(unknown[0])}, which is not among the classes given to the first partial_fit; "
                "list all classes there."
            )
        return labels_from_classes(np.searchsorted(self.classes, y), len(self.classes))


ARGMAX = "give np.asarray(y).argmax(axis=1)"  # what to do with columns of which each row has one


def check_classes(y: NDArray[Any]) -> None:
    """Refuse what cannot be classes."""
    check_labels(y)
    if y.dtype == object and y.ndim == 1 and len(y) and isinstance(y[0], Real | np.bool_):
        raise ValueError(
            f"Unknown label type: y holds {plain(y[0])} as an object; give y.astype(int) or y.astype(str)."
        )
    check_targets(y)


def check_targets(y: NDArray[Any]) -> None:
    """Refuse measured numbers: scikit-learn takes numbers with fractions for these."""
    if type_of_target(y) == "continuous":
        fraction = next(value for value in y.ravel() if value != np.rint(value))
        raise ValueError(
            f"Unknown label type: y holds {plain(fraction)}, and numbers of classes are whole; give y.astype(str) "
            "if these are names, or np.digitize(y, edges) for classes of measured numbers."
        )
    check_classification_targets(y)


def find_coding(y: NDArray[Any]) -> Coding:
    """The labels that occur in y."""
    check_classes(y)
    if type_of_target(y) == "multilabel-indicator":
        return Coding(np.arange(y.shape[1]), multilabel=True)
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError("y has several columns that are not 0/1; fit one classifier per column.")
    return Coding(np.unique(column_or_1d(y, warn=True)), multilabel=False)


def has_one_each(indicator: Any) -> bool:
    """Whether each row of a 0/1 matrix has one label, as of classes that exclude each other."""
    return indicator.shape[1] > 1 and bool(np.all(np.asarray(indicator.sum(axis=1)) == 1))


def warn_of_one_each(y: Any) -> None:
    """Say what is learned where each row has one label of several that it could have."""
    if y.ndim == 2 and has_one_each(y):
        warnings.warn(
            "Each row of y has one label, but a matrix means that it might have several or none; for classes that "
            f"exclude each other {ARGMAX}.",
            stacklevel=3,
        )


def encode_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes of a problem with one label per row, and the class number of each row."""
    check_classes(y)
    classes, encoded = np.unique(y, return_inverse=True)
    return classes, encoded


def class_members(encoded: NDArray[np.intp]) -> csr_array:
    """A matrix with a 1 in the column of each row's class."""
    ends = np.arange(len(encoded) + 1)
    return csr_array((np.ones(len(encoded)), encoded, ends), shape=(len(encoded), encoded.max() + 1))


def unique_values(name: str, values: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different values, rising, and for each value the number of its own."""
    try:
        unique, numbers = np.unique(np.asarray(values), return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} cannot be sorted; give numbers or texts, all of one kind.") from None
    return unique, numbers


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Weights:
    """Sample weights as floats: finite, not negative, one per row, not all zero."""
    weights = np.ones(n_rows) if sample_weight is None else as_weights(sample_weight, n_rows)
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every sample; give at least two samples a positive weight.")
    return weights


def as_weights(sample_weight: ArrayLike, n_rows: int) -> Weights:
    """Sample weights as floats: finite, not negative, one per row."""
    try:
        weights: NDArray[Any] = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight holds something other than numbers; give one number per sample.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape} for {n_rows} samples; give one number per sample."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("sample_weight must hold finite numbers of at least 0; 0 leaves a sample out.")
    return weights


def weigh_classes(class_weight: Any, y: NDArray[Any], classes: NDArray[Any], multilabel: bool) -> Weights:
    """The weight of each row's class; ``classes`` need not occur in y, and weigh 1 unless named."""
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced", None))
    if multilabel:
        if isinstance(class_weight, dict):
            raise ValueError('With a matrix of labels class_weight must be "balanced" or None; use sample_weight.')
        return _finite(compute_sample_weight(class_weight, y))
    if not isinstance(class_weight, str | dict):
        raise ValueError(f'class_weight={class_weight!r} must be a dict of numbers, "balanced" or None.')
    by_class = _finite(compute_class_weight(class_weight, classes=classes, y=y.ravel()))
    return by_class[np.searchsorted(classes, y.ravel())]


def _finite(weights: NDArray[Any]) -> Weights:
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("class_weight must hold finite numbers of at least 0.")
    return np.asarray(weights, dtype=np.float64)


def check_some_count(weights: Weights) -> None:
    """Refuse weights that are zero for every row."""
    if not np.any(weights > 0):
        raise ValueError("sample_weight and class_weight leave no sample that counts; give some a weight above 0.")


def check_two_classes(classes: NDArray[np.integer]) -> None:
    """Refuse rows that are all of one class."""
    if len(np.unique(classes)) < 2:
        raise ValueError("All samples that count are of one class; a classifier needs at least two classes.")


def number_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.int32]:
    """The group number of each row; None makes each row a group of its own."""
    if groups is None:
        return np.arange(n_rows, dtype=np.int32)
    return unique_values("groups", name_groups(groups, n_rows))[1].astype(np.int32)


def count_outside(groups: NDArray[np.integer]) -> int:
    """How many rows every row has outside its own group, at least."""
    return len(groups) - int(np.unique(groups, return_counts=True)[1].max(initial=0))


@dataclass(frozen=True)
class ExampleWeights:
    """How much each row's loss counts; 0 leaves the row out of learning.

    ``sample`` and ``by_class`` are kept apart because UNN halves its start mass between them.
    ``held_out`` weighs rows on which the risk is measured but nothing is learned.
    """

    sample: Weights
    by_class: Weights
    held_out: Weights

    @property
    def product(self) -> Weights:
        """v, what multiplies the loss."""
        return self.sample * self.by_class

    def hold_out(self, rows: NDArray[np.integer]) -> "ExampleWeights":
        """The same weights with ``rows`` held out of learning."""
        sample, held_out = self.sample.copy(), np.zeros_like(self.held_out)
        held_out[rows] = self.product[rows]
        sample[rows] = 0.0
        return ExampleWeights(sample, self.by_class, held_out)


@dataclass(frozen=True)
class TrainingSet:
    """The rows that take part in learning. ``groups`` keeps rows that belong together from voting on each
    other; without groups of the user's, each row is a group of its own."""

    X: NDArray[np.floating]
    labels: Labels
    weights: ExampleWeights
    groups: NDArray[np.int32]

    @property
    def voter_weight(self) -> Weights:
        """How much each row counts in the plain vote: its weight, 1 on average."""
        weight = self.weights.product
        return weight / weight.mean()


@dataclass(frozen=True)
class GivenRows:
    """Labels and weights of all samples; rows and groups of those alone that count, which are ``kept``.

    Without ``weight`` all count alike; without ``groups`` each sample is a group of its own.
    """

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Weights | None
    groups: NDArray[Any] | None

    @classmethod
    def of(
        cls, X: NDArray[np.floating], y: NDArray[Any], sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> "GivenRows":
        """What users give, checked; ``X`` and ``y`` are arrays already."""
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        weight = None if sample_weight is None else as_weights(sample_weight, len(X))
        names = None if groups is None else name_groups(groups, len(X))
        if weight is None or weight.all():
            return cls(X, y, weight, names)
        kept = np.flatnonzero(weight > 0)
        return cls(row_source(X).take(kept), y, weight, None if names is None else names[kept])

    @property
    def kept(self) -> NDArray[np.int64]:
        """The samples that count."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight > 0)


def pose_problem(given: GivenRows, coding: Coding, class_weight: Any) -> TrainingSet:
    """The samples that count, with their labels, weights and groups."""
    kept, sample = given.kept, check_weights(given.weight, len(given.y))
    labels, y = coding.encode(given.y), given.y
    if len(kept) < len(y):
        labels, y, sample = labels.take(kept), y[kept], sample[kept]
    present = coding.classes if coding.multilabel else np.unique(y)
    by_class = weigh_classes(class_weight, y, present, coding.multilabel)
    check_some_count(sample * by_class)
    if not coding.multilabel:
        check_two_classes(labels.classes())
    sample = sample / sample.max()
    sample = sample / sample.mean()  # only ratios count: the oracle's tie window is absolute
    groups = number_groups(given.groups, len(kept))
    return TrainingSet(given.X, labels, ExampleWeights(sample, by_class, np.zeros(len(kept))), groups)
