"""Who voted on a row, and how much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Explanation:
    """The vote on one row.

    Attributes
    ----------
    prototypes : rows of the training set that voted, nearest first
    distances : how far each is
    votes : the weight b its rank or distance gives it
    contributions : what it adds to each class's score, voters x classes (one column for two classes)
    intercept : what is added to each class's score at the end
    classes : names of the classes
    """

    prototypes: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercept: NDArray[np.float64]
    classes: NDArray[Any]

    def total(self) -> NDArray[np.float64]:
        """The score: contributions added one by one, nearest voter first, then the intercept.

        In this order the floating-point sum equals `decision_function` to the last bit.
        """
        score = np.zeros(self.contributions.shape[1])
        for contribution in self.contributions:
            score = score + contribution
        return score + self.intercept
