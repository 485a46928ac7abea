"""Cells run one after the other, each in a process of its own with pinned threads."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import nearboost
from nearboost.compare.runs import Result, Task, failed, read_result, write_json

CELLS = "nearboost.compare.runs"
THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"),
)


def run_task(task: Task, timeout: float | None = None, program: str = CELLS) -> Result:
    """Run a task in a process and give its result, which lies in its file as well.

    ``program`` is the module that is run, which ends with `serve`. One that is killed, crashes or takes longer
    than ``timeout`` seconds gives a failed result with the reason.
    """
    path = Path(task["result"])
    path.unlink(missing_ok=True)
    reason = _wait_for(task, timeout, program)
    result = read_result(path)
    if result is None:
        result = failed(task["identity"], reason or "The process ended without a result.")
        write_json(path, result)
    return result


def _wait_for(task: Task, timeout: float | None, program: str) -> str | None:
    """What was wrong with the process, if anything was."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            (sys.executable, "-m", program),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=_environment(task["identity"]["threads"]),
            start_new_session=True,  # an interruption is for the parent to handle
        )
        try:
            _tell(child, task)
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"Took longer than the {timeout:g} seconds allowed; give --cell-timeout more."
        finally:
            child.kill()
            child.wait()
            _close(child)
        said.seek(0)
        return _reason(code, said.read().decode("utf-8", "replace"))


def _tell(child: "subprocess.Popen[bytes]", task: Task) -> None:
    """The pipe stays open: its end tells the child that the parent is gone."""
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(task).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:  # it died at once; its code tells why
        return


def _close(child: "subprocess.Popen[bytes]") -> None:
    try:
        if child.stdin is not None:
            child.stdin.close()
    except BrokenPipeError:
        return


def _environment(threads: int) -> dict[str, str]:
    """The parent's, with so many threads for every library, and this very package first."""
    home = str(Path(nearboost.__file__).resolve().parents[1])
    path = [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    pinned = dict.fromkeys(THREAD_SETTINGS, str(threads))
    return {**os.environ, **pinned, "PYTHONPATH": os.pathsep.join(path)}


def _reason(code: int, said: str) -> str | None:
    if code == 0:
        return None
    if code == -9:
        return "Killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"Killed by {signal.Signals(-code).name}."
    lines = [line for line in said.splitlines() if line.strip()]
    return f"Ended with code {code}: {lines[-1].strip()}" if lines else f"Ended with code {code}."
