"""All parts of a model refitted to its items in the data: where what they learned cannot be taken out of them."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from nearboost.catalogue.descriptors import Descriptor
from nearboost.catalogue.methods import find_method, grid_of
from nearboost.datasets import open_dataset
from nearboost.ensemble.calibrated import CalibratedScores
from nearboost.models.fitting import fit_parts
from nearboost.models.model import Model
from nearboost.models.sources import with_sources
from nearboost.models.training import TrainingItems, training_items


def learned_steps(step: Any) -> list[str]:
    """What a transformer has in it that learned from the items, by class."""
    if isinstance(step, Pipeline | FeatureUnion):
        parts = step.steps if isinstance(step, Pipeline) else step.transformer_list
        return [name for _, part in parts for name in learned_steps(part)]
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return []
    return [type(step).__name__] if get_tags(step).requires_fit else []


def refit_without(
    model: Model,
    data: str,
    names: Sequence[str],
    *,
    layout: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Model, TrainingItems]:
    """All parts of the model refitted to its items in the data, except for some; and these items."""
    dataset = open_dataset(data, layout)
    found = training_items(model, dataset, names, n_jobs=n_jobs, verbose=verbose)
    learned = bool(learned_steps(model.features))
    features = clone(model.features) if learned else model.features
    descriptor = Descriptor("", "", lambda seed, n_jobs: features, "", learned=learned)
    fitted = fit_parts(
        found.dataset,
        descriptor,
        unfitted_classifier(model, found.dataset.present_classes, n_jobs),
        {"kind": dataset.kind, "seed": 0} | with_sources(model.facts, [[dataset.name, len(found.dataset)]]),
        thumbnails=model.origins is not None and model.origins.pictures is not None,
        n_jobs=n_jobs,
        verbose=verbose,
    ).model
    facts = fitted.facts | {"skipped": model.facts.get("skipped", 0)}  # as when these items were chosen
    return replace(fitted, facts=facts), found


def unfitted_classifier(model: Model, classes: Sequence[str], n_jobs: int | None) -> Any:
    """The model's classifier with its settings, for these of its classes; what folds had chosen is open again."""
    codes = {code: classes.index(name) for code, name in enumerate(model.classes) if name in classes}
    last = weighing(clone(model.last_step), codes)
    last = tuner_of(model, last, n_jobs) or last
    if not isinstance(model.classifier, Pipeline):
        return last
    return Pipeline([*clone(model.classifier).steps[:-1], (model.classifier.steps[-1][0], last)])


def tuner_of(model: Model, classifier: Any, n_jobs: int | None = None) -> Any:
    """What chooses settings of a classifier by folds, as `fit` does for the model's method; None without any."""
    name = str(model.facts.get("method"))
    if not grid_of(name):
        return None
    method = find_method(name)
    if isinstance(classifier, CalibratedScores):  # what is calibrated is chosen, and calibrated again
        classifier = classifier.estimator
    if type(classifier) is not method.kind():  # a model that was put together by hand
        return None
    return method.tuned(clone(classifier), model.facts.get("seed", 0), n_jobs)


def weighing(classifier: Any, codes: Mapping[int, int]) -> Any:
    """A classifier whose weights of classes, if it has any, are those of classes with other codes."""
    weights = getattr(classifier, "class_weight", None)
    if not isinstance(weights, dict):
        return classifier
    kept = {codes[code]: weight for code, weight in weights.items() if code in codes}
    return copy(classifier).set_params(class_weight=kept)
