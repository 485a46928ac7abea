"""Whether kept results are of the present code: ``python -m benchmarks.freshness``.

Each results file names, for every run in it, the code that was measured, by a hash of each room of nearboost that
the benchmark reaches. A test fails where that code has changed since and the file does not say so.
``--older "why"`` says so in all such files, or in those named.
"""

import argparse
import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nearboost

ROOT = Path(__file__).resolve().parent.parent
PLACES = {"nearboost": ROOT / "src" / "nearboost", "benchmarks": ROOT / "benchmarks", "papers": ROOT / "papers"}
RESULTS = (ROOT / "benchmarks" / "results", ROOT / "papers" / "results")
# What figures come from; the rest of nearboost reads, writes and shows.
ROOMS = (
    "kernels", "neighbors", "codes", "votes", "losses", "problem", "boosting", "linear", "inn", "metric",
    "ensemble", "features", "catalogue", "cells",
)  # fmt: skip

Code = dict[str, str]


def measured_code(module: str) -> Code:
    """A hash of each room that a module's imports lead to, and of the module; comments and docstrings aside."""
    digests: dict[str, list[str]] = {}
    for name in sorted(reached_from(module)):
        room = module if name == module else name.split(".")[1] if name.startswith("nearboost.") else ""
        if room == module or room in ROOMS:
            digests.setdefault(room, []).append(f"{name} {digest(name)}")
    return {room: hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12] for room, lines in digests.items()}


def reached_from(module: str) -> set[str]:
    """The modules of this repository that a module imports, directly or not, also when first needed."""
    found, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports_of(name)
    return found


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """What the statements of a module import from this repository; names of nearboost by their homes."""
    if module == "nearboost":  # its names are looked up where they are asked for
        return ()
    found: list[str] = []
    for node in ast.walk(parse(module)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            homes = nearboost._HOME if node.module == "nearboost" else {}
            found += [homes.get(alias.name, f"{node.module}.{alias.name}") for alias in node.names]
            found.append(node.module)
    return tuple(name for name in found if file_of(name) is not None)


def file_of(module: str) -> Path | None:
    """The file of a module of this repository."""
    package, *rest = module.split(".")
    if package not in PLACES:
        return None
    path = PLACES[package].joinpath(*rest)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def parse(module: str) -> ast.Module:
    """The syntax tree of a module."""
    file = file_of(module)
    assert file is not None, module
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def digest(module: str) -> str:
    """A hash of what a module does."""
    tree = ast.parse(ast.unparse(parse(module)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Pass()
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def changes_since(record: dict[str, Any]) -> list[str]:
    """The rooms that have changed since a run of a results file; all that is known where it does not tell."""
    runs = record.get("runs")
    if not runs:
        return ["the file does not tell which code it is of"]
    changed = set()
    for run in runs:
        now = measured_code(run["module"]) if file_of(run["module"]) else {}
        changed |= {room for room in now.keys() | run["code"].keys() if now.get(room) != run["code"].get(room)}
    return sorted(changed)


def kept_results() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each results file and what it holds."""
    for folder in RESULTS:
        for path in sorted(folder.glob("*.json")):
            yield path, json.loads(path.read_text(encoding="utf-8"))


def write_record(path: Path, record: dict[str, Any], default: Any = None) -> None:
    """Write a results file, keys sorted."""
    text = json.dumps(record, indent=2, sort_keys=True, default=default, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Tell which results are older than the code, or say so in them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="results files, without .json; all that are older if none is named"
    )
    parser.add_argument(
        "--older", metavar="WHY", help="say in these files that they are older, and why that is so"
    )
    options = parser.parse_args()
    for path, record in kept_results():
        if options.names and path.stem not in options.names:
            continue
        changed = changes_since(record)
        if changed and options.older:
            write_record(path, {**record, "older": options.older})
        said = options.older or record.get("older")
        state = (
            f"older ({', '.join(changed)})" + (f", said: {said}" if said else ", NOT SAID")
            if changed
            else "present"
        )
        print(f"{path.relative_to(ROOT)}: {state}")


if __name__ == "__main__":
    main()
