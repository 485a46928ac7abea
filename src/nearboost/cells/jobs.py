"""Work that takes a while: one job at a time in a thread of its own, with progress, and an end before its time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock, Thread
from typing import Any

from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_told_to

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"


@dataclass(frozen=True)
class JobState:
    """How far a job is.

    Attributes
    ----------
    number : int
        Of the job; 0 before the first.
    kind : str
        What it does, such as train.
    state : {"running", "done", "failed", "cancelled", ""}
        How it is, or how it ended.
    step : str
        What it is doing.
    taken, total : int
        Parts of this step that are done, and all of them.
    told : str
        What came of it: a sentence.
    """

    number: int = 0
    kind: str = ""
    state: str = ""
    step: str = ""
    taken: int = 0
    total: int = 0
    told: str = ""


class Cancelled(Exception):
    """Somebody has ended the job."""


class Jobs:
    """Runs one job after the other.

    Finished fields of a cancelled job are kept, as those of an interrupted command are.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._state = JobState()
        self._wanted = True
        self._thread: Thread | None = None

    @property
    def state(self) -> JobState:
        """How far the present job is, or how the last one ended."""
        with self._lock:
            return self._state

    def start(self, kind: str, work: Callable[[], str]) -> JobState:
        """Begin a job, unless one is running.

        Parameters
        ----------
        kind : str
            What it does.
        work : callable
            Does it, and returns a sentence about what came of it.

        Returns
        -------
        JobState
            Of the new job.
        """
        with self._lock:
            if self._state.state == RUNNING:
                raise UsageError(f"A job is running ({self._state.kind}); wait for its end, or cancel it.")
            self._wanted = True
            self._state = JobState(self._state.number + 1, kind, RUNNING, "Starting")
            self._thread = Thread(target=self._run, args=(work,), name=f"job {kind}", daemon=True)
            self._thread.start()
            return self._state

    def cancel(self) -> JobState:
        """End the running job at its next step."""
        with self._lock:
            self._wanted = False
            return self._state

    def wait(self, seconds: float | None = None) -> JobState:
        """Wait for the end of the running job.

        Parameters
        ----------
        seconds : float or None, default=None
            At most so long; None means as long as it takes.

        Returns
        -------
        JobState
            How it is then.
        """
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self.state

    def close(self, seconds: float = 1.0) -> None:
        """Cancel what runs, and wait a little for its end."""
        self.cancel()
        self.wait(seconds)

    def _run(self, work: Callable[[], str]) -> None:
        try:
            with progress_told_to(self._listen):
                told, state = work(), DONE
        except Cancelled:
            told, state = "Cancelled; what was finished before is kept.", CANCELLED
        except Exception as error:  # whatever it is, people are told
            told, state = str(error) or type(error).__name__, FAILED
        self._change(state=state, told=told)

    def _listen(self, title: str, taken: int, total: int) -> None:
        with self._lock:
            if not self._wanted:
                raise Cancelled
        self._change(step=title, taken=taken, total=total)

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)
