"""Through how many files of the package a call runs: ``python -m benchmarks.walks``."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_digits

import nearboost
from nearboost import N3Classifier

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


def walks() -> dict[str, list[str]]:
    """Files of N3's `fit`, `predict` and `predict_proba`, once its kernels are compiled."""
    X, y = load_digits(return_X_y=True)
    model = N3Classifier().fit(X[:900], y[:900])
    model.predict_proba(X[900:])
    return {
        "fit": files_of(lambda: N3Classifier().fit(X[:900], y[:900])),
        "predict": files_of(lambda: model.predict(X[900:])),
        "predict_proba": files_of(lambda: model.predict_proba(X[900:])),
    }


if __name__ == "__main__":
    for name, files in walks().items():
        print(f"{name}: {len(files)} files\n  " + "\n  ".join(files))
