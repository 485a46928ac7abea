"""What a model says of some items, and the same as columns of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.models.novelty import NOTE, UNLIKE

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Prediction:
    """What a model says of some items; those that could not be described are left out.

    Attributes
    ----------
    places : ndarray of shape (n_described,)
        Positions of these items among those given.
    labels : ndarray of shape (n_described,) or (n_described, n_classes)
        Class name of each; a 0/1 matrix for multilabel models.
    probabilities : ndarray of shape (n_described, n_classes) or None
        Probability of each class, if the classifier gives any.
    skipped : dict
        What was wrong with each skipped item, by position.
    classes : tuple of str
        Class names.
    typicality : ndarray of shape (n_described,) or None, default=None
        Share of training items that are as unusual as each item, or more, if the model knows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nearboost import KNNClassifier, Model
    >>> iris = load_iris()
    >>> classifier = KNNClassifier().fit(iris.data, iris.target)
    >>> model = Model(None, classifier, tuple(iris.target_names.tolist()), None, {})
    >>> said = model.predict_rows(iris.data[[0, 80]])
    >>> said.labels.tolist(), said.probabilities.shape, said.skipped
    (['setosa', 'versicolor'], (2, 3), {})
    """

    places: NDArray[np.int64]
    labels: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    skipped: dict[int, str]
    classes: tuple[str, ...]
    typicality: NDArray[np.float64] | None = None

    @property
    def notes(self) -> list[str]:
        """What a reader should know of each item: that it is unlike the training items, or nothing."""
        if self.typicality is None:
            return [""] * len(self.places)
        return [NOTE if share < UNLIKE else "" for share in self.typicality.tolist()]

    def top(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The n most probable classes of each item.

        Parameters
        ----------
        n : int
            Number of classes, at most all.

        Returns
        -------
        order : ndarray of shape (n_described, n)
            Class numbers, most probable first.
        probabilities : ndarray of shape (n_described, n)
            Their probabilities.
        """
        if self.probabilities is None:
            raise ValueError("This classifier gives no probabilities, so classes cannot be ranked; leave top out.")
        n = min(n, len(self.classes))
        order = np.argsort(-self.probabilities, axis=1, kind="stable")[:, :n]
        return order, np.take_along_axis(self.probabilities, order, axis=1)


def prediction_columns(
    prediction: Prediction, names: Sequence[str], *, top: int = 1, reject_below: float | None = None
) -> Columns:
    """One line for each item that could be described.

    Parameters
    ----------
    prediction : what the model says
    names : of all items that were given
    top : how many of the likeliest classes are named
    reject_below : marks items whose best probability is smaller
    """
    columns: Columns = {"name": [names[place] for place in prediction.places.tolist()]}
    several = prediction.labels.ndim == 2
    columns |= (_several_labels if several else _one_label)(prediction, top, reject_below)
    if prediction.typicality is not None:
        columns["typicality"] = prediction.typicality.tolist()
    return columns | {"note": prediction.notes}


def with_skipped(
    columns: Columns, prediction: Prediction, reasons: Mapping[int, str], names: Sequence[str]
) -> Columns:
    """The same with a line for each item that was given, in that order; ``reasons`` say why some were skipped."""
    line_of = {place: line for line, place in enumerate(prediction.places.tolist())}
    places = sorted([*line_of, *reasons])
    whole = {
        name: [column[line_of[place]] if place in line_of else None for place in places]
        for name, column in columns.items()
    }
    whole["name"] = [names[place] for place in places]
    whole["note"] = [
        note if place in line_of else f"skipped: {reasons[place]}"
        for place, note in zip(places, whole["note"], strict=True)
    ]
    return whole


def _one_label(prediction: Prediction, top: int, reject_below: float | None) -> Columns:
    columns: Columns = {"label": [str(label) for label in prediction.labels]}
    chances = prediction.probabilities
    if chances is None:
        if top > 1 or reject_below is not None:
            raise ValueError("This classifier gives no probabilities; leave out --top and --reject-below.")
        return columns
    code_of = {name: code for code, name in enumerate(prediction.classes)}
    codes = [code_of[label] for label in columns["label"]]
    best = chances[np.arange(len(codes)), codes]
    columns["probability"] = best.tolist()
    if reject_below is not None:
        columns["rejected"] = (best < reject_below).tolist()
    order, ordered = prediction.top(top)
    for place in range(1, order.shape[1]):
        columns[f"label_{place + 1}"] = [prediction.classes[code] for code in order[:, place].tolist()]
        columns[f"probability_{place + 1}"] = ordered[:, place].tolist()
    return columns


def _several_labels(prediction: Prediction, top: int, reject_below: float | None) -> Columns:
    if top > 1 or reject_below is not None:
        raise ValueError("Items of this model have several labels; leave out --top and --reject-below.")
    columns: Columns = {"label": [";".join(label_names(row, prediction.classes)) for row in prediction.labels]}
    if prediction.probabilities is not None:
        for code, name in enumerate(prediction.classes):
            columns[f"probability of {name}"] = prediction.probabilities[:, code].tolist()
    return columns


def label_names(label: Any, classes: Sequence[str]) -> list[str]:
    """The class names of a label: a name itself, a number, or a row of 0 and 1."""
    if isinstance(label, str):
        return [str(label)]
    if np.ndim(label):
        return [classes[c] for c in np.flatnonzero(label).tolist()] or ["none"]
    return [classes[int(label)]]
