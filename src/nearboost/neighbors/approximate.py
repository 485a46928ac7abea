"""Approximate search: FAISS's HNSW graph proposes rows, the exact ruler measures them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.rows import RowSource
from nearboost.base.threads import count_threads
from nearboost.neighbors.exact import QUERIES_PER_PIECE, ExactSearch, Lists, cut
from nearboost.neighbors.rows import MeasuredRows
from nearboost.neighbors.ruler import FAR, METRICS, NO_ROW

LINKS = 32
CONSTRUCTION_BREADTH = 80
SEARCH_BREADTH = 64
SPARE = 8  # candidates beyond k: float32 order is not quite the measured order
MOST_OF_A_GROUP = 64  # candidates of the query's own group to make up for; beyond it, search exactly


class HNSW:
    """A graph over the rows in float32; the same rows give the same graph."""

    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    exact: ClassVar[bool] = False

    def __init__(self, rows: MeasuredRows) -> None:
        self.rows = rows
        faiss = import_faiss()
        metric = faiss.METRIC_L1 if rows.metric == "l1" else faiss.METRIC_L2
        self.index = faiss.IndexHNSWFlat(rows.n_features, LINKS, metric)
        self.index.hnsw.efConstruction = CONSTRUCTION_BREADTH
        with faiss_threads(1):  # with several, the graph would depend on who comes first
            for part in cut(rows.n_rows, QUERIES_PER_PIECE):
                self.index.add(nodes(rows, rows.placed_rows(part)))

    def search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `SearchMethod`. An exact search answers where too few of the proposed rows are allowed."""
        rows, n_queries = self.rows, Q.n_rows
        # A query's own group may take up candidates, so as many more are asked for.
        largest_group = int(np.unique(groups, return_counts=True)[1].max(initial=0))
        n_candidates = min(rows.n_rows, k + SPARE + min(largest_group, MOST_OF_A_GROUP))
        self.index.hnsw.efSearch = max(SEARCH_BREADTH, 2 * n_candidates)
        lists = Lists.empty(n_queries, k)
        indices, distances = lists.indices, lists.sums
        with faiss_threads(1 if forked() else count_threads(rows.n_jobs)):
            for piece in cut(n_queries, QUERIES_PER_PIECE):
                queries = rows.queries(Q.part(piece), query_groups[piece], piece.start)
                with np.errstate(over="ignore"):  # what overflows is far
                    placed = queries.measured * (queries.units / rows.unit)[:, np.newaxis]
                _, candidates = self.index.search(nodes(rows, placed), n_candidates)
                rows.keep_nearest(candidates, queries, groups, indices[piece], distances[piece])
                distances[piece] = rows.to_distances(distances[piece], queries.units)
        short = np.flatnonzero(indices[:, -1] == NO_ROW)
        if short.size:
            exact = ExactSearch(rows)
            indices[short], distances[short] = exact.search(Q.only(short), k, groups, query_groups[short])
        return indices, distances


def nodes(rows: MeasuredRows, placed: NDArray[Any]) -> NDArray[np.float32]:
    """Rows around their middle, in a scale whose squares fit into float32."""
    return np.clip(rows.centred(placed), -FAR, FAR).astype(np.float32)


def import_faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ImportError('method="hnsw" needs FAISS: pip install "nearboost[approximate]"') from error
    return faiss


_process = os.getpid()


def forked() -> bool:
    """Whether this process is a copy of one that may have used FAISS.

    Threads do not survive a fork, but FAISS would wait for its own for ever; with one thread it asks for none.
    """
    return os.getpid() != _process


@contextmanager
def faiss_threads(n_threads: int) -> Iterator[None]:
    """FAISS keeps one number of threads for the whole process: set it and put it back."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
