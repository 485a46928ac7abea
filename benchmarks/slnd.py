"""SLND against L-BFGS and scikit-learn's SGD: ``python -m benchmarks.slnd --parts signs spectrum growth file``.

1. signs: 39,209 traffic signs of 576 pixels, tracks given as groups.
2. spectrum: 50,000 rows of 4,096 features and 200 classes (`benchmarks.spectra`), with peak memory.
3. growth: seconds of `fit` with everything given, against rows, features, classes and rank.
4. file: a memory-mapped file of 20 GB, 4,096 features, 100 classes, made on the spot; skipped where the disk lacks
   room. Peak resident memory and progress.

Each fit of parts 1, 2 and 4 runs in a process of its own, one after the other, on the same number of threads for
everyone; `fit` alone is timed, whole, after a first fit of a few rows that loads the kernels. Ours are stopped by
their own rule. Prints tables in Markdown and writes ``benchmarks/results/slnd.json`` after each fit; parts and
contenders not asked for stay as they were written. Run it on an idle machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.fitting import peak_gigabytes
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.spectra import ROWS_AT_ONCE, Spectrum
from benchmarks.tables import markdown
from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

THREADS = 2
PARTS = ("signs", "spectrum", "growth", "file")
SHAPES = {"signs": (39_209, 576, 43), "spectrum": (50_000, 4_096, 200)}  # rows, features, classes
FILE_BYTES, FILE_FEATURES, FILE_CLASSES = 20_000_000_000, 4_096, 100
OURS = ("SLND published", "SLND")
# Ours, its contender, the least share of its accuracy or the most points below it, and how many times faster.
TARGETS = (
    ("SLND published", "L-BFGS, 100 iterations", "share", 0.99, 15),
    ("SLND", "L-BFGS, converged", "points", 0.5, 30),
    ("SLND", "scikit-learn's SGD", "points", 0.0, 30),
)

Row = dict[str, Any]


def make(name: str, n_rows: int) -> Any:
    """The contender of this name."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    published: dict[str, Any] = {
        "damping": 0,
        "step": n_rows**-0.5,
        "average": True,
        "fit_intercept": False,
        "calibration": None,
    }
    makers = {
        "SLND published": lambda: SLNDClassifier("log", rank=200, max_passes=3, n_jobs=THREADS, **published),
        "SLND": lambda: SLNDClassifier(n_jobs=THREADS),
        "SLND, log": lambda: SLNDClassifier("log", n_jobs=THREADS),
        "SGD": lambda: LinearSGDClassifier(n_jobs=THREADS),
        "SGD-P": lambda: LinearSGDClassifier(scaling="standard", n_jobs=THREADS),
        "SGD-QN": lambda: LinearSGDClassifier(scaling="quasi-newton", n_jobs=THREADS),
        "diagonal SLND": lambda: LinearSGDClassifier(scaling="diagonal", n_jobs=THREADS),
        "L-BFGS, 100 iterations": lambda: LogisticRegression(C=100, max_iter=100),
        "L-BFGS, converged": lambda: LogisticRegression(C=100, max_iter=5_000),
        "scikit-learn's SGD": lambda: SGDClassifier(
            loss="log_loss", alpha=1e-6, max_iter=20, tol=None, n_jobs=THREADS, random_state=0
        ),
    }
    return makers[name]()


CONTENDERS = (
    *OURS,
    *("L-BFGS, 100 iterations", "L-BFGS, converged", "scikit-learn's SGD"),
    *("SLND, log", "SGD", "SGD-P", "SGD-QN", "diagonal SLND"),
)


def run_worker(name: str, folder: Path, mapped: bool) -> Row:
    """In a process of its own: fit on the rows in the folder, score, and tell the peak memory."""
    warnings.simplefilter("ignore")  # the contender of 100 iterations is meant not to converge
    mode = "r" if mapped else None
    X, y = np.load(folder / "X.npy", mmap_mode=mode), np.load(folder / "y.npy")
    groups = np.load(folder / "groups.npy") if (folder / "groups.npy").exists() else None
    model = make(name, len(y))
    arguments: Row = {}
    if isinstance(model, SLNDClassifier | LinearSGDClassifier):
        few = slice(0, 20 * len(np.unique(y)))
        make(name, len(y)).set_params(max_passes=1).fit(np.array(X[few]), y[few])  # loads the kernels
        model.set_params(verbose=int(mapped))
        arguments = {} if groups is None else {"groups": groups}
    before = peak_gigabytes()
    start, busy = perf_counter(), process_time()
    model.fit(X, y, **arguments)
    seconds, busy = perf_counter() - start, process_time() - busy
    row: Row = {"seconds": seconds, "processor_s": busy, "peak_gb": peak_gigabytes(), "data_gb": before}
    row["accuracy"] = float(model.score(np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")))
    if hasattr(model, "report_"):
        row["report"] = model.report_
    return row


def run_apart(name: str, folder: Path, mapped: bool = False) -> Row:
    """`work` in a process of its own; its progress goes to our standard error."""
    command = [sys.executable, "-m", "benchmarks.slnd", "--worker", name, str(folder)]
    threads = {key: str(THREADS) for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    answer = subprocess.run(
        [*command, *(["--mapped"] if mapped else [])], env=os.environ | threads, stdout=subprocess.PIPE, check=True
    )
    row = {"name": name, **json.loads(answer.stdout.splitlines()[-1])}
    print(
        f"{name}: {row['seconds']:.2f} s, {100 * row['accuracy']:.1f}%, {row['peak_gb']:.2f} GB", file=sys.stderr
    )
    return row


def compare(part: str, names: list[str], rounds: int) -> Iterator[Row]:
    """Parts 1 and 2: the contenders in turn; ours `rounds` times, with the median as their time."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        (save_signs if part == "signs" else save_spectrum)(folder)
        for name in names:
            before = os.getloadavg()[0]
            fits = [run_apart(name, folder) for _ in range(rounds if name in OURS else 1)]
            times = [fit["seconds"] for fit in fits]
            yield {**fits[0], "seconds": median(times), "all_seconds": times, "load_before": before}


def save_signs(folder: Path) -> None:
    split = load("gtsrb-24x24")
    save(folder, X=split.X_train, y=split.y_train, X_test=split.X_test, y_test=split.y_test)
    save(folder, groups=split.groups_train)


def save_spectrum(folder: Path) -> None:
    n_rows, n_features, n_classes = SHAPES["spectrum"]
    source = Spectrum(n_features, n_classes)
    for suffix, count, first in (("", n_rows, 0), ("_test", 10_000, 1_000_000)):
        X, y = source.rows(count, first)
        save(folder, **{f"X{suffix}": X, f"y{suffix}": y})


def growth(rounds: int) -> list[Row]:
    """Part 3: one thing grows, the others stay."""
    start = {"rows": 20_000, "features": 512, "classes": 50, "rank": 128}
    scales = {
        "rows": (5_000, 10_000, 20_000, 40_000, 80_000),
        "features": (128, 256, 512, 1_024, 2_048, 4_096),
        "classes": (10, 25, 50, 100, 200, 400),
        "rank": (16, 32, 64, 128, 256, 512),
    }
    rows = []
    for what, values in scales.items():
        for value in values:
            size = start | {what: value}
            X, y = Spectrum(size["features"], size["classes"]).rows(size["rows"])
            model = SLNDClassifier(
                rank=size["rank"],
                damping=0.01,
                step=0.01,
                max_passes=5,
                tol=None,
                n_jobs=THREADS,
                calibration=None,
            )
            model.fit(X[:2_000], y[:2_000])
            times, parts = [], []
            for _ in range(rounds):
                begin = perf_counter()
                model.fit(X, y)
                times.append(perf_counter() - begin)
                parts.append(model.report_["seconds"])
            best = int(np.argmin(times))
            rows.append({"what": what, "value": value, "seconds": median(times), "parts": parts[best]})
    return rows


def file(folder: Path) -> Row:
    """Part 4."""
    n_rows = FILE_BYTES // (4 * FILE_FEATURES)
    free = shutil.disk_usage(folder).free
    if free < 1.2 * FILE_BYTES:
        return {"skipped": f"{free / 1e9:.0f} GB free, {1.2 * FILE_BYTES / 1e9:.0f} GB needed"}
    source = Spectrum(FILE_FEATURES, FILE_CLASSES)
    with TemporaryDirectory(dir=folder) as place:
        X = np.lib.format.open_memmap(
            Path(place) / "X.npy", mode="w+", dtype=np.float32, shape=(n_rows, FILE_FEATURES)
        )
        y = np.empty(n_rows, dtype=np.int64)
        for number, (rows, labels) in enumerate(source.blocks(n_rows)):
            part = slice(number * ROWS_AT_ONCE, number * ROWS_AT_ONCE + len(rows))
            X[part], y[part] = rows, labels
        X.flush()
        del X
        X_test, y_test = source.rows(10_000, 10_000_000)
        save(Path(place), y=y, X_test=X_test, y_test=y_test)
        return {"shape": (n_rows, FILE_FEATURES, FILE_CLASSES), **run_apart("SLND", Path(place), mapped=True)}


def save(folder: Path, **arrays: Any) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def verdicts(by_name: dict[str, Row]) -> list[str]:
    """The targets, met or missed."""
    lines = []
    for ours, other, measure, bound, speed in TARGETS:
        if ours not in by_name or other not in by_name:
            continue
        a, b = by_name[ours], by_name[other]
        if measure == "share":
            accurate = a["accuracy"] >= bound * b["accuracy"]
            margin = f"{100 * a['accuracy'] / b['accuracy']:.1f}% of its accuracy, target {100 * bound:.0f}%"
        else:
            accurate = a["accuracy"] >= b["accuracy"] - bound / 100
            margin = f"{100 * (a['accuracy'] - b['accuracy']):+.1f} points, target at least {-bound:.1f}"
        ratio = b["seconds"] / a["seconds"]
        verdict = "met" if accurate and ratio >= speed else "missed"
        lines.append(f"- {ours} against {other}: {margin}; {ratio:.0f} times faster, target {speed}: {verdict}")
    return lines


def report(results: Row) -> str:
    """The tables in Markdown, and the verdicts."""
    texts = []
    for part, (n_rows, n_features, n_classes) in SHAPES.items():
        if part in results:
            rows = [results[part][name] for name in CONTENDERS if name in results[part]]
            table = [
                [row["name"], f"{row['seconds']:.2f}", f"{100 * row['accuracy']:.2f}", f"{row['peak_gb']:.2f}"]
                for row in rows
            ]
            title = f"{n_rows:,} x {n_features:,}, {n_classes} classes"
            texts.append(markdown([title, "fit, s", "accuracy", "peak, GB"], table))
            texts.append("\n".join(verdicts(results[part])))
    if "growth" in results:
        names = list(results["growth"][0]["parts"])
        table = [
            [
                f"{row['value']:,} {row['what']}",
                f"{row['seconds']:.3f}",
                *(f"{row['parts'][n]:.3f}" for n in names),
            ]
            for row in results["growth"]
        ]
        texts.append(markdown(["", "fit, s", *names], table))
    if "file" in results:
        row = results["file"]
        if "skipped" in row:
            texts.append(f"20 GB file: skipped, {row['skipped']}.")
        else:
            verdict = "met" if row["peak_gb"] < 3 else "missed"
            texts.append(
                f"20 GB file, {row['shape'][0]:,} rows: fit {row['seconds']:.0f} s, accuracy "
                f"{100 * row['accuracy']:.1f}, peak resident memory {row['peak_gb']:.2f} GB, target 3: {verdict}."
            )
    return "\n\n".join(text for text in texts if text)


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--names", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), help="in parts 1 and 2"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(), help="where the file of part 4 is made")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    parser.add_argument("--worker", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--mapped", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(run_worker(options.worker[0], Path(options.worker[1]), options.mapped), default=float))
        return
    results = read_results("slnd") if (RESULTS / "slnd.json").exists() else {}
    merged = set(options.parts) < set(PARTS) or set(options.names) < set(CONTENDERS)
    if not options.show:
        for part in options.parts:
            if part in SHAPES:
                for row in compare(part, options.names, options.rounds):
                    results[part] = results.get(part, {}) | {row["name"]: row}
                    write_results("slnd", results, merged=merged)
            else:
                results[part] = growth(options.rounds) if part == "growth" else file(options.folder)
                write_results("slnd", results, merged=merged)
    print(report(results))


if __name__ == "__main__":
    main()
