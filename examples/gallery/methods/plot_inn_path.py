"""
A row as a path through its neighbours
======================================

Iterative nearest neighbours write a row as a weighted sum of samples. The query starts at the row, takes the
nearest sample, and moves away from it; so the next sample lies on the other side, and mends what is left over.
Ordinary neighbours may all lie on one side, as they do here, where samples lie on a spiral around the row.
"""

import numpy as np
from matplotlib import pyplot as plt

from nearboost import INNCoder
from nearboost.plotting import CodeDisplay

turns = 0.55 * np.arange(25)
samples = (0.5 + 0.06 * turns[:, np.newaxis]) * np.column_stack([np.cos(turns), np.sin(turns)])
row = np.zeros(2)
coder = INNCoder(regularization=0.3).fit(samples)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
path = CodeDisplay.from_estimator(coder, row, kind="path", ax=left)
left.set(xlim=(-0.9, 0.9), ylim=(-0.85, 0.7), aspect="equal")
left.legend(loc="lower right", fontsize="small")

nearest = np.argsort(np.linalg.norm(samples - row, axis=1))[: len(path.samples)]
code = coder.transform([row])
off = [np.linalg.norm(each - row) for each in (coder.reconstruct(code)[0], samples[nearest].mean(axis=0))]
left.set_title(f"Off by {off[0]:.2f}; the mean of the {len(nearest)} nearest by {off[1]:.2f}")

CodeDisplay.from_estimator(coder, row, ax=right)
right.set_title(f"{len(path.taken)} steps, {len(path.samples)} samples")
plt.show()
