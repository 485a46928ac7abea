"""How far from the truth held-out accuracies are: ``python -m benchmarks.held_out``.

Every estimator that says ``held_out_accuracy_``, fitted to five splits with seeds from 100 on (at most 1,000
training rows, and as many test rows of classes that are in training; tracks of traffic signs are held out whole):
what it says less its accuracy on the test rows, in the mean of the splits. Scene-15 has as many of each class in
training, but not in the test part: there the mean over classes counts. Aim: within two points. Prints a Markdown
table and writes ``benchmarks/results/held_out.json``; ``--show`` prints what was written last, ``--methods``
measures some anew.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

from benchmarks.data import Split, load, signs
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.probabilities import some_rows, takes_groups
from benchmarks.tables import markdown
from nearboost import (
    CRCClassifier,
    INNClassifier,
    KNNClassifier,
    MAPBoostClassifier,
    MLNNClassifier,
    N3Classifier,
    NearBoostClassifier,
    SLNDClassifier,
    SRCClassifier,
    UNNClassifier,
)
from nearboost.ensemble.calibrated import CalibratedScores

FIRST_SEED, N_SPLITS, AIM = 100, 5, 0.02
UNBALANCED = ("Scene-15, Gist",)

Row = dict[str, Any]


def blobs(seed: int) -> Split:
    """40 classes of 10 rows to learn from, a tenth of whose rows lie nearer to another class."""
    X, y = make_blobs(2400, n_features=10, centers=40, center_box=(-4, 4), cluster_std=2.2, random_state=seed)
    order = np.argsort(y, kind="stable").reshape(40, 60)
    train, test = order[:, :10].ravel(), order[:, 10:].ravel()
    return Split("blobs", X[train].astype(np.float32), y[train], X[test].astype(np.float32), y[test])


SETS: dict[str, Callable[[int], Split]] = {
    "digits": lambda seed: load("digits", seed),
    "Yale B": lambda seed: load("yaleb", seed),
    "Scene-15, Gist": lambda seed: load("scene15", seed),
    "signs": lambda seed: signs(seed, 13, 150),
    "blobs": blobs,
}
METHODS: dict[str, Callable[[], Any]] = {
    "NearBoost": lambda: NearBoostClassifier(n_jobs=1),
    "k-NN": lambda: KNNClassifier(n_jobs=1),
    "N3": lambda: N3Classifier(n_jobs=1),
    "N3, a tenth": lambda: N3Classifier(n_prototypes=0.1, n_jobs=1),
    "UNN": lambda: UNNClassifier(n_jobs=1),
    "MLNN": lambda: MLNNClassifier(n_jobs=1),
    "MAPBoost": lambda: MAPBoostClassifier(n_jobs=1),
    "INNC": lambda: INNClassifier(n_jobs=1),
    "CRC": CRCClassifier,
    "SRC": lambda: SRCClassifier(n_jobs=1),
    "SLND": lambda: SLNDClassifier(n_jobs=1),
    "SVC, calibrated": lambda: CalibratedScores(SVC(C=10)),
}


def measure(method: str, split: Split, seed: int) -> Row:
    """What a fitted classifier says of itself, and its accuracy."""
    model = METHODS[method]()
    groups = {} if split.groups_train is None or not takes_groups(model) else {"groups": split.groups_train}
    fitted = model.fit(split.X_train, split.y_train, **groups)
    said = fitted.predict(split.X_test)
    return {
        "seed": seed,
        "held_out": float(fitted.held_out_accuracy_),
        "accuracy": float(np.mean(said == split.y_test)),
        "by_class": float(balanced_accuracy_score(split.y_test, said)),
    }


def gap_of(data: str, rows: list[Row]) -> tuple[float, float]:
    """What was said less what is true, in the mean of the splits, and its standard error."""
    true = "by_class" if data in UNBALANCED else "accuracy"
    gaps = np.array([row["held_out"] - row[true] for row in rows])
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def report(results: dict[str, dict[str, list[Row]]]) -> str:
    """Gaps in points, and true accuracies, in Markdown."""
    lines, gaps = [], []
    for method in METHODS:
        cells = []
        for data in SETS:
            rows = results.get(method, {}).get(data)
            if not rows:
                cells.append("")
                continue
            gap, error = gap_of(data, rows)
            gaps.append(gap)
            cells.append(
                f"{100 * gap:+.1f} ± {100 * error:.1f} ({100 * np.mean([r['accuracy'] for r in rows]):.1f})"
            )
        lines.append([method, *cells])
    header = ["held out less true (true)", *(f"{name}, by class" if name in UNBALANCED else name for name in SETS)]
    within = sum(abs(gap) <= AIM for gap in gaps)
    return f"{markdown(header, lines)}\n\n{within} of {len(gaps)} are within {100 * AIM:.0f} points."


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", help="measure these alone anew, separated by ;")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        warnings.simplefilter("ignore")
        before = read_results("held_out") if (RESULTS / "held_out.json").exists() else {}
        chosen = options.methods.split(";") if options.methods else list(METHODS)
        found: dict[str, Any] = {method: {} for method in chosen}
        for data, make in SETS.items():
            for seed in range(FIRST_SEED, FIRST_SEED + N_SPLITS):
                split = some_rows(make(seed), None, seed)
                for method in chosen:
                    found[method].setdefault(data, []).append(measure(method, split, seed))
            print(data, flush=True)
        write_results("held_out", {**before, **found}, merged=True)
    print(report(read_results("held_out")))


if __name__ == "__main__":
    main()
