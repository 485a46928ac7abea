"""
A metric from pairs
===================

`ITML` need not know classes: pairs marked "same" or "different" are enough. It changes the distance so that the
first are near and the second far, and no more than that takes. Here the classes, one colour each, lie in stripes:
the long direction says nothing and is shrunk, the short one is stretched. Points are rows that are in no pair.
"""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

from nearboost import ITML, KNNClassifier


def stripes(n, seed):
    """Three stripes, side by side and turned."""
    y = np.arange(n) % 3
    flat = np.random.default_rng(seed).normal(size=(n, 2)) * (3.0, 0.25) + np.column_stack([0 * y, y - 1.0])
    return flat @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y


X, y = stripes(90, 0)
new, truth = stripes(600, 1)
pairs = np.random.default_rng(0).integers(len(X), size=(40, 2))
same = y[pairs[:, 0]] == y[pairs[:, 1]]
metric = ITML().fit_pairs(X, pairs, same)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
for ax, name, move in zip(axes, ("As given", "Learned"), (np.asarray, metric.transform), strict=True):
    right = KNNClassifier(1, calibration=None).fit(move(X), y).score(move(new), truth)
    ax.scatter(*move(new).T, c=truth, cmap="viridis", s=8, alpha=0.5)
    for kind, color, style in ((same, "black", "-"), (~same, "#c4590a", ":")):
        lines = LineCollection(move(X)[pairs[kind]], colors=color, linestyles=style, linewidths=1)
        lines.set_label("same" if kind is same else "different")
        ax.add_collection(lines)
    ax.set(aspect="equal", xlim=(-7, 7), ylim=(-7, 7), xticks=[], yticks=[])
    ax.set_title(f"{name}: the nearest row is right for {right:.1%}")
axes[0].legend(title=f"{len(pairs)} pairs", loc="upper left", fontsize="small")
plt.show()
