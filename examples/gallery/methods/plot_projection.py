"""
Directions that keep neighbours together
========================================

Principal components keep the directions of most variance, whatever it comes from. `INNProjection` ties each row
to the rows that its code is made of, and keeps the directions along which tied rows stay close; `LPP` ties it
to its nearest neighbours. How often is the nearest neighbour right in so many directions?
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from nearboost import LPP, INNProjection, KNNClassifier

X, y = load_digits(return_X_y=True)
DIRECTIONS = [2, 4, 6, 9, 13, 18, 25]


def accuracy(projection):
    model = make_pipeline(Normalizer(), projection, Normalizer(), KNNClassifier(1, calibration=None))
    return 100 * model.fit(X[::2], y[::2]).score(X[1::2], y[1::2])


figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for kind, color in ((INNProjection, "#1f6fb4"), (LPP, "#c4590a"), (PCA, "#6b7280")):
    line = [accuracy(kind(n)) for n in DIRECTIONS]
    ax.plot(DIRECTIONS, line, "o-", color=color, label=kind.__name__)
ax.axhline(accuracy("passthrough"), color="black", linewidth=1, linestyle=":", label="all 64 pixels")
ax.set(xlabel="Directions kept", ylabel="New digits that are right, %", ylim=(50, 100))
ax.set_title("Ties count where directions are few")
ax.legend(frameon=False)
plt.show()
