"""A mapped file that was cut short is an error wherever it is used, never the end of the process."""

import json
import subprocess
import sys

import pytest

USES = {
    "search": "s = nb.NeighborSearch(rows); cut_short(); s.search(X[:5], 3)",
    "L1 graph": "s = nb.NeighborSearch(rows, 'l1'); s.search(X[:5], 3); cut_short(); s.graph(3)",
    "a view": "s = nb.NeighborSearch(np.asarray(rows)[100:], 'cosine'); cut_short(); s.search(X[:5], 3)",
    "queries": "s = nb.NeighborSearch(X); cut_short(); s.search(rows, 3)",
    "rows": "cut_short(); nb.NeighborSearch(rows)",
    "k-NN": "m = nb.KNNClassifier().fit(rows, y); cut_short(); m.predict(X[:5])",
    "fit": "cut_short(); nb.N3Classifier(5, n_rounds=2).fit(rows, y)",
    "N3": "m = nb.N3Classifier(5, n_rounds=2, calibration=None).fit(rows, y); cut_short(); m.predict(X[:5])",
    "votes": "m = nb.UNNClassifier(5, n_rounds=2, vote_weights='inn').fit(rows, y); cut_short(); m.predict(X[:5])",
    "prune": "m = nb.N3Classifier(5, n_rounds=2, calibration=None).fit(rows, y); cut_short(); m.prune(20)",
    "add": "m = nb.KNNClassifier().fit(rows, y); cut_short(); m.add(X[:5], y[:5])",
    "forget": "m = nb.UNNClassifier(5, n_rounds=2).fit(rows, y); cut_short(); m.forget([1])",
    "local codes": "m = nb.INNCoder(neighborhood=9).fit(rows); cut_short(); m.transform(X[:5])",
    "linear": "m = nb.SLNDClassifier(max_passes=1).fit(X, y); cut_short(); m.predict(rows)",
    "blocks": "m = nb.SLNDClassifier().partial_fit(X, y, classes=range(3)); cut_short(); m.partial_fit(rows, y)",
    "float32": "m = nb.SLNDClassifier().partial_fit(X.astype('f'), y, y[:3]); cut_short(); m.partial_fit(rows, y)",
    "linear fit": "cut_short(); nb.LinearSGDClassifier(max_passes=1).fit(rows, y)",
    "parts": "cut_short(); nb.SplitClassifier(nb.N3Classifier(), 2).fit(rows, y)",
    "whitening": "m = nf.WhitenedPCA(4).fit(X); cut_short(); m.transform(rows)",
    "mixture": "m = nf.DiagonalGMM(3).fit(X); cut_short(); m.predict_proba(rows)",
    "discriminant": "m = nb.SoftDiscriminant().fit(X, y); cut_short(); m.transform(rows)",
    "saving": "m = nb.KNNClassifier().fit(rows, y); cut_short(); save(m, path.with_name('m.nb'))",
    "data": "d = open_dataset(path.parent, duplicates=False); cut_short(); d.take(range(2000))",
}
# Beside the rows, with the size of the file.
OTHERS = {
    "labels": ("z = map_of('y.npy', y); cut_short('y.npy'); nb.KNNClassifier().fit(X, z)", "y.npy", "16,128"),
    "graph": (
        "g = maps_of(nb.NeighborSearch(X).graph(9)); cut_short('i.npy'); nb.N3Classifier(3).fit(X, y, graph=g)",
        "i.npy",
        "72,128",
    ),
}
# Codes among all samples need these in memory: what becomes of the file afterwards is nothing to them.
IN_MEMORY = {
    "codes": "m = nb.INNCoder(gram_memory=1).fit(rows); cut_short(); m.transform(X[:5])",
    "L1 codes": "m = nb.INNCoder(metric='l1').fit(rows); cut_short(); m.transform(X[:5])",
    "sums": "m = nb.INNCoder().fit(rows); c = m.transform(X[:5]); cut_short(); m.reconstruct(c)",
    "sparse codes": "m = nb.SRCClassifier(normalize=False).fit(rows, y); cut_short(); m.predict(X[:5])",
}
SCRIPT = """
import json, os, sys, warnings
from pathlib import Path
import numpy as np
import nearboost as nb
from nearboost import features as nf
from nearboost.datasets import open_dataset
from nearboost.models import save
warnings.simplefilter("ignore")
def map_of(name, array):
    np.save(path.with_name(name), array)
    return np.load(path.with_name(name), mmap_mode="r")
def maps_of(graph):
    return map_of("i.npy", graph.indices), map_of("d.npy", graph.distances)
X, y, path = np.random.default_rng(0).normal(size=(2000, 20)), np.arange(2000) % 3, Path(sys.argv[1])
for name, use in json.loads(sys.argv[2]).items():
    np.save(path, X)
    np.save(path.with_name("y.npy"), y)
    rows = np.load(path, mmap_mode="r")
    cut_short = lambda name=path.name: os.truncate(path.with_name(name), 4096)
    print(name, end=": ", flush=True)
    try:
        exec(use)
        print("done", flush=True)
    except ValueError as error:
        print(error, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be cut short there")
def test_a_file_cut_short_is_an_error(tmp_path):
    """In a process of its own, which a signal may end."""
    path = str(tmp_path / "X.npy")
    others = {name: use for name, (use, *_) in OTHERS.items()}
    command = [sys.executable, "-c", SCRIPT, path, json.dumps(USES | others | IN_MEMORY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    said = "{} was cut short after it was opened, to 4,096 of {} bytes; restore it and open it again."
    told = [f"{name}: {said.format(path, '320,128')}" for name in USES]
    told += [f"{name}: {said.format(tmp_path / file, size)}" for name, (_, file, size) in OTHERS.items()]
    told += [f"{name}: done" for name in IN_MEMORY]
    assert done.stdout.splitlines() == told, done.stderr
    assert done.returncode == 0
