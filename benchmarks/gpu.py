"""Search, SLND, N3 and INN on one GPU: ``python -m benchmarks.gpu``, or small on CPU tensors, to see that it runs:
``python -m benchmarks.gpu --device cpu --rows 20000 --features 256``.

Rows are drawn on the device in half precision, of a spectrum of i^−0.7 and with a class each. Parts:

1. graph: 11 neighbours of each row, proof included. ``--check`` compares so many lists with "exact" on the CPU.
2. slnd: rank, step and damping given, batches of 512, two passes; and the default `fit`.
3. n3: 50 rounds on that graph, on the CPU.
4. inn: queries a second, coded by the 100 nearest of at most 100,000 rows.

Aims on one H200:

- graph of 1,200,000 x 4,096: under 15 s, better 12. Products of all pairs, each once, are 5.9e15 operations.
- graph of 4,000,000 x 768 (``--rows 4000000 --features 768``): under 60 s, better 40; 1.2e16 operations.
- slnd on the first, 1,000 classes, rank 1,024, all given: under 5 s with data on the device.

Floors, each measured in the same run:

- graph: the products of all pairs alone, each once, at the rate of one tile of them.
- slnd: the products of second moment, projection and steps alone, each at the float32 rate of large matrices.
- n3: one copy of the rows, which a fitted model keeps.
- inn: each query's nearest samples, read from memory once.

Prints what each part took; with ``--write`` also ``benchmarks/results/gpu.json``, beside other sizes. Run it on an
idle machine.
"""

import argparse
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, read_results, write_results
from nearboost.base.device import import_torch, open_device
from nearboost.base.threads import map_in_threads, map_parts
from nearboost.boosting.n3 import N3Classifier
from nearboost.inn.classifier import INNClassifier
from nearboost.linear.moments import HESSIAN_SAMPLES
from nearboost.linear.slnd import SLNDClassifier
from nearboost.neighbors import Neighbors, NeighborSearch

K = 11
PARTS = ("graph", "slnd", "n3", "inn")
DEVICES = {"cpu": "torch:cpu"}  # others are named as in nearboost
ROWS_AT_ONCE = 2**16
TILE = 2**15  # rows of a tile whose product is timed, to as many columns
INN_ROWS, INN_QUERIES, NEIGHBORHOOD = 100_000, 2_000, 100


def draw(n_rows: int, n_features: int, n_classes: int, name: str) -> tuple[Any, Any]:
    """Rows in half precision on the device, and the class of each, around middles of their own."""
    torch, device = import_torch(), open_device(name)
    generator = torch.Generator(device=device).manual_seed(0)
    scales = torch.arange(1, n_features + 1, device=device, dtype=torch.float32) ** -0.35  # of a variance i^−0.7
    middles = 0.3 * torch.randn((n_classes, n_features), generator=generator, device=device) * scales
    X = torch.empty((n_rows, n_features), dtype=torch.float16, device=device)
    y = torch.randint(n_classes, (n_rows,), generator=generator, device=device)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        part = slice(start, min(start + ROWS_AT_ONCE, n_rows))
        noise = torch.randn((part.stop - start, n_features), generator=generator, device=device)
        X[part] = (noise * scales + middles[y[part]]).half()
    return X, y


def seconds(work: Any, rounds: int = 1) -> tuple[float, Any]:
    """The median time of some runs, and what the last gave; results are on the CPU, so the device is done."""
    times, result = [], None
    for _ in range(rounds):
        start = perf_counter()
        result = work()
        times.append(perf_counter() - start)
    return median(times), result


def product_rate(A: Any, B: Any) -> float:
    """Operations a second of a product of matrices; of some, because a GPU's clock falls when warm."""

    def multiply() -> float:
        for _ in range(20):
            product = A @ B
        return float(product[0, 0])

    multiply()
    taken, _ = seconds(multiply, rounds=3)
    return 20 * 2.0 * A.shape[0] * A.shape[1] * B.shape[1] / taken


def run_graph(X: Any, name: str, rounds: int, n_checked: int) -> tuple[dict[str, Any], Neighbors]:
    """The graph, how much of it was proved, and lists that are those of the CPU."""

    def search() -> tuple[NeighborSearch, Neighbors]:
        made = NeighborSearch(X, method=name)
        return made, made.graph(K)

    NeighborSearch(X[: 4 * TILE], method=name).graph(K)  # kernels and libraries are loaded
    taken, (made, graph) = seconds(search, rounds)
    operations = float(len(X)) ** 2 * X.shape[1]  # a multiplication and an addition for each feature of each pair
    result = {
        "seconds": taken,
        "share_proved": made.share_proved,
        "operations_a_second": operations / taken,
        "floor_seconds": operations / product_rate(X[:TILE], X[:TILE].T),
    }
    if n_checked:
        some = np.sort(np.random.default_rng(0).choice(len(X), n_checked, replace=False))
        own = np.arange(len(X))
        rows = X.cpu().numpy()
        found = NeighborSearch(rows, copy=False).search(rows[some], K, query_groups=some, groups=own)
        result["checked"] = n_checked
        same = (found.indices == graph.indices[some]) & (found.distances == graph.distances[some])
        result["same_lists"] = int(same.all(axis=1).sum())
    return result, graph


def run_slnd(X: Any, y: Any, name: str) -> dict[str, Any]:
    """Seconds of a fit with all given, and of the default one."""
    rank = min(1024, X.shape[1])
    given = SLNDClassifier(
        rank=rank,
        damping=0.01,
        step=1e-3,
        batch_size=512,
        max_passes=2,
        calibration=None,
        device=name,
        memory=4e10,
    )
    result = {}
    rate = product_rate(X[:TILE].float(), X[:rank].float().T)
    SLNDClassifier(rank=16, max_passes=1, device=name).fit(X[:2048], y[:2048])  # libraries are loaded
    for setting, model in (("given", given), ("default", SLNDClassifier(device=name, memory=4e10))):
        result[f"{setting}_seconds"], fitted = seconds(lambda model=model: model.fit(X, y))
        result[f"{setting}_accuracy"] = float(fitted.score(X[:4096].cpu().numpy(), y[:4096].cpu().numpy()))
        result[f"{setting}_floor_seconds"] = slnd_operations(fitted, X) / rate
    return result


def slnd_operations(fitted: SLNDClassifier, X: Any) -> float:
    """Multiplications and additions of products alone, of the rank and the passes that were chosen."""
    n_rows, n_features = X.shape
    moment = min(n_rows, HESSIAN_SAMPLES) * n_features**2
    projection = n_rows * n_features * fitted.rank_
    batches = n_rows * fitted.rank_ * len(fitted.classes_)
    return 2.0 * (moment + projection + fitted.n_passes_ * 2 * batches)  # scores, and the change of weights


def run_n3(X: Any, y: Any, graph: Neighbors) -> dict[str, Any]:
    """Seconds of 50 rounds on the CPU, on the graph that was found."""
    rows, labels, pair = X.cpu().numpy(), y.cpu().numpy(), (graph.indices, graph.distances)
    model = N3Classifier(K, n_rounds=50)
    N3Classifier(K, n_rounds=2).fit(rows[:2048], labels[:2048])  # kernels are compiled
    taken, _ = seconds(lambda: model.fit(rows, labels, graph=pair))
    copy = np.empty_like(rows)
    copied, _ = seconds(lambda: map_parts(lambda part: np.copyto(copy[part], rows[part]), rows.shape, None))
    return {"seconds": taken, "floor_seconds": copied}


def run_inn(X: Any, y: Any, name: str) -> dict[str, Any]:
    """Queries a second, neighbourhoods found on the device and codes made on the CPU."""
    n_queries = min(INN_QUERIES, len(X) // 4)
    rows, labels = X[: INN_ROWS + n_queries].float().cpu().numpy(), y[: INN_ROWS + n_queries].cpu().numpy()
    model = INNClassifier(neighborhood=NEIGHBORHOOD, search=name).fit(rows[n_queries:], labels[n_queries:])
    model.predict(rows[:16])
    taken, _ = seconds(lambda: model.predict(rows[:n_queries]), rounds=3)
    near = np.random.default_rng(0).integers(n_queries, len(rows), (n_queries, NEIGHBORHOOD))
    read, _ = seconds(lambda: map_in_threads(lambda own: rows[own].max(), near, None), rounds=3)
    result = {"rows": len(rows) - n_queries, "queries_a_second": n_queries / taken}
    return {**result, "seconds": taken, "floor_seconds": read}


def device_name(device: Any) -> str:
    """What the device calls itself, and PyTorch's version."""
    torch = import_torch()
    own = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU tensors"
    return f"{own}, PyTorch {torch.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", help="gpu, gpu:1, or cpu for CPU tensors")
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--features", type=int, default=4_096)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=1, help="runs of the graph, of which the median counts")
    parser.add_argument("--check", type=int, default=0, help="lists that are compared with those of the CPU")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    name = DEVICES.get(asked.device, asked.device)
    found = device_name(open_device(name))
    X, y = draw(asked.rows, asked.features, asked.classes, name)
    print(f"{asked.rows:,} rows of {asked.features:,} features, {asked.classes:,} classes, on {found}\n")
    size = f"{asked.rows:,} x {asked.features:,}"
    shape = {"rows": asked.rows, "features": asked.features, "classes": asked.classes, "device": found}

    def tell(part: str, result: dict[str, Any]) -> None:
        """Print what a part took as soon as it is known, and keep it."""
        print(part, *(f"{key} {value:,.4g}" for key, value in result.items()), sep="  ", flush=True)
        if asked.write:
            known = read_results("gpu") if (RESULTS / "gpu.json").exists() else {}
            known[size] = {**known.get(size, {}), **shape, part: result}
            write_results("gpu", known, merged=True)

    if "graph" in asked.parts or "n3" in asked.parts:
        result, graph = run_graph(X, name, asked.rounds, asked.check)
        tell("graph", result)
    if "slnd" in asked.parts:
        tell("slnd", run_slnd(X, y, name))
    if "n3" in asked.parts:
        tell("n3", run_n3(X, y, graph))
    if "inn" in asked.parts:
        tell("inn", run_inn(X, y, name))


if __name__ == "__main__":
    main()
