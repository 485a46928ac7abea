"""Neighbours proposed by others at a million rows: ``python -m benchmarks.candidates``.

1. The whole graph from FAISS's IVF-PQ: how long each step takes, how many exact neighbours are proposed, and
   how many are left after `NeighborSearch.refine`.
2. How long HNSW is built for, on one thread, at growing numbers of rows, and what it finds.

Both on one thread, in processor seconds, so that other work on the machine counts little. Prints tables and
writes ``benchmarks/results/candidates.json``; ``--parts`` and ``--rows`` measure some of it anew.
"""

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.tables import markdown
from nearboost import NeighborSearch

K, FEATURES, LOOKED_AT = 11, 128, 1_000
LISTED = (32, 128, 256)  # candidates of a row
ROWS = {"ivfpq": (1_000_000,), "hnsw": (100_000, 200_000, 1_000_000)}

Row = dict[str, Any]


def embeddings(n_rows: int) -> NDArray[np.float32]:
    """A thousand clusters whose rows spread along few directions, as embeddings of a network do."""
    rng = np.random.default_rng(0)
    spectrum = (np.arange(1, FEATURES + 1) ** -0.7).astype(np.float32)
    centres = rng.standard_normal((1_000, FEATURES), dtype=np.float32)
    rows = rng.standard_normal((n_rows, FEATURES), dtype=np.float32)
    rows += centres[rng.integers(len(centres), size=n_rows)]
    rows *= spectrum
    return rows


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its processor seconds."""
    start = process_time()
    made = call()
    return made, process_time() - start


def index_ivfpq(X: NDArray[np.float32]) -> Any:
    """About four lists for each root of the rows, codes of 4 bits for each pair of features."""
    index = faiss.index_factory(FEATURES, f"IVF{4 * int(len(X) ** 0.5)},PQ{FEATURES // 2}x4fs")
    index.cp.max_points_per_centroid = 64
    index.train(X[: 64 * index.nlist])
    index.add(X)
    index.nprobe = 64
    return index


def ivfpq(n_rows: int) -> list[Row]:
    """The steps of a whole graph, for each number of candidates."""
    X = embeddings(n_rows)
    search = NeighborSearch(X, copy=False, n_jobs=1)
    index, build = timed(lambda: index_ivfpq(X))
    made = []
    for n_listed in LISTED:
        candidates, propose = timed(lambda n=n_listed: index.search(X, n + 1)[1])  # a row finds itself
        graph, refine = timed(lambda lists=candidates: search.refine(lists, K))
        made.append(
            {
                "rows": n_rows,
                "candidates": n_listed,
                "build_s": build,
                "propose_s": propose,
                "refine_s": refine,
                "recall": search.recall(graph, LOOKED_AT)._asdict(),
                "recall_unrefined": search.recall(without_itself(candidates)[:, :K], LOOKED_AT)._asdict(),
            }
        )
        print(made[-1], flush=True)
    return made


def without_itself(lists: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lists in their order, the row's own number last."""
    own = lists == np.arange(len(lists))[:, np.newaxis]
    return np.take_along_axis(np.where(own, -1, lists), np.argsort(own, axis=1, kind="stable"), axis=1)


def hnsw(n_rows: int) -> list[Row]:
    """Building, and queries that are none of the rows."""
    X = embeddings(n_rows + LOOKED_AT)
    X, Q = X[:n_rows], X[n_rows:]
    search, build = timed(lambda: NeighborSearch(X, method="hnsw", copy=False, n_jobs=1))
    found, query = timed(lambda: search.search(Q, K))
    exact = NeighborSearch(X, copy=False, n_jobs=1).search(Q, K)
    recall = float(np.mean(found.distances <= exact.distances[:, -1:]))
    made = {"rows": n_rows, "build_s": build, "query_ms": 1e3 * query / len(Q), "recall": recall}
    print(made, flush=True)
    return [made]


def tables(results: dict[str, list[Row]]) -> str:
    proposed = [
        {
            "rows": f"{row['rows']:,}",
            "candidates": row["candidates"],
            "index, s": f"{row['build_s']:.0f}",
            "candidates, s": f"{row['propose_s']:.0f}",
            "refine, s": f"{row['refine_s']:.0f}",
            "recall as proposed": f"{row['recall_unrefined']['share']:.3f}",
            "recall refined": f"{row['recall']['share']:.4f} ± {row['recall']['standard_error']:.4f}",
        }
        for row in results.get("ivfpq", [])
    ]
    built = [
        {
            "rows": f"{row['rows']:,}",
            "build, s": f"{row['build_s']:.0f}",
            "build, ms a row": f"{1e3 * row['build_s'] / row['rows']:.2f}",
            "query, ms": f"{row['query_ms']:.2f}",
            "recall": f"{row['recall']:.3f}",
        }
        for row in results.get("hnsw", [])
    ]
    return "\n\n".join(
        markdown(list(table[0]), [[str(cell) for cell in row.values()] for row in table])
        for table in (proposed, built)
        if table
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=tuple(ROWS), default=tuple(ROWS))
    parser.add_argument("--rows", nargs="+", type=int, help="numbers of rows instead of those of each part")
    parser.add_argument("--show", action="store_true", help="print what was written last")
    options = parser.parse_args()
    known = (RESULTS / "candidates.json").exists()
    results = read_results("candidates") if known else {}
    if not options.show:
        faiss.omp_set_num_threads(1)
        NeighborSearch(embeddings(3_000), n_jobs=1).refine(np.zeros((3_000, 1), int), K)  # loads the kernels
        for part in options.parts:
            for n_rows in options.rows or ROWS[part]:
                made = {"ivfpq": ivfpq, "hnsw": hnsw}[part](n_rows)
                kept = [row for row in results.get(part, []) if row["rows"] != n_rows]
                results[part] = sorted(kept + made, key=lambda row: row["rows"])
                write_results("candidates", results, merged=known)
                known = True
    print(tables(results))


if __name__ == "__main__":
    main()
