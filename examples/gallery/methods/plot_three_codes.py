"""
One digit, three codes
======================

A new digit is written as a weighted sum of known ones, and its class is judged by theirs. Iterative nearest
neighbours (`INNClassifier`) and the lasso (`SRCClassifier`) take few digits, most of them of the right class.
Ridge (`CRCClassifier`) gives all of them a weight, above or below 0. Lines are known digits, in order of class.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from nearboost import CRCClassifier, INNClassifier, SRCClassifier

X, y = load_digits(return_X_y=True)
X /= np.linalg.norm(X, axis=1, keepdims=True)
order = 2 * np.argsort(y[::2], kind="stable")
known, classes, new, truth = X[order], y[order], X[1::2], y[1::2]
ROW = 0

models = {"INN": INNClassifier(), "SRC": SRCClassifier(), "CRC": CRCClassifier()}
codes = {}
for name, model in models.items():
    model.fit(known, classes)
    if name != "CRC":
        [one] = model.explain(new[[ROW]])
        codes[name] = np.zeros(len(known))
        codes[name][one.samples] = one.weights
# This classifier sums weights up without making them; they are those of ridge regression.
codes["CRC"] = Ridge(models["CRC"].regularization, fit_intercept=False).fit(known.T, new[ROW]).coef_

figure, axes = plt.subplots(3, 1, figsize=(8, 5.4), layout="constrained", sharex=True)
bounds = np.searchsorted(classes, np.arange(11))
for ax, (name, code) in zip(axes, codes.items(), strict=True):
    ax.vlines(
        np.arange(len(code)), 0, code, linewidth=1.5, colors=np.where(classes == truth[ROW], "#1f6fb4", "#c4590a")
    )
    ax.axhline(0, color="black", linewidth=0.5)
    for place in bounds[1:-1]:
        ax.axvline(place - 0.5, color="#c9ced6", linewidth=0.8)
    right = models[name].score(new, truth)
    ax.set_title(
        f"{name}: {np.count_nonzero(code)} of {len(code)} digits have a weight; {right:.1%} of new ones are right"
    )
    ax.set(ylabel="Weight", xlim=(-1, len(code)))
axes[-1].set_xticks((bounds[:-1] + bounds[1:]) / 2, [str(each) for each in range(10)])
axes[-1].tick_params(axis="x", length=0)
axes[-1].set_xlabel(f"Class of the known digits; the new one is a {truth[ROW]} (blue)")
plt.show()
