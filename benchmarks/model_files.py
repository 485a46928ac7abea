"""Model files beside those of skops: ``python -m benchmarks.model_files`` (needs ``pip install skops``).

Seconds of processor time to save and to load, the best of five, bytes, and how many types a reader of the file has
to declare trusted. 5,000 rows of 64 features in 8 classes. Prints a table and writes
``benchmarks/results/model_files.json``.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.machine import write_results
from benchmarks.tables import markdown
from nearboost import KNNClassifier, N3Classifier
from nearboost.models import load, save

MODELS = {
    "N3": N3Classifier(7),
    "N3, a tenth kept": N3Classifier(7, n_prototypes=0.1),
    "k-NN": KNNClassifier(5),
    "scaled SVC": make_pipeline(StandardScaler(), SVC()),
}
REPEATS = 5


def best_seconds(action: Callable[[], Any]) -> float:
    """Processor time of the fastest of some calls."""
    seconds = []
    for _ in range(REPEATS):
        start = process_time()
        action()
        seconds.append(process_time() - start)
    return min(seconds)


def measure(name: str, model: Any, folder: Path) -> dict[str, Any]:
    """Both formats on one fitted model."""
    import skops.io as skops

    ours, theirs = folder / "model.nb", folder / "model.skops"
    row = {"model": name, "saving": best_seconds(lambda: save(model, ours))}
    row |= {"loading": best_seconds(lambda: load(ours)), "bytes": os.path.getsize(ours)}
    row |= {"skops_saving": best_seconds(lambda: skops.dump(model, theirs))}
    types = skops.get_untrusted_types(file=theirs)
    row |= {"skops_loading": best_seconds(lambda: skops.load(theirs, trusted=types))}
    return row | {"skops_bytes": os.path.getsize(theirs), "types_to_trust": len(types)}


def main() -> None:
    """Measure, print and write."""
    X, y = make_classification(5000, 64, n_informative=20, n_classes=8, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(name, model.fit(X, y), Path(folder)) for name, model in MODELS.items()]
    write_results("model_files", rows)
    shown = [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows
    ]
    print(markdown(list(rows[0]), shown))


if __name__ == "__main__":
    main()
