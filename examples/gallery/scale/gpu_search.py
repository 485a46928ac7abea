"""
Search on a GPU
===============

With `search="gpu"` neighbours are those that "exact" finds, to the last bit: products in half precision propose
them, and sums in float64 prove them. A model that was fitted so opens on machines without a GPU, too. It needs
`pip install ".[gpu]"` in the folder of nearboost, and CUDA or ROCm.
"""

from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification

from nearboost import N3Classifier, NeighborSearch

DEVICE = "gpu"  # or "gpu:1", the second
X, y = make_classification(50_000, 256, n_informative=64, n_classes=10, random_state=0)
X = X.astype(np.float32)

graphs = {}
for method in ("exact", DEVICE):
    start = perf_counter()
    graphs[method] = NeighborSearch(X, method=method).graph(11)
    print(f"{method}: {perf_counter() - start:.1f} s")
assert np.array_equal(graphs["exact"].indices, graphs[DEVICE].indices)
assert np.array_equal(graphs["exact"].distances, graphs[DEVICE].distances)

# The graph can be given to a classifier, and queries are searched on the GPU as well.
model = N3Classifier(n_neighbors=11, search=DEVICE).fit(X, y, graph=graphs[DEVICE])
print(f"{model.held_out_accuracy_:.1%} expected on new rows")
