"""What learned linear maps share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nearboost.base.estimator import Estimator
from nearboost.problem.targets import encode_classes

SPREADS = (1e-140, 1e140)  # squares of these, and their reciprocals, are far from the ends of float64


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A linear map learned from labels, one row of ``components_`` for each coordinate."""

    components_: NDArray[Any]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _encode(self, y: NDArray[Any]) -> tuple[int, NDArray[np.intp]]:
        """How many classes there are, two at least, and the class number of each row."""
        classes, encoded = encode_classes(y)
        if len(classes) < 2:
            raise ValueError(f"y holds only one class; {type(self).__name__} needs rows of two classes or more.")
        return len(classes), encoded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_spread(X: NDArray[np.floating]) -> None:
    """Rows must differ, by amounts whose squares float64 can hold."""
    with np.errstate(over="ignore"):
        spread = np.max(X.max(axis=0).astype(np.float64) - X.min(axis=0))
    if spread == 0:
        raise ValueError("All rows of X are equal; give rows that differ.")
    if not SPREADS[0] < spread < SPREADS[1]:
        raise ValueError(
            f"The values of X spread over {spread:.1g}, too {'far' if spread > 1 else 'little'} for squared "
            "distances in float64; multiply X by a constant first."
        )
