"""A model with fewer prototypes."""

from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from nearboost.models.model import Model


def has_rows(model: Model) -> bool:
    """Whether the training rows came with the file."""
    return hasattr(model.last_step, "_data")


def check_prunable(model: Model) -> None:
    """Only boosted neighbours keep some of the rows."""
    if not hasattr(model.last_step, "prune"):
        raise ValueError(f"{type(model.last_step).__name__} has no prototypes to prune; fit unn, n3 or mlnn.")


def prune_model(model: Model, n_prototypes: int | float) -> Model:
    """The best prototypes only, with weights learned again from the rows in the file."""
    check_prunable(model)
    if not has_rows(model):
        raise ValueError("The training rows are not in the model's file; give them with --data.")
    return with_last_step(model, model.last_step.prune(n_prototypes)).only_voters()


def with_last_step(model: Model, classifier: Any) -> Model:
    """The model with another classifier behind what scales its rows."""
    if isinstance(model.classifier, Pipeline):
        steps = [*model.classifier.steps[:-1], (model.classifier.steps[-1][0], classifier)]
        classifier = Pipeline(steps)
    return replace(model, classifier=classifier)
