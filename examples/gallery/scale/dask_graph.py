"""
A graph of neighbours on a cluster
==================================

The graph is what grows with the square of the rows, so it is spread over the workers of a Dask cluster: each
task takes a block of queries against all rows. The lists are those of one machine, to the last bit, and a lost
worker's blocks are made again. It needs `pip install ".[dask]"` in the folder of nearboost; here two
processes of one machine are the cluster.
"""

import tempfile
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.datasets import make_classification

from nearboost import N3Classifier, NeighborSearch
from nearboost.distributed import graph


def main():
    X, y = make_classification(20_000, 64, n_informative=32, n_classes=10, random_state=0)
    folder = Path(tempfile.mkdtemp())  # one that all workers can open
    np.save(folder / "rows.npy", X.astype(np.float32))

    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        # After an interruption, the same call makes only the blocks that are missing.
        found = graph(folder / "rows.npy", 11, client, into=folder / "graph", verbose=1)

    rows = np.load(folder / "rows.npy", mmap_mode="r")
    assert np.array_equal(found.indices, NeighborSearch(rows).graph(11).indices)
    model = N3Classifier(n_neighbors=11).fit(rows, y, graph=found)
    print(f"{model.held_out_accuracy_:.1%} expected on new rows")


if __name__ == "__main__":
    main()
