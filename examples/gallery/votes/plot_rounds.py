"""
When to stop boosting
=====================

Each round lowers the risk of the training rows, and after some rounds the risk of held-out rows rises again.
The number of rounds is chosen on these; one path is walked, and nothing is fitted twice.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from nearboost import N3Classifier
from nearboost.plotting import PrototypeDisplay

X, y = make_moons(400, noise=0.35, random_state=0)
model = N3Classifier(n_neighbors=11, start="zero", early_stopping=True).fit(X, y)

display = PrototypeDisplay.from_estimator(model, along="rounds")
best = display.curves["held-out rows"].min()
display.ax_.set_title(f"The held-out risk is least after {model.n_rounds_} rounds: {best:.2f}")
plt.show()
