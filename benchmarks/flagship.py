"""NearBoostClassifier beside tuned contenders: ``python -m benchmarks.flagship``.

Every contender is fitted to the same rows, in turn, on one thread; seconds are of the processor. The SVM is
scikit-learn's with an RBF kernel, C in 1, 10, 100 and γ in 0.25, 1, 4 times "scale", by three folds (whole groups
where there are groups), on rows as they are, or standardised where features have units; its probabilities are a
softmax with a temperature, or a sigmoid for each class, fitted on three folds. Logistic regression is
standardised, with C in 0.01 … 10 by three folds, k-NN chooses k among 1, 3, 5, 11 on the SVM's rows, and gradient
boosting is HistGradientBoostingClassifier as it comes, with early stopping from 5,000 rows on: without, it
diverged on the 9,803 traffic signs. "A tenth" is ``NearBoostClassifier(n_prototypes=0.1)``.

What NearBoost's settings were looked at on, and what not, is in ``benchmarks/flagship_sets.py``; ``--fresh`` takes
the sets that were touched only when all had been decided. Prints Markdown tables and writes
``benchmarks/results/flagship.json`` or ``flagship_fresh.json``; ``--show`` prints what was written last.
"""

import argparse
import ctypes
import gc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.data import Split
from benchmarks.fitting import peak_gigabytes
from benchmarks.flagship_sets import FAMILIAR, FRESH, LESS_FAMILIAR, SETS, UNITS
from benchmarks.machine import read_results, write_results
from benchmarks.probabilities import expected_calibration_error, log_loss
from benchmarks.tables import markdown
from nearboost import NearBoostClassifier
from nearboost.problem.calibration import fit_calibration

N_SPLITS = {"gtsrb-pca-10k": 1, "gtsrb-pca-20k": 1}
DIVERGES_FROM = 5_000  # rows; gradient boosting without early stopping
MANY_CLASSES = 20  # gradient boosting takes minutes beyond: one split

OTHERS = ("logistic regression", "k-NN", "gradient boosting")
CONTENDERS = ("NearBoost", "NearBoost, a tenth", "SVM, temperature", "SVM, Platt", *OTHERS)

Row = dict[str, Any]


def folds_of(split: Split) -> Any:
    """Three folds; groups stay whole."""
    if split.groups_train is None:
        return list(StratifiedKFold(3, shuffle=True, random_state=0).split(split.X_train, split.y_train))
    return list(GroupKFold(3).split(split.X_train, split.y_train, split.groups_train))


def tuned_svm(split: Split) -> Any:
    gamma = 1 / (split.X_train.shape[1] * split.X_train.var())
    grid = {"C": [1, 10, 100], "gamma": [gamma / 4, gamma, 4 * gamma]}
    return GridSearchCV(SVC(decision_function_shape="ovr"), grid, cv=folds_of(split))


def tempered(model: Any, split: Split) -> NDArray[np.float64]:
    """Probabilities of an SVM: a softmax with the temperature of held-out scores."""
    truth = np.unique(split.y_train, return_inverse=True)[1]
    held = cross_val_predict(model, split.X_train, split.y_train, cv=folds_of(split), method="decision_function")
    held = held[:, np.newaxis] if held.ndim == 1 else held
    scores = model.decision_function(split.X_test)
    return fit_calibration(held, truth).probabilities(scores[:, np.newaxis] if scores.ndim == 1 else scores)


def others(split: Split) -> Iterator[tuple[str, Any]]:
    """Contenders that are not timed against each other to the last per cent."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    strengths = {"logisticregression__C": [0.01, 0.1, 1, 10]}
    yield "logistic regression", GridSearchCV(logistic, strengths, cv=folds_of(split))
    yield "k-NN", GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 11]}, cv=folds_of(split))
    stops = len(split.y_train) >= DIVERGES_FROM
    yield "gradient boosting", HistGradientBoostingClassifier(early_stopping=stops, random_state=0)


def judged(probabilities: NDArray[np.float64], split: Split) -> Row:
    truth = np.searchsorted(np.unique(split.y_train), split.y_test)
    return {
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
        "log_loss": log_loss(np.log(np.maximum(probabilities, np.finfo(float).eps)), truth),
        "ece": expected_calibration_error(probabilities, truth),
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = process_time()
    done = work()
    return done, process_time() - started


def fitted(work: Callable[[], Any]) -> tuple[Any, Row]:
    """What a fit made, and what it cost: processor seconds, and MB beyond those held before, at the peak."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # so that nobody works in what another has left
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = peak_gigabytes()
    done, seconds = timed(work)
    return done, {"fit_s": seconds, "peak_mb": 1e3 * (peak_gigabytes() - before)}


def least(work: Callable[[], Any]) -> tuple[Any, float]:
    """The shortest of seven times: other work on the machine empties the caches."""
    done, first = timed(work)
    return done, min(first, *(timed(work)[1] for _ in range(6)))


def load_both(name: str, seed: int) -> tuple[Split, Split]:
    """A split as it is, and as the SVM gets it."""
    split = SETS[name](seed)
    if name not in UNITS:
        return split, split
    scaled = StandardScaler().fit(split.X_train)
    train, test = scaled.transform(split.X_train), scaled.transform(split.X_test)
    return split, Split(name, train, split.y_train, test, split.y_test)


def measure(name: str, seed: int, only: str | None) -> Iterator[Row]:
    """Every contender on one split, or some."""
    split, svm_split = load_both(name, seed)
    if only != "others":
        yield from measure_ours(split, svm_split)
    if only != "ours":
        yield from measure_others(svm_split, seed)


def measure_ours(split: Split, svm_split: Split) -> Iterator[Row]:
    """NearBoost and, in turn, the SVM that its time is compared with."""
    n_test = len(split.y_test)
    for label, share in (("NearBoost", None), ("NearBoost, a tenth", 0.1)):
        model = NearBoostClassifier(share, n_jobs=1)
        _, cost = fitted(lambda model=model: model.fit(split.X_train, split.y_train, groups=split.groups_train))
        probabilities, asking = least(lambda model=model: model.predict_proba(split.X_test))
        told = {"held_out_accuracy": model.held_out_accuracy_, "held_out_log_loss": model.held_out_log_loss_}
        yield {"contender": label, **judged(probabilities, split), **told, **cost,
               "query_us": 1e6 * asking / n_test, "n_rows": len(split.y_train)}  # fmt: skip
    search, cost = fitted(lambda: tuned_svm(svm_split).fit(svm_split.X_train, svm_split.y_train))
    predicted, asking = least(lambda: search.predict(svm_split.X_test))
    own = {
        "accuracy": float(np.mean(predicted == split.y_test)),
        **cost,
        "query_us": 1e6 * asking / n_test,
    }
    best = search.best_estimator_
    yield {"contender": "SVM, temperature", **judged(tempered(best, svm_split), svm_split), **own}
    platt = CalibratedClassifierCV(best, method="sigmoid", cv=folds_of(svm_split))
    platt.fit(svm_split.X_train, svm_split.y_train)
    yield {"contender": "SVM, Platt", **judged(platt.predict_proba(svm_split.X_test), svm_split)}


def measure_others(split: Split, seed: int) -> Iterator[Row]:
    """Those beside the SVM, on its rows."""
    for label, contender in others(split):
        if label == "gradient boosting" and len(np.unique(split.y_train)) > MANY_CLASSES and seed > 0:
            continue
        contender.fit(split.X_train, split.y_train)
        yield {"contender": label, **judged(contender.predict_proba(split.X_test), split)}


def report(results: Row) -> str:
    """Accuracy and log-loss of all, then what NearBoost costs beside the SVM, what it told before, and a tenth."""
    rows = results["rows"]
    sets = list(dict.fromkeys(row["data"] for row in rows))
    names = [name for name in CONTENDERS if any(row["contender"] == name for row in rows)]
    ours, few, svm = "NearBoost", "NearBoost, a tenth", "SVM, temperature"

    def mean(data: str, contender: str, key: str) -> float:
        values = [row[key] for row in rows if (row["data"], row["contender"]) == (data, contender) and key in row]
        return float(np.mean(values)) if values else np.nan

    def shown(value: float, digits: int, factor: float = 1.0) -> str:
        return "" if np.isnan(value) else f"{factor * value:.{digits}f}"

    def ahead(data: str) -> str:
        """Points of accuracy before the SVM, and their standard error over the splits."""
        of = {(row["contender"], row["seed"]): row["accuracy"] for row in rows if row["data"] == data}
        points = [
            100 * (of[ours, seed] - of[svm, seed]) for name, seed in of if name == ours and (svm, seed) in of
        ]
        if len(points) < 2:
            return "".join(f"{point:+.1f}" for point in points)
        return f"{np.mean(points):+.1f} ± {np.std(points, ddof=1) / np.sqrt(len(points)):.1f}"

    tables = []
    for key, digits, factor in (("accuracy", 1, 100), ("log_loss", 3, 1), ("ece", 1, 100)):
        lines = [[data, *(shown(mean(data, name, key), digits, factor) for name in names)] for data in sets]
        tables.append(f"**{key}**\n\n" + markdown([key, *names], lines))
    columns: dict[str, Callable[[str], str]] = {
        "rows": lambda data: shown(mean(data, ours, "n_rows"), 0),
        "points before the SVM": ahead,
        "fit, s": lambda data: shown(mean(data, ours, "fit_s"), 2),
        "of the SVM's grid": lambda data: shown(mean(data, ours, "fit_s") / mean(data, svm, "fit_s"), 2),
        "peak, MB": lambda data: shown(mean(data, ours, "peak_mb"), 0),
        "the grid's": lambda data: shown(mean(data, svm, "peak_mb"), 0),
        "query, µs": lambda data: shown(mean(data, ours, "query_us"), 0),
        "of the SVM's": lambda data: shown(mean(data, ours, "query_us") / mean(data, svm, "query_us"), 2),
        "a tenth: times faster": lambda data: shown(mean(data, svm, "query_us") / mean(data, few, "query_us"), 1),
        "held-out accuracy": lambda data: shown(mean(data, ours, "held_out_accuracy"), 1, 100),
        "less the test's": lambda data: shown(
            mean(data, ours, "held_out_accuracy") - mean(data, ours, "accuracy"), 1, 100
        ),
    }
    lines = [[data, *(column(data) for column in columns.values())] for data in sets]
    header = ["", *columns]
    return "\n\n".join([*tables, markdown(header, lines)])


def stays(row: Row, sets: list[str], only: str | None) -> bool:
    """Whether a row of an earlier run is not measured anew."""
    return row["data"] not in sets or (only is not None and (row["contender"] in OTHERS) != (only == "others"))


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many splits")
    parser.add_argument("--sets", nargs="+", choices=list(SETS))
    parser.add_argument("--fresh", action="store_true", help="sets that no setting was chosen on")
    parser.add_argument("--only", choices=["ours", "others"], help="NearBoost and the SVM, or the others")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    file, known = ("flagship_fresh", FRESH) if options.fresh else ("flagship", (*FAMILIAR, *LESS_FAMILIAR))
    if not options.show:
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        for n_rows in (60, 2000):  # compiles what is needed
            NearBoostClassifier().fit(rng.normal(size=(n_rows, 4)), np.arange(n_rows) % 3).predict(
                np.zeros((2, 4))
            )
        sets = [name for name in options.sets or known if name in known]
        partly = options.only is not None or len(sets) < len(known)
        rows = [row for row in read_results(file)["rows"] if stays(row, sets, options.only)] if partly else []
        with threadpool_limits(1):
            for data in sets:
                for seed in range(min(options.seeds, N_SPLITS.get(data, options.seeds))):
                    rows += [{"data": data, "seed": seed, **row} for row in measure(data, seed, options.only)]
                    write_results(file, {"rows": rows}, merged=partly)
    print(report(read_results(file)))


if __name__ == "__main__":
    main()
