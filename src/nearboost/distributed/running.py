"""The road of a task: what all of them share, what a worker checks, and how the client hands them out."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from nearboost.base.errors import UsageError
from nearboost.base.machine import describe_versions
from nearboost.base.memory import free_memory, memory_for_task
from nearboost.base.progress import progress_bar
from nearboost.base.threads import beside_other_tasks
from nearboost.distributed.tasks import Stamp, here, map_file, this_worker

LIBRARIES = ("nearboost", "numpy", "numba")  # whose versions must be the client's
AHEAD = 3  # tasks that are handed out, for each thread of a worker
ENDS = 16  # first and last rows that are compared
SHARE = 4  # a quarter of a worker's memory limit is for its tasks: the nanny ends who takes nearly all of it

_looked: dict[tuple[str, str], Stamp] = {}  # stamps of rows, by run and worker of this process


@dataclass(frozen=True)
class Sight:
    """How the client sees the file of rows, and its versions; a worker that sees something else is named."""

    path: str
    rows: dict[str, Any]
    versions: dict[str, Any]
    stamp: Stamp  # for the client alone: copies and clocks of other machines have others

    @classmethod
    def of(cls, path: str) -> "Sight":
        rows, marked = map_file(path), Stamp.of(path)
        ends = b"".join(np.ascontiguousarray(some).tobytes() for some in (rows[:ENDS], rows[-ENDS:]))
        seen = {
            "size": os.path.getsize(path),
            "shape": list(rows.shape),
            "type": str(rows.dtype),
            "hash of first and last rows": hashlib.blake2b(ends, digest_size=16).hexdigest(),
        }
        versions = describe_versions(LIBRARIES)
        return cls(path, seen, {name: versions[name] for name in LIBRARIES}, marked)

    @property
    def run(self) -> dict[str, Any]:
        """What must be the same where a run goes on."""
        return self.rows | {"time of the file's last change": self.stamp.changed}

    def check(self) -> Stamp:
        """The file's stamp on this worker; an error names this worker and what it sees otherwise."""
        if not Path(self.path).is_file():
            raise ValueError(f"{here()} finds no {self.path}; give a path that all workers can open.")
        seen, expected = Sight.of(self.path), self.rows | self.versions
        for name, found in (seen.rows | seen.versions).items():
            if found != expected[name]:
                what = f"another {name} of {self.path}" if name in self.rows else f"another version of {name}"
                raise ValueError(
                    f"{here()} has {what} than the client, {found} instead of {expected[name]}; make them the "
                    "same."
                )
        return seen.stamp

    def check_unchanged(self, since: Stamp) -> None:
        """Raise an error where the file is not as it was, whichever of its rows were written to."""
        if not os.path.isfile(self.path) or Stamp.of(self.path) != since:
            raise ValueError(
                f"{here()} sees that {self.path} was changed while its rows were read; leave it as it is, and "
                "begin again, with another folder for into= if there was one."
            )


@dataclass(frozen=True)
class Work:
    """What the tasks of one call have in common: a plain function, and what it takes beside a place."""

    function: Callable[..., Any]
    settings: dict[str, Any]
    sight: Sight | None = None
    sent: dict[str, str] = field(default_factory=dict)  # settings that are files in the folder of each worker
    needs: float = 0.0  # bytes of memory
    run: str = field(default_factory=lambda: token_hex(6))

    def at(self, place: tuple[Any, ...]) -> Any:
        """The answer of a task, on a worker: in one thread, with the worker's share of memory."""
        worker, settings = this_worker(), dict(self.settings)
        settings |= {name: os.path.join(worker.local_directory, file) for name, file in self.sent.items()}
        self._look(worker)
        with beside_other_tasks(), memory_for_task(2 * self._memory(worker)):  # searches take half of what is free
            answer = self.function(*place, **settings)
        self._look(worker)
        return answer

    def _look(self, worker: Any) -> None:
        """The file of rows must be the client's, for the first task of a worker, and then stay as it is."""
        if self.sight is None:
            return
        key = self.run, worker.address
        if key in _looked:
            self.sight.check_unchanged(_looked[key])
            return
        _looked[key] = self.sight.check()

    def _memory(self, worker: Any) -> float:
        limit, n_threads = worker.memory_manager.memory_limit or free_memory(), worker.state.nthreads
        memory = limit / SHARE / n_threads
        if memory < self.needs:
            raise ValueError(
                f"{here()} has {memory:,.0f} bytes for a task, a quarter of its limit over {n_threads} threads, "
                f"and a block needs {self.needs:,.0f}; give it more memory, or blocks fewer rows."
            )
        return float(memory)


def find_client(client: Any) -> Any:
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ImportError('nearboost.distributed needs Dask: pip install "nearboost[dask]"') from error
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client; these two lines start one, here with two processes of this machine:\n"
                "    from dask.distributed import Client\n"
                "    client = Client(n_workers=2, threads_per_worker=1)"
            ) from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise UsageError(
            f"client={client!r} is no Dask client that waits for answers; give dask.distributed.Client(…)."
        )
    if client.status != "running":
        raise UsageError(f"The Dask client is {client.status}; start another one.")
    return client


def spread(
    client: Any,
    work: Work,
    places: Iterable[tuple[Any, ...]],
    keep: Callable[[Any, Any], None],
    title: str,
    n_tasks: int,
    verbose: int,
) -> None:
    """Run a task for each place, a few ahead of the workers, and keep what they answer, in whatever order."""
    waiting, running = enumerate(places), dict[Any, tuple[Any, ...]]()
    done = import_module("distributed").as_completed()

    def submit() -> None:
        room = AHEAD * max(1, count_worker_threads(client)) - len(running)  # workers may have joined
        for number, place in islice(waiting, max(0, room)):
            future = client.submit(work.at, place, key=f"nearboost-{work.run}-{number}", pure=False)
            running[future] = place
            done.add(future)

    try:
        with progress_bar(title, n_tasks, verbose) as advance:
            submit()
            for future in done:
                place = running.pop(future)
                keep(place, _answer_of(future, place))
                advance()
                submit()
        if work.sight is not None:
            work.sight.check_unchanged(work.sight.stamp)
    except Exception as error:
        if client.status == "running":
            raise
        raise RuntimeError(
            f"The cluster is gone (its client is {client.status}); start one and call again: blocks that are in a "
            "folder stay there, and only missing ones run."
        ) from error
    finally:
        if client.status == "running":
            client.cancel(list(running))


def _answer_of(future: Any, place: tuple[Any, ...]) -> Any:
    try:
        return future.result()
    except import_module("distributed.scheduler").KilledWorker as error:
        what = (
            f"Rows {place[0]:,} to {place[1]:,}"
            if isinstance(place[0], int)
            else f"{next(iter(place[0]))} and others"
        )
        limit = getattr(error.last_worker, "memory_limit", 0) or 0
        raise RuntimeError(
            f"{what} ended {error.allowed_failures + 1} workers, the last of which could take {limit:,} bytes of "
            "memory; look at its log, give workers more memory, or take fewer rows a block."
        ) from error


def count_worker_threads(client: Any) -> int:
    return sum(client.nthreads().values())


class Sent(NamedTuple):
    """Names of files in the folder of each worker, and hashes of their contents."""

    names: dict[str, str]
    digests: dict[str, str]


@contextmanager
def sent_to_workers(client: Any, **values: Any) -> Iterator[Sent]:
    """Arrays and models as files that each worker gets once, also one that joins later; None is not sent."""
    from nearboost.models import save

    plugin, run, sent = import_module("distributed.diagnostics.plugin").UploadFile, token_hex(6), Sent({}, {})
    with ExitStack() as stack, TemporaryDirectory() as folder:
        for name, value in values.items():
            if value is None:
                continue
            is_array = isinstance(value, np.ndarray)
            told = f"nearboost-{run}-{name}.{'npy' if is_array else 'nb'}"
            file = Path(folder) / told
            np.save(file, value) if is_array else save(value, file)
            sent.names[name], sent.digests[name] = told, hashlib.sha256(file.read_bytes()).hexdigest()
            try:
                client.register_plugin(plugin(str(file), load=False), name=told)
            except OSError as error:
                raise RuntimeError(
                    f"A worker went away, or has no room on its disk, as it was sent {name}, "
                    f"{file.stat().st_size:,} bytes that it holds in memory several times; give it more: {error}"
                ) from error
            stack.callback(client.unregister_worker_plugin, told)
        yield sent
