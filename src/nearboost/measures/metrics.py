"""What is measured of one method's answers on one split; None where the answers do not say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.datasets.dataset import encode_labels
from nearboost.measures.differences import summarise

N_BINS = 15  # of equal width, for the calibration error
SMALLEST = float(np.finfo(np.float64).eps)  # a probability of 0 for the truth would cost everything
Floats = NDArray[np.float64]


def measure(
    y_true: ArrayLike,
    predictions: ArrayLike | None,
    classes: Sequence[str],
    *,
    probabilities: ArrayLike | None = None,
    scores: ArrayLike | None = None,
) -> dict[str, Any]:
    """All measures of one split as plain numbers.

    Parameters
    ----------
    y_true : class names, or (n, n_classes) of 0 and 1 where items have several labels
    predictions : the same of what was predicted; may be None for several labels
    classes : all class names, in the order of the columns below
    probabilities : (n, n_classes), where the method gives them
    scores : (n, n_classes), or n for two classes, where it gives scores only; higher means likelier

    Returns
    -------
    dict with

    - "accuracy", of all items; with several labels, of items without any mistake
    - "mean_class_accuracy", the mean over the classes that were tested; with several labels, of all marks
    - "top5": the truth is among the five likeliest, ties broken by a fair draw; None with five classes or fewer
    - "log_loss", natural logarithm, and "ece", the expected calibration error: from probabilities only
    - "auc", of each class against the others, and "mean_auc"
    - "average_precision" of each class and "mean_average_precision", with several labels;
      "mean_average_precision_11" is the eleven-point mean of VOC 2007

    A class that is absent from the test items, or has nothing else beside it, has None.

    Examples
    --------
    >>> found = measure(["a", "b", "b"], ["a", "b", "a"], ["a", "b"], scores=[-1.0, 2.0, -0.5])
    >>> found["mean_class_accuracy"], found["auc"]["b"], found["log_loss"]
    (0.75, 1.0, None)
    """
    truth = np.asarray(y_true)
    several = truth.ndim == 2
    chances = _columns("probabilities", probabilities, truth, classes)
    ranking = chances if chances is not None else _columns("scores", scores, truth, classes)
    if several:
        return _several_labels(truth.astype(bool), predictions, classes, chances, ranking)
    if predictions is None:
        raise ValueError("predictions=None says nothing; give a class name for each item.")
    codes, predicted = encode_labels(truth, classes, "y_true"), encode_labels(predictions, classes, "predictions")
    counts = np.array(confusion(truth, predictions, classes))
    tested = [value for value in class_accuracies(counts) if value is not None]
    one_hot = codes[:, np.newaxis] == np.arange(len(classes))
    return {
        "accuracy": float(np.mean(codes == predicted)),
        "mean_class_accuracy": float(np.mean(tested)),
        "top5": None if ranking is None or len(classes) <= 5 else _top(codes, ranking, 5),
        "log_loss": None if chances is None else _log_loss(chances[np.arange(len(codes)), codes]),
        "ece": None if chances is None else _ece(reliability(y_true, predictions, classes, chances), len(codes)),
        **_aucs(one_hot, ranking, classes),
        "average_precision": None,
        "mean_average_precision": None,
        "mean_average_precision_11": None,
    }


def confusion(y_true: ArrayLike, predictions: ArrayLike, classes: Sequence[str]) -> list[list[int]]:
    """How many items of each class (row) were predicted to be of each (column)."""
    truth, predicted = encode_labels(y_true, classes, "y_true"), encode_labels(predictions, classes, "predictions")
    if len(truth) != len(predicted) or not len(truth):
        raise ValueError(f"{len(predicted)} predictions for {len(truth)} items; give one for each of one or more.")
    counts = np.bincount(truth * len(classes) + predicted, minlength=len(classes) ** 2)
    rows: list[list[int]] = counts.reshape(len(classes), -1).tolist()
    return rows


def class_accuracies(counts: ArrayLike) -> list[float | None]:
    """The share of each class that was predicted correctly, from a confusion matrix; None without items."""
    table = np.asarray(counts)
    totals = table.sum(axis=1)
    return [float(right / total) if total else None for right, total in zip(table.diagonal(), totals, strict=True)]


def reliability(
    y_true: ArrayLike,
    predictions: ArrayLike,
    classes: Sequence[str],
    probabilities: ArrayLike,
    n_bins: int = N_BINS,
) -> list[list[float]]:
    """Mean confidence, accuracy and number of items for each bin of the confidence that is not empty.

    The confidence is the probability of the class that was predicted.
    """
    truth, predicted = encode_labels(y_true, classes, "y_true"), encode_labels(predictions, classes, "predictions")
    chances = _columns("probabilities", probabilities, truth, classes)
    if chances is None:
        raise ValueError("probabilities=None has no reliability; give a row for each item.")
    confidence, right = chances[np.arange(len(predicted)), predicted], truth == predicted
    # Bins are open below and closed above, so that 1 is in the last.
    bins = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    return [
        [float(confidence[bins == b].mean()), float(right[bins == b].mean()), int((bins == b).sum())]
        for b in np.unique(bins)
    ]


def _several_labels(
    truth: NDArray[Any],
    predictions: ArrayLike | None,
    classes: Sequence[str],
    chances: Floats | None,
    ranking: Floats | None,
) -> dict[str, Any]:
    right = None if predictions is None else np.asarray(predictions).astype(bool) == truth
    right_chances = None if chances is None else np.where(truth, chances, 1 - chances)
    curves = {
        name: None if ranking is None else _curve(truth[:, c], ranking[:, c]) for c, name in enumerate(classes)
    }
    areas = {name: None if curve is None else _area(*curve) for name, curve in curves.items()}
    eleven = [None if curve is None else _eleven(*curve) for curve in curves.values()]
    return {
        "accuracy": None if right is None else float(right.all(axis=1).mean()),
        "mean_class_accuracy": None if right is None else float(right.mean()),
        "top5": None,
        "log_loss": None if right_chances is None else _log_loss(right_chances),
        "ece": None,
        **_aucs(truth, ranking, classes),
        "average_precision": areas,
        "mean_average_precision": summarise(list(areas.values())).mean,
        "mean_average_precision_11": summarise(eleven).mean,
    }


def _columns(name: str, values: ArrayLike | None, truth: NDArray[Any], classes: Sequence[str]) -> Floats | None:
    """One column for each class; a single one of two classes is that of the second."""
    if values is None:
        return None
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1 and len(classes) == 2:
        table = np.column_stack([-table, table])
    if table.shape != (len(truth), len(classes)):
        raise ValueError(
            f"{name} have shape {np.shape(values)}; expected a row for each of {len(truth)} items and a column "
            f"for each of {len(classes)} classes."
        )
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name} hold NaN or infinite values in row {int(finite.argmin())}.")
    return table


def _top(codes: NDArray[np.intp], ranking: Floats, k: int) -> float:
    own = ranking[np.arange(len(codes)), codes][:, np.newaxis]
    better, tied = (ranking > own).sum(axis=1), (ranking == own).sum(axis=1)
    return float(np.clip((k - better) / tied, 0, 1).mean())


def _log_loss(chances: Floats) -> float:
    return float(np.log(1 / np.clip(chances, SMALLEST, 1)).mean())  # 0 and not -0 where all is right


def _ece(bins: list[list[float]], n_items: int) -> float:
    return float(sum(count * abs(confidence - accuracy) for confidence, accuracy, count in bins) / n_items)


def _aucs(truth: NDArray[Any], ranking: Floats | None, classes: Sequence[str]) -> dict[str, Any]:
    """The chance that an item of the class ranks above another one, ties counting half."""
    found = {name: None if ranking is None else _auc(truth[:, c], ranking[:, c]) for c, name in enumerate(classes)}
    return {"auc": found, "mean_auc": summarise(list(found.values())).mean}


def _auc(is_class: NDArray[Any], scores: Floats) -> float | None:
    from scipy.stats import rankdata

    n_in = int(is_class.sum())
    n_out = len(is_class) - n_in
    if not n_in or not n_out:
        return None
    above = rankdata(scores)[is_class].sum() - n_in * (n_in + 1) / 2
    return float(above / (n_in * n_out))


def _curve(is_class: NDArray[Any], scores: Floats) -> tuple[Floats, Floats] | None:
    """Precision and recall at every distinct score, the highest first."""
    if not is_class.any():
        return None
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # items with one score come together
    hits = np.cumsum(is_class[order])[ends]
    return hits / (ends + 1), hits / is_class.sum()


def _area(precision: Floats, recall: Floats) -> float:
    return float(np.sum(np.diff(recall, prepend=0) * precision))


def _eleven(precision: Floats, recall: Floats) -> float:
    """The best precision from each recall of 0, 0.1, …, 1 on, averaged."""
    levels = np.linspace(0, 1, 11)
    return float(np.mean([precision[recall >= level - 1e-12].max(initial=0) for level in levels]))
