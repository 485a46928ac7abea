"""The record of a run: the machine, the date and the command beside the numbers."""

import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.freshness import measured_code, write_record
from nearboost.base.machine import describe_machine, describe_versions

RESULTS = Path(__file__).resolve().parent / "results"
LIBRARIES = (
    "nearboost",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "faiss-cpu",
    "imbalanced-learn",
    "opencv-python-headless",
)
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def describe() -> dict[str, Any]:
    """Processor, cores, memory, system, versions and thread settings."""
    versions = describe_versions(LIBRARIES)
    return {
        **describe_machine(),
        "python": versions.pop("python"),
        "libraries": versions,
        "threads": {name: os.environ[name] for name in THREAD_SETTINGS if name in os.environ},
    }


def write_results(name: str, payload: Any, *, merged: bool = False) -> Path:
    """Write ``payload`` to ``benchmarks/results/NAME.json`` with machine, date, command and measured code.

    With ``merged``, part of it is of earlier runs: they stay named, but for one of the same command, and so does
    the remark that the file is older than the code.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if merged and path.exists() else {}
    this = {
        "command": _command(),
        "module": _module(),
        "date": datetime.now(UTC).date().isoformat(),
        "code": measured_code(_module()),
    }
    runs = [run for run in before.get("runs", []) if run["command"] != this["command"]]
    if before and "runs" not in before:  # written when only the last command was named
        this["merged_into"] = f"{before['command']}, {before['date']}"
    record = {"runs": [*runs, this], "machine": describe(), "results": payload}
    if "older" in before:
        record["older"] = before["older"]
    write_record(path, record, _plain)
    return path


def read_results(name: str) -> Any:
    """What `write_results` wrote last under this name, without the record around it."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


def _module() -> str:
    """The benchmark that runs."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec is not None else f"benchmarks.{Path(sys.argv[0]).stem}"


def _command() -> str:
    """How this process was called, without the folders of the machine."""
    return shlex.join(["python", "-m", _module(), *sys.argv[1:]])


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON knows them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; give numbers, text, lists or dicts.")
