"""
An EC50, or why there is none
=============================

A curve of four parameters goes through any wells. It says something only where it beats a flat line, and where
half of its effect lies among the doses that were tested; then it comes with an interval. Otherwise there is a
sentence. Z′ says whether the controls lie far enough apart for any of this.
"""

from textwrap import fill

import numpy as np
from matplotlib import pyplot as plt

from nearboost.cells import DoseFit, fit_dose, z_prime

rng = np.random.default_rng(0)
doses = np.repeat([0.1, 0.3, 1, 3, 10, 30], 3)
curves = {
    "the effect is seen": DoseFit(ec50=2, low=10, high=80, slope=1.5),
    "it has only begun": DoseFit(ec50=60, low=10, high=80, slope=1.5),
    "there is none": DoseFit(ec50=2, low=40, high=40, slope=1.5),
}
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), sharey=True, layout="constrained")
for axis, (name, truth) in zip(axes, curves.items(), strict=True):
    answers = truth.at(doses) + rng.normal(0, 4, len(doses))
    found = fit_dose(doses, answers)
    axis.semilogx(doses, answers, "o", color="#1f6fb4", markersize=4)
    said = found.note
    if found.ec50 is not None:
        x = np.geomspace(0.1, 30, 100)
        axis.plot(x, found.at(x), color="#c4590a")
        axis.axvspan(found.ec50_low, found.ec50_high, color="#c4590a", alpha=0.15)
        said = f"EC50 {found.ec50:.1f} ({found.ec50_low:.1f} to {found.ec50_high:.1f}); it is {truth.ec50}"
    axis.set(xlabel="Dose", ylim=(0, 115), title=name.capitalize())
    axis.text(0.12, 112, fill(said, 44), va="top", fontsize="small")
axes[0].set_ylabel("Cells of one kind, %")
controls = z_prime(rng.normal(80, 4, 8), rng.normal(10, 4, 8))
figure.suptitle(f"Controls near 80 and 10 %, wells 4 % apart: Z′ = {controls.value:.2f}")
plt.show()
