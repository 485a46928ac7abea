"""What a row is made of, in words of samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CodeExplanation:
    """The samples behind one decision.

    Attributes
    ----------
    samples : ndarray of shape (n_samples_in_code,)
        Training rows in the code, heaviest first.
    weights : ndarray of shape (n_samples_in_code,)
        Weight of each.
    labels : ndarray of shape (n_samples_in_code,)
        Class of each.
    scores : ndarray of shape (n_classes,)
        Score of each class; the largest wins.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    samples: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: NDArray[Any]
    scores: NDArray[np.float64]
    classes: NDArray[Any]
