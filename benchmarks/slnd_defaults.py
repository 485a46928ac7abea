"""The defaults of SLND, one changed at a time: ``python -m benchmarks.slnd_defaults``.

Accuracy on a fifth of the training rows of each set, whole groups where there are some; no test row is touched.
Means over seeds of the split and of the fit. Prints a table in Markdown and writes
``benchmarks/results/slnd_defaults.json``; with ``--only``, lines not asked for stay as they were written.
"""

import argparse
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load
from benchmarks.machine import read_results, write_results
from benchmarks.spectra import Spectrum
from benchmarks.tables import markdown
from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

SETS = ("digits", "yaleb", "scene8", "gtsrb-24x24", "spectrum")
CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "batch_size=16": {"batch_size": 16},
    "batch_size=256": {"batch_size": 256},
    "max_passes=2": {"max_passes": 2},
    "max_passes=10": {"max_passes": 10},
    "hessian_samples=1,000": {"hessian_samples": 1_000},
    "fit_intercept=False": {"fit_intercept": False},
    "average=True": {"average": True},
    "damping=0": {"damping": 0.0},
    "rank=64": {"rank": 64},
    "rank=512": {"rank": 512},
    "loss=log": {"loss": "log"},
    "loss=log, fit_intercept=False": {"loss": "log", "fit_intercept": False},
    "loss=log, balanced=True": {"loss": "log", "balanced": True},
    "loss=hinge": {"loss": "hinge"},
}
SCALED = "after StandardScaler"
OTHERS = {
    "SGD": {"scaling": "none"},
    "SGD-P": {"scaling": "standard"},
    "SGD-QN": {"scaling": "quasi-newton"},
    "diagonal SLND": {"scaling": "diagonal"},
}

Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]


def training_rows(name: str) -> Rows:
    """Rows, labels and groups; a small one of the given spectra among them."""
    if name == "spectrum":
        return (*Spectrum(1_024, 50).rows(10_000), None)
    split = load(name)
    return split.X_train, split.y_train, split.groups_train


def held_out(rows: Rows, seed: int) -> NDArray[np.bool_]:
    """A fifth of the groups, or of the rows."""
    groups = np.arange(len(rows[1])) if rows[2] is None else rows[2]
    names = np.random.default_rng(seed).permutation(np.unique(groups))
    return np.isin(groups, names[: len(names) // 5])


def measure(name: str, seeds: int, only: list[str] | None) -> list[dict[str, Any]]:
    """Every contender on one set, or some."""
    X, y, groups = rows = training_rows(name)
    contenders: dict[str, Any] = {change: SLNDClassifier(**settings) for change, settings in CHANGES.items()}
    contenders[SCALED] = SLNDClassifier()
    contenders |= {other: LinearSGDClassifier(**settings) for other, settings in OTHERS.items()}
    if name != "gtsrb-24x24":  # half a minute and more
        contenders["L-BFGS, C=100"] = LogisticRegression(C=100, max_iter=2_000)
    results = []
    for change, model in contenders.items():
        if only and change not in only:
            continue
        accuracies, seconds = [], []
        for seed in range(seeds):
            held = held_out(rows, seed)
            arguments = {}
            if groups is not None and not isinstance(model, LogisticRegression):
                arguments["groups"] = groups[~held]
            before = make_pipeline(StandardScaler() if change == SCALED else "passthrough")
            start = perf_counter()
            model.set_params(random_state=seed).fit(before.fit_transform(X[~held]), y[~held], **arguments)
            seconds.append(perf_counter() - start)
            accuracies.append(float(model.score(before.transform(X[held]), y[held])))
        results.append({"set": name, "change": change, "accuracies": accuracies, "seconds": seconds})
        print(name, change, np.mean(accuracies).round(4), flush=True)
    return results


def report(results: list[dict[str, Any]]) -> str:
    """Accuracies of the first line, differences to them below."""
    means = {(row["set"], row["change"]): 100 * np.mean(row["accuracies"]) for row in results}
    lines = []
    for change in dict.fromkeys(row["change"] for row in results):
        cells = []
        for name in SETS:
            value, base = means.get((name, change)), means[name, "default"]
            cells.append(
                "" if value is None else f"{value:.1f}" if change == "default" else f"{value - base:+.1f}"
            )
        lines.append([change, *cells])
    return markdown(["setting", *SETS], lines)


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="+", metavar="LINE", help="measure these lines of the table alone")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.show:
        results = [row for name in SETS for row in measure(name, options.seeds, options.only)]
        if options.only:
            results = [row for row in read_results("slnd_defaults") if row["change"] not in options.only] + results
        write_results("slnd_defaults", results, merged=bool(options.only))
    print(report(read_results("slnd_defaults")))


if __name__ == "__main__":
    main()
