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
    samples : rows of the training set in the code, heaviest first
    weights : what each counts
    labels : the class of each
    scores : what is compared, one number for each class; the largest wins
    classes : names of the classes
    """

    samples: NDArray[np.int64]
    weights: NDArray[np.float64]
    labels: NDArray[Any]
    scores: NDArray[np.float64]
    classes: NDArray[Any]
