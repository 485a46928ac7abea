"""What users call: the graph, predictions, features and projected rows, made by the workers of a cluster."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.blocks import keep_blocks
from nearboost.base.device import is_device_name
from nearboost.base.disk import check_folder
from nearboost.base.errors import UsageError
from nearboost.base.image_set import ImageSet
from nearboost.base.rows import MappedRowSource, row_source
from nearboost.base.validation import check_choice, check_whole
from nearboost.distributed.files import BlocksInMemory, rows_file
from nearboost.distributed.running import (
    AHEAD,
    Sight,
    Work,
    count_worker_threads,
    find_client,
    sent_to_workers,
    spread,
)
from nearboost.distributed.tasks import (
    ROWS_PROJECTED,
    describe_files,
    graph_block,
    map_file,
    predict_block,
    project_block,
)
from nearboost.neighbors import METRICS, Neighbors, check_method, count_others, own_groups

BLOCK, LEAST_BLOCK = 4096, 256  # rows of a task; fewer would spend its time on other things
FILES = 32  # of a task that describes
PROJECTED = 8 * ROWS_PROJECTED  # rows of a task that projects
LEAST_MEMORY = 2.0**25  # bytes for the search of a task
FEW = 32_768  # rows that are projected where they are needed
METHODS = ("predict", "predict_proba", "decision_function")


def graph(
    rows: Any,
    k: int,
    client: Any = None,
    *,
    metric: str = "l2",
    groups: ArrayLike | None = None,
    search: str = "exact",
    into: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    block: int = BLOCK,
    verbose: int = 0,
) -> Neighbors:
    """The k nearest other rows of each row, to the last bit those of `NeighborSearch.graph`.

    Parameters
    ----------
    rows : path, Dask array or array
        A .npy file that all workers can open. Of a folder of .npy or .parquet files, a Dask array (chunks of whole
        rows, of known sizes) or an array, such a file is written into ``folder`` first.
    k : int
        Number of neighbours.
    client : dask.distributed.Client or None, default=None
        The cluster; None takes the current client.
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows.
    groups : array-like of int of shape (n_rows,) or None, default=None
        Group of each row, as in `NeighborSearch.graph`.
    search : {"exact", "hnsw", "gpu"}, default="exact"
        How each worker finds neighbours; "gpu" is for workers that have one each, as those of Dask-CUDA.
    into : path or None, default=None
        Folder where finished blocks are kept: after an interruption the same call makes only those that are
        missing. None keeps all in the client's memory.
    folder : path or None, default=None
        A folder that all workers can open, where rows are written that are no .npy file.
    block : int, default=4096
        Rows of a task at most; those of a folder that goes on stay as they were.
    verbose : int, default=0
        Shows a progress bar with the time left on standard error when above 0.

    Returns
    -------
    Neighbors
        The graph, for ``fit(X, y, graph=…)``; maps of the files in ``into``, where it is given.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from nearboost import NeighborSearch, distributed
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     np.save(f"{folder}/X.npy", X)
    ...     graph = distributed.graph(f"{folder}/X.npy", 5, client, block=64)
    >>> np.array_equal(graph.indices, NeighborSearch(X).graph(5).indices)
    True
    """
    client = find_client(client)
    check_whole("block", block)
    check_choice("metric", metric, METRICS)
    check_method("search", search, metric)
    path = rows_file(rows, client, folder, verbose)
    sight = Sight.of(path)
    n_rows = sight.rows["shape"][0]
    own = None if groups is None else own_groups(groups, n_rows)
    check_whole("k", k, most=n_rows - 1 if own is None else count_others(own))
    settings = {"path": path, "k": k, "metric": metric, "search": search}
    with sent_to_workers(client, groups=own) as sent:
        what = {"what": "graph", "k": k, "metric": metric, "search": search, **sent.digests}
        needs = 0.0 if is_device_name(search) else LEAST_MEMORY + 32 * k * min(block, n_rows)  # of the worker's
        work = Work(graph_block, settings, sight, sent.names, needs)
        kinds = {"indices": (k, np.int32), "distances": (k, np.float64)}
        return Neighbors(*fill(client, work, into, what, block, kinds, "Searching neighbours", verbose))


def predict(
    model: Any,
    rows: Any,
    client: Any = None,
    *,
    method: str = "predict",
    into: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    block: int = BLOCK,
    verbose: int = 0,
) -> NDArray[Any]:
    """The answers of a fitted model to all rows.

    Parameters
    ----------
    model : estimator
        A fitted estimator that `nearboost.models.save` takes; each worker gets it as a file, once.
    rows : path, Dask array or array
        The rows, as in `graph`.
    client : dask.distributed.Client or None, default=None
        The cluster; None takes the current client.
    method : str, default="predict"
        What to ask of the model: "predict", "predict_proba" or "decision_function".
    into : path or None, default=None
        Folder where finished blocks are kept, as in `graph`.
    folder : path or None, default=None
        A folder that all workers can open, as in `graph`.
    block : int, default=4096
        Rows of a task at most.
    verbose : int, default=0
        Shows a progress bar with the time left on standard error when above 0.

    Returns
    -------
    ndarray of shape (n_rows, ...)
        The answers; a map of the file in ``into``, where it is given.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from nearboost import KNNClassifier, distributed
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> model = KNNClassifier().fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     np.save(f"{folder}/X.npy", X)
    ...     said = distributed.predict(model, f"{folder}/X.npy", client, block=64)
    >>> np.array_equal(said, model.predict(X))
    True
    """
    client = find_client(client)
    check_whole("block", block)
    check_choice("method", method, METHODS)
    path = rows_file(rows, client, folder, verbose)
    some = row_source(map_file(path)).part(slice(0, 1))
    first = getattr(model, method)(some) if hasattr(model, method) else None  # what kind of answers these are
    if not isinstance(first, np.ndarray):
        raise UsageError(
            f"model is of the kind {type(model).__name__}, without {method} of rows as an array; give a fitted "
            "estimator, such as nearboost.models.load reads from a file."
        )
    with sent_to_workers(client, model=model) as sent:
        work = Work(predict_block, {"path": path, "method": method}, Sight.of(path), sent.names)
        what = {"what": method, **sent.digests}
        kinds = {method: (*first.shape[1:], first.dtype)}
        return fill(client, work, into, what, block, kinds, "Predicting", verbose)[0]


def features(
    descriptor: Any,
    files: Any,
    client: Any = None,
    *,
    into: str | os.PathLike[str],
    verbose: int = 0,
) -> Any:
    """Describe images on the workers, and keep their rows in a store, as `nearboost.features.extract` does.

    Parameters
    ----------
    descriptor : transformer or fitted pipeline
        Makes one row of numbers from ``[path]``; one that `nearboost.models.save` takes.
    files : path or sequence of paths
        A folder of images, or files, that all workers can open.
    client : dask.distributed.Client or None, default=None
        The cluster; None takes the current client.
    into : path
        Folder of all stores, to which the client alone writes.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    FeatureStore
        The rows, and a table of the files.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from PIL import Image
    >>> from nearboost import distributed
    >>> from nearboost.features import Gist
    >>> noise = np.random.default_rng(0).integers(0, 255, (3, 32, 32), dtype=np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     for number, pixels in enumerate(noise):
    ...         Image.fromarray(pixels).save(f"{folder}/{number}.png")
    ...     store = distributed.features(Gist(), folder, client, into=f"{folder}/stores")
    ...     print(store.rows.shape)
    (3, 512)
    """
    from nearboost.features.extraction import check_settings, contents_for, find_files
    from nearboost.features.store import open_store, store_folder

    client = find_client(client)
    images = ImageSet([os.path.abspath(path) for path in find_files(files)], decode=False)
    check_settings(descriptor)
    contents = contents_for(descriptor, images, None, verbose)
    with (
        sent_to_workers(client, model=descriptor) as sent,
        open_store(descriptor, store_folder(descriptor, Path(into)), images, contents) as store,
    ):
        waiting = sorted(store.wanted)
        parts = [waiting[start : start + FILES] for start in range(0, len(waiting), FILES)]
        by_first = {str(images.item(part[0])): part for part in parts}

        def keep(place: tuple[dict[str, int]], answers: list[tuple[int, Any, bool]]) -> None:
            part = by_first[next(iter(place[0]))]
            for i, answer, lasting in answers:
                if isinstance(answer, str):
                    store.write_failure(part[i], answer, lasting=lasting)
                else:
                    store.write(part[i], answer)

        places = [({str(images.item(i)): os.path.getsize(images.item(i)) for i in part},) for part in parts]
        work = Work(describe_files, {}, None, sent.names)
        spread(client, work, places, keep, "Describing", len(places), verbose)
        return store.close()


def spread_rows(
    rows: Any, client: Any = None, *, folder: str | os.PathLike[str], verbose: int = 0
) -> MappedRowSource:
    """Rows that workers project for `SLNDClassifier`: ``fit(spread_rows(…), y)``.

    Coordinates are measured on a sample by the client; workers write those of all rows, in blocks of 2,048, into
    one file, which the client then passes over. The weights are those of a fit without workers, to the last bit
    where all processors are of one kind.

    Parameters
    ----------
    rows : path, Dask array or array
        The rows, as in `graph`.
    client : dask.distributed.Client or None, default=None
        The cluster; None takes the current client.
    folder : path
        A folder that all workers can open, for the projected rows: rank x 4 bytes for each row of float32.
    verbose : int, default=0
        Shows a progress bar with the time left on standard error when above 0.

    Returns
    -------
    RowSource
        The rows, of which none is read yet.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from nearboost import SLNDClassifier, distributed
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    >>> y = X[:, 0] > 0
    >>> with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     np.save(f"{folder}/X.npy", X)
    ...     rows = distributed.spread_rows(f"{folder}/X.npy", client, folder=folder)
    ...     model = SLNDClassifier(max_passes=2).fit(rows, y)
    >>> model.score(X, y) > 0.9
    True
    """
    client = find_client(client)
    check_folder(folder)
    return _SpreadRows(rows_file(rows, client, folder, verbose), client, Path(folder).absolute(), verbose)


class _SpreadRows(MappedRowSource):
    def __init__(self, path: str, client: Any, folder: Path, verbose: int) -> None:
        super().__init__(map_file(path))
        self._path, self._client, self._folder, self._verbose = path, client, folder, verbose

    def in_any_order(self) -> "_SpreadRows":
        """Itself: any rows can be taken from the file."""
        return self

    def projected(self, coordinates: Any, numbers: NDArray[np.integer]) -> NDArray[Any] | None:
        """Coordinates of many rows, made by the workers: a map of the file. None where there are few."""
        if len(numbers) <= FEW:
            return None
        kinds = {"z": (coordinates.vectors.shape[1], self.dtype)}
        with sent_to_workers(self._client, vectors=coordinates.vectors, which=numbers) as sent:
            what = {"what": "projection", "intercept": coordinates.intercept, **sent.digests}
            place = self._folder / f"projected-{hashlib.sha256(repr(what).encode()).hexdigest()[:20]}"
            settings = {"path": self._path, "into": str(place / "z.npy"), "intercept": coordinates.intercept}
            sight = Sight.of(self._path)
            with keep_blocks(place, what | sight.run, len(numbers), PROJECTED, kinds) as kept:

                def keep(place: tuple[int, int], answers: tuple[()]) -> None:
                    kept.mark(slice(*place))

                places = [(part.start, part.stop) for part in kept.missing]
                work = Work(project_block, settings, sight, sent.names)
                spread(self._client, work, places, keep, "Projecting", len(places), self._verbose)
                return np.asarray(kept.read()[0])


def fill(
    client: Any,
    work: Work,
    into: str | os.PathLike[str] | None,
    what: Mapping[str, Any],
    block: int,
    kinds: Mapping[str, tuple[Any, ...]],
    title: str,
    verbose: int,
) -> list[NDArray[Any]]:
    """Arrays with a row for each row of the file, block by block; in a folder, what it has is not made again."""
    assert work.sight is not None
    n_rows = work.sight.rows["shape"][0]
    block = min(block, max(LEAST_BLOCK, -(-n_rows // (AHEAD * max(1, count_worker_threads(client))))))
    opened = (
        nullcontext(BlocksInMemory(n_rows, block, kinds))
        if into is None
        else keep_blocks(Path(into), {**what, **work.sight.run}, n_rows, block, kinds)
    )
    with opened as kept:

        def keep(place: tuple[int, int], answers: Sequence[NDArray[Any]]) -> None:
            kept.write(slice(*place), *answers)

        places = [(part.start, part.stop) for part in kept.missing]
        spread(client, work, places, keep, title, len(places), verbose)
        return kept.read()
