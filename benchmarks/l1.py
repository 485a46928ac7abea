"""l1 codes and scikit-learn's Lasso side by side: time, weights and objective on sets of many shapes.

``python -m benchmarks.l1`` prints a table and writes ``benchmarks/results/l1.json``. One thread, CPU seconds, each
solver once a turn, medians over the turns (scikit-learn once, on a few queries). Codes are compared by the largest
difference in a weight, and by how much their objective ½|q − Σ w_i x_i|² + λ Σ|w_i| is above the smaller of the
two, relative to it, in the query where this is worst.
"""

import warnings
from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.data import YALEB_FILE, available, data_folder, load
from benchmarks.machine import write_results
from nearboost.codes.l1 import L1Dictionary
from nearboost.datasets import read_mat

TURNS = 5
NEARBOOST, SCIKIT_LEARN = "nearboost", "scikit-learn's Lasso"
FEW = 10  # queries that scikit-learn is asked, which takes long on tall sets
Matrix = NDArray[np.floating]


class Problem(NamedTuple):
    """Queries to code by samples."""

    name: str
    samples: Matrix
    queries: Matrix
    regularization: float
    neighborhood: int | None = None


def by_nearboost(problem: Problem) -> Matrix:
    dictionary = L1Dictionary(problem.samples, problem.regularization, neighborhood=problem.neighborhood, n_jobs=1)
    return dictionary.codes(problem.queries).toarray()


def by_scikit_learn(problem: Problem) -> Matrix:
    """Its Lasso divides λ by the number of features."""
    X = np.asfortranarray(problem.samples.T, dtype=np.float64)
    lasso = Lasso(problem.regularization / len(X), fit_intercept=False, tol=1e-9, max_iter=20_000)
    return np.array([lasso.fit(X, query.astype(np.float64)).coef_ for query in problem.queries[:FEW]])


SOLVERS = {NEARBOOST: by_nearboost, SCIKIT_LEARN: by_scikit_learn}


def unit(rows: Matrix) -> Matrix:
    return normalize(rows)


def problems() -> Iterator[Problem]:
    """Tiny, wide, tall, correlated, dependent, and real ones; rows of unit length, so that λ compares."""
    rng = np.random.default_rng(0)

    def normal(n: int, d: int) -> Matrix:
        return unit(rng.normal(size=(n, d)))

    yield Problem("tiny 12 x 5", normal(12, 5), normal(200, 5), 0.05)
    yield Problem("wide 60 x 2000", normal(60, 2000), normal(100, 2000), 0.01)
    yield Problem("square 300 x 300", normal(300, 300), normal(100, 300), 0.05)
    yield Problem("tall 5000 x 20", normal(5000, 20), normal(200, 20), 0.05)
    yield Problem("tall 5000 x 20", normal(5000, 20), normal(200, 20), 0.005)
    shared = rng.normal(size=(1, 100))
    alike = [unit(3 * shared + rng.normal(size=(n, 100))) for n in (500, 100)]  # products around 0.9
    yield Problem("correlated 500 x 100", alike[0], alike[1], 0.05)
    yield Problem("correlated 500 x 100", alike[0], alike[1], 0.001)
    basis = rng.normal(size=(10, 60))
    flat = [unit(rng.normal(size=(n, 10)) @ basis + 1e-6 * rng.normal(size=(n, 60))) for n in (300, 100)]
    yield Problem("nearly of rank 10, 300 x 60", flat[0], flat[1], 0.05)
    few = normal(50, 30)
    yield Problem("each sample four times, 200 x 30", np.tile(few, (4, 1)), normal(100, 30), 0.05)
    digits = unit(load_digits().data)
    for regularization in (0.3, 0.05, 0.005):
        yield Problem("digits 900 x 64", digits[:900], digits[900:1000], regularization)
    yield Problem("digits, nearest 100", digits[:900], digits[900:1000], 0.05, neighborhood=100)
    yield from faces_and_signs()


def faces_and_signs() -> Iterator[Problem]:
    """Where their files are."""
    if available("yaleb"):
        pixels = unit(read_mat(data_folder() / YALEB_FILE).X.astype(np.float64))
        for regularization in (0.05, 0.005):
            yield Problem("faces 1207 x 1024", pixels[::2], pixels[1::40], regularization)
    for name, label, regularizations in (
        ("yaleb", "faces 1205 x 150", (0.05,)),
        ("gtsrb-small", "signs 5228 x 42", (0.05, 0.005)),
    ):
        if available(name):
            split = load(name)
            for regularization in regularizations:
                yield Problem(label, unit(split.X_train), unit(split.X_test[:60]), regularization)


def objectives(problem: Problem, weights: Matrix) -> Matrix:
    rests = problem.queries[: len(weights)] - weights @ problem.samples
    return (rests**2).sum(axis=1) / 2 + problem.regularization * np.abs(weights).sum(axis=1)


def compare(problem: Problem) -> dict[str, Any]:
    """Milliseconds a query, and what the codes are worth."""
    names = [name for name in SOLVERS if name != SCIKIT_LEARN or problem.neighborhood is None]  # it codes by all
    seconds: dict[str, list[float]] = {name: [] for name in names}
    codes: dict[str, Matrix] = {}
    for turn in range(TURNS):
        for name in names if turn == 0 else [name for name in names if name != SCIKIT_LEARN]:
            start = process_time()
            codes[name] = SOLVERS[name](problem)
            seconds[name].append((process_time() - start) / len(codes[name]))
    values = {name: objectives(problem, found) for name, found in codes.items()}
    least = np.full(len(problem.queries), np.inf)
    for found in values.values():
        least[: len(found)] = np.minimum(least[: len(found)], found)
    return {
        name: {
            "milliseconds": 1e3 * median(seconds[name]),
            "difference": float(np.abs(codes[name] - codes[NEARBOOST][: len(codes[name])]).max()),
            "excess": float((values[name] / least[: len(values[name])] - 1).max()),
        }
        for name in names
    }


def main() -> None:
    rows = []
    print(f"{'set':34s} {'λ':>6s}  " + "  ".join(f"{name:>28s}" for name in SOLVERS))
    print(f"{'':42s}  " + "  ".join(f"{'ms a query, Δ weight, excess':>28s}" for _ in SOLVERS))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for solve in SOLVERS.values():  # compile
            solve(Problem("", np.eye(3), np.ones((1, 3)), 0.1))
        for problem in problems():
            found = compare(problem)
            rows.append({"set": problem.name, "regularization": problem.regularization, "solvers": found})
            cells = (
                f"{one['milliseconds']:10.3f} {one['difference']:8.0e} {one['excess']:8.0e}"
                for one in found.values()
            )
            print(f"{problem.name:34s} {problem.regularization:6g}  " + "  ".join(cells), flush=True)
    print(write_results("l1", rows))


if __name__ == "__main__":
    main()
