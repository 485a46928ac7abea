"""What size needs what: ``python -m benchmarks.sizing --rows 1e7 --features 768 --classes 1000 --cores 64``.

Prints time, memory and money of each step, and which step takes longest, from a few constants:

- ``--measure`` measures those of one core of this machine and keeps them, with the machine, in
  ``benchmarks/results/sizing.json`` (a few minutes of processor time);
- those of a GPU are from a prototype on one H200 and are written below: nobody has measured nearboost there.

``--compare`` prints what the model foretells of other benchmarks beside what they measured.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.fitting import blobs
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.tables import markdown
from nearboost import N3Classifier, NeighborSearch, SLNDClassifier, UNNClassifier
from nearboost.base.threads import one_matrix_thread

# Seconds for each pair of rows, and for each feature of it, on one H200 with rows in half precision: a prototype's
# on 1.2 million x 4,096 (9.3 s of products, 14.8 s in all). They foretell 80 s for 4 million x 768: it took 85.
GPU = {"pair": 3.8e-12, "feature": 1 / 6.3e14}
NEIGHBOUR = 12  # bytes: a row number and a distance
LEARNED = 1_000  # bytes a row that boosting works in
HOUR = 3600.0

Constants = dict[str, float]


@dataclass(frozen=True)
class Size:
    """What is asked about."""

    rows: float
    features: int
    k: int = 13
    classes: int = 100
    rounds: int = 50
    queries: float = 0
    rank: int = 256
    metric: str = "l2"
    number: int = 4  # bytes

    @property
    def dearer(self) -> bool:
        """Whether it is measured by the metric that needs more of each feature."""
        return self.metric == "l1"


@dataclass(frozen=True)
class Step:
    """Processor seconds (of a GPU, its own) and bytes of a step, and what may take part in it."""

    name: str
    seconds: float
    bytes: float
    runs_on: str  # "cores", "GPUs" or "one core"

    def time(self, cores: int, gpus: int) -> float:
        """Wall seconds, where work divides evenly."""
        return self.seconds / {"cores": cores, "GPUs": max(1, gpus), "one core": 1}[self.runs_on]

    def money(self, price_core: float, price_gpu: float) -> float:
        return self.seconds / HOUR * (price_gpu if self.runs_on == "GPUs" else price_core)


def search_seconds(known: Constants, n_queries: float, size: Size) -> float:
    """Of one core: pairs of rows, of each pair its features; and float32 copies of all rows, once."""
    name = "l1" if size.dearer else "l2"
    pairs = n_queries * size.rows * (known[f"{name} pair"] + size.features * known[f"{name} feature"])
    return pairs + size.rows * size.features * known[f"{name} number"]


def gpu_seconds(n_queries: float, size: Size) -> float:
    return n_queries * size.rows * (GPU["pair"] + size.features * GPU["feature"])


def steps_of(known: Constants, size: Size, gpus: int = 0) -> list[Step]:
    """All steps; each is one way to go on from the graph, or to do without."""
    n, edges = size.rows, size.rows * size.k
    on_gpu = gpus > 0 and not size.dearer
    searched = n * size.features * (2 if on_gpu else 4)  # copies of all rows that are kept, where there is room
    graph = (
        Step("graph", gpu_seconds(n, size), searched + edges * NEIGHBOUR, "GPUs")
        if on_gpu
        else Step("graph", search_seconds(known, n, size), searched + edges * NEIGHBOUR, "cores")
    )
    boosting = n * (known["boost row"] + size.classes * known["boost row and class"])
    n3 = boosting + size.classes * size.rounds * known["N3 round"]
    unn = boosting + size.classes * size.rounds * n * known["UNN round and row"]
    z = n * size.rank * 4
    project = n * size.features * size.rank * known["product"]
    passes = 5 * n * size.rank * size.classes * known["pass"]
    steps = [
        graph,
        Step("N3 on the graph", n3, n * LEARNED, "cores"),
        Step("UNN on the graph", unn, n * LEARNED, "cores"),
        Step("SLND: projection", project, z, "cores"),
        Step("SLND: 5 passes", passes, z, "cores"),
    ]
    if size.queries:
        asked = gpu_seconds(size.queries, size) if on_gpu else search_seconds(known, size.queries, size)
        answers = size.queries * size.classes * 8
        steps.append(Step("predict, all rows voting", asked, searched + answers, "GPUs" if on_gpu else "cores"))
    return steps


def unn_longer_up_to(known: Constants, size: Size) -> float:
    """Rows up to which UNN's rounds take longer than its graph, on one core."""
    rounds = size.classes * size.rounds * known["UNN round and row"]
    return rounds / (search_seconds(known, size.rows, size) / size.rows**2)


# Measuring.


def seconds_of(call: Callable[[], Any], times: int = 5) -> float:
    """Processor seconds, the median of some."""
    found = []
    for _ in range(times):
        start = process_time()
        call()
        found.append(process_time() - start)
    return median(found)


def measure() -> Constants:
    known = search_constants("l2") | search_constants("l1")
    known |= boosting_constants() | slnd_constants()
    return {name: float(value) for name, value in known.items()}


def search_constants(metric: str, narrow: int = 64, wide: int = 512) -> Constants:
    """Two widths tell what a pair of rows costs, and what a feature of it."""
    rng, (n_queries, n_rows) = np.random.default_rng(0), (4_096, 32_768)
    times = []
    for width in (narrow, wide):
        X = rng.standard_normal((n_rows, width), dtype=np.float32)
        search = NeighborSearch(X, metric, n_jobs=1, copy=False)
        search.search(X[:1], 13)  # makes the copies
        made = seconds_of(lambda X=X: NeighborSearch(X, metric, n_jobs=1, copy=False).search(X[:1], 13))
        times.append(seconds_of(lambda s=search, Q=X[:n_queries]: s.search(Q, 13)) / (n_queries * n_rows))
    feature = (times[1] - times[0]) / (wide - narrow)
    return {
        f"{metric} feature": feature,
        f"{metric} pair": max(0.0, times[0] - narrow * feature),
        f"{metric} number": made / (n_rows * wide),
    }


def boosting_constants(few: int = 100, many: int = 1_000, n_rows: int = 40_000) -> Constants:
    """Few and many classes tell what a row costs and what each class of it; few and many rounds what a round does.

    Those are rounds of a whole fit, which learns on held-out folds as well.
    """
    rounds = {}
    X, y = blobs(n_rows // 2, 16, n_rows // 200)
    graph = NeighborSearch(X, n_jobs=1).graph(13)
    for name, classifier in (("N3", N3Classifier), ("UNN", UNNClassifier)):
        short, long = (fit_seconds(classifier, n_rounds, X, y, graph) for n_rounds in (20, 80))
        rounds[name] = max(0.0, long - short) / (60 * (n_rows // 200))
    times, n_rounds = [], 20
    for n_classes in (few, many):
        X, y = blobs(n_rows, 16, n_classes)
        took = fit_seconds(N3Classifier, n_rounds, X, y, NeighborSearch(X, n_jobs=1).graph(13))
        times.append(took - n_classes * n_rounds * rounds["N3"])
    of_class = max(0.0, (times[1] - times[0]) / (n_rows * (many - few)))
    return {
        "boost row": max(0.0, times[0] / n_rows - few * of_class),
        "boost row and class": of_class,
        "N3 round": rounds["N3"],
        "UNN round and row": rounds["UNN"] / (n_rows // 2),
    }


def fit_seconds(classifier: Any, n_rounds: int, X: Any, y: Any, graph: Any) -> float:
    """Of a fit on a graph."""
    model = classifier(11, n_rounds=n_rounds, n_jobs=1, vote_from="all")
    return seconds_of(lambda: model.fit(X, y, graph=graph))


def slnd_constants(n_rows: int = 40_000, n_features: int = 256, rank: int = 128, n_classes: int = 50) -> Constants:
    X, y = blobs(n_rows, n_features, n_classes)
    V = np.random.default_rng(0).standard_normal((n_features, rank), dtype=np.float32)
    with one_matrix_thread():
        product = seconds_of(lambda: X @ V) / (n_rows * n_features * rank)
    settings = {"rank": rank, "damping": 0.01, "step": 1e-4, "calibration": None, "tol": None, "n_jobs": 1}
    one, four = (
        seconds_of(lambda n=n: SLNDClassifier(scaling="none", max_passes=n, **settings).fit(X, y)) for n in (1, 4)
    )
    return {"product": product, "pass": (four - one) / (3 * n_rows * rank * n_classes)}


def check(known: Constants) -> list[tuple[str, float, float]]:
    """Other sizes than those of the constants: processor seconds that one core took, and what the model says."""
    rng, found = np.random.default_rng(1), []
    for metric, n_queries, width in (
        ("l2", 4_000, 256),
        ("cosine", 4_000, 128),
        ("l1", 2_000, 512),
        ("l1", 2_000, 64),
    ):
        X = rng.standard_normal((50_000, width), dtype=np.float32)
        took = seconds_of(lambda X=X, m=metric, n=n_queries: NeighborSearch(X, m, n_jobs=1).search(X[:n], 13), 3)
        foretold = search_seconds(known, n_queries, Size(len(X), width, metric=metric))
        found.append((f"{n_queries:,} in {len(X):,} x {width}, {metric}", took, foretold))
    X, y = blobs(20_000, 300, 300)
    size = Size(len(X), 300, classes=300, rounds=100)
    graph, n3, unn, *_ = steps_of(known, size)
    near = NeighborSearch(X, n_jobs=1)
    found.append(("graph of 20,000 x 300", seconds_of(lambda: near.graph(13), 3), graph.seconds))
    lists = near.graph(13)
    for step, classifier in ((n3, N3Classifier), (unn, UNNClassifier)):
        took = fit_seconds(classifier, 100, X, y, lists)
        found.append((f"{step.name} of 20,000 rows, 300 classes, 100 rounds", took, step.seconds))
    return found


# Beside other benchmarks.


def comparisons(known: Constants) -> list[tuple[str, float, float]]:
    """What was measured, in seconds, and what the model says."""
    found: list[tuple[str, float, float]] = []
    for case in read_results("search")["cases"]:
        size = Size(case["n_rows"], case["n_features"], metric=case["metric"])
        foretold = search_seconds(known, case["n_queries"], size) / 2  # two threads
        name = f"search: {case['n_queries']:,} in {case['n_rows']:,} x {case['n_features']}, {case['metric']}"
        found.append((name, case["nearboost_s"], foretold))
    fitting = read_results("fitting")
    medium, large = Size(50_000, 128, classes=100, rounds=500), Size(200_000, 64, classes=1_000, rounds=200)
    graph, n3, *_ = steps_of(known, medium)
    found.append(("fitting: graph of 50,000 x 128", fitting["fit_against_graph"]["graph"], graph.time(2, 0)))
    found.append(
        ("fitting: N3 on that graph", fitting["fit_against_graph"]["fit"] - median(
            fitting["fit_against_graph"]["seconds"]["graph"]), n3.time(2, 0))
    )  # fmt: skip
    graph, n3, *_ = steps_of(known, large)
    found.append(("fitting: N3, 200,000 x 64", fitting["large"]["seconds"], graph.time(2, 0) + n3.time(2, 0)))
    larger = read_results("larger")
    for name, part, rows in (("4096 x 32768", "graph", 4_096), ("16384 x 32768", "predict", 2_048)):
        if part in larger.get(name, {}):
            size = Size(int(name.split(" x ")[0]), 32_768)
            found.append(
                (f"larger: {part}, {name}", larger[name][part]["seconds"], search_seconds(known, rows, size) / 2)
            )
    if (RESULTS / "distributed.json").exists():
        spread = read_results("distributed")
        size = Size(spread["rows"], spread["features"])
        measured = spread["one_process_cpu_s"]
        name = f"distributed: graph of {spread['rows']:,} x {spread['features']}, one process, of a core"
        found.append((name, measured, search_seconds(known, size.rows, size)))
    return found


# Printing.


def span(seconds: float) -> str:
    for unit, length in (("days", 86_400.0), ("h", HOUR), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def table_of(steps: list[Step], options: argparse.Namespace) -> str:
    longest = max(step.time(options.cores, options.gpus) for step in steps)
    rows = []
    for step in steps:
        time = step.time(options.cores, options.gpus)
        price = step.money(options.price_core, options.price_gpu)
        mark = "longest" if time == longest else ""
        rows.append([step.name, step.runs_on, span(time), f"{step.bytes / 1e9:,.1f} GB", f"{price:,.2f}", mark])
    return markdown(["step", "on", "time", "memory", "price", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--k", type=int, default=13, help="neighbours of each row")
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50, help="rounds of boosting for each class")
    parser.add_argument("--queries", type=float, default=0)
    parser.add_argument("--rank", type=int, default=256, help="directions of SLND")
    parser.add_argument("--metric", choices=("l2", "cosine", "l1"), default="l2")
    parser.add_argument("--number", type=int, choices=(2, 4, 8), default=4, help="bytes of a number in the file")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--price-core", type=float, default=0.05, help="of a core for an hour")
    parser.add_argument("--price-gpu", type=float, default=3.0, help="of a GPU for an hour")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if options.measure:
        measured = measure()
        write_results("sizing", {"constants": measured, "checks": check(measured)})
    known: Constants = read_results("sizing")["constants"]
    if options.measure:
        print("\n".join(f"{name}: {value:.3g} s" for name, value in known.items()))
        return
    if options.compare:
        rows = [
            [name, f"{measured:.3g}", f"{foretold:.3g}", f"{foretold / measured:.2f}"]
            for name, measured, foretold in (*read_results("sizing")["checks"], *comparisons(known))
        ]
        print(markdown(["seconds", "measured", "foretold", "ratio"], rows))
        return
    fields = ("rows", "features", "k", "classes", "rounds", "queries", "rank", "metric", "number")
    size = Size(**{name: getattr(options, name) for name in fields})
    on = f"{options.cores} cores at {options.price_core} and {options.gpus} GPUs at {options.price_gpu} an hour"
    print(f"Predictions for rows of {size.rows * size.features * size.number / 1e9:,.1f} GB on {on}.\n")
    print(table_of(steps_of(known, size, options.gpus), options))
    print(f"\nUNN's rounds take longer than its graph up to {unn_longer_up_to(known, size):,.0f} rows.")


if __name__ == "__main__":
    main()
