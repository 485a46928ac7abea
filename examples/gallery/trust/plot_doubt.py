"""
Answers only where they are sure
================================

With calibrated probabilities a classifier can keep silent: `predict(X, reject_below=0.9)` answers where the
likeliest class has at least 90%. The fewer the answers, the fewer the errors. What is answered is right at
least as often as the threshold says, but for the very highest thresholds.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from nearboost import N3Classifier

X, y = make_classification(4000, 8, n_informative=6, n_classes=3, flip_y=0.05, random_state=0)
X, new, y, truth = train_test_split(X, y, train_size=1000, random_state=0)
model = N3Classifier().fit(X, y)

thresholds = np.linspace(0.35, 0.97, 30)
answered, right = [], []
for threshold in thresholds:
    said = model.predict(new, reject_below=threshold, reject_label=-1)
    given = said != -1
    answered.append(given.mean())
    right.append(np.mean(said[given] == truth[given]) if given.any() else np.nan)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(thresholds, right, color="#1f6fb4", label="right, of those that are given")
ax.plot(thresholds, answered, color="#c4590a", label="answers that are given")
ax.plot(thresholds, thresholds, color="#8a94a3", linestyle=":", label="the threshold itself")
ax.set(xlabel="reject_below", ylabel="Share", ylim=(0, 1.02))
place = np.argmin(np.abs(thresholds - 0.9))
ax.set_title(f"At 90%, {answered[place]:.0%} are answered, and {right[place]:.1%} of these are right")
ax.legend(frameon=False, loc="lower left")
plt.show()
