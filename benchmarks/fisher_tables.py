"""Fisher vectors: parts, neighbours, linear classifiers and INN: ``python -m benchmarks.fisher_tables``.

1. Tables 4 and 5 and figure 1 of the N3 paper: N3 with its four losses and k-NN on 1 to 64 parts of the vectors,
   each part of L1 or L2 unit length, with three means (`benchmarks.fisher_splits`).
2. The same vectors given to k-NN, a linear SVM, SGD and SLND, whole.
3. Unit length per Gaussian, damped whitening, and INN inside each class, also in the soft discriminant metric.

Caltech-101 (30 images a class) and Scene-15 (30 and 100 a class), three splits. Settings are chosen by three folds
of the training images, on Caltech-101 by the first of them alone. Times are CPU seconds on one thread. Every
finished piece is written to ``benchmarks/results/fisher_tables.json`` at once, and a run goes on where the last
one stopped; ``--show`` prints tables and draws ``docs/figures/fisher-splits.png`` from what is there.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.fisher_data import SEEDS, SETS, FisherSplit, load_fisher
from benchmarks.fisher_report import draw, report
from benchmarks.fisher_splits import CONTENDERS, N_SPLITS, NORMALIZATIONS, Row, accuracies, in_parts
from benchmarks.machine import RESULTS, read_results, write_results
from nearboost import INNClassifier, KNNClassifier, SLNDClassifier, SplitClassifier
from nearboost.features.whitening import WhitenedPCA
from nearboost.metric.discriminant import SoftDiscriminant

N_FOLDS = {"caltech101": 1, "scene15-30": 3, "scene15-100": 3}
N_COMPONENTS = 1024
REGULARIZATION = 0.05
Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]
LINEAR: dict[str, tuple[Callable[[Any], Any], Sequence[Any]]] = {
    "k-NN": (lambda k: KNNClassifier(k, n_jobs=1), (1, 5, 11, 21)),
    "SLND": (lambda _: SLNDClassifier(n_jobs=1), (None,)),
    "linear SVM": (lambda C: LinearSVC(C=C, tol=0.1, random_state=0), (0.3, 1.0, 3.0, 10.0)),
    "SGD": (lambda alpha: SGDClassifier(alpha=alpha, random_state=0), (1e-6, 1e-5, 1e-4)),
}
DAMPINGS = (0.03, 0.1, 0.3)
REGULARIZATIONS = (0.02, REGULARIZATION, 0.2)
SOFT = tuple((shrinkage, rest) for shrinkage in (0.1, 0.5) for rest in (0.5, 0.7))


def main() -> None:
    """Measure what is missing, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print and draw what is there, measure nothing")
    options = parser.parse_args()
    results = read_results("fisher_tables") if (RESULTS / "fisher_tables.json").exists() else {}
    if not options.show:
        with threadpool_limits(1):
            for key, work in pieces():
                if key not in results:
                    results[key] = work()
                    write_results("fisher_tables", results)
                    print(key, flush=True)
    print(report(results))
    draw(results)


def pieces() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and work of each piece, in the order of what matters most."""
    for seed in SEEDS:
        for name in SETS:
            yield f"{name}/{seed}/whole", lambda name=name, seed=seed: whole(name, seed)
            yield f"{name}/{seed}/metric", lambda name=name, seed=seed: in_metrics(name, seed)
            yield f"{name}/{seed}/svm", lambda name=name, seed=seed: whitened_svm(name, seed)
    yield "caltech101/0/times", lambda: times(load_fisher("caltech101", 0))
    for n_splits, normalization, seed, name in product(N_SPLITS, NORMALIZATIONS, SEEDS, SETS):
        cut = {"n_splits": n_splits, "normalization": normalization}
        key = f"{name}/{seed}/parts/{n_splits}/{normalization}"
        yield key, lambda name=name, seed=seed, cut=cut: in_parts(load_fisher(name, seed), **cut)


def folds_of(name: str, y: NDArray[Any], seed: int) -> Folds:
    return list(StratifiedKFold(3, shuffle=True, random_state=seed).split(y, y))[: N_FOLDS[name]]


def choose(values: Sequence[Any], score: Callable[[Any], float]) -> tuple[Any, float | None]:
    """The first of the best values by accuracy on the folds, and that accuracy; one value needs no choice."""
    if len(values) == 1:
        return values[0], None
    scores = [score(value) for value in values]
    best = int(np.argmax(scores))
    return values[best], scores[best]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    result = work()
    return round(process_time() - start, 2), result


def judged(model: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> Row:
    """Accuracies and CPU seconds of a model with its settings."""
    fit_seconds, _ = timed(lambda: model.fit(*train))
    predict_seconds, predicted = timed(lambda: model.predict(test[0]))
    return {
        "accuracy": accuracies(test[1], predicted),
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
    }


def whole(name: str, seed: int) -> Row:
    """Classifiers on the vectors as they are, in both normalisations."""
    rows: Row = {}
    for per_gaussian in (False, True):
        split = load_fisher(name, seed, per_gaussian=per_gaussian)
        X, y = split.X_train, split.y_train
        folds = folds_of(name, y, seed)
        for kind, (make, grid) in LINEAR.items():
            if per_gaussian and kind == "SGD":
                continue

            def score(value: Any, make: Any = make, X: Any = X, y: Any = y, folds: Folds = folds) -> float:
                return float(np.mean([make(value).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]))

            choice_seconds, (value, held_out) = timed(lambda: choose(grid, score))  # noqa: B023
            row = judged(make(value), (X, y), (split.X_test, split.y_test))
            row |= {"setting": value, "held_out": held_out, "choice_seconds": choice_seconds}
            rows[kind + ", per Gaussian" * per_gaussian] = row
    rows["description"] = {"seconds": split.seconds, "images": len(y) + len(split.y_test)}
    return rows


class Whitened:
    """Unit length per Gaussian, then damped whitening: fitted on the training images, and on each fold of them."""

    def __init__(self, name: str, seed: int) -> None:
        self._split = load_fisher(name, seed, per_gaussian=True)
        X, folds = self._split.X_train, folds_of(name, self._split.y_train, seed)
        self._folds = [(WhitenedPCA(N_COMPONENTS, n_jobs=1).fit(X[a]), a, b) for a, b in folds]
        self._seconds, self._pca = timed(lambda: WhitenedPCA(N_COMPONENTS, n_jobs=1).fit(X))

    def score(self, damping: float, model: Any) -> float:
        """Accuracy on the folds."""
        X, y, hits = self._split.X_train, self._split.y_train, []
        for pca, a, b in self._folds:
            pca.set_params(damping=damping)
            hits.append(model.fit(pca.transform(X[a]), y[a]).score(pca.transform(X[b]), y[b]))
        return float(np.mean(hits))

    def judged(self, damping: float, model: Any, setting: Any, held_out: float | None = None) -> Row:
        """On the test images."""
        split, pca = self._split, self._pca.set_params(damping=damping)
        train, test = (pca.transform(split.X_train), split.y_train), (pca.transform(split.X_test), split.y_test)
        row = judged(model, train, test) | {"setting": setting, "held_out": held_out}
        row["fit_seconds"] += self._seconds
        return row


def in_metrics(name: str, seed: int) -> Row:
    """Neighbours after damped whitening, and in the soft discriminant metric."""
    rows = Whitened(name, seed)
    of_knn = [(mu, k) for mu in DAMPINGS for k in (1, 5, 11, 21)]
    knn, at_knn = choose(of_knn, lambda value: rows.score(value[0], KNNClassifier(value[1], n_jobs=1)))
    mu, _ = choose(DAMPINGS, lambda value: rows.score(value, inside_classes()))
    strength, at_own = choose(REGULARIZATIONS, lambda value: rows.score(mu, inside_classes(value)))
    soft, at_soft = choose(SOFT, lambda value: rows.score(mu, softly(*value, inside_classes(strength))))
    code_mu, at_code = choose(DAMPINGS, lambda value: rows.score(value, INNClassifier(REGULARIZATION, n_jobs=1)))
    softest, settings = softly(*soft, inside_classes(strength)), [mu, strength, *soft]
    return {
        "k-NN, whitened": rows.judged(knn[0], KNNClassifier(knn[1], n_jobs=1), knn, at_knn),
        "INNC, whitened": rows.judged(code_mu, INNClassifier(REGULARIZATION, n_jobs=1), code_mu, at_code),
        "INNC, soft metric": rows.judged(mu, softly(*soft, INNClassifier(strength, n_jobs=1)), settings),
        "INN inside classes, whitened": rows.judged(mu, inside_classes(strength), [mu, strength], at_own),
        "INN inside classes, soft metric": rows.judged(mu, softest, settings, at_soft),
    }


def whitened_svm(name: str, seed: int) -> Row:
    """The SVM on the rows that serve neighbours best."""
    rows = Whitened(name, seed)
    make, grid = LINEAR["linear SVM"]
    (mu, C), held_out = choose([(mu, C) for mu in DAMPINGS for C in grid], lambda v: rows.score(v[0], make(v[1])))
    return {"linear SVM, whitened": rows.judged(mu, make(C), [mu, C], held_out)}


def inside_classes(regularization: float = REGULARIZATION) -> INNClassifier:
    return INNClassifier(regularization, decision="residual", n_jobs=1)


def softly(shrinkage: float, rest: float, classifier: Any) -> Any:
    return make_pipeline(SoftDiscriminant(shrinkage, rest=rest), Normalizer(), classifier)


def times(split: FisherSplit) -> Row:
    """64 parts, each contender with a search of its own."""
    rows = {}
    for name in ("N3 binlog, published", "N3, defaults", "k-NN"):
        posterior = "predict_proba" if name == "k-NN" else "transfer"
        model = SplitClassifier(CONTENDERS[name], 64, mean="harmonic", posterior=posterior)
        rows[name] = judged(model, (split.X_train, split.y_train), (split.X_test, split.y_test))
    return rows


if __name__ == "__main__":
    main()
