"""
Rows that count more
====================

A weight multiplies what a row's error costs, and its vote. Raising the weight of one class moves the border
away from it, so that fewer of its rows are missed, at the price of false alarms.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.inspection import DecisionBoundaryDisplay

from nearboost import N3Classifier

X, y = make_blobs([300, 60], centers=[[0, 0], [2, 0]], random_state=0)
new, truth = make_blobs([3000, 600], centers=[[0, 0], [2, 0]], random_state=1)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
for ax, weight in zip(axes, (1, 3, 10), strict=True):
    model = N3Classifier(n_neighbors=15).fit(X, y, sample_weight=np.where(y == 1, weight, 1))
    DecisionBoundaryDisplay.from_estimator(model, X, ax=ax, response_method="predict", alpha=0.25, cmap="coolwarm")
    ax.scatter(*X.T, c=y, s=8, cmap="coolwarm")
    said = model.predict(new)
    missed, alarms = np.mean(said[truth == 1] == 0), np.mean(said[truth == 0] == 1)
    ax.set_title(f"Weight {weight}: {missed:.0%} of red missed,\n{alarms:.0%} of blue taken for red")
plt.show()
