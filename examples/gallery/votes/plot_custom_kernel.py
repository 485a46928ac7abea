"""
A kernel of your own
====================

MLNN weighs neighbours by a kernel of their distance. Any function from distances to similarities will do, for
example one with a heavy tail. Lines reach one standard error of the held-out figures to each side: 800 rows
cannot tell three of the kernels apart. The triangle, for which far neighbours hardly count, is behind, and new
rows confirm it.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from nearboost import MLNNClassifier


def heavy_tail(distances):
    """Cauchy's kernel: far neighbours keep some weight."""
    return 1 / (1 + (distances / 0.2) ** 2)


def triangle(distances):
    """Nothing beyond 0.3, nearly."""
    return np.maximum(1 - distances / 0.3, 1e-3)


X, y = make_moons(800, noise=0.3, random_state=0)
new, truth = make_moons(5000, noise=0.3, random_state=1)

kernels = {"equal votes": "knn", "gaussian": "gaussian", "triangle": triangle, "heavy tail": heavy_tail}
models = {name: MLNNClassifier(n_neighbors=31, kernel=kernel).fit(X, y) for name, kernel in kernels.items()}
held_out = [model.held_out_accuracy_ for model in models.values()]
reached = [model.score(new, truth) for model in models.values()]

figure, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
places = np.arange(len(kernels))
ax.plot(held_out, places, "o", color="#1f6fb4", label="held-out rows (800)")
ax.plot(reached, places, "D", color="#c4590a", label="new rows (5,000)")
error = np.sqrt(np.multiply(held_out, np.subtract(1, held_out)) / len(X))
ax.errorbar(held_out, places, xerr=error, fmt="none", ecolor="#1f6fb4", linewidth=1)
ax.set_yticks(places, list(kernels))
ax.set(xlabel="Accuracy", ylim=(-0.6, len(kernels) - 0.4))
ax.set_title(f"From {min(reached):.1%} to {max(reached):.1%} on new rows, by the kernel")
ax.legend(frameon=False)
plt.show()
