"""
A kernel by its landmarks
=========================

`LandmarkMap` compares a row with some training rows, its landmarks, and makes coordinates of the answers. Their
inner products stand in for a Gaussian kernel: the more landmarks, the closer. Each point is a pair of new digits;
on the line, product and kernel are the same. Titles say how far apart they are in the mean.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from nearboost import LandmarkMap

X, _ = load_digits(return_X_y=True)
known, new = X[::2], X[1::2][:200]

figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.6), layout="constrained", sharex=True, sharey=True)
above = np.triu_indices(len(new), 1)
for ax, n_landmarks in zip(axes, (10, 50, 400), strict=True):
    coordinates = LandmarkMap(n_landmarks).fit(known)
    kernel = rbf_kernel(new, gamma=coordinates.gamma_)[above]
    rows = coordinates.transform(new)
    products = (rows @ rows.T)[above]
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    ax.scatter(kernel, products, s=1, alpha=0.3, color="#1f6fb4", rasterized=True)
    ax.set(xlabel="Kernel of the pair", aspect="equal")
    ax.set_title(f"{n_landmarks} landmarks: off by {np.abs(products - kernel).mean():.3f}")
axes[0].set_ylabel("Product of coordinates")
plt.show()
