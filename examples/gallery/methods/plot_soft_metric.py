"""
A soft metric
=============

Nearest neighbours are only as good as the distance. `SoftDiscriminant` shrinks directions in which rows of one
class differ and keeps those that tell classes apart; the rest counts for little, but is not thrown away. Half
of the features here are noise that drowns the others.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearboost import KNNClassifier, SoftDiscriminant

X, y = load_wine(return_X_y=True)
X = np.hstack([StandardScaler().fit_transform(X), 2 * np.random.default_rng(0).normal(size=X.shape)])

as_given = make_pipeline(StandardScaler(with_std=False), KNNClassifier(n_neighbors=5))
learned = make_pipeline(SoftDiscriminant(), KNNClassifier(n_neighbors=5))
learned

# %%
# Each pipeline learns from half of the rows; points are the others, and accuracies are of five folds.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, pipeline) in zip(axes, {"As given": as_given, "Soft metric": learned}.items(), strict=True):
    right = cross_val_score(pipeline, X, y, cv=5).mean()
    metric = pipeline[0].fit(X[::2], y[::2])
    view = PCA(2).fit(metric.transform(X[::2]))
    points = view.transform(metric.transform(X[1::2]))
    ax.scatter(points[:, 0], points[:, 1], c=y[1::2], cmap="viridis", s=20)
    ax.set(xlabel="First component", ylabel="Second component")
    ax.set_title(f"{name}: k-NN is right for {right:.1%}")
plt.show()
