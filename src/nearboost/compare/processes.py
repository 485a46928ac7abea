"""Tasks in processes of their own: a line of JSON in, a JSON file out, and a reason where a process fails.

`run_task` is the parent's side. The module that it runs ends with `serve`, the child's side, which ends early when
its parent does. A task holds at least

- ``identity``: all that the result depends on, ``threads`` among it; its hash names the file of the result
- ``result``: where to write the result
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nearboost
from nearboost.base.disk import write_json

DONE, FAILED = "done", "failed"
RUNS = "nearboost.compare.runs"
THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"),
)

Task = dict[str, Any]
Result = dict[str, Any]


def file_name(identity: dict[str, Any]) -> str:
    """The file of a result: equal for equal identities, another for any change."""
    text = json.dumps(identity, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def read_result(path: Path) -> Result | None:
    """The result in a file; None where there is none or where something else wrote it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("status") in (DONE, FAILED) else None


def failure(identity: dict[str, Any], reason: str) -> Result:
    """The result of a task that failed."""
    return {**identity, "status": FAILED, "reason": reason}


def run_task(task: Task, timeout: float | None = None, program: str = RUNS) -> Result:
    """Run a task in a process; its result is returned and lies in its file as well.

    ``program`` is the module to run, which ends with `serve`. A process that is killed, crashes or takes longer
    than ``timeout`` seconds has a failed result with the reason.
    """
    path = Path(task["result"])
    path.unlink(missing_ok=True)
    reason = _wait_for(task, timeout, program)
    result = read_result(path)
    if result is None:
        result = failure(task["identity"], reason or "The process ended without a result.")
        write_json(path, result)
    return result


def _wait_for(task: Task, timeout: float | None, program: str) -> str | None:
    """What was wrong with the process, if anything was."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            (sys.executable, "-m", program),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env=_environment(task["identity"]["threads"]),
            start_new_session=True,  # an interruption is for the parent to handle
        )
        try:
            _send(child, task)
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"Took longer than the {timeout:g} seconds allowed; give --run-timeout more."
        finally:
            child.kill()
            child.wait()
            _close(child)
        output.seek(0)
        return _reason(code, output.read().decode("utf-8", "replace"))


def _send(child: "subprocess.Popen[bytes]", task: Task) -> None:
    """The pipe stays open: its end is how the child learns that the parent is gone."""
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(task).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:  # it died at once; its exit code says why
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


def _reason(code: int, output: str) -> str | None:
    if code == 0:
        return None
    if code == -9:
        return "Killed (SIGKILL), as the system does when memory runs out."
    if code < 0:
        return f"Killed by {signal.Signals(-code).name}."
    lines = [line for line in output.splitlines() if line.strip()]
    return f"Ended with code {code}: {lines[-1].strip()}" if lines else f"Ended with code {code}."


def error_sentence(error: BaseException) -> str:
    """The message of an exception in one line."""
    message = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"Ran out of memory. {message}".strip()
    return message if isinstance(error, ValueError) and message else f"{type(error).__name__}: {message}"


def serve(work: Callable[[Task], Result]) -> None:
    """The child's side: read a task from standard input, let ``work`` make its result, write it."""
    import joblib  # type: ignore[import-untyped]

    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")
    with joblib.parallel_backend("threading"):  # in this process, where memory is seen and threads are counted
        carry_out(task, work)


def carry_out(task: Task, work: Callable[[Task], Result]) -> Result:
    """Let ``work`` make the result of a task, which an error makes a failed one, and write it."""
    try:
        result = work(task)
    except Exception as error:
        result = failure(task["identity"], error_sentence(error))
    write_json(Path(task["result"]), result)
    return result


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)
