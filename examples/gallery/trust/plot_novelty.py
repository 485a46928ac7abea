"""
Rows unlike all others
======================

A classifier knows no answer but its classes. Fitted to the digits 0 to 7, it calls an 8 or a white image one of
these. A second figure, learned beside the model, says how many training rows are as unusual as a row. It gives
away images of another kind; but an 8 and a 9 look like digits, and most of them pass.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from nearboost import NearBoostClassifier
from nearboost.models.novelty import learn_novelty

X, y = load_digits(return_X_y=True)
known = y < 8
train, new = X[known][::2], X[known][1::2]
model = NearBoostClassifier().fit(train, y[known][::2])
novelty = learn_novelty(train)

rng = np.random.default_rng(0)
strangers = {
    "digits as learned": new,
    "8 and 9": X[~known],
    "upside down": new.reshape(-1, 8, 8)[:, ::-1].reshape(-1, 64),
    "noise": rng.uniform(0, 16, new.shape),
    "black or white": np.repeat([[0.0], [16.0]], 64, axis=1),
}
names = list(strangers)
sure = [np.median(model.predict_proba(rows).max(axis=1)) for rows in strangers.values()]
flagged = [np.mean(novelty.shares(rows) < 0.01) for rows in strangers.values()]

figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
places = np.arange(len(names))
ax.bar(places - 0.2, sure, 0.4, color="#8a94a3", label="median probability of the answer")
bars = ax.bar(places + 0.2, flagged, 0.4, color="#c4590a", label="share flagged as unlike the training rows")
ax.bar_label(bars, [f"{share:.0%}" for share in flagged])
ax.set_xticks(places, names)
ax.set(ylim=(0, 1.35), yticks=np.linspace(0, 1, 6))
ax.set_title(f"Noise is flagged, most of 8 and 9 are not; false alarms: {flagged[0]:.1%}")
ax.legend(frameon=False, ncols=2, loc="upper center")
plt.show()
