"""
Labels that are likely wrong
============================

Rows that were held out of learning judge their own labels. Where they give the label little probability,
somebody should look. Here 20 of 900 digits were given another label at random; nearly all of them are among the
first 20 suspects.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import NearBoostClassifier

X, y = load_digits(return_X_y=True)
X, truth = X[:900], y[:900]
rng = np.random.default_rng(0)
changed = rng.choice(len(X), 20, replace=False)
labels = truth.copy()
labels[changed] = (truth[changed] + rng.integers(1, 10, 20)) % 10

model = NearBoostClassifier().fit(X, labels)
rows = model.held_out_rows_
order = np.argsort(model.held_out_proba_[np.arange(len(rows)), labels[rows]])
suspects = rows[order[:20]]
found = np.isin(suspects, changed)

figure, axes = plt.subplots(2, 10, figsize=(10, 2.9), layout="constrained")
for ax, row, is_wrong in zip(axes.flat, suspects, found, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"labelled {labels[row]}", fontsize="small", color="black" if is_wrong else "#c4590a")
figure.suptitle(f"{found.sum()} of the 20 likeliest suspects were changed; the labels in orange were not")
plt.show()
