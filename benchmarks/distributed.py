"""What spreading a graph costs: ``python -m benchmarks.distributed``.

The graph of a .npy file by one process (`NeighborSearch`, one thread) and by workers of one thread each, in turn:
processor seconds of all workers, with loading kernels and what Dask does, and wall seconds, which are worth
something on an idle machine only. The graphs must be equal in all bits. Prints a table and writes
``benchmarks/results/distributed.json``.
"""

import argparse
import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.machine import write_results
from benchmarks.tables import markdown
from nearboost import NeighborSearch, distributed

K = 13


def by_one(path: Path) -> tuple[Any, float, float]:
    start, wall = process_time(), perf_counter()
    graph = NeighborSearch(np.load(path, mmap_mode="r"), n_jobs=1).graph(K)
    return graph, process_time() - start, perf_counter() - wall


def by_workers(path: Path, n_workers: int) -> tuple[Any, float, float]:
    from dask.distributed import Client

    with Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as client:
        before, wall = sum(client.run(process_time).values()), perf_counter()
        graph = distributed.graph(path, K, client)
        wall = perf_counter() - wall
        return graph, sum(client.run(process_time).values()) - before, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    loads = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, np.random.default_rng(0).standard_normal((options.rows, options.features), dtype=np.float32))
        NeighborSearch(np.load(path, mmap_mode="r")[:500], n_jobs=1).graph(K)  # loads the kernels
        for _ in range(options.rounds):
            expected = None
            for n_workers in (0, *options.workers):
                loads.append(os.getloadavg()[0])
                graph, cpu, wall = by_workers(path, n_workers) if n_workers else by_one(path)
                expected = graph if expected is None else expected
                assert np.array_equal(graph.indices, expected.indices)
                assert np.array_equal(graph.distances, expected.distances)
                kept = found.setdefault(
                    f"{n_workers} workers" if n_workers else "one process", {"cpu": [], "wall": []}
                )
                kept["cpu"].append(cpu)
                kept["wall"].append(wall)
                print(n_workers, f"{cpu:.1f} {wall:.1f}", flush=True)
    medians = {name: {kind: median(values) for kind, values in kept.items()} for name, kept in found.items()}
    one = medians["one process"]
    rows = [
        [
            name,
            f"{of['cpu']:.1f} s",
            f"{of['cpu'] / one['cpu']:.2f}",
            f"{of['wall']:.1f} s",
            f"{one['wall'] / of['wall']:.2f}",
        ]
        for name, of in medians.items()
    ]
    print(markdown(["", "processor time", "of one process", "wall", "times faster"], rows))
    payload = {"rows": options.rows, "features": options.features, "seconds": found, "load": loads}
    write_results("distributed", payload | {"one_process_cpu_s": one["cpu"]})


if __name__ == "__main__":
    main()
