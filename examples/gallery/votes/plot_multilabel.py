"""
Several labels at once
======================

With a matrix of 0 and 1 as labels, each column is a problem of its own, on one graph of neighbours.
Probabilities are independent, so a row may have several labels or none. Here one label is a disc, another a
band; where they cross, both.
"""

import numpy as np
from matplotlib import pyplot as plt

from nearboost import N3Classifier

rng = np.random.default_rng(0)


def labels_of(X):
    """A disc and a band."""
    return np.column_stack([np.hypot(*X.T) < 1, np.abs(X[:, 0] + X[:, 1] - 1) < 0.7]).astype(int)


X = rng.uniform(-2, 2, (500, 2))
model = N3Classifier(n_neighbors=7).fit(X, labels_of(X))

new = rng.uniform(-2, 2, (4000, 2))
right = (model.predict(new) == labels_of(new)).mean(axis=0)

side = np.linspace(-2, 2, 80)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
chances = model.predict_proba(grid).reshape(80, 80, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, name, column in zip(axes, ("Disc", "Band"), (0, 1), strict=True):
    shown = ax.imshow(chances[..., column], origin="lower", extent=(-2, 2, -2, 2), vmin=0, vmax=1, cmap="Blues")
    ax.contour(side, side, chances[..., column], levels=[0.5], colors="black")
    ax.set_title(f"{name}: {right[column]:.1%} right on new rows")
figure.colorbar(shown, ax=axes, label="Probability of the label")
plt.show()
