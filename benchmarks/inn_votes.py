"""Does learning improve on INN codes? ``python -m benchmarks.inn_votes``.

INN codes are votes too (``vote_weights="inn"``): the plain vote is the INN classifier. Weights are learned on
top of it on three random splits of each set (one of the traffic signs, tracks kept together in training): by
N3, with its own choice of rounds, with shrinkage and early stopping on held-out risk, and as published from
zero; by MLNN, one weight for all classes; and over a tenth of the rows. Accuracy, and log-loss of the
probabilities (those of the INN classifier floored at 0.001). Prints tables in Markdown and writes
``benchmarks/results/inn_votes.json``; ``--show`` prints what was written last.
"""

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import log_loss

from benchmarks.data import Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown, percent
from nearboost import INNClassifier, MLNNClassifier, N3Classifier

SETS = {"digits": 3, "yaleb": 3, "scene8": 3, "gtsrb-small": 1}  # and how many splits
K = 100


def n3(**how: Any) -> N3Classifier:
    return N3Classifier(K, vote_weights="inn", **how)


def mlnn(**how: Any) -> MLNNClassifier:
    return MLNNClassifier(K, vote_weights="inn", **how)


# Each makes a model from the number of rounds that would go once through the rows, 2m/C.
VARIANTS: dict[str, Callable[[int], ClassifierMixin]] = {
    "INN classifier": lambda rounds: INNClassifier(),
    "the nearest 100": lambda rounds: n3(n_rounds=0),
    "N3": lambda rounds: n3(),
    "N3, steps of 0.1, early stopping": lambda rounds: n3(learning_rate=0.1, n_rounds=2000, early_stopping=True),
    "N3, 2m/C rounds": lambda rounds: n3(n_rounds=rounds),
    "N3 from zero": lambda rounds: n3(start="zero"),
    "MLNN": lambda rounds: mlnn(),
    "MLNN, early stopping": lambda rounds: mlnn(early_stopping=True),
    "a tenth of the rows, not learned": lambda rounds: n3(n_prototypes=0.1, n_rounds=0),
    "a tenth of the rows, N3": lambda rounds: n3(n_prototypes=0.1),
    "a tenth of the rows, N3 by rank": lambda rounds: N3Classifier(n_prototypes=0.1),
}


def measure(variant: str, split: Split, seed: int) -> dict[str, Any]:
    """One variant on one split."""
    rounds = -(-2 * len(split.y_train) // (split.y_train.max() + 1))
    model, learns = VARIANTS[variant](rounds), variant != "INN classifier"
    start = perf_counter()
    if learns:
        model.set_params(random_state=seed).fit(split.X_train, split.y_train, groups=split.groups_train)
    else:
        model.fit(split.X_train, split.y_train)
    seconds = perf_counter() - start
    probabilities = model.predict_proba(split.X_test)
    floored = probabilities if learns else np.maximum(probabilities, 1e-3)
    return {
        "set": split.name,
        "variant": variant,
        "seed": seed,
        "accuracy": float((model.predict(split.X_test) == split.y_test).mean()),
        "log_loss": log_loss(split.y_test, floored / floored.sum(axis=1, keepdims=True)),
        "n_rounds": int(model.n_rounds_) if learns else 0,
        "fit_seconds": seconds,
    }


def report(rows: list[dict[str, Any]]) -> str:
    """Two tables: accuracy and log-loss by variant and set."""
    tables = []
    for title, text in (
        ("accuracy, % (rounds chosen)", _accuracy),
        ("log-loss", lambda some: f"{np.mean([r['log_loss'] for r in some]):.3f}"),
    ):
        body = [
            [variant, *(text([r for r in rows if r["set"] == name and r["variant"] == variant]) for name in SETS)]
            for variant in VARIANTS
        ]
        tables.append(markdown([title, *SETS], body))
    return "\n\n".join(tables)


def _accuracy(some: list[dict[str, Any]]) -> str:
    rounds = ", ".join(str(r["n_rounds"]) for r in some)
    return percent([r["accuracy"] for r in some]) + (f" ({rounds})" if any(r["n_rounds"] for r in some) else "")


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    if not parser.parse_args().show:
        rows = []
        for name, n_splits in SETS.items():
            for seed in range(n_splits):
                split = load(name, seed)
                rows += [measure(variant, split, seed) for variant in VARIANTS]
        write_results("inn_votes", {"rows": rows})
    print(report(read_results("inn_votes")["rows"]))


if __name__ == "__main__":
    main()
