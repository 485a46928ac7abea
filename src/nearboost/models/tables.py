"""Predictions as tables: columns, and files of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.disk import check_target, whole_file
from nearboost.base.errors import UsageError
from nearboost.models.model import Prediction
from nearboost.models.votes import names_of

Columns = dict[str, list[Any]]


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
    if prediction.labels.ndim == 2:
        return columns | _several_labels(prediction, top, reject_below)
    columns["label"] = [str(label) for label in prediction.labels]
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
    columns: Columns = {"label": [";".join(names_of(row, prediction.classes)) for row in prediction.labels]}
    if prediction.probabilities is not None:
        for code, name in enumerate(prediction.classes):
            columns[f"probability of {name}"] = prediction.probabilities[:, code].tolist()
    return columns


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """The columns as comma-separated values; numbers with all their digits."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()


def check_table_name(path: Path | None) -> None:
    """The ending says what to write; a mistake is told before any work."""
    if path is None:
        return
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"{path} has no ending that says what to write; use .csv or .parquet.")
    check_target(path)


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """A .csv or .parquet file, which replaces another one only when it is complete."""
    check_table_name(path)
    with whole_file(path) as made:
        if path.suffix.lower() == ".csv":
            made.write_text(as_csv(columns), encoding="utf-8")
        else:
            _write_parquet(made, columns)


def _write_parquet(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('Parquet files need one more package: pip install "nearboost[tables]"') from error
    parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), path)
