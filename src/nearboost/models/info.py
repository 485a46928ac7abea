"""What is in a model file, from its header alone: no array is read and no class imported."""

import os
from collections.abc import Mapping
from typing import Any

from nearboost.catalogue.methods import grid_of
from nearboost.datasets.dataset import join_names
from nearboost.models.archive import MISFITS, misfit
from nearboost.models.files import read_header

CHOSEN = (
    *("n_neighbors_", "n_rounds_", "held_out_accuracy_", "held_out_error_", "held_out_log_loss_"),
    *("temperature_", "terms_", "rank_"),
)
MAPPED = "NearBoostClassifier"  # keeps its rows in its metric, not as they were given
REPORTED = ("chosen_steps", "chosen", "notes")
MOST_TEXT = 300


def read_summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Plain facts for people and programs."""
    header = read_header(path)
    try:
        found = _summary(path, header)
        as_lines(found)  # texts are texts, and numbers numbers
    except MISFITS as error:
        raise misfit(path, error) from None
    return found


def read_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the training items that a file holds, in their order."""
    from nearboost.models.model import load_model

    model = load_model(path)
    if model.origins is None or not len(model.origins.rows):
        kind = type(model.last_step).__name__
        raise ValueError(f"{path} holds no names of training items: none of them votes in {kind}.")
    return [str(name) for name in model.origins.names]


def _summary(path: str | os.PathLike[str], header: Mapping[str, Any]) -> dict[str, Any]:
    root, arrays = header["root"], header["arrays"]
    found: dict[str, Any] = {
        "file": os.fspath(path),
        "file_bytes": os.path.getsize(path),
        "format": header["format"],
        "versions": header["versions"],
        "arrays": len(arrays),
        "array_bytes": header["bytes"],
        "holds": _class_name(root),
    }
    if found["holds"] != "Model":
        return found | {"model": _object(root, arrays)}
    state = root["state"]
    classes, facts = _plain(state["classes"], arrays), _plain(state["facts"], arrays)
    origins = _origin_facts(state["origins"], arrays)
    classifier = _object(state["classifier"], arrays)
    all_vote = 0 < origins["voters"] == facts.get("items")  # a file holds the rows that vote
    return found | {
        "facts": facts,
        "classes": classes,
        "chosen_by_folds": list(grid_of(str(facts.get("method")))),
        "features": _object(state["features"], arrays) if state["features"] else None,
        "classifier": classifier,
        "training_rows_in_file": all_vote and _last_class(classifier) != MAPPED,
        **origins,
    }


def _origin_facts(coded: Any, arrays: list[Any]) -> dict[str, Any]:
    if not coded:
        return {"voters": 0, "thumbnails": False}
    origins = coded["state"]
    return {"voters": _shape(origins["rows"], arrays)[0], "thumbnails": origins["pictures"] is not None}


def _object(coded: Mapping[str, Any], arrays: list[Any]) -> dict[str, Any]:
    """A class, its parameters (steps nested), what its fit chose and what it noted."""
    parameters = {name: _plain(one, arrays) for name, one in coded["parameters"].items()}
    state = {name: _plain(coded["state"][name], arrays) for name in (*CHOSEN, *REPORTED) if name in coded["state"]}
    steps, choices, notes = (state.get(name, []) for name in REPORTED)
    chosen = {name.rstrip("_"): state[name] for name in CHOSEN if name in state}
    chosen |= dict(zip(steps, choices, strict=True))
    found = {"class": _class_name(coded), "parameters": parameters}
    return found | ({"chosen": chosen} if chosen else {}) | ({"notes": notes} if notes else {})


def _last_class(one: Mapping[str, Any]) -> str:
    """The class of the classifier itself, behind what scales its rows."""
    steps = one["parameters"].get("steps")
    return _last_class(steps[-1][1]) if steps else str(one["class"])


def _plain(coded: Any, arrays: list[Any]) -> Any:
    """A value of the header as JSON that people read; arrays by their kind and shape."""
    if isinstance(coded, list):
        return [_plain(one, arrays) for one in coded]
    if isinstance(coded, str):
        return coded if len(coded) <= MOST_TEXT else coded[:MOST_TEXT] + "…"
    if not isinstance(coded, Mapping):
        return coded
    if {"class", "object"} & set(coded):
        return _object(coded, arrays)
    [(kind, content)] = coded.items()
    if kind == "dict":
        return {str(_plain(key, arrays)): _plain(one, arrays) for key, one in content}
    if kind in ("numbers", "texts", "tuple"):
        return _plain(content, arrays)
    if kind == "array":
        entry = arrays[content]
        return f"array of {entry['dtype']}, {' x '.join(map(str, entry['shape'])) or 'one number'}"
    return f"{kind}" if kind != "float" else content


def _class_name(coded: Mapping[str, Any]) -> str:
    """The class of an object; before format 3 the entry was called so."""
    return str(coded["class"] if "class" in coded else coded["object"])


def _shape(coded: Mapping[str, Any], arrays: list[Any]) -> list[int]:
    shape: list[int] = arrays[coded["array"]]["shape"]
    return shape


def as_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary as text."""
    versions = ", ".join(f"{package} {number}" for package, number in summary["versions"].items())
    lines = [
        f"{summary['file']}: {summary['holds']}, format {summary['format']}, {summary['file_bytes']:,} bytes",
        f"written by      {versions}",
        f"arrays          {summary['arrays']} of {summary['array_bytes']:,} bytes",
    ]
    if "model" in summary:
        return [*lines, *_format_object("object", summary["model"])]
    if "facts" not in summary:
        return lines
    facts, classes = summary["facts"], summary["classes"]
    shown = ", ".join(classes[:12]) + (f" and {len(classes) - 12} more" if len(classes) > 12 else "")
    pictures = "with" if summary["thumbnails"] else "without"
    tuned = summary["chosen_by_folds"]
    by_folds = f", {' and '.join(tuned)} chosen by folds" if tuned else ""
    columns = facts.get("columns")
    lines += [
        f"data            {facts.get('data')}: {facts.get('items')} {facts.get('kind')}",
        *([f"columns         {len(columns)}: {join_names(columns)}"] if isinstance(columns, list) else []),
        f"method          {facts.get('method')}, seed {facts.get('seed')}{by_folds}",
        f"classes         {len(classes)}: {shown}",
        f"voters          {summary['voters']}, {pictures} thumbnails",
        f"training rows   {'in the file' if summary['training_rows_in_file'] else 'not in the file'}",
    ]
    if summary["features"]:
        lines += _format_object("features", summary["features"])
    return [*lines, *_format_object("classifier", summary["classifier"])]


def _format_object(title: str, one: Mapping[str, Any], indent: str = "") -> list[str]:
    lines, chosen = [f"{indent}{title:<16}{one['class']}"], dict(one.get("chosen", {}))
    error = chosen.pop("held_out_error", None)
    for name, value in one["parameters"].items():
        steps = value if isinstance(value, list) else []
        if name == "steps":
            for title, step in steps:
                idle = isinstance(step, str)  # "passthrough"
                lines += [f"{indent}  {title:<16}{step}"] if idle else _format_object(title, step, indent + "  ")
        elif isinstance(value, Mapping) and "class" in value:
            lines += _format_object(name, value, indent + "  ")
        else:
            found = chosen.pop(name, value)
            by_fit = "" if found == value else f", chosen by the fit: {_format_value(found)}"
            lines.append(f"{indent}  {name} = {_format_value(value)}{by_fit}")
    for name, value in chosen.items():
        if value == "nan":  # nothing was held out, as a note says
            continue
        margin = f" ± {_format_value(error)}" if name == "held_out_accuracy" and error is not None else ""
        lines.append(f"{indent}  {name} = {_format_value(value)}{margin}, found by the fit")
    return [*lines, *(f"{indent}  note: {note}" for note in one.get("notes", ()))]


def _format_value(value: Any) -> str:
    """Numbers with six digits; all of them are in the JSON."""
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
