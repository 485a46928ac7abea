"""The main job on data that ships with scikit-learn: k-NN, weighted k-NN, UNN, N3 and an RBF-SVM on digits.

Prints one table and saves one picture, accuracy against prototypes kept. Run it with `make demo`.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from nearboost import KNNClassifier, N3Classifier, UNNClassifier

BUDGETS = (0.05, 0.1, 0.2, 0.5, None)  # shares of the training set; None keeps all rows as voters
PICTURE = Path("demo_output") / "accuracy_against_prototypes.png"


def measure(name, model, data):
    """Fit, predict, and one row of the table."""
    X_train, X_test, y_train, y_test = data
    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    accuracy = model.score(X_test, y_test)
    predicted = time.perf_counter()
    return name, accuracy, kept_rows(model, len(X_train)), fitted - start, predicted - fitted


def kept_rows(model, n_train):
    """How many rows of the training set a prediction needs."""
    if isinstance(model, GridSearchCV):
        return int(model.best_estimator_.n_support_.sum())
    budget = getattr(model, "n_prototypes", None)
    return n_train if budget is None else len(model.prototypes_)


def run():
    X, y = load_digits(return_X_y=True)
    data = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    warm_up = N3Classifier(3, n_rounds=2), UNNClassifier(3, n_rounds=2)  # loads the kernels: not to be timed below
    for model in warm_up:
        model.fit(X[:200], y[:200]).predict(X[:10])
    rows = [
        *(measure(f"k-NN, k = {k}", KNNClassifier(k), data) for k in (1, 3, 5, 11)),
        measure("weighted k-NN, k = 5", KNNClassifier(5, vote_weights="gaussian"), data),
    ]
    for name, classifier in (("UNN", UNNClassifier), ("N3", N3Classifier)):
        for budget in BUDGETS:
            label = f"{name}, all rows vote" if budget is None else f"{name}, {budget:.0%} kept"
            rows.append(measure(label, classifier(n_prototypes=budget), data))
    grid = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [2e-4, 5e-4, 1e-3]}, cv=3)
    rows.append(measure("RBF-SVM, grid of 9", grid, data))
    return rows


def show(rows):
    table = Table(title="digits: 898 rows to learn from, 899 to test")
    for heading in ("method", "accuracy", "rows kept", "fit, ms", "predict, ms"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for name, accuracy, kept, fit, predict in rows:
        table.add_row(name, f"{accuracy:.2%}", str(kept), f"{1000 * fit:.0f}", f"{1000 * predict:.1f}")
    Console().print(table)


def draw(rows):
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, marker, colour in (("UNN", "s", "tab:orange"), ("N3", "o", "tab:blue")):
        points = [(kept, 100 * accuracy) for label, accuracy, kept, *_ in rows if label.startswith(name + ",")]
        axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=name)
    best = max(accuracy for label, accuracy, *_ in rows if label.startswith("k-NN"))
    svm, vectors = next((accuracy, kept) for label, accuracy, kept, *_ in rows if label.startswith("RBF-SVM"))
    axes.axhline(100 * best, color="black", linestyle="--", label="best k-NN, all rows")
    axes.plot(
        vectors, 100 * svm, "x", color="tab:green", markersize=9, markeredgewidth=2, label="RBF-SVM, vectors"
    )
    axes.set(
        xlabel="training rows kept", ylabel="test accuracy, %", title="Accuracy against prototypes kept (digits)"
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    Console().print(f"Picture: {PICTURE}")


if __name__ == "__main__":
    results = run()
    show(results)
    draw(results)
