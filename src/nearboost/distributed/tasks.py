"""Tasks: plain functions of a range of rows and paths, which know nothing of a cluster."""

import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import need_device
from nearboost.base.errors import UsageError
from nearboost.base.image_set import ImageSet
from nearboost.base.rows import row_source
from nearboost.datasets import open_rows
from nearboost.neighbors import NeighborSearch, own_groups

ROWS_PROJECTED = 2048  # at once, as `nearboost.linear.projection` takes them, whose bits these have

_opening = Lock()  # threads of a worker wait for the first of them to open a file


class Stamp(NamedTuple):
    """What changes where a file is written to, and where another takes its place."""

    size: int
    changed: int  # in nanoseconds
    number: int

    @classmethod
    def of(cls, path: str) -> "Stamp":
        found = os.stat(path)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


def graph_block(
    start: int,
    stop: int,
    *,
    path: str,
    k: int,
    metric: str = "l2",
    groups: str | None = None,
    search: str = "exact",
    memory: float | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Rows ``start`` to ``stop`` of the k-NN graph of a file of rows.

    Parameters
    ----------
    start : int
        The first row whose neighbours are wanted.
    stop : int
        The row after the last of them.
    path : str
        A .npy file of rows.
    k : int
        Number of neighbours.
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows.
    groups : str or None, default=None
        A .npy file of int32 groups of all rows, as `nearboost.neighbors.own_groups` numbers them; None means that
        no rows belong together.
    search : {"exact", "hnsw", "gpu"}, default="exact"
        How neighbours are found.
    memory : float or None, default=None
        Bytes to search in; None means half of what is free.

    Returns
    -------
    indices : ndarray of shape (stop - start, k), int32
        Neighbours, nearest first.
    distances : ndarray of shape (stop - start, k)
        Their distances.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nearboost.distributed import graph_block
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", [[0.0], [1.0], [3.0], [7.0]])
    ...     indices, distances = graph_block(1, 3, path=f"{folder}/X.npy", k=2)
    >>> indices.tolist(), distances.tolist()
    ([[0, 2], [1, 0]], [[1.0, 2.0], [2.0, 3.0]])
    """
    with _opening:
        opened, own = _open_search(path, Stamp.of(path), metric, groups, search, memory)
    found = opened.search(opened.rows.X[start:stop], k, query_groups=own[start:stop], groups=own)
    return found.indices, found.distances


def predict_block(start: int, stop: int, *, path: str, model: str, method: str = "predict") -> tuple[NDArray[Any]]:
    """Answers of a model to rows ``start`` to ``stop`` of a file.

    Parameters
    ----------
    start : int
        The first row to answer.
    stop : int
        The row after the last of them.
    path : str
        A .npy file of rows.
    model : str
        A model file.
    method : str, default="predict"
        What to ask: "predict", "predict_proba", "decision_function".

    Returns
    -------
    tuple of one ndarray of shape (stop - start, ...)
        The answers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nearboost import KNNClassifier
    >>> from nearboost.distributed import predict_block
    >>> from nearboost.models import save
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", X)
    ...     save(KNNClassifier(n_neighbors=1).fit(X, [0, 0, 1, 1]), f"{folder}/model.nb")
    ...     [said] = predict_block(1, 3, path=f"{folder}/X.npy", model=f"{folder}/model.nb")
    >>> said.tolist()
    [0, 1]
    """
    with _opening:
        answering = _open_model(model, Stamp.of(model))
    return (getattr(answering, method)(row_source(map_file(path)).part(slice(start, stop))),)


def describe_files(files: Mapping[str, int], *, model: str) -> list[tuple[int, Any, bool]]:
    """What a descriptor makes of some image files.

    Parameters
    ----------
    files : dict
        Paths, with the sizes that they must have.
    model : str
        A model file of a fitted descriptor.

    Returns
    -------
    list of tuple
        For each file its position, its row or what was wrong, and whether that is the fault of its content.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from nearboost.distributed import describe_files
    >>> from nearboost.features import Gist
    >>> from nearboost.models import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "grey.png"
    ...     Image.fromarray(np.full((32, 32), 128, dtype=np.uint8)).save(file)
    ...     save(Gist(), f"{folder}/gist.nb")
    ...     found = describe_files({str(file): file.stat().st_size}, model=f"{folder}/gist.nb")
    >>> [(position, row.shape) for position, row, _ in found]
    [(0, (512,))]
    """
    from nearboost.features.extraction import describe_all

    for file, size in files.items():
        there = os.path.getsize(file) if os.path.isfile(file) else None
        if there != size:
            found = "does not find" if there is None else f"sees {there:,} bytes, and the client {size:,}, of"
            raise ValueError(f"{here()} {found} {file}; give paths that all workers can open.")
    with _opening:
        describing = _open_model(model, Stamp.of(model))
    images, made = ImageSet(list(files), decode=False), _Described(len(files))
    describe_all(images, [describing], [made], 1, 0)
    return made.answers


def project_block(
    start: int, stop: int, *, path: str, into: str, vectors: str, intercept: bool, which: str
) -> tuple[()]:
    """Write coordinates of some rows of a file into another one.

    Parameters
    ----------
    start : int
        The first place in ``into`` to write to.
    stop : int
        The place after the last of them.
    path : str
        A .npy file of rows.
    into : str
        A .npy file of coordinates, which is there.
    vectors : str
        A .npy file of the directions, a column for each coordinate.
    intercept : bool
        Whether their last row is of a constant 1.
    which : str
        A .npy file of the rows that ``into`` is of.

    Returns
    -------
    tuple
        Nothing: what is made is in the file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nearboost.distributed import project_block
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given = {"path": np.eye(3), "which": [2, 0, 1], "vectors": [[1.0], [2.0], [3.0]]}
    ...     given["into"] = np.zeros((3, 1))
    ...     files = {name: f"{folder}/{name}.npy" for name in given}
    ...     for name, array in given.items():
    ...         np.save(files[name], array)
    ...     _ = project_block(0, 3, **files, intercept=False)
    ...     print(np.load(files["into"]).ravel())
    [3. 1. 2.]
    """
    from nearboost.linear.coordinates import Eigenvectors

    if not os.path.isfile(into):
        raise ValueError(f"{here()} finds no {into}; give a folder= that all workers can open.")
    directions = np.load(vectors)
    mapping = Eigenvectors(directions, np.zeros(directions.shape[1]), intercept)
    source, numbers = row_source(map_file(path)), np.load(which, mmap_mode="r")
    written = np.load(into, mmap_mode="r+")
    for first in range(start, stop, ROWS_PROJECTED):
        part = slice(first, min(first + ROWS_PROJECTED, stop))
        written[part] = mapping.project(source.take(np.asarray(numbers[part])))
    written.flush()
    return ()


@lru_cache(maxsize=1)
def _open_search(
    path: str, stamp: Stamp, metric: str, groups: str | None, search: str, memory: float | None
) -> tuple[NeighborSearch, NDArray[np.int32]]:
    """A search that stays open from task to task, with the blocks of all rows, where there is room for them."""
    try:
        need_device(search)
    except (ImportError, UsageError) as error:
        raise type(error)(f"{here()}: {error}") from error
    opened = NeighborSearch(map_file(path), metric, method=search, n_jobs=1, memory=memory)
    if search == "exact" and opened.rows.keeps_blocks:
        _ = opened.rows.blocks
    own = own_groups(None, opened.rows.n_rows) if groups is None else np.load(groups, mmap_mode="r")
    return opened, own


@lru_cache(maxsize=1)
def _open_model(path: str, stamp: Stamp) -> Any:
    from nearboost.models import load

    return load(path)


def map_file(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The rows of one .npy file."""
    return open_rows(path).in_any_order()


class _Described:
    """Takes what is made of images; see `nearboost.features.extraction.Writer`."""

    def __init__(self, n_files: int) -> None:
        self.wanted = {i: i for i in range(n_files)}
        self.answers: list[tuple[int, Any, bool]] = []

    def write(self, i: int, values: NDArray[np.float32]) -> None:
        self.answers.append((i, values, True))

    def write_failure(self, i: int, message: str, *, lasting: bool = True) -> None:
        self.answers.append((i, message, lasting))


def this_worker() -> Any:
    return import_module("distributed").get_worker()


def here() -> str:
    """This worker, in messages."""
    try:
        return f"Worker {this_worker().address} on {socket.gethostname()}"
    except (ImportError, ValueError):
        return f"A process on {socket.gethostname()}"
