"""
Rows that belong together
=========================

Frames of one track, cells of one well and copies of one image are near each other. Held out one by one, each is
judged by its siblings, and the estimate praises memory. With `groups`, none of them votes on another. Then the
estimate is a little low, because a fifth of the tracks is held out each time, and no longer far too high.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import NearBoostClassifier

X, y = load_digits(return_X_y=True)
names = ["promised without groups", "promised with groups", "reached on new digits"]
found = []
for seed in range(3):
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))
    few, others = chosen[:100], chosen[100:]
    track = np.repeat(np.arange(100), 3)  # three noisy frames of each of 100 digits
    frames = X[few][track] + rng.normal(size=(300, 64))
    alone = NearBoostClassifier().fit(frames, y[few][track])
    whole = NearBoostClassifier().fit(frames, y[few][track], groups=track)
    found.append([alone.held_out_accuracy_, whole.held_out_accuracy_, whole.score(X[others], y[others])])

found = np.array(found)
figure, ax = plt.subplots(figsize=(7.4, 3), layout="constrained")
for place, (name, color) in enumerate(zip(names, ("#c4590a", "#1f6fb4", "#8a94a3"), strict=True)):
    ax.scatter(found[:, place], [name] * len(found), color=color, s=30)
    ax.scatter(found[:, place].mean(), [name], color=color, marker="|", s=900)
ax.set(xlabel="Accuracy: three draws and their mean", ylim=(2.5, -0.5))
promised, honest, reached = found.mean(axis=0)
ax.set_title(f"Promised {promised:.1%}, with groups {honest:.1%}; reached {reached:.1%}")
plt.show()
