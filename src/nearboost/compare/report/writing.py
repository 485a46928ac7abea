"""What a comparison leaves in its folder: the page, the facts and runs as JSON, and a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearboost.base.disk import write_json, write_text
from nearboost.base.tables import format_csv
from nearboost.compare.processes import Result
from nearboost.compare.report.page import render

COLUMNS = (
    *("data", "features", "method", "protocol", "split", "seed", "status", "reason"),
    *("accuracy", "mean_class_accuracy", "top5", "log_loss", "ece", "mean_auc", "mean_average_precision"),
    *("prototypes", "train", "queries", "fit_seconds", "query_seconds", "peak_mib", "threads", "scale", "version"),
)


def write_report(folder: Path, facts: Mapping[str, Any], runs: Sequence[Result]) -> Path:
    """Write ``report.html``, ``results.json`` and ``results.csv``; give the page's path."""
    write_json(folder / "results.json", {"facts": without_pictures(facts), "cells": list(runs)})
    write_text(folder / "results.csv", table_of(runs))
    write_text(folder / "report.html", render(facts))
    return folder / "report.html"


def without_pictures(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts for programs: names of items suffice."""
    plain = dict(facts)
    for key in ("gallery", "mistakes"):
        plain[key] = [{name: value for name, value in one.items() if name != "thumbnail"} for one in facts[key]]
    return plain


def table_of(runs: Sequence[Result]) -> str:
    """One line a run."""
    flat = ({**run, **(run.get("measures") or {})} for run in runs)
    return format_csv(COLUMNS, ([one.get(name) for name in COLUMNS] for one in flat))
