"""
SLND against SGD by time
========================

Both learn a linear classifier by passes over the rows. Here features are correlated, as those of images are:
what tells classes apart lies where rows vary little, and stochastic gradients get there slowly. SLND first
measures how features vary together, and its first pass is nearly its last. Time is all that `fit` takes, on the
machine that built this site with other scripts beside this one; accuracy is that of rows that neither has seen.
"""

from time import perf_counter

import numpy as np
from matplotlib import pyplot as plt
from sklearn.preprocessing import StandardScaler

from nearboost import LinearSGDClassifier, SLNDClassifier

N, D, C = 10_000, 100, 10
rng = np.random.default_rng(0)
sizes = 1 / np.arange(1, D + 1)
hidden = rng.normal(size=(2 * N, D)) * sizes
scores = hidden @ (rng.normal(size=(D, C)) * sizes[:, np.newaxis] ** -0.8) + 2 * rng.gumbel(size=(2 * N, C))
turned = hidden @ np.linalg.qr(rng.normal(size=(D, D)))[0]
X, y = StandardScaler().fit_transform(turned).astype(np.float32), scores.argmax(axis=1)
X, new, y, truth = X[:N], X[N:], y[:N], y[N:]

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
best = {}
for classifier, passes in ((LinearSGDClassifier, (1, 2, 4, 8, 16, 32, 64)), (SLNDClassifier, (1, 2, 4, 8))):
    classifier(max_passes=1).fit(X[:500], y[:500])  # kernels are compiled before the clock starts
    seconds, right = [], []
    for n_passes in passes:
        start = perf_counter()
        model = classifier(max_passes=n_passes, calibration=None).fit(X, y)
        seconds.append(perf_counter() - start)
        right.append(model.score(new, truth))
    ax.plot(seconds, right, marker="o", label=f"{classifier.__name__}, {passes[0]} to {passes[-1]} passes")
    best[classifier] = right
ax.set(xlabel="Seconds of fit", ylabel="Accuracy on new rows", xscale="log")
ax.legend(frameon=False)
ax.set_title(f"One pass of SLND: {best[SLNDClassifier][0]:.1%}; 64 of SGD: {best[LinearSGDClassifier][-1]:.1%}")
plt.show()
