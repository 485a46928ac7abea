"""Through how many files of the package a call runs: ``python -m benchmarks.walks``."""

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from PIL import Image
from sklearn.datasets import load_digits

import nearboost
from nearboost import N3Classifier
from nearboost.compare import comparison, runs

PACKAGE = str(Path(nearboost.__file__).parent) + "/"


def files_of(call: Callable[[], Any]) -> list[str]:
    """The files of nearboost whose functions are called, in any thread."""
    seen: set[str] = set()

    def look(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE):
            seen.add(name.removeprefix(PACKAGE))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(seen)


def compare_pictures() -> None:
    """A report of N3 on Gist of pictures of digits; its run stays in this process, to be seen."""
    digits = load_digits()
    with tempfile.TemporaryDirectory() as folder:
        for i, (image, label) in enumerate(zip(digits.images[:60], digits.target[:60] % 2, strict=True)):
            path = Path(folder, "pictures", f"class {label}", f"{i}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((16 * image).clip(0, 255).astype("uint8")).resize((64, 64)).save(path)
        settings = comparison.Settings(
            f"{folder}/pictures", features=("gist",), methods=("n3",), out=Path(folder, "out")
        )
        with patch.object(comparison, "run_task", lambda task, timeout: runs.run(task)):
            comparison.compare(settings)


def walks() -> dict[str, list[str]]:
    """Files of N3's `fit`, `predict` and `predict_proba`, once its kernels are compiled, and of a comparison."""
    X, y = load_digits(return_X_y=True)
    model = N3Classifier().fit(X[:900], y[:900])
    model.predict_proba(X[900:])
    compare_pictures()  # imports count as calls
    return {
        "fit": files_of(lambda: N3Classifier().fit(X[:900], y[:900])),
        "predict": files_of(lambda: model.predict(X[900:])),
        "predict_proba": files_of(lambda: model.predict_proba(X[900:])),
        "compare": files_of(compare_pictures),
    }


if __name__ == "__main__":
    for name, files in walks().items():
        print(f"{name}: {len(files)} files\n  " + "\n  ".join(files))
