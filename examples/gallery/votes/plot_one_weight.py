"""
One weight for all classes, or one for each
===========================================

The same 40 digits vote, a line each. In UNN a prototype has a weight for each class: it speaks against some more
than against others, and of some says nothing (white). In MLNN it has one weight, for its own class and against all
others alike. That says what an example is worth, but not against whom; white lines are worth nothing.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import MLNNClassifier, UNNClassifier

X, y = load_digits(return_X_y=True)

# Five neighbours vote: with one, which "auto" finds best for so few prototypes, weights hardly matter.
unn = UNNClassifier(5, n_prototypes=40, start="zero").fit(X, y)
mlnn = MLNNClassifier(5, n_prototypes=40).fit(X, y)

# What a prototype adds to the score of each class when it votes; both keep the same ones.
classes = y[unn.prototypes_]
own = classes[:, np.newaxis] == unn.classes_
per_class, single = unn.coefficients_.toarray(), mlnn.coefficients_[:, np.newaxis]
votes = {
    "UNN": (per_class, np.where(own, 1, -1) * per_class),
    "MLNN": (single, np.where(own, 1, -1 / 9) * single),
}

figure, axes = plt.subplots(1, 2, figsize=(8, 5.6), layout="constrained", sharey=True)
order = np.argsort(classes, kind="stable")
for ax, (name, (weights, vote)) in zip(axes, votes.items(), strict=True):
    largest = np.abs(vote).max()
    drawn = ax.imshow(vote[order], cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
    ax.set_xticks(range(10))
    ax.set(xlabel="Class that is voted on")
    ax.set_title(f"{name}: {np.count_nonzero(weights)} weights above 0")
    figure.colorbar(drawn, ax=ax, ticks=[-largest, 0, largest]).ax.set_yticklabels(["against", "0", "for"])
axes[0].set_yticks(range(40), classes[order], fontsize=8)
axes[0].set_ylabel("Prototype, by its class")
plt.show()
