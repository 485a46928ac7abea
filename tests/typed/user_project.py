"""A user's project, for `test_user_project.py`: mypy reads it, nobody runs it.

Where an error is expected, its code stands in a comment: were the types not known, mypy would call that unused.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearboost import (
    INNCoder,
    KNNClassifier,
    LinearSGDClassifier,
    Model,
    N3Classifier,
    NearBoostClassifier,
    Neighbors,
    NeighborSearch,
    SLNDClassifier,
    SoftDiscriminant,
    get_loss,
    load,
    save,
)
from nearboost.cells import Project, open_project
from nearboost.datasets import Dataset, open_dataset
from nearboost.features import Gist, SmallGrey, extract
from nearboost.models import Prediction, load_model
from nearboost.plotting import CodeDisplay, PrototypeDisplay, ReliabilityDisplay, VotersDisplay


def accuracy(X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    model = N3Classifier(n_neighbors=5, n_prototypes=0.1, class_weight="balanced").fit(X, y)
    few = model.prune(20).add(X[:1], y[:1]).forget([0])
    labels, chances = few.predict_with_proba(X)
    sure: NDArray[np.bool_] = chances.max(axis=1) > 0.9
    rounds: int = few.n_rounds_
    voters: NDArray[np.int64] = few.voters_
    print(rounds, len(voters), few.explain(X[:1])[0].total(), sure.mean())
    return float((labels == y).mean()) + few.held_out_accuracy_


def others(X: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.float64]:
    metric = SoftDiscriminant().fit(X, y)
    flagship = NearBoostClassifier(n_prototypes=0.2, random_state=0).fit(metric.transform(X), y, groups=y)
    line: SLNDClassifier = SLNDClassifier(max_passes=2).fit(X, y)
    plain = LinearSGDClassifier().fit(X, y).predict(X)
    codes = INNCoder(0.1).fit(X).transform(X)
    print(codes.shape, plain, line.predict(X), get_loss("log").value(np.zeros(1)))
    return flagship.predict_proba(X)


def neighbours(X: NDArray[np.float32]) -> NDArray[np.int32]:
    found: Neighbors = NeighborSearch(X, metric="cosine").search(X, 3)
    return found.indices


def pictures(model: KNNClassifier, X: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=10, name="k-NN")
    display.ax_.set_title("Reliability")
    display.figure_.savefig("reliability.png")
    again: ReliabilityDisplay = ReliabilityDisplay.from_predictions(y, model.predict_proba(X), ax=display.ax_)
    PrototypeDisplay.from_estimator(N3Classifier().fit(X, y), along="rounds").lines_["held-out rows"].set_color(
        "red"
    )
    VotersDisplay.from_estimator(model, X[0], X, y, shape=(8, 8)).panels_[0].set_title("asked")
    CodeDisplay.from_estimator(INNCoder().fit(X), X[0], y)
    return again.calibration_error_


def files(folder: Path) -> tuple[str, ...]:
    dataset: Dataset = open_dataset(folder)
    store = extract([Path(str(item)) for item in dataset.items], Gist(), folder / "store")
    rows: NDArray[np.float32] = store.X
    save(KNNClassifier().fit(rows, np.arange(len(rows))), folder / "model.nb")
    model: Model = load_model(folder / "model.nb")
    said: Prediction = model.predict_rows(rows)
    anything = load(folder / "model.nb")
    project: Project = open_project(folder)
    print(anything, [field.place.well for field in project.fields], SmallGrey().transform([rows]))
    return said.classes


def mistakes(model: N3Classifier, X: NDArray[np.float64]) -> None:
    name: str = model.held_out_accuracy_  # type: ignore[assignment]
    chances: str = model.predict_proba(X)  # type: ignore[assignment]
    model.fit(X)  # type: ignore[call-arg]
    N3Classifier(neighbors=3)  # type: ignore[call-arg]
    open_dataset(3)  # type: ignore[arg-type]
    error: str = ReliabilityDisplay.from_predictions([0], [[1.0]]).calibration_error_  # type: ignore[assignment]
    print(name, chances, error)
