"""
An explanation that adds up
===========================

`explain` names the training rows that voted on an answer, and what each of them added to each class. The sum is
the score, to the last bit. Here, the digit that N3 is least sure of while being wrong: the larger score wins,
and both are below 0.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import N3Classifier
from nearboost.plotting import VotersDisplay

X, y = load_digits(return_X_y=True)
rows, labels, new, truth = X[::2], y[::2], X[1::2], y[1::2]
model = N3Classifier(n_neighbors=5, n_prototypes=0.2).fit(rows, labels)

chances = model.predict_proba(new)
wrong = np.flatnonzero(model.predict(new) != truth)
odd = wrong[chances[wrong].max(axis=1).argmin()]
said = model.predict(new[odd : odd + 1])[0]

figure, axes = plt.subplots(2, 1, figsize=(7.4, 4.6), layout="constrained")
for ax, about in zip(axes, (said, truth[odd]), strict=True):
    VotersDisplay.from_estimator(model, new[odd], rows, labels, about=about, shape=(8, 8), ax=ax)
figure.suptitle(f"A {truth[odd]}, taken for a {said}: the votes on both")

[explanation] = model.explain(new[odd : odd + 1])
assert np.array_equal(explanation.total(), model.decision_function(new[odd : odd + 1])[0])
plt.show()
