"""
Digits on a plane
=================

`SRLP` writes each row as a sparse sum of others of its class, ties it to these, and keeps the directions along
which tied rows stay close. Two of them set new digits apart better than two principal components, which do not
know the classes. Each numeral is a new digit, where the plane puts it.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from nearboost import SRLP, KNNClassifier

X, y = load_digits(n_class=6, return_X_y=True)
X = normalize(X)
known, new, classes, truth = X[::2], X[1::2], y[::2], y[1::2]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, plane in zip(axes, (PCA(2), SRLP(2)), strict=True):
    points = plane.fit(known, classes).transform(new)
    right = KNNClassifier(15, calibration=None).fit(plane.transform(known), classes).score(points, truth)
    for each in np.unique(y):
        ax.scatter(*points[truth == each].T, s=40, marker=f"${each}$", linewidth=0.3)
    ax.set(xticks=[], yticks=[], xlabel="First direction", ylabel="Second direction")
    ax.set_title(f"{type(plane).__name__}: k-NN on the plane is right for {right:.1%}")
plt.show()
