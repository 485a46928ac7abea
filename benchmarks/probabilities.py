"""How good the probabilities of every method of the catalogue are: ``python -m benchmarks.probabilities``.

Six sets with 50, 200 and all training rows (at most 1,000, beside at most 1,000 test rows of classes that are in
training), five splits with seeds from 100 on, which no choice was made on. For each method: expected calibration
error of the winning class in 15 bins of equal width, the same in expectation if labels were drawn from the
posterior (20 draws), log-loss, the log-loss of the power of the posterior that is best on the test rows, and
accuracy; logistic regression on standardised rows stands beside. Features of wine and breast cancer are
standardised by the training rows; traffic signs are in principal components, because behind discriminants, which
have seen the labels, training rows tell nothing of probabilities. Aims: calibration error above its expectation by
at most .03 (.05 with 50 rows), log-loss at most 1.05 (1.15) times that of the best power, means of the splits.
Prints Markdown tables and writes ``benchmarks/results/probabilities.json``, set by set; ``--show`` prints what
was written last, ``--methods`` and ``--sets`` measure some anew and keep the rest. Slow methods are measured where
they are named.
"""

import argparse
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Split, load, signs
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.tables import markdown
from nearboost.catalogue.methods import METHODS

TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer}
SETS = ("digits", "signs", "yaleb", "scene15")
FIRST_SEED = 100
SIZES = (50, 200, None)
MOST_ROWS = 1000
N_BINS, N_DRAWS = 15, 20
LOGISTIC = "scaled logistic regression"
CALIBRATION_AIMS, LOSS_AIMS = {50: 0.05}, {50: 1.15}  # others: .03 and 1.05

Row = dict[str, Any]
Probabilities = NDArray[np.float64]


def expected_calibration_error(probabilities: Probabilities, truth: NDArray[np.integer]) -> float:
    """Mean over the rows of |accuracy − mean confidence| of their bin, confidence being the largest entry."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, right - confidence, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(truth))


def error_of_drawn_labels(probabilities: Probabilities) -> float:
    """The same where labels are drawn from the posterior: what is left to chance."""
    rng, sums = np.random.default_rng(0), probabilities.cumsum(axis=1)
    draws = [(rng.random((len(sums), 1)) * sums[:, -1:] > sums).sum(axis=1) for _ in range(N_DRAWS)]
    return float(np.mean([expected_calibration_error(probabilities, draw) for draw in draws]))


def log_loss(logs: Probabilities, truth: NDArray[np.integer]) -> float:
    """Mean of −ln of the true class's probability."""
    return float(-logs[np.arange(len(truth)), truth].mean())


def best_power(logs: Probabilities, truth: NDArray[np.integer]) -> float:
    """The least log-loss of all powers of a posterior, scaled to sum to 1."""
    trials = np.linspace(-4, 4, 33)
    losses = [log_loss(log_softmax(np.exp(trial) * logs, axis=1), truth) for trial in trials]
    near = trials[int(np.argmin(losses))]
    found = minimize_scalar(
        lambda trial: log_loss(log_softmax(np.exp(trial) * logs, axis=1), truth),
        bounds=(near - 0.25, near + 0.25),
        method="bounded",
    )
    return float(min(found.fun, *losses))


@cache
def whole_split(data: str, seed: int) -> Split:
    """A set in halves or as the benchmarks divide it."""
    if data in SETS:
        return signs(seed, 13, 150) if data == "signs" else load(data, seed)
    X, y = TABLES[data](return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X[train])
    return Split(data, scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def some_rows(split: Split, size: int | None, seed: int) -> Split:
    """So many training rows and at most 1,000 of either, drawn at random."""
    rng = np.random.default_rng(seed)
    train = np.sort(rng.permutation(len(split.y_train))[: size or MOST_ROWS])
    known = np.flatnonzero(np.isin(split.y_test, split.y_train[train]))
    test = np.sort(rng.permutation(known)[:MOST_ROWS])
    groups = None if split.groups_train is None else split.groups_train[train]
    return Split(
        split.name, split.X_train[train], split.y_train[train], split.X_test[test], split.y_test[test], groups
    )


def measure(method: str, split: Split, seed: int) -> Row:
    """All measures of one method on one split."""
    if method == LOGISTIC:
        model: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    else:
        model = METHODS[method].make(seed, 1)
    groups = {} if split.groups_train is None or not takes_groups(model) else {"groups": split.groups_train}
    fitted = model.fit(split.X_train, split.y_train, **groups)
    probabilities = np.asarray(fitted.predict_proba(split.X_test), dtype=np.float64)
    truth = np.searchsorted(fitted.classes_, split.y_test)
    logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return {
        "ece": expected_calibration_error(probabilities, truth),
        "ece_by_chance": error_of_drawn_labels(probabilities),
        "log_loss": log_loss(logs, truth),
        "best_log_loss": best_power(logs, truth),
        "least": float(probabilities[np.arange(len(truth)), truth].min()),
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
    }


def takes_groups(model: Any) -> bool:
    """Whether rows that belong together are held out together."""
    from inspect import signature

    return "groups" in signature(model.fit).parameters


def all_rows(data: str, methods: list[str], n_splits: int) -> Iterator[Row]:
    """Every measure of some methods on a set."""
    for seed in range(FIRST_SEED, FIRST_SEED + n_splits):
        whole = whole_split(data, seed)
        for size in SIZES:
            if size is None or size < len(whole.y_train):
                split = some_rows(whole, size, seed)
                for method in methods:
                    found = measure(method, split, seed)
                    yield {"data": data, "size": size, "seed": seed, "method": method, **found}


def measure_set(data: str, methods: list[str], n_splits: int) -> None:
    """Measure some methods on a set, and keep what is known of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = list(all_rows(data, methods, n_splits))
    before = read_results("probabilities")["rows"] if (RESULTS / "probabilities.json").exists() else []
    rows += [row for row in before if row["method"] not in methods or row["data"] != data]
    write_results("probabilities", {"rows": rows, "summary": summary(rows)}, merged=True)


def means(rows: list[Row]) -> dict[tuple[str, str, int | None], Row]:
    """Means over splits, by method, set and size."""
    cells: dict[tuple[str, str, int | None], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["method"], row["data"], row["size"]), []).append(row)
    measures = [name for name, value in rows[0].items() if isinstance(value, float)]
    return {
        key: {name: float(np.mean([one[name] for one in cell])) for name in measures}
        for key, cell in cells.items()
    }


def summary(rows: list[Row]) -> list[Row]:
    """For each method and size: on how many sets the aims hold, and the figures furthest from them."""
    cells, found = means(rows), []
    for method in dict.fromkeys(row["method"] for row in rows):
        for size in SIZES:
            own = {data: one for (name, data, n), one in cells.items() if (name, n) == (method, size)}
            if not own:
                continue
            above = {data: one["ece"] - one["ece_by_chance"] for data, one in own.items()}
            ratios = {data: one["log_loss"] / one["best_log_loss"] for data, one in own.items()}
            logistic = {data: cells.get((LOGISTIC, data, size), {}).get("log_loss", np.nan) for data in own}
            found.append({
                "method": method,
                "size": size,
                "sets": len(own),
                "calibrated": sum(gap <= CALIBRATION_AIMS.get(size or 0, 0.03) for gap in above.values()),
                "worst_above": max(above.values()),
                "near_best": sum(ratio <= LOSS_AIMS.get(size or 0, 1.05) for ratio in ratios.values()),
                "worst_ratio": max(ratios.values()),
                "below_logistic": sum(one["log_loss"] <= logistic[data] for data, one in own.items()),
                "least": min(row["least"] for row in rows if (row["method"], row["size"]) == (method, size)),
            })  # fmt: skip
    return found


def report(results: Row) -> str:
    """The tables in Markdown."""
    header = ["", "rows", "calibrated", "worst", "near best", "worst", "not above logistic", "least probability"]
    lines = [
        [
            row["method"], str(row["size"] or "all"), f"{row['calibrated']} of {row['sets']}",
            f"{row['worst_above']:+.3f}", f"{row['near_best']} of {row['sets']}", f"{row['worst_ratio']:.2f}",
            f"{row['below_logistic']} of {row['sets']}", f"{row['least']:.0e}",
        ]
        for row in results["summary"]
    ]  # fmt: skip
    cells = means(results["rows"])
    sets = list(dict.fromkeys(row["data"] for row in results["rows"]))
    details = [
        [method, *(f"{cells[method, data, None]['log_loss']:.3f} / {100 * cells[method, data, None]['ece']:.1f}"
                   if (method, data, None) in cells else "" for data in sets)]
        for method in dict.fromkeys(row["method"] for row in results["rows"])
    ]  # fmt: skip
    return f"{markdown(header, lines)}\n\n{markdown(['all rows: log-loss / ECE, %', *sets], details)}"


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5, help="how many splits")
    parser.add_argument("--methods", help="measure these alone anew, separated by commas")
    parser.add_argument("--sets", help="on these sets alone")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        usual = [LOGISTIC, *(name for name, method in METHODS.items() if not method.slow)]
        methods = options.methods.split(",") if options.methods else usual
        sets = options.sets.split(",") if options.sets else [*SETS, *TABLES]
        for data in sets:
            measure_set(data, methods, options.splits)
    print(report(read_results("probabilities")))


if __name__ == "__main__":
    main()
