"""Table 1 and figure 2 of the INN paper: ``python -m benchmarks.inn_faces``.

On Extended Yale B instead of AR, which may not be shared: half of each person's images for training, three random
splits. Table 1: five classifiers in 5 to 300 dimensions of four projections. Figure 2: accuracy and time against λ
of INNC, SRC and CRC, in all samples and in neighbourhoods. Times are CPU seconds on one thread. Prints tables in
Markdown, draws ``docs/figures/inn-lambda.png`` and writes ``benchmarks/results/inn_faces.json``; ``--show`` prints
and draws what was written last.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.data import ROOT, load
from benchmarks.inn_methods import NEIGHBOURS, Row, after, classify, timed, warm_up
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown, percent
from nearboost import (
    SRLP,
    CRCClassifier,
    INNClassifier,
    INNProjection,
    KNNClassifier,
    SRCClassifier,
    eigenfaces,
    regularized_lda,
)

FIGURE = ROOT / "docs" / "figures" / "inn-lambda.png"
DIMENSIONS = (5, 10, 30, 37, 54, 99, 120, 300)  # the paper's, and the most that LDA has
SEEDS = (0, 1, 2)


def face_projections(n: int) -> Iterator[tuple[str, Any]]:
    yield "eigenfaces", eigenfaces(n)
    if n <= 37:  # one fewer than there are people
        yield "LDA", regularized_lda(n)
    yield "SRLP", after(SRLP(n, n_jobs=1))
    yield "INNLP", after(INNProjection(n, n_jobs=1))


def table() -> list[Row]:
    """Table 1."""
    methods = {name: NEIGHBOURS[name] for name in ("NN", "CRC", "SRC", "INNC")} | {"linear SVM": LinearSVC()}
    cells = []
    for seed in SEEDS:
        split = load("yaleb-32x32", seed)
        for n in DIMENSIONS:
            for name, projection in face_projections(n):
                try:
                    seconds, _ = timed(projection.fit, split.X_train, split.y_train)
                except ValueError as error:  # fewer directions than asked for
                    print(seed, n, name, error)
                    continue
                X, Q = projection.transform(split.X_train), projection.transform(split.X_test)
                for method, model in methods.items():
                    cell = classify(clone(model), (X, split.y_train), (Q, split.y_test))
                    cells.append(
                        {"seed": seed, "dimensions": n, "projection": name, "method": method,
                         "projection_seconds": seconds, **cell}
                    )  # fmt: skip
    return cells


def show_table(cells: list[Row]) -> str:
    """Mean accuracies by projection, classifier and number of dimensions; times at 99."""
    dimensions = sorted({cell["dimensions"] for cell in cells})
    body, times = [], []
    for projection in dict.fromkeys(cell["projection"] for cell in cells):
        for method in dict.fromkeys(cell["method"] for cell in cells):
            mine = [c for c in cells if c["projection"] == projection and c["method"] == method]
            by_size = ([c["accuracy"] for c in mine if c["dimensions"] == n] for n in dimensions)
            body.append([f"{projection}, {method}", *(percent(some) if some else "" for some in by_size)])
            wide = [c for c in mine if c["dimensions"] == 99]
            if wide:
                names = ("projection_seconds", "fit_seconds", "query_microseconds")
                means = (np.mean([c[name] for c in wide]) for name in names)
                times.append([f"{projection}, {method}", *(f"{mean:,.3g}" for mean in means)])
    return "\n\n".join(
        [
            markdown(["accuracy, %", *map(str, dimensions)], body),
            markdown(["at 99 dimensions", "projection, s", "fit, s", "query, µs"], times),
        ]
    )


LAMBDAS = {
    "INNC": np.geomspace(0.01, 1, 9),
    "INNC, nearest 80": np.geomspace(0.01, 1, 9),
    "SRC": np.geomspace(0.001, 1, 10),
    "SRC, nearest 80": np.geomspace(0.001, 1, 10),
    "CRC": np.geomspace(1e-4, 1, 9),
}
LAMBDA_PROJECTIONS = {
    "LDA 30": lambda: regularized_lda(30),
    "INNLP 99": lambda: after(INNProjection(99, n_jobs=1)),
}


def model_with(method: str, regularization: float) -> Any:
    kind = {"I": INNClassifier, "S": SRCClassifier, "C": CRCClassifier}[method[0]]
    near = {"neighborhood": 80} if "nearest" in method else {}
    threads = {} if method == "CRC" else {"n_jobs": 1}
    return kind(regularization, **threads, **near)


def lambdas() -> list[Row]:
    """Figure 2."""
    cells = []
    for seed in SEEDS:
        split = load("yaleb-32x32", seed)
        for name, make in LAMBDA_PROJECTIONS.items():
            projection = make().fit(split.X_train, split.y_train)
            X, Q = projection.transform(split.X_train), projection.transform(split.X_test)
            for method, grid in LAMBDAS.items():
                for regularization in grid:
                    model = model_with(method, float(regularization))
                    cell = classify(model, (X, split.y_train), (Q, split.y_test))
                    cells.append(
                        {"seed": seed, "projection": name, "method": method, "lambda": regularization, **cell}
                    )
            cell = classify(KNNClassifier(1, n_jobs=1), (X, split.y_train), (Q, split.y_test))
            cells.append({"seed": seed, "projection": name, "method": "NN", "lambda": None, **cell})
    return cells


def mean_path(cells: list[Row], projection: str, method: str, measure: str) -> tuple[list[float], list[float]]:
    mine = [c for c in cells if c["projection"] == projection and c["method"] == method]
    grid = list(dict.fromkeys(c["lambda"] for c in mine))
    return grid, [float(np.mean([c[measure] for c in mine if c["lambda"] == x])) for x in grid]


def show_lambdas(cells: list[Row]) -> str:
    """The best of each method, and the figure."""
    draw_lambdas(cells)
    body = []
    for projection in LAMBDA_PROJECTIONS:
        for method in ("NN", *LAMBDAS):
            grid, accuracies = mean_path(cells, projection, method, "accuracy")
            times = mean_path(cells, projection, method, "query_microseconds")[1]
            best = int(np.argmax(accuracies))
            at = "" if grid[best] is None else f"{grid[best]:.3g}"
            body.append([projection, method, at, f"{100 * accuracies[best]:.1f}", f"{times[best]:,.0f}"])
    return markdown(["", "", "best λ", "accuracy, %", "µs a query"], body)


def draw_lambdas(cells: list[Row]) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7.5), sharex=True, layout="constrained")
    colours = {"I": "tab:blue", "S": "tab:red", "C": "tab:green"}
    for column, projection in enumerate(LAMBDA_PROJECTIONS):
        for row, (measure, scale) in enumerate((("accuracy", 100), ("query_microseconds", 1))):
            axis = axes[row, column]
            for method in LAMBDAS:
                grid, means = mean_path(cells, projection, method, measure)
                line = "--" if "nearest" in method else "-"
                axis.plot(grid, scale * np.array(means), line, color=colours[method[0]], marker=".", label=method)
            nn = scale * mean_path(cells, projection, "NN", measure)[1][0]
            axis.axhline(nn, color="grey", lw=1, label="NN")
            if measure == "accuracy":
                axis.set_ylim(nn - 6, 100)  # below, λ leaves some rows without weights
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
        axes[0, column].set_title(f"Extended Yale B, {projection}")
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("λ")
    axes[0, 0].set_ylabel("accuracy, %")
    axes[1, 0].set_ylabel("µs a query, one thread")
    axes[0, 1].legend(fontsize=9)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    pyplot.close(figure)


def main() -> None:
    """Measure, write, print and draw; or print and draw what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    if not parser.parse_args().show:
        warm_up()
        with threadpool_limits(1):
            write_results("inn_faces", {"table": table(), "lambdas": lambdas()})
    results = read_results("inn_faces")
    print(show_table(results["table"]), show_lambdas(results["lambdas"]), sep="\n\n")


if __name__ == "__main__":
    main()
