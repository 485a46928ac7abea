"""What a reader may want next: what the methods are, and the command that fits the best of them."""

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nearboost.base.errors import UsageError
from nearboost.catalogue.methods import METHODS
from nearboost.compare.records import FinishedRun
from nearboost.compare.report.facts import FitFacts, MethodFacts
from nearboost.datasets import Dataset


def describe_methods(names: Iterable[str]) -> list[MethodFacts]:
    """What each method is."""
    known = [(name, METHODS[base]) for name in dict.fromkeys(names) if (base := name.partition(":")[0]) in METHODS]
    return [MethodFacts(name, one.about, one.guide) for name, one in known]


def can_be_saved(method: str) -> bool:
    base = method.partition(":")[0]
    return base in METHODS and METHODS[base].savable


def fit_facts(best: Sequence[FinishedRun], settings: Any, dataset: Dataset) -> FitFacts | None:
    """What `nearboost fit` must be given for the best method that a file can hold."""
    if not best:
        return None
    one = best[0].identity
    features = one.features if dataset.kind == "images" else None
    words = ["nearboost", "fit", settings.data, "--method", one.method]
    words += ["--features", features] if features else []
    words += ["--scale"] if one.scale else []
    words += ["--layout", settings.layout] if settings.layout != "auto" else []
    if settings.classes:  # it learns of them from the folder
        words = ["nearboost", "fit", str(settings.out)]
    return FitFacts(
        str(Path(settings.data).resolve()),
        one.method,
        features,
        one.scale,
        settings.layout,
        list(settings.classes),
        shlex.join(words),
    )


def best_of(folder: str | Path) -> FitFacts | None:
    """What to fit after the comparison in a folder; None where the folder holds none."""
    place = Path(folder)
    if not (place / "cells").is_dir():
        return None
    try:
        found = json.loads((place / "results.json").read_text(encoding="utf-8"))["facts"].get("fit")
        return FitFacts(**found)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(
            f"{folder} holds a comparison that does not say what to fit: it was interrupted, is of an earlier "
            "version, or no method finished that a model file can hold; run it again, or give the data itself."
        ) from None
