"""
Digits on a plane
=================

`SRLP` writes each row as a sparse sum of others of its class, ties it to these, and keeps the directions along
which tied rows stay close. Two of them set six kinds of digits apart better than two principal components, which
do not know the classes. For all ten kinds a plane is too small, and the two are about level. Each numeral is a new
digit, where the plane puts it.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from nearboost import SRLP, KNNClassifier

figure, axes = plt.subplots(2, 2, figsize=(9, 8.2), layout="constrained")
for line, kinds in zip(axes, (6, 10), strict=True):
    X, y = load_digits(n_class=kinds, return_X_y=True)
    X = normalize(X)
    known, new, classes, truth = X[::2], X[1::2], y[::2], y[1::2]
    for ax, plane in zip(line, (PCA(2), SRLP(2)), strict=True):
        points = plane.fit(known, classes).transform(new)
        right = KNNClassifier(15, calibration=None).fit(plane.transform(known), classes).score(points, truth)
        for each in np.unique(y):
            ax.scatter(*points[truth == each].T, s=40, marker=f"${each}$", linewidth=0.3)
        ax.set(xticks=[], yticks=[])
        ax.set_title(
            f"{type(plane).__name__}, {kinds} kinds: k-NN on the plane is right for {right:.1%}", fontsize=10
        )
plt.show()
