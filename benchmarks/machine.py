"""The record of a run: the machine, the date and the command beside the numbers."""

import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

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


def write_results(name: str, payload: Any) -> Path:
    """Write ``payload`` with machine, date and command to ``benchmarks/results/NAME.json``, keys sorted."""
    record = {
        "command": _command(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe(),
        "results": payload,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    text = json.dumps(record, indent=2, sort_keys=True, default=_plain, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_results(name: str) -> Any:
    """What `write_results` wrote last under this name, without the record around it."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


def _command() -> str:
    """How this process was called, without the folders of the machine."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    called = ["-m", spec.name] if spec is not None else [Path(sys.argv[0]).name]
    return shlex.join(["python", *called, *sys.argv[1:]])


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON knows them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; give numbers, text, lists or dicts.")
