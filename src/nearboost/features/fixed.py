"""What descriptors share that learn nothing and take images, not rows of numbers."""

from typing import Any

from sklearn.base import BaseEstimator


class FixedDescriptor(BaseEstimator):
    """An estimator that is ready without `fit`; scikit-learn knows by its tags."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        return tags
