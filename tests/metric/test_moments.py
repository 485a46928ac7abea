"""Sums over rows give the metric that the rows give, also after some are taken away or weighted."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from metric.problems import noisy_rows
from nearboost import SoftDiscriminant
from nearboost.metric.discriminant import Discriminants
from nearboost.metric.moments import ClassMoments

SETTINGS = [(0.01, 0.25), (0.5, 0.5), (1.0, 1.0)]


def mapped(moments, X, shrinkage, rest):
    found = Discriminants(moments.within(), moments.means, moments.weights[moments.present])
    return (X - found.mean) @ found.directions(shrinkage, rest)[0]


@pytest.mark.parametrize(("shrinkage", "rest"), SETTINGS)
def test_the_metric_of_rows_that_are_left(shrinkage, rest):
    X, y = noisy_rows(0, m=90)
    n_classes, away = y.max() + 1, np.arange(90) % 4 == 0
    ones = np.ones(90)
    moments = ClassMoments.of(X, y, ones, n_classes) - ClassMoments.of(X[away], y[away], ones[away], n_classes)
    expected = SoftDiscriminant(shrinkage, rest=rest).fit(X[~away], y[~away]).transform(X)
    np.testing.assert_allclose(pdist(mapped(moments, X, shrinkage, rest)), pdist(expected), rtol=1e-8)


@pytest.mark.parametrize(("shrinkage", "rest"), SETTINGS)
def test_weights_count_as_repeated_rows(shrinkage, rest):
    X, y = noisy_rows(1, m=60)
    times = np.random.default_rng(0).integers(1, 4, 60)
    moments = ClassMoments.of(X, y, times.astype(float), y.max() + 1)
    repeated = SoftDiscriminant(shrinkage, rest=rest).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(pdist(mapped(moments, X, shrinkage, rest)), pdist(repeated.transform(X)), rtol=1e-8)


def test_a_class_that_is_gone():
    """It has no mean, and the others' metric is that of their rows."""
    X, y = noisy_rows(2, m=80)
    gone, ones = y == 1, np.ones(80)
    moments = ClassMoments.of(X, y, ones, y.max() + 1) - ClassMoments.of(X[gone], y[gone], ones[gone], y.max() + 1)
    assert np.flatnonzero(~moments.present).tolist() == [1]
    expected = SoftDiscriminant(0.1, rest=0.5).fit(X[~gone], y[~gone]).transform(X)
    np.testing.assert_allclose(pdist(mapped(moments, X, 0.1, 0.5)), pdist(expected), rtol=1e-8)


def test_the_first_features_alone():
    X, y = noisy_rows(3, m=70)
    moments = ClassMoments.of(X, y, np.ones(70), y.max() + 1).first(3)
    expected = SoftDiscriminant(0.1).fit_transform(X[:, :3], y)
    np.testing.assert_allclose(pdist(mapped(moments, X[:, :3], 0.1, 0.5)), pdist(expected), rtol=1e-8)
