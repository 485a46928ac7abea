"""Neighbours on parts of Fisher vectors: what `benchmarks.fisher_tables` says of `SplitClassifier`.

Published: N3 with its four losses, the largest step chosen, one vote a neighbour, from zero, T = 50 rounds. The
paper does not state k; here it is 11, as in the same authors' other papers. Ours: N3 with all defaults. k-NN: the
shares of 11 neighbours, floored as `SplitClassifier` does.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import balanced_accuracy_score

from benchmarks.fisher_data import FisherSplit
from nearboost import KNNClassifier, N3Classifier, Neighbors, NeighborSearch, SplitClassifier
from nearboost.ensemble.split import MEANS

N_SPLITS = (64, 1, 16, 4, 32, 8, 2)  # in the order of what matters most
NORMALIZATIONS = ("l1", "l2")
LOSSES = ("binlog", "log", "mat", "hinge")
K, ROUNDS = 11, 50
WIDEST = 15  # the most that N3 by default takes

Row = dict[str, Any]


def published(loss: str) -> N3Classifier:
    """As in the paper."""
    return N3Classifier(
        K, loss=loss, n_rounds=ROUNDS, vote_weights="uniform", start="zero", oracle="delta", calibration=None,
        n_jobs=1,
    )  # fmt: skip


CONTENDERS: dict[str, Any] = {
    **{f"N3 {loss}, published": published(loss) for loss in LOSSES},
    "N3, defaults": N3Classifier(n_jobs=1),
    "k-NN": KNNClassifier(K, n_jobs=1),
}


class RememberedSearch:
    """A search that keeps its last answer."""

    def __init__(self, X: NDArray[Any]) -> None:
        self._search = NeighborSearch(X, n_jobs=1)
        self.rows = self._search.rows
        self._asked: NDArray[Any] | None = None

    def graph(self) -> Neighbors:
        return self._search.graph(WIDEST)

    def search(self, Q: NDArray[Any], k: int) -> Neighbors:
        """The first k of WIDEST neighbours, searched for once."""
        if self._asked is None or Q.ctypes.data != self._asked.ctypes.data or len(Q) != len(self._asked):
            self._asked, self._found = Q, self._search.search(Q, WIDEST)
        return self._found.first(k)


class Panel(ClassifierMixin, BaseEstimator):
    """All contenders on one graph and one search; its posteriors are those of each contender, side by side.

    A mean over parts is taken column by column, so `SplitClassifier` treats each as if it were alone.
    """

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        search = RememberedSearch(X)
        graph = search.graph()
        self.classes_, self.models_ = np.unique(y), []
        for contender in CONTENDERS.values():
            known = {} if isinstance(contender, KNNClassifier) else {"graph": graph}
            model = clone(contender).fit(X, y, **known)
            model._search = search
            self.models_.append(model)
        return self

    def class_posteriors(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.hstack([
            model.predict_proba(X) if isinstance(model, KNNClassifier) else model.class_posteriors(X)
            for model in self.models_
        ])  # fmt: skip


def in_parts(split: FisherSplit, n_splits: int, normalization: str) -> Row:
    """Overall and mean per-class accuracy of each contender with each mean."""
    model = SplitClassifier(Panel(), n_splits, normalization=normalization).fit(split.X_train, split.y_train)
    totals: dict[str, Any] = dict.fromkeys(MEANS, 0.0)
    for posteriors in model.part_posteriors(split.X_test):
        for mean, (change, _) in MEANS.items():
            totals[mean] = totals[mean] + change(posteriors)
    scores: Row = {name: {} for name in CONTENDERS}
    for mean, (_, inverse) in MEANS.items():
        for name, columns in zip(CONTENDERS, np.hsplit(inverse(totals[mean]), len(CONTENDERS)), strict=True):
            scores[name][mean] = accuracies(split.y_test, columns.argmax(axis=1))
    return scores


def accuracies(truth: NDArray[Any], predicted: NDArray[Any]) -> list[float]:
    """Of all images, and the mean over classes."""
    values = float(np.mean(truth == predicted)), float(balanced_accuracy_score(truth, predicted))
    return [round(value, 5) for value in values]
