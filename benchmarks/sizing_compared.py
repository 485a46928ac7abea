"""What `benchmarks.sizing_model` foretells of other benchmarks, beside what they measured.

Processor seconds, which hardly depend on what else a machine does, where a benchmark keeps them; else wall seconds
of two threads. Results are those of ``benchmarks/results``; a benchmark without any is left out.
"""

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.machine import RESULTS, read_results
from benchmarks.sizing_model import (
    IDLE,
    Constants,
    Size,
    answering_bytes,
    boosting_bytes,
    default_slnd_seconds,
    gpu_seconds,
    inn_seconds,
    mixture_bytes,
    mixture_seconds,
    n3_seconds,
    search_bytes,
    search_seconds,
    slnd_bytes,
)
from benchmarks.tables import markdown

SECONDS, GB, WALL = "processor s", "peak GB", "s of two threads"
NEAR, COMPONENTS = 30, 16  # samples that code a row, and Gaussians, in `benchmarks.larger_rows`

Comparison = tuple[str, str, float, float]  # what, unit, measured, foretold


def compared(found: list[Comparison]) -> str:
    rows = [
        [name, unit, f"{measured:.3g}", f"{foretold:.3g}", f"{foretold / measured:.2f}"]
        for name, unit, measured, foretold in found
    ]
    within = sum(0.7 <= foretold / measured <= 1.3 for _, _, measured, foretold in found)
    return (
        f"{markdown(['', 'unit', 'measured', 'foretold', 'ratio'], rows)}\n\n{within} of {len(found)} within 30%."
    )


def comparisons(known: Constants) -> list[Comparison]:
    """Those of all kept results."""
    kinds = {
        "search": of_searches,
        "fitting": of_fits,
        "distributed": of_workers,
        "larger": of_files,
        "larger_rows": of_rows_of_files,
        "gpu": of_gpu,
    }
    kept = {name: kind for name, kind in kinds.items() if (RESULTS / f"{name}.json").exists()}
    return [
        (f"{name}: {what}", *rest)
        for name, kind in kept.items()
        for what, *rest in kind(known, read_results(name))
    ]


def of_searches(known: Constants, results: Any) -> Iterator[Comparison]:
    for case in results["cases"]:
        size = Size(case["n_rows"], case["n_features"], metric=case["metric"])
        foretold = search_seconds(known, case["n_queries"], size)
        name = f"{case['n_queries']:,} in {case['n_rows']:,} x {case['n_features']}, {case['metric']}"
        yield name, SECONDS, case["nearboost_s"], foretold


def of_fits(known: Constants, results: Any) -> Iterator[Comparison]:
    medium, large = Size(50_000, 128, classes=100, rounds=500), Size(200_000, 64, classes=1_000, rounds=200)
    measured = results["fit_against_graph"]
    yield "graph of 50,000 x 128", WALL, measured["graph"], search_seconds(known, medium.rows, medium) / 2
    learned = measured["fit"] - median(measured["seconds"]["graph"])
    yield "N3 on that graph", WALL, learned, n3_seconds(known, medium) / 2
    both = search_seconds(known, large.rows, large) + n3_seconds(known, large)
    yield "N3, 200,000 x 64", WALL, results["large"]["seconds"], both / 2


def of_workers(known: Constants, results: Any) -> Iterator[Comparison]:
    size = Size(results["rows"], results["features"])
    name = f"graph of {results['rows']:,} x {results['features']}, one process"
    yield name, SECONDS, results["one_process_cpu_s"], search_seconds(known, size.rows, size)


def sizes_of(results: Any) -> Iterator[tuple[str, Size, dict[str, Any]]]:
    """Name, size and measured values of each part of a file's benchmark that was finished."""
    for shape, parts in results.items():
        n_rows, n_features = map(int, shape.split(" x "))
        for part, row in parts.items():
            if "processor_seconds" in row:
                memory = 1e9 * row["memory_gb"]
                yield f"{part}, {shape}", Size(n_rows, n_features, 11, 50, 100, memory=memory), row


def of_files(known: Constants, results: Any) -> Iterator[Comparison]:
    for name, size, row in sizes_of(results):
        match name.partition(",")[0]:
            case "fit":
                seconds, n_bytes = n3_seconds(known, size), boosting_bytes(size)
            case "graph":
                seconds, n_bytes = search_seconds(known, size.rows, size), search_bytes(size)
            case _:
                seconds, n_bytes = search_seconds(known, row["rows"], size), search_bytes(size)
        yield name, SECONDS, row["processor_seconds"], known["loading"] + seconds
        yield name, GB, row["peak_gb"], (IDLE + n_bytes) / 1e9


def of_rows_of_files(known: Constants, results: Any) -> Iterator[Comparison]:
    for name, size, row in sizes_of(results):
        queries, samples = row["queries"], row.get("samples", NEAR)
        codes = inn_seconds(known, queries, samples, size.features)
        taken, n_bytes = row["processor_seconds"], answering_bytes(samples, size)
        match name.partition(",")[0]:
            case "inn near":  # neighbours are searched for, and read from all over the file
                read = queries * NEAR * size.features * known["file number"]
                seconds, n_bytes = search_seconds(known, queries, size) + read + codes, search_bytes(size)
            case "inn few":
                seconds = codes
            case "n3 few":
                seconds = search_seconds(known, queries, Size(samples, size.features))
            case "gmm":
                taken += row["fit_processor_seconds"]
                seconds, n_bytes = mixture_seconds(known, size, COMPONENTS, row["rounds"] + 1), mixture_bytes(size)
            case "slnd":
                taken = row["fit_processor_seconds"]
                seconds, n_bytes = default_slnd_seconds(known, size), slnd_bytes(size)
            case _:
                continue
        yield name, SECONDS, taken, known["loading"] + seconds
        yield name, GB, row["peak_gb"], (IDLE + n_bytes) / 1e9


def of_gpu(known: Constants, results: Any) -> Iterator[Comparison]:
    """Graphs on one GPU; on CPU tensors nobody counts."""
    for name, row in results.items():
        if "graph" in row and not row["device"].upper().startswith("CPU"):
            size = Size(row["rows"], row["features"], 11, number=2)
            yield f"graph, {name}", "GPU s", row["graph"]["seconds"], gpu_seconds(size.rows, size)
