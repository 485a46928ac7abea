"""A model with fewer prototypes, from the rows in its file or refitted to the data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearboost.base.errors import UsageError
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.models.archive import check_model_target
from nearboost.models.files import save
from nearboost.models.fitting import groups_for, with_origins
from nearboost.models.items import check_kind, labelled_rows
from nearboost.models.model import Model, load_model
from nearboost.models.sources import with_sources
from nearboost.models.training import training_items


def check_prunable(model: Model) -> None:
    """Only some classifiers can do with fewer rows."""
    if not hasattr(model.last_step, "n_prototypes"):
        raise ValueError(
            f"{type(model.last_step).__name__} has no prototypes to prune; fit nearboost, unn, n3 or mlnn."
        )


def prune_model(model: Model, n_prototypes: int | float) -> Model:
    """The best prototypes only, with weights learned again from the rows in the file."""
    check_prunable(model)
    has_rows = hasattr(model.last_step, "prune")  # others keep them in a metric, not as they were given
    if not has_rows or len(model.voters) < model.n_training:  # a file holds the rows that vote
        raise ValueError("The training rows are not in the model's file; give them with --data.")
    return with_last_step(model, model.last_step.prune(n_prototypes)).only_voters()


def with_last_step(model: Model, classifier: Any, **others: Any) -> Model:
    """The model with another classifier behind what scales its rows, and what else changes with it."""
    if isinstance(model.classifier, Pipeline):
        steps = [*model.classifier.steps[:-1], (model.classifier.steps[-1][0], classifier)]
        classifier = Pipeline(steps)
    return replace(model, classifier=classifier, **others)


def refit_pruned(
    model: Model, dataset: Dataset, n_prototypes: int | float, *, n_jobs: int | None = None, verbose: int = 0
) -> tuple[Model, dict[str, str]]:
    """The classifier refitted to the model's items in the data, with so many prototypes; and what was left out."""
    check_prunable(model)
    check_kind(model, dataset.kind, dataset.name)
    absent = sorted(set(model.classes) - set(dataset.present_classes))
    if absent:  # probabilities would have fewer columns than there are classes
        raise DataError(f"{dataset.name} has no items of class {absent[0]!r}, which the model knows; give all.")
    pictures = model.origins is not None and model.origins.pictures is not None
    items = training_items(model, dataset, n_jobs=n_jobs, verbose=verbose)
    found = labelled_rows(model, items.dataset, thumbnails=pictures, n_jobs=n_jobs, verbose=verbose)
    labels, rows = found.dataset.codes(model.classes), model.before_last_step(found.rows)
    old = model.last_step
    chosen = {"n_neighbors": old.n_neighbors_} if hasattr(old, "n_neighbors_") else {}  # once is enough
    new = clone(old).set_params(n_prototypes=n_prototypes, **chosen)
    new.fit(rows, labels, **groups_for(new.fit, found.dataset))
    new.set_params(**{name: getattr(old, name) for name in chosen})
    pruned = with_last_step(model, new, facts=with_sources(model.facts, [[dataset.name, len(rows)]]))
    return with_origins(pruned, found, labels, pictures, n_jobs, verbose), items.left_out


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
    check_model_target(out)
    model = load_model(path)
    check_prunable(model)
    wanted = keep if 0 < keep < 1 else whole_number(keep)
    _check_fewer(model, path, wanted)
    skipped: dict[str, str] = {}
    if data is None:
        pruned = prune_model(model, wanted)
    else:
        pruned, skipped = refit_pruned(model, open_dataset(data, layout), wanted, n_jobs=n_jobs, verbose=verbose)
    save(pruned, out)
    return {
        "model": str(out),
        "before": _describe_size(model, path),
        "after": _describe_size(pruned, out),
        "skipped": skipped,
    }


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


def _describe_size(model: Model, path: Path) -> dict[str, Any]:
    return {
        "prototypes": len(model.voters),
        "bytes": path.stat().st_size,
        "held_out_accuracy": model.held_out_accuracy,
    }
