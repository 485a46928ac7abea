"""What the benchmarks of codes share: classifiers, projections between unit lengths, and how they are timed."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from nearboost import SRLP, CRCClassifier, INNClassifier, INNProjection, KNNClassifier, SRCClassifier

Row = dict[str, Any]

NEIGHBOURS: dict[str, ClassifierMixin] = {
    "NN": KNNClassifier(1, n_jobs=1),
    "INNC": INNClassifier(n_jobs=1),
    "INNC, nearest 100": INNClassifier(neighborhood=100, n_jobs=1),
    "INNC, by residuals": INNClassifier(decision="residual", n_jobs=1),
    "SRC": SRCClassifier(n_jobs=1),
    "CRC": CRCClassifier(),
}


def after(projection: TransformerMixin) -> Any:
    """A projection of unit rows, whose rows are brought to unit length again."""
    return make_pipeline(Normalizer(), projection, Normalizer())


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """CPU seconds, which other work on the machine disturbs little, and the answer."""
    start = process_time()
    answer = call(*arguments)
    return process_time() - start, answer


def classify(model: Any, train: tuple[NDArray[Any], NDArray[Any]], test: tuple[NDArray[Any], NDArray[Any]]) -> Row:
    """Accuracy, time of fit, and time of a query."""
    fit, _ = timed(model.fit, *train)
    query, predicted = timed(model.predict, test[0])
    return {
        "accuracy": float((predicted == test[1]).mean()),
        "fit_seconds": fit,
        "query_microseconds": 1e6 * query / len(test[1]),
    }


def warm_up() -> None:
    """Compile everything before it is timed."""
    X, y = np.random.default_rng(0).random((400, 40), dtype=np.float32), np.arange(400) % 4
    for model in NEIGHBOURS.values():
        clone(model).fit(X[:200], y[:200]).predict(X[200:])
    for projection in (SRLP(5, n_jobs=1), INNProjection(5, n_jobs=1)):
        projection.fit(X, y)
