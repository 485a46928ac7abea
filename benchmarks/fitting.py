"""What `fit` costs: ``python -m benchmarks.fitting``.

1. The whole of `N3Classifier.fit` against the exact neighbour graph alone, one after the other in each round.
2. Time and peak memory of a large fit, in a process of its own.
3. The time of one boosting round against the number of rows.
4. Importing, the first fit ever (kernels are compiled), the first fit of a later process (kernels are loaded).
5. One round, and all rounds, of MLNN and MAPBoost with their kernels, beside N3 and UNN, on fifteen scene classes.

Prints Markdown tables and writes ``benchmarks/results/fitting.json``; ``--show`` prints what was written last,
``--parts`` measures some parts anew.
Run it on an idle machine.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import MAPBoostClassifier, MLNNClassifier, N3Classifier, NeighborSearch, UNNClassifier
from nearboost.base.progress import silent
from nearboost.boosting.engine import ClassProblems, count_plain_vote, fit_start_coefficient
from nearboost.losses import get_loss
from nearboost.problem.targets import ExampleWeights, labels_from_classes
from nearboost.votes import votes_from_neighbors

K = 11
MEDIUM, LARGE = (50_000, 128, 100), (200_000, 64, 1_000)  # rows, features, classes
ROUND_ROWS = (5_000, 10_000, 20_000, 50_000, 100_000)
TARGETS = {"fit over graph": 1.15, "peak GB": 8.0, "import s": 0.5, "first fit ever s": 20.0, "loading s": 1.5}

ONE_WEIGHT: dict[str, Any] = {
    "MLNN": MLNNClassifier(),
    "MLNN, Gaussian": MLNNClassifier(kernel="gaussian"),
    "MLNN, adaptive": MLNNClassifier(kernel="adaptive"),
    "MLNN, one-vs-all": MLNNClassifier(one_vs_all=True),
    "MLNN, adaptive, one-vs-all": MLNNClassifier(kernel="adaptive", one_vs_all=True),
    "MAPBoost, adaptive": MAPBoostClassifier(estimator="adaptive"),
    "N3, from zero": N3Classifier(K, start="zero"),
    "UNN, from zero": UNNClassifier(K, start="zero"),
}

Row = dict[str, Any]

LARGE_FIT = """
import json, sys
from time import perf_counter
from benchmarks.fitting import K, LARGE, blobs, peak_gigabytes
from nearboost import N3Classifier
X, y = blobs(*LARGE)
before = peak_gigabytes()
start = perf_counter()
N3Classifier(K, n_rounds=200, vote_from="all").fit(X, y)
print(json.dumps({"seconds": perf_counter() - start, "peak_gb": peak_gigabytes(), "data_gb": before}))
"""

START_UP = """
import json, sys
from time import perf_counter
start = perf_counter()
import nearboost
imported = perf_counter()
classifier = getattr(nearboost, sys.argv[1])
import numpy as np
rng = np.random.default_rng(0)
X, y = rng.standard_normal((1_000, 16)), rng.integers(5, size=1_000)
classifier().fit(X, y)
first = perf_counter()
classifier().fit(X, y)
again = perf_counter()
print(json.dumps({"import": imported - start, "first": first - start, "steady": again - first}))
"""


def blobs(n_rows: int, n_features: int, n_classes: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Classes of unit deviation around centres of deviation 0.6."""
    rng = np.random.default_rng(0)
    centres = 0.6 * rng.standard_normal((n_classes, n_features), dtype=np.float32)
    y = rng.integers(n_classes, size=n_rows)
    return centres[y] + rng.standard_normal((n_rows, n_features), dtype=np.float32), y


def peak_gigabytes(process: int | str = "self") -> float:
    """The most memory that this process, or that of a number, has had resident."""
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e9


def seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def fit_against_graph(rounds: int) -> Row:
    """Seconds of both sides, interleaved; one held-out fold and the temperature are part of the fit."""
    X, y = blobs(*MEDIUM)
    times: dict[str, list[float]] = {"graph": [], "fit": []}
    N3Classifier(K, n_rounds=5, vote_from="all").fit(X[:2_000], y[:2_000])  # loads the kernels
    for _ in range(rounds):
        times["graph"].append(seconds(lambda: NeighborSearch(X).graph(K)))
        times["fit"].append(seconds(lambda: N3Classifier(K, n_rounds=500, vote_from="all").fit(X, y)))
    medians = {side: median(values) for side, values in times.items()}
    return {"seconds": times, **medians, "ratio": medians["fit"] / medians["graph"]}


def round_costs() -> list[Row]:
    """Microseconds per round of one class problem, by number of rows; 100 rows to a class."""
    rows = []
    for n_rows in ROUND_ROWS:
        X, y = blobs(n_rows, 32, n_rows // 100)
        graph = NeighborSearch(X).graph(K)
        row: Row = {"n_rows": n_rows}
        for name, classifier in (("N3", N3Classifier()), ("UNN", UNNClassifier())):
            votes = votes_from_neighbors(graph, n_rows, classifier.vote_weights)
            row[name] = round_cost(problems_of(votes, y, classifier.loss), classifier._make_step_rule())
        rows.append(row)
    return rows


def problems_of(votes: Any, y: NDArray[np.int64], loss: str) -> ClassProblems:
    """The class problems that `fit` would boost."""
    labels, ones = labels_from_classes(y, int(y.max()) + 1), np.ones(len(y))
    vote = count_plain_vote(votes, labels, ones)
    start = fit_start_coefficient(vote, labels, ones, get_loss(loss))
    weights = ExampleWeights(ones, ones, np.zeros(len(y)))
    return ClassProblems(votes, votes.reversed(), labels, weights, start, vote)


def round_cost(problems: ClassProblems, rule: Any, few: int = 50, many: int = 150) -> float:
    """Median over classes of what a round costs, once the class problem is set up."""
    booster = rule.prepare(problems)
    costs = []
    for column in range(20):
        for n_rounds in (few, many):  # the first call warms up memory and kernels
            done = len(booster.boost(column, n_rounds, np.empty(0), silent).picks)
        if done == many:
            times = [
                median(seconds(lambda c=column, n=n: booster.boost(c, n, np.empty(0), silent)) for _ in range(5))
                for n in (few, many)
            ]
            costs.append(1e6 * (times[1] - times[0]) / (many - few))
    return median(costs)


def one_weight(rounds: int) -> list[Row]:
    """Microseconds of one round of boosting and seconds of m rounds in all, on the graph over all rows.

    A round of one-versus-all is one of each class. Medians, without held-out folds.
    """
    split = load("scene15")
    X, y = split.X_train, split.y_train
    graph = NeighborSearch(X).graph(K)
    results = []
    for name, model in ONE_WEIGHT.items():
        at_once = isinstance(model, MLNNClassifier | MAPBoostClassifier) and not model.one_vs_all
        many = len(y) if at_once else -(-len(y) // len(np.unique(y)))
        times = {}
        for n_rounds in (many // 10, many):
            model.set_params(n_rounds=n_rounds, calibration=None, n_jobs=1).fit(X, y, graph=graph)  # loads kernels
            times[n_rounds] = median(seconds(lambda m=model: m.fit(X, y, graph=graph)) for _ in range(rounds))
        each = (times[many] - times[many // 10]) / (many - many // 10)
        row = {"contender": name, "rounds": many, "seconds": times[many], "microseconds": 1e6 * each}
        if hasattr(model, "diagnostics_"):
            roots = sum(int(one.n_roots.sum()) for one in model.diagnostics_)
            row["roots"] = roots / sum(len(one.n_roots) for one in model.diagnostics_)
            row["newton_steps"] = sum(int(one.n_steps.sum()) for one in model.diagnostics_) / max(1, roots)
        results.append(row)
    return results


def start_up(rounds: int) -> Row:
    """Medians over processes, by classifier; the empty cache is a new folder each time."""
    results = {}
    for name in ("N3Classifier", "UNNClassifier"):
        cold, warm = [], []
        for _ in range(rounds):
            with TemporaryDirectory() as cache:
                cold.append(child(START_UP, name, cache=cache))
                warm.append(child(START_UP, name, cache=cache))
        results[name] = {
            "import": median(run["import"] for run in warm),
            "first_ever": median(run["first"] for run in cold),
            "first": median(run["first"] for run in warm),
            "steady": median(run["steady"] for run in warm),
            "loading": median(run["first"] - run["steady"] for run in warm),
        }
    return results


def child(program: str, *arguments: str, cache: str | None = None) -> Row:
    """What a program prints as JSON in a Python process of its own."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(results: Row) -> str:
    """The tables in Markdown."""
    graph, large, starts = results["fit_against_graph"], results["large"], results["start_up"]
    worst = {key: max(start[key] for start in starts.values()) for key in ("import", "first_ever", "loading")}
    measured = {
        "fit over graph": graph["ratio"],
        "peak GB": large["peak_gb"],
        "import s": worst["import"],
        "first fit ever s": worst["first_ever"],
        "loading s": worst["loading"],
    }
    targets = [
        [name, f"{measured[name]:.2f}", f"{bound:g}", "met" if measured[name] <= bound else "missed"]
        for name, bound in TARGETS.items()
    ]
    costs = [[f"{row['n_rows']:,}", f"{row['N3']:.1f}", f"{row['UNN']:.1f}"] for row in results["round_costs"]]
    processes = [
        [name, *(f"{start[key]:.2f}" for key in ("import", "first_ever", "first", "steady"))]
        for name, start in starts.items()
    ]
    sizes = [
        [
            f"{n_rows:,} x {n_features}, {n_classes:,} classes, {n_rounds} rounds",
            *(f"{time:.1f}" if time else "" for time in (graph_seconds, fit_seconds)),
            f"{peak:.2f}" if peak else "",
        ]
        for (n_rows, n_features, n_classes), n_rounds, graph_seconds, fit_seconds, peak in (
            (MEDIUM, 500, graph["graph"], graph["fit"], None),
            (LARGE, 200, None, large["seconds"], large["peak_gb"]),
        )
    ]
    tables = (
        markdown(["N3", "graph alone, s", "whole fit, s", "peak memory, GB"], sizes),
        markdown(["rows", "N3, µs a round", "UNN, µs a round"], costs),
        markdown(["", "import, s", "first fit ever, s", "first fit, s", "later fits, s"], processes),
        markdown(["measure", "value", "target", "verdict"], targets),
    )
    return "\n\n".join([*tables, *([one_weight_table(results["one_weight"])] if "one_weight" in results else [])])


def one_weight_table(rows: list[Row]) -> str:
    """Rounds of methods with one weight for all classes."""
    header = ["scene15", "rounds", "all, s", "one, µs", "roots a round", "Newton steps a root"]
    return markdown(header, [
        [row["contender"], f"{row['rounds']:,}", f"{row['seconds']:.2f}", f"{row['microseconds']:.0f}",
         f"{row.get('roots', 0):.1f}", f"{row.get('newton_steps', 0):.1f}"]
        for row in rows
    ])  # fmt: skip


PARTS: dict[str, Callable[[int], Any]] = {
    "fit_against_graph": fit_against_graph,
    "large": lambda rounds: child(LARGE_FIT),
    "round_costs": lambda rounds: round_costs(),
    "start_up": start_up,
    "one_weight": one_weight,
}


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    if not options.show:
        kept = read_results("fitting") if set(options.parts) < set(PARTS) else {}
        before = os.getloadavg()
        found = {name: PARTS[name](options.rounds) for name in options.parts}
        payload = {**kept, "load_before": before, **found, "load_after": os.getloadavg()}
        write_results("fitting", payload, merged=bool(kept))
    print(report(read_results("fitting")))


if __name__ == "__main__":
    main()
