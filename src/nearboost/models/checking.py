"""A model and labelled data: how right it is, and what to fit again from the data."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearboost.base.disk import check_target
from nearboost.base.errors import UsageError
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.measures.metrics import class_accuracies, confusion, measure
from nearboost.models import Model, load_model, save
from nearboost.models.fitting import check_part, choose_part, groups_for, with_origins
from nearboost.models.items import check_kind
from nearboost.models.marks import count_known, marks_of
from nearboost.models.pruning import check_prunable, prune_model, with_last_step
from nearboost.models.suspects import (
    Findings,
    is_suspects_page,
    is_suspects_table,
    suspects_csv,
    suspects_in,
    suspects_of,
    suspects_page,
)


class Rows(NamedTuple):
    """The items of a data set that could be described, their rows, and what was wrong with the others, by name."""

    rows: NDArray[Any]
    dataset: Dataset
    skipped: dict[str, str]


def rows_of(model: Model, dataset: Dataset, *, n_jobs: int | None = None, verbose: int = 0) -> Rows:
    """Labelled items as the model's classifier wants them."""
    check_kind(model, dataset.kind, dataset.name)
    unknown = sorted(set(dataset.classes) - set(model.classes))
    if unknown:
        known = ", ".join(model.classes[:5]) + (", …" if len(model.classes) > 5 else "")
        raise DataError(
            f"{dataset.name} has the class {unknown[0]!r}, which the model does not know; it knows {known}. Leave "
            "the items of other classes out, or fit a model on data that has them."
        )
    found = model.describe(dataset.items, n_jobs=n_jobs, verbose=verbose)
    skipped = {dataset.names[i]: why for i, why in found.skipped.items()}
    if not len(found.places):
        raise DataError(f"No image of {dataset.name} could be described: {next(iter(skipped.values()))}")
    return Rows(found.rows, dataset.take(found.places), skipped)


def evaluate_model(
    model: Model, dataset: Dataset, *, n_jobs: int | None = None, verbose: int = 0
) -> dict[str, Any]:
    """Measures, confusions and what is right of each class, as plain numbers and texts."""
    found = rows_of(model, dataset, n_jobs=n_jobs, verbose=verbose)
    said = model.predict_rows(found.rows)
    scores = None
    if said.probabilities is None and hasattr(model.classifier, "decision_function"):
        scores = model.classifier.decision_function(found.rows)
    truth = found.dataset.codes(model.classes)
    several = truth.ndim == 2
    labels = truth if several else np.array(model.classes)[truth]
    answer: dict[str, Any] = {
        "data": dataset.name,
        "items": len(found.rows),
        "measures": measure(labels, said.labels, model.classes, probabilities=said.probabilities, scores=scores),
        "classes": list(model.classes),
        "trained_on": count_known(model, found.dataset, n_jobs),
        "skipped": found.skipped,
    }
    if not several:
        counts = confusion(labels, said.labels, model.classes)
        answer |= {"confusion": counts, "class_accuracy": class_accuracies(counts)}
    return answer


def refit_pruned(
    model: Model, dataset: Dataset, n_prototypes: int | float, *, n_jobs: int | None = None, verbose: int = 0
) -> tuple[Model, dict[str, str]]:
    """The classifier fitted again on the data, with so many prototypes; and what was skipped."""
    check_prunable(model)
    found = rows_of(model, dataset, n_jobs=n_jobs, verbose=verbose)
    absent = [] if dataset.is_multilabel else sorted(set(model.classes) - set(found.dataset.labels.tolist()))
    if absent:  # probabilities would have fewer columns than there are classes
        raise DataError(f"{dataset.name} has no items of class {absent[0]!r}, which the model knows; give all.")
    labels, rows = found.dataset.codes(model.classes), model.before_last_step(found.rows)
    old = model.last_step
    new = clone(old).set_params(n_prototypes=n_prototypes, n_neighbors=old.n_neighbors_)
    new.fit(rows, labels, **groups_for(new, found.dataset))
    facts = model.facts | {"data": dataset.name, "items": len(rows), "skipped": len(found.skipped)}
    pictures = model.origins is not None and model.origins.pictures is not None
    pruned = replace(with_last_step(model, new), facts=facts, marks=marks_of(found.dataset, n_jobs))
    return with_origins(pruned, found.dataset, labels, pictures, n_jobs, verbose), found.skipped


def prune_file(
    path: Path,
    keep: float,
    out: Path,
    *,
    data: str | None = None,
    layout: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Write a model of fewer prototypes; what it was and is, and what was skipped."""
    check_target(out)
    model = load_model(path)
    check_prunable(model)
    wanted = keep if 0 < keep < 1 else whole_number(keep)
    _check_fewer(model, path, wanted)
    skipped: dict[str, str] = {}
    if data is None:
        pruned = prune_model(model, wanted)
    else:
        dataset = choose_part(open_dataset(data, layout), "auto", "train")
        pruned, skipped = refit_pruned(model, dataset, wanted, n_jobs=n_jobs, verbose=verbose)
    save(pruned, out)
    return {"model": str(out), "before": _size_of(model, path), "after": _size_of(pruned, out), "skipped": skipped}


def _check_fewer(model: Model, path: Path, wanted: int | float) -> None:
    """Else the model written would be equal, or a larger one."""
    n_wanted = round(wanted * model.n_training) if isinstance(wanted, float) else wanted
    if n_wanted >= len(model.voters):
        whole = f" of the {model.n_training} training items" if isinstance(wanted, float) else ""
        raise UsageError(
            f"{path} has {len(model.voters)} prototypes, and --keep {wanted:g} asks for {n_wanted}{whole}, so "
            "there is nothing to prune; keep fewer."
        )


def whole_number(keep: float) -> int:
    if keep != int(keep) or keep < 2:
        raise UsageError(f"--keep {keep:g} is neither a share below 1 nor a whole number of 2 or more.")
    return int(keep)


def _size_of(model: Model, path: Path) -> dict[str, Any]:
    classifier = model.last_step
    return {
        "prototypes": len(model.voters),
        "bytes": path.stat().st_size,
        "held_out_accuracy": getattr(classifier, "held_out_accuracy_", None),
    }


def find_suspects(
    path: Path,
    data: str | None,
    *,
    layout: str = "auto",
    part: str = "auto",
    most: int = 100,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Findings, dict[str, str]]:
    """The suspects of a model's file, or of its training data; and what was skipped."""
    check_part(part)
    model = load_model(path)
    if data is None:
        return suspects_of(model, most), {}
    dataset = choose_part(open_dataset(data, layout), part, "train")
    found = rows_of(model, dataset, n_jobs=n_jobs, verbose=verbose)
    some = found.dataset
    items = list(some.items) if some.kind == "images" else None
    findings = suspects_in(
        model, found.rows, some.labels, some.names, items, some.groups, most=most, verbose=verbose
    )
    return findings, found.skipped


def check_suspects_target(out: Path) -> Path:
    """Where the table goes; pages and tables that came from elsewhere are not written over."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{out} is not the name of a page; give one that ends in .html.")
    table = out.with_suffix(".csv")
    for file, is_ours in ((out, is_suspects_page), (table, is_suspects_table)):
        check_target(file)
        if file.exists() and not is_ours(file.read_text(encoding="utf-8", errors="replace")):
            raise UsageError(f"{file} exists and was not written by nearboost; give another name with --out.")
    return table


def write_suspects(findings: Findings, out: Path, name: str) -> Path:
    """The page, and the table beside it."""
    table = check_suspects_target(out)
    out.write_text(suspects_page(findings, name), encoding="utf-8")
    table.write_text(suspects_csv(findings), encoding="utf-8")
    return table


def as_lines(found: dict[str, Any]) -> list[str]:
    """An evaluation as text."""
    names = {
        "accuracy": "accuracy",
        "mean_class_accuracy": "mean class accuracy",
        "top5": "top 5",
        "log_loss": "log-loss",
        "ece": "calibration error",
        "mean_auc": "mean AUC",
        "mean_average_precision": "mean average precision",
    }
    lines = [f"{found['data']}: {found['items']} items"]
    for key, title in names.items():
        value = found["measures"].get(key)
        if value is not None:
            lines.append(f"{title:<24}{value:.4f}")
    wide = max(map(len, found["classes"]))
    for name, right, counts in zip(
        found["classes"], found.get("class_accuracy", []), found.get("confusion", []), strict=False
    ):
        if right is not None:
            lines.append(f"  {name:<{wide}}  {right:7.1%} of {sum(counts)}")
    return lines
