"""
Accuracy against prototypes kept
================================

`prune` keeps the best examples of a fitted model and learns their weights again. One fit therefore tells what
each number of prototypes costs, on held-out training rows, before there is any test data. Other rows confirm
it.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nearboost import KNNClassifier, N3Classifier
from nearboost.plotting import PrototypeDisplay

X, y = load_digits(return_X_y=True)
X, new, y, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

model = N3Classifier(n_neighbors=5).fit(X, y)
display = PrototypeDisplay.from_estimator(model, new, truth, n_prototypes=[0.02, 0.05, 0.1, 0.2, 0.5])

plain = KNNClassifier(n_neighbors=5).fit(X, y).score(new, truth)
display.ax_.axhline(plain, color="gray", linestyle=":", label=f"k-NN with all {len(X)} rows")
display.ax_.legend(frameon=False)
fifth = display.curves["other rows"][3]
display.ax_.set_title(f"A fifth of the digits reaches {fifth:.1%}, all of them {plain:.1%}")
plt.show()
