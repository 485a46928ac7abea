"""Clusters within classes."""

import numpy as np
import pytest

from nearboost.neighbors import cluster_classes, cluster_means
from nearboost.neighbors.clustering import share_out


def test_rare_classes_take_clusters_from_large_ones():
    assert share_out(np.array([191, 1, 1, 0, 1, 6]), 10).tolist() == [6, 1, 1, 0, 1, 1]
    assert share_out(np.array([50, 30, 20]), 11).tolist() == [6, 3, 2]
    assert share_out(np.array([5, 1, 1]), 2).tolist() == [1, 1, 1]


def two_heaps_a_class():
    rng = np.random.default_rng(0)
    heap = rng.permutation(np.repeat(np.arange(4), 25))
    return heap, (10.0 * heap[:, np.newaxis] + rng.standard_normal((100, 3))).astype(np.float32)


def test_clusters_are_heaps_of_one_class():
    heap, rows = two_heaps_a_class()
    clusters = cluster_classes(rows, heap % 2, 4, seed=0)
    np.testing.assert_array_equal(clusters.of_row[clusters.nearest], np.arange(4))
    np.testing.assert_array_equal(heap[clusters.nearest][clusters.of_row], heap)
    assert (np.diff(clusters.nearest) > 0).all()
    means = cluster_means(rows, clusters.of_row)
    for j, row in enumerate(clusters.nearest):
        members = rows[clusters.of_row == j]
        np.testing.assert_allclose(means[j], members.mean(axis=0), rtol=1e-6)
        gaps = np.linalg.norm(members - means[j], axis=1)
        assert np.linalg.norm(rows[row] - means[j]) == pytest.approx(gaps.min(), rel=1e-5)


def test_rows_in_no_cluster_do_not_count():
    rows = np.array([[1.0], [3.0], [100.0], [7.0]])
    assert cluster_means(rows, np.array([0, 0, -1, 1])).tolist() == [[2.0], [7.0]]


def test_equal_rows_make_fewer_clusters():
    rows, classes = np.ones((8, 2), dtype=np.float32), np.repeat([0, 1], 4)
    clusters = cluster_classes(rows, classes, 6, seed=0)
    assert 2 <= len(clusters.nearest) <= 6
    np.testing.assert_array_equal(np.unique(clusters.of_row), np.arange(len(clusters.nearest)))
    np.testing.assert_array_equal(classes[clusters.nearest][clusters.of_row], classes)


def test_of_several_starts_the_closest_counts():
    rows = np.random.default_rng(3).standard_normal((400, 2)).astype(np.float32)
    classes = np.arange(400) % 2

    def spread(n_starts):
        of_row = cluster_classes(rows, classes, 24, seed=0, n_starts=n_starts).of_row
        return np.square(rows - cluster_means(rows, of_row)[of_row]).sum()

    spreads = [spread(n_starts) for n_starts in (1, 2, 4, 8)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < 0.97 * spreads[0]
