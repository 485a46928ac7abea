"""
A share of a density is not yet a probability
=============================================

MAPBoost learns how much each example counts in the densities of the classes. The share of a class in the density
around a row, as published, is sharp: it is certain where moons overlap, too. `predict_proba` is as doubtful as
held-out rows say it should be. Both have the same border; points are training rows, and grey is where classes are
level or no example speaks.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from nearboost import MAPBoostClassifier

X, y = make_moons(400, noise=0.35, random_state=0)
new, truth = make_moons(5000, noise=0.35, random_state=1)
model = MAPBoostClassifier(31, estimator="gaussian").fit(X, y)

share, probability = model.class_posteriors(new), model.predict_proba(new)
certain = share.max(axis=1) > 0.99
wrong = np.mean(share.argmax(axis=1)[certain] != truth[certain])
doubt = np.mean(1 - probability.max(axis=1)[certain])

across, up = np.linspace(-2.2, 3.2, 180), np.linspace(-1.8, 2.2, 140)
grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained", sharey=True)
for ax, answers in zip(axes, (model.class_posteriors(grid), model.predict_proba(grid)), strict=True):
    values = answers[:, 1].reshape(len(up), len(across))
    drawn = ax.pcolormesh(across, up, values, cmap="coolwarm", vmin=0, vmax=1, rasterized=True)
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=10, edgecolor="black", linewidth=0.4)
    ax.set(xticks=[], yticks=[])
axes[0].set_title(
    f"Share of the density: certain of {certain.mean():.0%}\nof new rows, and {wrong:.1%} of these are wrong"
)
axes[1].set_title(f"Probability: on the same rows,\nit leaves a doubt of {doubt:.1%}")
figure.colorbar(drawn, ax=axes, label="How much speaks for red")
plt.show()
