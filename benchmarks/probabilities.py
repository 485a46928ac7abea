"""How good the probabilities are: ``python -m benchmarks.probabilities``.

Log-loss, and expected calibration error of the winning class in 15 bins of equal width, for N3 and UNN with
their defaults, for the vote fractions of k-NN, and for k-NN with scikit-learn's CalibratedClassifierCV
(five folds). Log-loss clips at the machine precision, as scikit-learn does: a fraction of 0 for the true
class costs 36. The floored fractions are at least 1/2k and sum to 1 again. Three random splits of each set.
Prints Markdown tables and writes ``benchmarks/results/probabilities.json``; ``--show`` prints what was
written last.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.data import Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import N3Classifier, UNNClassifier

SETS = ("digits", "scene8", "yaleb")
OURS = {"N3": N3Classifier, "UNN": UNNClassifier}
KS = (5, 11)
N_BINS = 15
MEASURES = ("ece", "log_loss")

Row = dict[str, Any]


def expected_calibration_error(probabilities: NDArray[np.float64], truth: NDArray[np.integer]) -> float:
    """Mean over the rows of |accuracy − mean confidence| of their bin, confidence being the largest entry."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, right - confidence, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(truth))


def log_loss(probabilities: NDArray[np.float64], truth: NDArray[np.integer]) -> float:
    """Mean of −ln of the true class's probability."""
    own = probabilities[np.arange(len(truth)), truth]
    return float(-np.log(np.clip(own, np.finfo(np.float64).eps, 1)).mean())


def probabilities_of(split: Split, seed: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Every contender's name and its probabilities of the test rows."""
    X, y = split.X_train, split.y_train
    for name, classifier in OURS.items():
        yield name, classifier(random_state=seed).fit(X, y).predict_proba(split.X_test)
    for k in KS:
        knn = KNeighborsClassifier(k)
        fractions = knn.fit(X, y).predict_proba(split.X_test)
        yield f"{k}-NN fractions", fractions
        floored = np.maximum(fractions, 1 / (2 * k))
        yield f"{k}-NN fractions, floored", floored / floored.sum(axis=1, keepdims=True)
        for method in ("sigmoid", "isotonic"):
            calibrated = CalibratedClassifierCV(knn, method=method, cv=5).fit(X, y)
            yield f"{k}-NN, {method}", calibrated.predict_proba(split.X_test)


def measure(split: Split, seed: int) -> Iterator[Row]:
    """Both measures, and accuracy, of every contender on one split."""
    truth = np.searchsorted(np.unique(split.y_train), split.y_test)
    for contender, probabilities in probabilities_of(split, seed):
        yield {
            "contender": contender,
            "ece": expected_calibration_error(probabilities, truth),
            "log_loss": log_loss(probabilities, truth),
            "accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
        }


def verdicts(rows: list[Row]) -> list[Row]:
    """Each of ours against each other and against the best: the sets on which it is lower, in each and both."""
    others = [contender for contender in _contenders(rows) if contender not in OURS]
    rivals = {other: [other] for other in others} | {"the best of these": others}
    found = []
    for ours in OURS:
        for rival, members in rivals.items():
            lower = {
                measure: [
                    data
                    for data in SETS
                    if _mean(rows, data, ours, measure) < min(_mean(rows, data, one, measure) for one in members)
                ]
                for measure in MEASURES
            }
            both = [data for data in SETS if all(data in sets for sets in lower.values())]
            found.append({"contender": ours, "other": rival, **lower, "both": both, "met": len(both) >= 2})
    return found


def report(results: Row) -> str:
    """The tables in Markdown."""
    rows = results["rows"]
    header = ["", *(f"{data}, {name}" for data in SETS for name in ("ECE", "log-loss", "accuracy"))]
    lines = [
        [
            contender,
            *(
                f"{100 * _mean(rows, data, contender, name):.1f}"
                if name != "log_loss"
                else f"{_mean(rows, data, contender, name):.3f}"
                for data in SETS
                for name in (*MEASURES, "accuracy")
            ),
        ]
        for contender in _contenders(rows)
    ]
    found = [
        [row["contender"], row["other"], *(", ".join(row[key]) or "none" for key in (*MEASURES, "both")),
         "met" if row["met"] else "missed"]
        for row in results["aims"]
    ]  # fmt: skip
    aims = markdown(["", "against", "lower ECE", "lower log-loss", "both lower", "two sets"], found)
    return f"{markdown(header, lines)}\n\n{aims}"


def _contenders(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["contender"] for row in rows))


def _mean(rows: list[Row], data: str, contender: str, measure: str) -> float:
    return float(np.mean([
        row[measure] for row in rows if row["data"] == data and row["contender"] == contender
    ]))  # fmt: skip


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many splits")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        rows = [
            {"data": data, "seed": seed, **row}
            for data in SETS
            for seed in range(options.seeds)
            for row in measure(load(data, seed), seed)
        ]
        write_results("probabilities", {"rows": rows, "aims": verdicts(rows)})
    print(report(read_results("probabilities")))


if __name__ == "__main__":
    main()
