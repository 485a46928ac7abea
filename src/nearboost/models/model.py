"""A model as people keep it: features, classifier, class names, and where the training items came from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from nearboost.base.images import ImageError, pixels_of
from nearboost.base.model_files import ModelFileError, load
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.base.validation import float_type
from nearboost.ensemble.split import SplitClassifier
from nearboost.inn.code_classifier import SparseCodeClassifier
from nearboost.models.origins import Origins


class Described(NamedTuple):
    """Rows of the items that could be described, which these are, and what was wrong with the others."""

    rows: NDArray[Any]
    places: NDArray[np.int64]
    skipped: dict[int, str]


@dataclass(frozen=True)
class Prediction:
    """What a model says of some items; those that could not be described are left out.

    Attributes
    ----------
    places : which of the items given these are
    labels : the class of each by name; multilabel: a 0/1 matrix
    probabilities : one column for each class, or None where the classifier gives none
    skipped : what was wrong with an item, by its place
    classes : names of the classes
    """

    places: NDArray[np.int64]
    labels: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    skipped: dict[int, str]
    classes: tuple[str, ...]

    def top(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The n likeliest classes of each item by number, or all of fewer, and their probabilities."""
        if self.probabilities is None:
            raise ValueError("This classifier gives no probabilities, so classes cannot be ranked; leave top out.")
        n = min(n, len(self.classes))
        order = np.argsort(-self.probabilities, axis=1, kind="stable")[:, :n]
        return order, np.take_along_axis(self.probabilities, order, axis=1)


@dataclass(frozen=True)
class Model:
    """Features, classifier and class names.

    Attributes
    ----------
    features : a fitted transformer of images, or None where items are rows of numbers
    classifier : fitted on the rows, with ``classes`` by number (multilabel: on a 0/1 matrix)
    classes : names of the classes
    origins : where training rows came from; those that vote, or all where all rows are kept
    facts : what else is to be known, for people: data, method, number of items
    marks : of all items that it was fitted on, see `marks_of`; None where the file is older
    """

    features: Any
    classifier: Any
    classes: tuple[str, ...]
    origins: Origins | None
    facts: dict[str, Any]
    marks: NDArray[np.uint64] | None = None

    def describe(self, items: Any, *, n_jobs: int | None = None, verbose: int = 0) -> Described:
        """Rows of paths or images, one at a time, or of a matrix as it is; what cannot be read is skipped."""
        if self.features is None:
            rows = np.asarray(items)
            if rows.ndim != 2 or rows.dtype.kind not in "biuf":
                raise ValueError("This model was fitted on rows of numbers; give a matrix, not images.")
            wanted = getattr(self.classifier, "n_features_in_", rows.shape[1])
            if rows.shape[1] != wanted:
                raise ValueError(
                    f"This model takes rows of {wanted} numbers, and rows of {rows.shape[1]} were given; describe "
                    "the items with the features of the rows that it was fitted on, or fit a model to these rows."
                )
            return Described(as_floats(rows), np.arange(len(rows), dtype=np.int64), {})
        return describe_images(self.features, items, n_jobs=n_jobs, verbose=verbose)

    def predict(self, items: Any, *, n_jobs: int | None = None, verbose: int = 0) -> Prediction:
        """Class and probabilities of each item that can be described."""
        described = self.describe(items, n_jobs=n_jobs, verbose=verbose)
        if not len(described.rows):
            why = next(iter(described.skipped.values()), "there are no items.")
            raise ValueError(f"Nothing could be described: {why}")
        return replace(self.predict_rows(described.rows), places=described.places, skipped=described.skipped)

    def predict_rows(self, rows: NDArray[Any]) -> Prediction:
        """The same of rows that the features have made."""
        has_them = hasattr(self.classifier, "predict_proba")
        probabilities = np.asarray(self.classifier.predict_proba(rows)) if has_them else None
        said = np.asarray(self.classifier.predict(rows))
        labels = said if said.ndim == 2 else np.array(self.classes)[said]
        return Prediction(np.arange(len(rows), dtype=np.int64), labels, probabilities, {}, self.classes)

    @property
    def last_step(self) -> Any:
        """The classifier itself, without what scales its rows."""
        return self.classifier[-1] if isinstance(self.classifier, Pipeline) else self.classifier

    def before_last_step(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows as the classifier itself sees them."""
        several = isinstance(self.classifier, Pipeline) and len(self.classifier) > 1
        return np.asarray(self.classifier[:-1].transform(rows)) if several else rows

    @property
    def voters(self) -> NDArray[np.int64]:
        """Rows of the training set that an answer may come from; none for linear classifiers and the like."""
        return voters_of(self.last_step, self.n_training)

    @property
    def n_training(self) -> int:
        """How many items it was fitted on."""
        return int(self.facts.get("items", 0))

    def only_voters(self) -> "Model":
        """The same without the origins of rows that never vote."""
        return self if self.origins is None else replace(self, origins=self.origins.take(self.voters))


def load_model(path: str | os.PathLike[str]) -> Model:
    """The model of a file; a bare estimator is none."""
    found = load(path)
    if not isinstance(found, Model):
        raise ModelFileError(
            f"{path} holds {type(found).__name__} and no model with class names; make one with `nearboost fit`."
        )
    if not _is_whole(found):
        raise ModelFileError(f"{path} holds a model whose parts are not what they should be; it was changed.")
    return found


def _is_whole(model: Model) -> bool:
    """Whether the parts are of their kinds, which a changed file may have otherwise."""
    has_names = isinstance(model.classes, tuple) and all(isinstance(name, str) for name in model.classes)
    can_be_asked = hasattr(model.classifier, "predict")
    can_describe = model.features is None or hasattr(model.features, "transform")
    has_origins = model.origins is None or isinstance(model.origins, Origins)
    has_marks = model.marks is None or (isinstance(model.marks, np.ndarray) and model.marks.dtype == np.uint64)
    has_others = has_origins and has_marks and isinstance(model.facts, dict)
    return has_names and can_be_asked and can_describe and has_others


def voters_of(classifier: Any, n_training: int) -> NDArray[np.int64]:
    """Prototypes, support vectors, or all training rows where all are compared with."""
    if hasattr(classifier, "_searched_rows"):
        return np.asarray(classifier._searched_rows, dtype=np.int64)
    if hasattr(classifier, "support_"):
        return np.sort(classifier.support_).astype(np.int64)
    if isinstance(classifier, SplitClassifier):
        each = [voters_of(one, n_training) for one in classifier.estimators_]
        return np.unique(np.concatenate(each))
    if isinstance(classifier, SparseCodeClassifier | KNeighborsClassifier):
        return np.arange(n_training, dtype=np.int64)
    return np.empty(0, dtype=np.int64)


def as_floats(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in float32 or float64, whichever holds them: in fits and in queries alike."""
    return np.asarray(rows, dtype=float_type(rows.dtype))


def describe_images(
    features: Any, items: Sequence[Any], *, n_jobs: int | None = None, verbose: int = 0
) -> Described:
    """Rows of images, each described alone, so that a broken one is skipped and no others with it."""

    def describe(item: Any) -> NDArray[Any] | str:
        try:
            row = np.asarray(features.transform([pixels_of(item)])[0], dtype=np.float32)
        except ImageError as error:
            return str(error)
        except ValueError as error:
            return f"{item} cannot be described: {error}" if isinstance(item, str) else str(error)
        return row if np.isfinite(row).all() else f"{item} gives NaN or infinite numbers."

    with one_matrix_thread(), progress_bar("Describing", len(items), verbose) as advance:
        found = map_in_threads(describe, list(items), n_jobs, advance)
    skipped = {i: one for i, one in enumerate(found) if isinstance(one, str)}
    rows = [one for one in found if not isinstance(one, str)]
    places = np.array([i for i in range(len(found)) if i not in skipped], dtype=np.int64)
    return Described(np.stack(rows) if rows else np.empty((0, 0)), places, skipped)
