"""What is minimised: a calibrated loss for each class against the rest, or the log loss of all classes at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from nearboost.base.loss_formulas import MULTINOMIAL
from nearboost.losses import get_loss
from nearboost.losses.family import LOSSES, Loss
from nearboost.problem.targets import Labels

NAMES = (*(name for name, loss in LOSSES.items() if loss.has_generator), "multinomial")


@dataclass(frozen=True)
class Objective:
    """A loss by its name. Two classes make one column, where "multinomial" is the log loss.

    ``curvature`` is the largest: F''(0), or ½ for the softmax (Böhning 1992).
    """

    name: str
    n_columns: int

    @property
    def softmax(self) -> bool:
        return self.name == "multinomial" and self.n_columns > 1

    @property
    def loss(self) -> Loss:
        """The loss of one column."""
        return get_loss("log" if self.name == "multinomial" else self.name)

    @property
    def code(self) -> int:
        return MULTINOMIAL if self.softmax else self.loss.code

    @property
    def curvature(self) -> float:
        return 0.5 if self.softmax else self.loss.curvature_at_zero

    @property
    def temperature(self) -> float:
        """At which softmax is the posterior of the log loss: ±h stand for two classes."""
        return 2.0 if self.n_columns == 1 else 1.0

    @property
    def hopeless(self) -> float:
        """A risk that no step towards the data gives: every margin at −1, or ln C + 1."""
        return float(np.log(self.n_columns) + 1) if self.softmax else float(self.loss.value(-1.0))

    def risk(
        self, scores: NDArray[Any], labels: Labels, rows: NDArray[np.integer], weights: NDArray[Any]
    ) -> float:
        """Eq. (4.1): the mean loss over rows, by weight, and columns."""
        if self.softmax:
            own = scores[np.arange(len(rows)), labels.classes(rows)]
            losses = logsumexp(scores.astype(np.float64), axis=1) - own
        else:
            losses = self.loss.value(labels.signs(rows) * scores).mean(axis=1)
        return float(np.average(losses, weights=weights))

    def curvatures(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """F'' of each score, which is even; P(1 − P) for the softmax."""
        if self.softmax:
            shares = softmax(scores.astype(np.float64), axis=1)
            return shares * (1 - shares)
        return self.loss.second_derivative(scores)

    def probabilities(self, scores: NDArray[np.float64], multilabel: bool) -> NDArray[np.float64]:
        """Posteriors by the transfer function, divided by their sum; each label its own for multilabel rows."""
        if self.softmax:
            return softmax(scores, axis=1)
        posteriors = self.loss.transfer(scores)
        if multilabel:
            return posteriors
        if self.n_columns == 1:
            return np.hstack([1.0 - posteriors, posteriors])
        nobody = posteriors.sum(axis=1) == 0  # every class is ruled out: an even guess
        posteriors[nobody] = 1.0
        return posteriors / posteriors.sum(axis=1, keepdims=True)


def check_loss(name: object) -> None:
    """The loss must be calibrated, of bounded curvature."""
    if name == "exp":
        raise ValueError(
            "loss='exp' is refused because its curvature is unbounded, so second moments say nothing about its "
            "Hessian and no step is safe; use 'log'."
        )
    if name != "auto" and name not in NAMES:
        known = ", ".join(map(repr, ("auto", *NAMES)))
        raise ValueError(f"loss={name!r} is not known; use one of {known}.")
