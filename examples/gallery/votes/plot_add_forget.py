"""
Add rows and forget them
========================

`add` and `forget` give a new model that equals, to the last bit, one fitted anew to the rows that are left.
Only what changes in the neighbour graph is searched for. Here a third cloud arrives, and a corner of the first
has to be forgotten.
"""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs

from nearboost import N3Classifier

X, y = make_blobs(300, centers=[[0, 0], [3, 1], [1, 3]], random_state=0)
first = y < 2
before = N3Classifier(n_neighbors=5).fit(X[first], y[first])
more = before.add(X[~first], y[~first])

rows, labels = np.vstack([X[first], X[~first]]), np.concatenate([y[first], y[~first]])
gone = np.flatnonzero((labels == 0) & (rows[:, 0] < 0))
less = more.forget(gone)

anew = N3Classifier(n_neighbors=5).fit(np.delete(rows, gone, axis=0), np.delete(labels, gone))
assert np.array_equal(less.decision_function(X), anew.decision_function(X))

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharex=True, sharey=True)
colors = ListedColormap(["#1f6fb4", "#c4590a", "#3a8f5c"])
grid = np.stack(np.meshgrid(np.linspace(-3, 6, 150), np.linspace(-3, 6, 150)), axis=-1)
kept = np.setdiff1d(np.arange(len(rows)), gone)
steps = [("Two classes", before, np.arange(first.sum())), ("A class added", more, np.arange(len(rows)))]
for ax, (name, model, shown) in zip(axes, [*steps, ("A corner forgotten", less, kept)], strict=True):
    regions = model.predict(grid.reshape(-1, 2)).reshape(150, 150)
    ax.imshow(regions, extent=(-3, 6, -3, 6), origin="lower", cmap=colors, vmin=0, vmax=2, alpha=0.25)
    ax.scatter(*rows[shown].T, c=labels[shown], s=12, cmap=colors, vmin=0, vmax=2)
    ax.set_title(f"{name}: {len(shown)} rows")
plt.show()
