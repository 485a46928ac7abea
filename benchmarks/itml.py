"""ITML against metric-learn 0.7: ``python -m benchmarks.itml``.

Both sides learn from the same pairs, bounds and number of sweeps, in turn in each round, on one thread; the table
shows medians. metric-learn needs scikit-learn 1.7 and so lives in an environment of its own, made on the first run
under ``benchmarks/cache``. Its private ``_fit`` is what is timed: ``fit`` would choose a threshold as well.
Prints a table and writes ``benchmarks/results/itml.json``.
"""

import argparse
import json
import os
import subprocess
import venv
import warnings
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import ITML
from nearboost.metric.itml import choose_bounds, draw_pairs

ENVIRONMENT = Path(__file__).resolve().parent / "cache" / "metric-learn"
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn==1.7.*")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
NEVER = 1e-300  # a tolerance that no sweep meets
LARGEST_DIFFERENCE = 1e-8
TARGET = 20  # times faster than metric-learn, in the first case

# A worker in the other environment: one fit for each line on its standard input, one line of JSON for each fit.
WORKER = """
import json, sys, warnings
from time import perf_counter
import numpy as np
from metric_learn import ITML
warnings.simplefilter("ignore")
problem, n_sweeps = np.load(sys.argv[1]), int(sys.argv[2])
tuples, labels = problem["X"][problem["pairs"]], np.where(problem["same"], 1, -1)
for _ in sys.stdin:
    model = ITML(max_iter=n_sweeps, tol=0.0)
    start = perf_counter()
    model._fit(tuples, labels, bounds=problem["bounds"])
    seconds = perf_counter() - start
    print(json.dumps({"seconds": seconds, "matrix": model.get_mahalanobis_matrix().tolist()}), flush=True)
"""


class Case(NamedTuple):
    n_rows: int
    n_features: int
    n_classes: int
    n_sweeps: int


CASES = (Case(2_000, 32, 15, 100), Case(2_000, 128, 15, 20))
Problem = dict[str, NDArray[Any]]


def other_python() -> Path:
    """The interpreter of metric-learn's environment, which is made if it does not exist."""
    python = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (ENVIRONMENT / "ready").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        (ENVIRONMENT / "ready").touch()
    return python


def problem_of(case: Case) -> Problem:
    """Classes of unit deviation around centres of deviation 0.6; the pairs and bounds that `ITML.fit` would take.

    Similar pairs come first, because metric-learn visits them first.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(case.n_classes, size=case.n_rows)
    centres = 0.6 * rng.standard_normal((case.n_classes, case.n_features))
    X = centres[y] + rng.standard_normal((case.n_rows, case.n_features))
    pairs = draw_pairs(case.n_rows, 20 * case.n_classes**2, np.random.RandomState(0))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    order = np.argsort(~same, kind="stable")
    bounds = choose_bounds(X, np.eye(case.n_features), np.random.RandomState(0))
    return {"X": X, "y": y, "pairs": pairs[order], "same": same[order], "bounds": bounds}


def learn(problem: Problem, n_sweeps: int) -> tuple[float, NDArray[np.float64]]:
    """Seconds and matrix of our side."""
    model = ITML(max_sweeps=n_sweeps, tol=NEVER, bounds=problem["bounds"])
    start = perf_counter()
    model.fit_pairs(problem["X"], problem["pairs"], problem["same"])
    return perf_counter() - start, model.metric_matrix_


def ask(worker: subprocess.Popen[str]) -> tuple[float, NDArray[np.float64]]:
    """Seconds and matrix of the other side."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    print("fit", file=worker.stdin, flush=True)
    answer = json.loads(worker.stdout.readline())
    return answer["seconds"], np.array(answer["matrix"])


def run(case: Case, rounds: int, python: Path) -> dict[str, Any]:
    """Both sides in turn, the largest difference of their matrices, and a fit of ours until it settles."""
    problem = problem_of(case)
    learn(problem, 1)  # compiles or loads the kernel
    seconds: dict[str, list[float]] = {"nearboost": [], "metric-learn": []}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, **{name: problem[name] for name in ("X", "pairs", "same", "bounds")})
        command = [str(python), "-c", WORKER, str(file), str(case.n_sweeps)]
        with subprocess.Popen(
            command, env=os.environ | ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            for _ in range(rounds):
                own, own_matrix = learn(problem, case.n_sweeps)
                theirs, their_matrix = ask(worker)
                seconds["nearboost"].append(own)
                seconds["metric-learn"].append(theirs)
    difference = float(np.abs(own_matrix - their_matrix).max())
    if difference > LARGEST_DIFFERENCE:
        raise AssertionError(f"the matrices differ by {difference:.1e}, more than {LARGEST_DIFFERENCE:.0e}.")
    start = perf_counter()
    settled = ITML().fit(problem["X"], problem["y"])
    own, theirs = (median(times) for times in seconds.values())
    return {
        **case._asdict(),
        "n_pairs": len(problem["pairs"]),
        "seconds": seconds,
        "nearboost_s": own,
        "metric_learn_s": theirs,
        "ratio": theirs / own,
        "microseconds_per_pair": 1e6 * own / case.n_sweeps / len(problem["pairs"]),
        "largest_difference": difference,
        "largest_entry": float(np.abs(their_matrix).max()),
        "settled": {"seconds": perf_counter() - start, "n_sweeps": settled.n_sweeps_},
    }


def report(results: dict[str, Any]) -> str:
    """The table in Markdown, and the verdict."""
    rows = [
        [
            f"{r['n_rows']:,} x {r['n_features']}, {r['n_classes']} classes",
            f"{r['n_pairs']:,}",
            str(r["n_sweeps"]),
            f"{r['nearboost_s']:.3f}",
            f"{r['metric_learn_s']:.3f}",
            f"{r['ratio']:.1f}",
            f"{r['microseconds_per_pair']:.2f}",
            f"{r['largest_difference']:.0e}",
            f"{r['settled']['seconds']:.2f} ({r['settled']['n_sweeps']} sweeps)",
        ]
        for r in results["cases"]
    ]
    header = ["", "pairs", "sweeps", "nearboost, s", "metric-learn, s", "ratio", "µs a pair", "difference"]
    ratio = results["cases"][0]["ratio"]
    verdict = f"first case: {ratio:.1f} times faster, target {TARGET}: {'met' if ratio >= TARGET else 'missed'}"
    return f"{markdown([*header, 'our whole fit, s'], rows)}\n\n{verdict}"


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of sweeps is asked for
        python = other_python()
        load = os.getloadavg()
        with threadpool_limits(1):
            cases = [run(case, options.rounds, python) for case in CASES]
        payload = {
            "load_before": load,
            "load_after": os.getloadavg(),
            "requirements": REQUIREMENTS,
            "cases": cases,
        }
        write_results("itml", payload)
    print(report(read_results("itml")))


if __name__ == "__main__":
    main()
