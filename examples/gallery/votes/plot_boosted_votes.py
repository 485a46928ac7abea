"""
What boosting does to neighbour votes
=====================================

Two moons, with one label in twenty wrong. One nearest neighbour makes an island around each wrong label. More
neighbours vote these down, but all rows have to be kept. N3 keeps one row in six and learns a
weight for each, drawn as its area: the border is as good as with all rows.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from nearboost import KNNClassifier, N3Classifier

rng = np.random.default_rng(0)
X, truth = make_moons(300, noise=0.2, random_state=0)
y = np.where(rng.random(len(X)) < 0.05, 1 - truth, truth)
new, new_truth = make_moons(5000, noise=0.2, random_state=1)

boosted = N3Classifier(n_prototypes=1 / 6).fit(X, y)
neighbors = KNNClassifier(n_neighbors=11).fit(X, y)
models = {"1-NN": KNNClassifier(n_neighbors=1).fit(X, y), "11-NN": neighbors, "N3": boosted}

# Area: how much a prototype's vote weighs, what all start with and its own correction together.
weights = np.zeros(len(X))
chosen = boosted.prototypes_
weights[chosen] = np.abs(boosted.start_coefficient_ + boosted.coefficients_.toarray()).max(axis=1)
areas = {
    "1-NN": np.full(len(X), 12.0),
    "11-NN": np.full(len(X), 12.0),
    "N3": 40 * weights / weights[chosen].mean(),
}

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(model, X, ax=ax, response_method="predict", alpha=0.25, cmap="coolwarm")
    ax.scatter(*X.T, c=y, s=areas[name], cmap="coolwarm", edgecolor="black", linewidth=0.4)
    error = 1 - model.score(new, new_truth)
    ax.set_title(f"{name}: {len(model.voters_)} rows vote, {error:.1%} wrong")
plt.show()
