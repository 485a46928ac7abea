"""scikit-learn's own checks, with the failures that are meant to be."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost.linear.sgd import SCALINGS, LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

# Repeated rows come at other places of the random order than one row of twice the weight.
STOCHASTIC = "steps are drawn at random: a repeated row is not a row of twice the weight"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": STOCHASTIC,
    "check_sample_weight_equivalence_on_sparse_data": STOCHASTIC,
}
UNSCALED = "features twenty times as large as the constant: plain steps do not get to its weight"


def expected_failures(estimator):
    plain = getattr(estimator, "scaling", None) == "none"
    return EXPECTED | ({"check_class_weight_classifiers": UNSCALED} if plain else {})


@parametrize_with_checks(
    [SLNDClassifier(max_passes=20), LinearSGDClassifier(max_passes=20)],  # as these checks set max_iter
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SLNDClassifier(),
        SLNDClassifier("hinge", damping=0, step=0.01, early_stopping=True),
        SLNDClassifier("log", step="theory"),
        *(LinearSGDClassifier(scaling=scaling) for scaling in SCALINGS),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)
