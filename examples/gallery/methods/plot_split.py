"""
A classifier for each part of a row
===================================

In the rows on the left, each of 16 parts takes one of six looks of its class, whatever the other parts do. Few
rows are near a new one in all parts, but some are in each: `SplitClassifier` asks neighbours part by part and
averages what they say. In digits, a line of pixels means little alone, and neighbours by all of them are better.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import KNNClassifier, SplitClassifier

ROWS = [50, 100, 200, 400, 800]


def variants(n, seed, ways=6, parts=16, size=6):
    """Rows of four classes: centres of each class, part and way, with noise."""
    centres = np.random.default_rng(0).normal(size=(4, ways, parts, size))
    rng = np.random.default_rng(seed)
    y, way = np.arange(n) % 4, rng.integers(ways, size=(n, parts))
    return centres[y[:, np.newaxis], way, np.arange(parts)] + 0.7 * rng.normal(size=(n, parts, size)), y


def unit(rows):
    """Parts of unit length, so that no part outweighs another."""
    sizes = np.linalg.norm(rows, axis=2, keepdims=True)
    return (rows / np.maximum(sizes, 1e-9)).reshape(len(rows), -1)


digits, classes = load_digits(return_X_y=True)
lines = digits.reshape(-1, 8, 8)
tasks = {"Parts that vary alone": (*variants(800, 1), *variants(1000, 2), 16)}
tasks["Lines of digits"] = lines[::2], classes[::2], lines[1::2], classes[1::2], 8

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, (name, (rows, y, new, truth, parts)) in zip(axes, tasks.items(), strict=True):
    whole = KNNClassifier(5, calibration=None)
    split = SplitClassifier(whole, parts, normalization=None, posterior="predict_proba")
    for model, color, label in ((split, "#1f6fb4", "k-NN on each part"), (whole, "#c4590a", "k-NN on the row")):
        right = [100 * model.fit(unit(rows[:n]), y[:n]).score(unit(new), truth) for n in ROWS]
        ax.plot(ROWS, right, "o-", color=color, label=label)
    ax.set(xlabel="Training rows", xscale="log")
    ax.set_xticks(ROWS, ROWS)
    ax.minorticks_off()
    ax.set_title(name)
axes[0].set_ylabel("New rows that are right, %")
axes[0].legend(frameon=False, loc="lower right")
plt.show()
