"""
Probabilities before and after calibration
==========================================

The share of five neighbours that agree is no probability: where all five agree, k-NN says 100%. `KNNClassifier`
learns on held-out training rows what a share is worth, and then says that.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from nearboost import KNNClassifier
from nearboost.plotting import ReliabilityDisplay

X, y = make_classification(4000, 10, n_informative=6, n_classes=3, flip_y=0.1, random_state=0)
X, new, y, truth = train_test_split(X, y, train_size=1000, random_state=0)

figure, ax = plt.subplots(figsize=(5.4, 5), layout="constrained")
shares = KNNClassifier(n_neighbors=5, calibration=None).fit(X, y)
before = ReliabilityDisplay.from_estimator(shares, new, truth, name="shares of votes", ax=ax)
calibrated = KNNClassifier(n_neighbors=5).fit(X, y)
after = ReliabilityDisplay.from_estimator(calibrated, new, truth, name="calibrated", ax=ax)

errors = [display.calibration_error_ for display in (before, after)]
ax.set_title("Calibration takes the error from {:.3f} to {:.3f}".format(*errors))
plt.show()
