"""Exact search against FAISS and scikit-learn: ``python -m benchmarks.search``.

Every side builds its index and searches, one after the other in each round; the table shows medians. Seconds are
those of the processor, on one thread unless ``--threads`` says otherwise: other work on the machine moves them
little. Prints a table and writes ``benchmarks/results/search.json``.
"""

import argparse
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks.machine import write_results
from nearboost.neighbors import NeighborSearch

K = 12


class Case(NamedTuple):
    metric: str
    n_rows: int
    n_features: int
    n_queries: int
    n_sklearn: int  # queries for scikit-learn, fewer where it would take minutes; its time is scaled up


CASES = (
    Case("l2", 50_000, 128, 50_000, 2_000),
    Case("l2", 50_000, 512, 10_000, 1_000),
    Case("cosine", 50_000, 128, 50_000, 2_000),
    Case("cosine", 50_000, 512, 10_000, 1_000),
    Case("l1", 50_000, 64, 2_000, 200),
    Case("l1", 50_000, 512, 2_000, 100),
)


def ours(X: NDArray, Q: NDArray, metric: str, threads: int) -> NDArray:
    return NeighborSearch(X, metric, n_jobs=threads).search(Q, K).indices


def faiss_flat(X: NDArray, Q: NDArray, metric: str, threads: int) -> NDArray:
    if metric == "cosine":
        X, Q = X.copy(), Q.copy()
        faiss.normalize_L2(X)
        faiss.normalize_L2(Q)
    kind = {"l2": faiss.METRIC_L2, "cosine": faiss.METRIC_INNER_PRODUCT, "l1": faiss.METRIC_L1}[metric]
    index = faiss.IndexFlat(X.shape[1], kind)
    index.add(X)
    return index.search(Q, K)[1]


def sklearn_brute(X: NDArray, Q: NDArray, metric: str, threads: int) -> NDArray:
    name = {"l2": "euclidean", "cosine": "cosine", "l1": "manhattan"}[metric]  # its fast paths
    search = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=name, n_jobs=threads).fit(X)
    return search.kneighbors(Q, return_distance=False)


def timed(search: Callable[..., NDArray], *arguments: Any) -> tuple[float, NDArray]:
    start = process_time()
    found = search(*arguments)
    return process_time() - start, found


def run(case: Case, rounds: int, threads: int) -> dict[str, Any]:
    """Medians of one case, and how often FAISS's float32 order is not the exact one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((case.n_rows, case.n_features), dtype=np.float32)
    Q = rng.standard_normal((case.n_queries, case.n_features), dtype=np.float32)
    seconds: dict[str, list[float]] = {"nearboost": [], "faiss": []}
    for _ in range(rounds):
        for name, search in (("nearboost", ours), ("faiss", faiss_flat)):
            time, found = timed(search, X, Q, case.metric, threads)
            seconds[name].append(time)
            if name == "nearboost":
                exact = found
    time, _ = timed(sklearn_brute, X, Q[: case.n_sklearn], case.metric, threads)
    own, theirs = median(seconds["nearboost"]), median(seconds["faiss"])
    scaled = time * case.n_queries / case.n_sklearn
    return {
        **case._asdict(),
        "k": K,
        "seconds": seconds,
        "nearboost_s": own,
        "faiss_s": theirs,
        "sklearn_s_scaled": scaled,
        "times_faiss": own / theirs,
        "times_sklearn": own / scaled,
        "faiss_rows_in_other_order": int((found != exact).any(axis=1).sum()),
    }


def single_query(metric: str, n_rows: int = 1_000, n_features: int = 64) -> float:
    """Median microseconds to search one query among a thousand prototypes."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_features), dtype=np.float32)
    search = NeighborSearch(X, metric)
    return 1e6 * median(timed(search.search, X[:1], K)[0] for _ in range(200))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    warm = np.random.default_rng(0).standard_normal((500, 8), dtype=np.float32)
    for metric in ("l2", "cosine", "l1"):  # compile or load the kernels before the clock runs
        ours(warm, warm, metric, options.threads)
    faiss.omp_set_num_threads(options.threads)
    print(f"k = {K}, {options.threads} thread(s), medians of {options.rounds} rounds, index building included")
    print("metric      rows x features   queries  nearboost     FAISS  sklearn*   /FAISS  /sklearn")
    results = []
    with threadpool_limits(options.threads):
        for case in CASES:
            r = run(case, options.rounds, options.threads)
            results.append(r)
            print(
                f"{case.metric:8}{case.n_rows:10} x {case.n_features:<8}{case.n_queries:8}"
                f"{r['nearboost_s']:9.2f} s{r['faiss_s']:8.2f} s{r['sklearn_s_scaled']:8.1f} s"
                f"{r['times_faiss']:9.2f}{r['times_sklearn']:10.3f}",
                flush=True,
            )
    print("* from fewer queries, scaled up")
    one = {metric: single_query(metric) for metric in ("l2", "cosine", "l1")}
    print("one query among 1000 x 64:", ", ".join(f"{metric} {time:.0f} µs" for metric, time in one.items()))
    path = write_results("search", {"cases": results, "one_query_microseconds": one})
    print(f"written: benchmarks/results/{path.name}")


if __name__ == "__main__":
    main()
