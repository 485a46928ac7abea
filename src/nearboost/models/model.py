"""A model as people keep it: features, classifier, class names, and where the training items came from."""

import os
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from nearboost.base.entries import Array, ListOf, Misfit, ModelFileError, Nullable, Part, Text
from nearboost.base.rows import RowSource
from nearboost.base.schema import PLAIN, Schema
from nearboost.base.validation import float_type
from nearboost.features.extraction import images_to_rows
from nearboost.models.files import load
from nearboost.models.novelty import Novelty
from nearboost.models.origins import Origins
from nearboost.models.prediction import Prediction
from nearboost.models.steps import check_fit, wanted_by
from nearboost.problem.classifier import BYTES_AT_ONCE, ROWS_AT_ONCE, voters_of

SCORES_AT_ONCE = 2**22


class Described(NamedTuple):
    """Rows of the items that could be described, which these are, and what was wrong with the others."""

    rows: NDArray[Any]
    places: NDArray[np.int64]
    skipped: dict[int, str]


def _check_facts(state: Mapping[str, Any]) -> None:
    facts = state["facts"]
    plain = (str, int, float, type(None))
    if type(facts) is not dict or not all(
        type(name) is str and (type(fact) in plain or name in ("sources", "columns"))
        for name, fact in facts.items()
    ):
        raise Misfit("must have facts that are numbers and texts")
    if not all(type(facts.get(name, 0)) is int and facts.get(name, 0) >= 0 for name in ("items", "skipped")):
        raise Misfit("must say of how many items it was fitted")
    if "sources" in facts and not _counts_items(facts["sources"], facts.get("items", 0)):
        raise Misfit("must say how many of its items came from which data")
    columns = facts.get("columns", [])
    if type(columns) is not list or not all(type(name) is str for name in columns):
        raise Misfit("must say by name which columns its rows have")


def _check_entries(state: Mapping[str, Any]) -> None:
    _check_facts(state)
    cells = state.get("cells")
    if cells is not None and (type(cells) is not dict or not all(type(name) is str for name in cells)):
        raise Misfit("must say by name how its cells were found and described")


def _counts_items(sources: Any, n_items: int) -> bool:
    """Whether these are pairs of a name and a number, and all items are counted."""
    pairs = type(sources) is list and all(type(one) is list and len(one) == 2 for one in sources)
    if not pairs or not all(type(name) is str and type(n) is int and n > 0 for name, n in sources):
        return False
    return sum(n for _, n in sources) == n_items


@dataclass(frozen=True)
class Model:
    """Features, classifier and class names.

    Attributes
    ----------
    features : transformer or None
        Fitted transformer of images; None if items are rows of numbers.
    classifier : classifier
        Fitted on the rows, with ``classes`` by number (for multilabel models, on a 0/1 matrix).
    classes : tuple of str
        Class names.
    origins : Origins or None
        Where training rows came from: those that vote, or all if all rows are kept.
    facts : dict
        What else people should know: data, method, number of items; the columns of a table; after `add`, how many
        came from which data.
    marks : ndarray or None
        Marks of all training items, see `make_marks`; None in older files.
    cells : dict or None
        Of a model of cells: channels, size of a pixel, and settings of segmentation and features, by name.
    novelty : Novelty or None
        What tells how unusual an item is; None in older files and of few items.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from nearboost import KNNClassifier, Model
    >>> iris = load_iris()
    >>> classifier = KNNClassifier().fit(iris.data, iris.target)
    >>> model = Model(None, classifier, tuple(iris.target_names.tolist()), None, {"data": "iris"})
    >>> model.predict_rows(iris.data[:2]).labels.tolist()
    ['setosa', 'setosa']
    """

    features: Any
    classifier: Any
    classes: tuple[str, ...]
    origins: Origins | None
    facts: dict[str, Any]
    marks: NDArray[np.uint64] | None = None
    cells: dict[str, Any] | None = None
    novelty: Novelty | None = None

    model_schema: ClassVar[Schema] = Schema(
        {
            "features": Nullable(Part(can="transform")),
            "classifier": Part(can="predict"),
            "classes": ListOf(Text(), as_tuple=True),
            "origins": Nullable(Part(("Origins",))),
            "facts": PLAIN,
            "marks": Nullable(Array("uint64", (None,))),
            "cells": Nullable(PLAIN),
            "novelty": Nullable(Part(("Novelty",))),
        },
        optional=("marks", "cells", "novelty"),
        check=_check_entries,
    )

    def __post_init__(self) -> None:
        describes = self.features is None or hasattr(self.features, "transform")
        if not describes or not hasattr(self.classifier, "predict"):
            raise ValueError("The classifier of a model must predict, and its features must transform.")
        numbers = np.asarray(getattr(self.last_step, "classes_", ()))
        if numbers.dtype.kind not in "iu" or not np.array_equal(numbers, np.arange(len(self.classes))):
            raise ValueError("The classifier of a model must be fitted on class numbers that all have a name.")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("The classes of a model must have different names.")
        if self.origins is not None and not self.origins.has_labels_of(len(self.classes)):
            raise ValueError("The training items of a model must be of its classes.")
        seen = getattr(self.last_step, "n_features_in_", None)
        if self.novelty is not None and self.novelty.n_features != seen:
            raise ValueError("The novelty of a model must be that of rows as its classifier sees them.")
        if self.features is not None:
            check_fit(self.features, self.classifier)
        whole = (self.classifier,) if self.features is None else (self.features, self.classifier)
        if [wanted_by(part)[0] for part in whole] != ["images", "rows"][-len(whole) :]:
            raise ValueError("The features of a model must make rows of images; a model without takes rows.")

    def describe(self, items: Any, *, n_jobs: int | None = None, verbose: int = 0) -> Described:
        """Turn items into rows; what cannot be read is skipped.

        Parameters
        ----------
        items : sequence of paths or images, or array-like of shape (n_items, n_features)
            Items of the kind the model was fitted on.
        n_jobs : int or None, default=None
            Number of threads; None uses all cores.
        verbose : int, default=0
            Shows a progress bar on standard error when above 0.

        Returns
        -------
        Described
            Rows, their positions among the items, and what was wrong with the others.
        """
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
        [found] = images_to_rows(items, [self.features], n_jobs=n_jobs, verbose=verbose)
        return Described(found.rows, found.places, found.failed)

    def predict(self, items: Any, *, n_jobs: int | None = None, verbose: int = 0) -> Prediction:
        """Predict the class of each item that can be described.

        Parameters
        ----------
        items : sequence of paths or images, or array-like of shape (n_items, n_features)
            Items of the kind the model was fitted on.
        n_jobs : int or None, default=None
            Number of threads; None uses all cores, and those of the classifier.
        verbose : int, default=0
            Shows a progress bar on standard error when above 0.

        Returns
        -------
        Prediction
            Labels and probabilities.
        """
        described = self.describe(items, n_jobs=n_jobs, verbose=verbose)
        if not len(described.rows):
            why = next(iter(described.skipped.values()), "there are no items.")
            raise ValueError(f"Nothing could be described: {why}")
        said = self.predict_rows(described.rows, n_jobs=n_jobs)
        return replace(said, places=described.places, skipped=described.skipped)

    def predict_blocks(self, rows: RowSource, *, n_jobs: int | None = None) -> Iterator[Prediction]:
        """Predict from rows of numbers that may be larger than memory.

        Parameters
        ----------
        rows : RowSource
            What `nearboost.datasets.open_rows` returns.
        n_jobs : int or None, default=None
            Number of threads; None uses those of the classifier.

        Yields
        ------
        Prediction
            Labels and probabilities of some rows, whose places count from the first of all.
        """
        most = min(ROWS_AT_ONCE, SCORES_AT_ONCE >> (len(self.classes) - 1).bit_length())
        for start, block in rows.blocks(BYTES_AT_ONCE, max(1, most)):
            found = self.predict(block.astype(float_type(rows.stored), copy=False), n_jobs=n_jobs)
            yield replace(found, places=found.places + start)

    def predict_rows(self, rows: NDArray[Any], *, n_jobs: int | None = None) -> Prediction:
        """Predict from rows that the features have made.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows.
        n_jobs : int or None, default=None
            Number of threads; None uses those of the classifier.

        Returns
        -------
        Prediction
            Labels and probabilities, and how unusual the rows are, where the model knows.
        """
        seen = self.before_last_step(rows)
        answers, probabilities = self._answer(seen, n_jobs)
        labels = answers if answers.ndim == 2 else np.array(self.classes)[answers]
        usual = None if self.novelty is None else self.novelty.shares(seen, n_jobs)
        return Prediction(np.arange(len(rows), dtype=np.int64), labels, probabilities, {}, self.classes, usual)

    def _answer(self, rows: NDArray[Any], n_jobs: int | None) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Labels and probabilities, from one search where the classifier knows how."""
        classifier = self.last_step
        if n_jobs is not None and hasattr(classifier, "n_jobs"):
            classifier = copy(classifier).set_params(n_jobs=n_jobs)
        if hasattr(classifier, "predict_with_proba"):
            return classifier.predict_with_proba(rows)
        probabilities = classifier.predict_proba(rows) if hasattr(classifier, "predict_proba") else None
        return classifier.predict(rows), probabilities

    @property
    def last_step(self) -> Any:
        """The classifier itself, without what scales its rows."""
        return self.classifier[-1] if isinstance(self.classifier, Pipeline) else self.classifier

    def before_last_step(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows as the classifier itself sees them.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_scaled_features)
            The rows after scaling.
        """
        several = isinstance(self.classifier, Pipeline) and len(self.classifier) > 1
        return np.asarray(self.classifier[:-1].transform(rows)) if several else rows

    @property
    def voters(self) -> NDArray[np.int64]:
        """Training rows that an answer may come from; none for linear classifiers and the like."""
        return voters_of(self.last_step)

    @property
    def n_training(self) -> int:
        """Number of items the model was fitted on."""
        return int(self.facts.get("items", 0))

    @property
    def held_out_accuracy(self) -> float | None:
        """Accuracy on held-out training items; None where the classifier holds none out."""
        accuracy = getattr(self.last_step, "held_out_accuracy_", np.nan)
        return None if np.isnan(accuracy) else float(accuracy)

    def only_voters(self) -> "Model":
        """The same model without the origins of rows that never vote.

        Returns
        -------
        Model
            A copy; this one is left unchanged.
        """
        return self if self.origins is None else replace(self, origins=self.origins.take(self.voters))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Load a model from a file; a bare estimator is refused.

    Parameters
    ----------
    path : str or path
        A file written by `save` or by ``nearboost fit``.

    Returns
    -------
    Model
        The model.

    Examples
    --------
    >>> import tempfile
    >>> from nearboost import KNNClassifier
    >>> from nearboost.models import Model, load_model, save
    >>> knn = KNNClassifier(n_neighbors=1).fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Model(None, knn, ("small", "large"), None, {}), f"{folder}/sizes.nb")
    ...     model = load_model(f"{folder}/sizes.nb")
    >>> answer = model.predict([[4.4]])
    >>> answer.classes[answer.probabilities[0].argmax()]
    'large'
    """
    found = load(path)
    if not isinstance(found, Model):
        raise ModelFileError(
            f"{path} holds {type(found).__name__} and no model with class names; make one with `nearboost fit`."
        )
    return found


def as_floats(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in float32 or float64, whichever holds them: in fits and in queries alike."""
    return np.asarray(rows, dtype=float_type(rows.dtype))
