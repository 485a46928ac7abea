"""What is unlike the training items, and what is not: ``python -m benchmarks.novelty``.

Training items are drawn at random, six times. False alarms are items of the same set that were not drawn and are
flagged all the same, which should be one in a hundred. Beside them stand the shares of draws in which pictures
without content are flagged: black, grey, white, and two of noise. Prints a Markdown table and writes
``benchmarks/results/novelty.json``; ``--show`` prints what was written last. Fisher vectors are learned from the
first 300 images of the set.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.data import data_folder
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.catalogue.descriptors import describe, find_descriptor
from nearboost.datasets import open_dataset
from nearboost.models.novelty import UNLIKE, learn_novelty

SIZES, N_DRAWS, MOST_ASKED, MOST_SCENES, N_LEARNED, SIDE = (60, 120, 300, 800), 6, 600, 1200, 300, 256
STRANGE = ("black", "grey", "white", "noise", "noise 2")

Rows = NDArray[Any]


def strange_pictures(side: int, largest: int) -> list[Rows]:
    """Pictures without content, of numbers from 0 to ``largest``."""
    rng = np.random.default_rng(0)
    flat = [np.full((side, side), grey) for grey in (0, (largest + 1) // 2, largest)]
    return [*flat, *(rng.integers(0, largest + 1, (side, side)) for _ in range(2))]


def digits() -> tuple[Rows, Rows]:
    """scikit-learn's digits, and strange ones."""
    return load_digits(return_X_y=True)[0], np.array([one.ravel() for one in strange_pictures(8, 16)], dtype=float)


def scenes(features: str) -> tuple[Rows, Rows]:
    """Scenes of the training part by some features, and strange ones."""
    dataset = open_dataset(data_folder() / "scene15", duplicates=False)
    train = np.flatnonzero(np.asarray(dataset.part) == "train")
    chosen = np.random.default_rng(0).permutation(train)[:MOST_SCENES]
    images = [dataset.items[i] for i in chosen]
    pictures = [one.astype(np.uint8) for one in strange_pictures(SIDE, 255)]
    found = describe([*images, *pictures], find_descriptor(features), train=range(N_LEARNED))
    return found.X[: len(images)], found.X[len(images) :]


SETS = {"digits": digits, "scenes, Gist": lambda: scenes("gist"), "scenes, Fisher": lambda: scenes("fisher")}


def measure(X: Rows, strange: Rows) -> Iterator[dict[str, Any]]:
    """For each number of training items, what is flagged."""
    for size in SIZES:
        alarms, flagged = [], []
        for seed in range(N_DRAWS):
            order = np.random.default_rng(seed).permutation(len(X))
            novelty = learn_novelty(X[order[:size]])
            assert novelty is not None
            alarms.append(float((novelty.shares(X[order[size:]][:MOST_ASKED]) < UNLIKE).mean()))
            flagged.append(novelty.shares(strange) < UNLIKE)
        yield {
            "items": size,
            "false": alarms,
            "flagged": dict(zip(STRANGE, np.mean(flagged, axis=0), strict=True)),
        }


def main() -> None:
    """Measure and write, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what was written last")
    if not parser.parse_args().show:
        write_results("novelty", {name: list(measure(*load())) for name, load in SETS.items()})
    rows = [
        (name, str(one["items"]), f"{100 * np.mean(one['false']):.1f}", *_flagged(one))
        for name, found in read_results("novelty").items()
        for one in found
    ]
    print(markdown(("set", "training items", "false alarms, %", *STRANGE), rows))


def _flagged(one: dict[str, Any]) -> list[str]:
    """Shares of draws in which each strange picture was flagged."""
    return [f"{100 * one['flagged'][name]:.0f}" for name in STRANGE]


if __name__ == "__main__":
    main()
