"""What every step that learns from local descriptors does first: draw a sample, seeded and bounded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.base.validation import check_whole

NOT_FINITE = "The descriptors hold NaN or infinite values; check how they were made."


def as_seed(random_state: int | np.random.RandomState | None) -> int:
    """A number to seed with; None is 0, so that fits repeat."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31))


def draw_descriptors(estimator: Any, X: Any) -> NDArray[np.float32]:
    """At most ``max_descriptors`` of all descriptors, as float32 and finite; sets ``n_features_in_``."""
    check_whole("max_descriptors", estimator.max_descriptors)
    sets = LocalSets.of(X)
    drawn = sets.sample(
        estimator.max_descriptors,
        as_seed(estimator.random_state),
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )
    sample = np.ascontiguousarray(drawn, dtype=np.float32)
    if sample.ndim != 2 or not len(sample):
        raise ValueError(f"The images gave descriptors of shape {sample.shape}; {_name(estimator)} needs some.")
    if not np.isfinite(sample).all():
        raise ValueError(NOT_FINITE)
    estimator.n_features_in_ = sample.shape[1]
    return sample


def values_of(estimator: Any, one: LocalSet) -> NDArray[np.float32]:
    """The descriptors of an image as float32, of as many numbers as the estimator was fitted with."""
    values = np.asarray(one.values, dtype=np.float32)
    if values.ndim != 2 or values.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"Got descriptors of shape {values.shape}; {_name(estimator)} was fitted on descriptors of "
            f"{estimator.n_features_in_} numbers, one row each."
        )
    if not np.isfinite(values).all():
        raise ValueError(NOT_FINITE)
    return values


def _name(estimator: Any) -> str:
    return type(estimator).__name__
