"""A part of a benchmark in a process of its own: the most memory that it had resident is then that of the part."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, TypeVar

from benchmarks.fitting import peak_gigabytes

Row = dict[str, Any]
Result = TypeVar("Result")


def run_apart(module: str, part: str, options: argparse.Namespace, limit: float | None = None) -> Row:
    """What ``python -m module`` prints last with the same options and ``--apart part``; ends it after a time."""
    given = {name: value for name, value in vars(options).items() if name not in ("parts", "apart")}
    arguments = [text for name, value in given.items() if value is not None for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", module, *arguments, "--apart", part]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            peak = peak_gigabytes(process.pid)
            process.kill()
            return {"not_finished_after_seconds": limit, "peak_gb": peak}
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return json.loads(said.splitlines()[-1])


def measure(part: Callable[[], Row], memory: float) -> Row:
    """What a part says of itself, the memory given and taken (before it, and at the most), and the load."""
    idle = peak_gigabytes()
    row = part()
    load = os.getloadavg()[1]  # processes that wanted a core in the last five minutes, this one among them
    return {**row, "memory_gb": memory / 1e9, "idle_gb": idle, "peak_gb": peak_gigabytes(), "load": load}


def timed(work: Callable[[], Result], name: str = "") -> tuple[Result, Row]:
    """What some work gives, and its seconds: on the clock, and of processors."""
    start, busy = perf_counter(), process_time()
    result = work()
    return result, {
        f"{name}seconds": perf_counter() - start, f"{name}processor_seconds": process_time() - busy
    }  # fmt: skip
