"""Centroids instead of examples: where they stand, and how far training rows are from them.

A centroid is the mean of a cluster of one class. To all that learns and answers it is the row nearest to it, which
has been moved: numbers, labels and groups are those of that row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.base.rows import row_source
from nearboost.neighbors import (
    Clusters,
    Neighbors,
    NeighborSearch,
    cluster_classes,
    cluster_means,
    largest_values,
    powers_of_two,
    row_norms,
)
from nearboost.problem.held_out import mark_rows
from nearboost.problem.targets import ExampleWeights, TrainingSet

Rows = NDArray[np.floating]
STARTS, FEW = 5, 10_000  # of the search for clusters, of so many rows
MOST_ENTRIES, LEAST_ROWS = 4_000_000, 256  # of lists of neighbours at a time


@dataclass(frozen=True)
class Centroids:
    """``places`` of the centroids, and ``clusters`` of the training rows, −1 for rows that were left out.

    ``averaged`` are the rows that places are means of: training rows, of unit length for the cosine.
    """

    clusters: Clusters
    places: Rows
    averaged: Rows

    @property
    def rows(self) -> NDArray[np.int64]:
        """The training rows that stand for them, rising."""
        return self.clusters.nearest

    def move(self, X: Rows) -> Rows:
        """The rows, with centroids in the places of those that stand for them."""
        moved = row_source(X).take(np.arange(len(X))).copy()
        moved[self.rows] = self.places
        return moved

    def weigh(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """What rows count; a centroid as much as those it is the mean of do on average."""
        weighed = weight.copy()
        weighed[self.rows] = cluster_means(weight[:, np.newaxis], self.clusters.of_row)[:, 0]
        return weighed


def find_centroids(data: TrainingSet, weights: ExampleWeights, n_wanted: int, metric: str, seed: int) -> Centroids:
    """Centroids of the rows that count, so many at most but one of each class; in whatever order rows come."""
    X = row_source(data.X).take(np.arange(len(data.X)))  # all: clusters need them in memory
    averaged = X / row_norms(X)[:, np.newaxis] if metric == "cosine" else X
    counted = np.flatnonzero(weights.product > 0)
    n_starts = STARTS if len(counted) <= FEW else 1
    counted = counted[np.argsort(mark_rows(X[counted]), kind="stable")]
    clusters = cluster_classes(
        as_small(averaged[counted]), data.labels.classes()[counted], n_wanted, seed, n_starts
    )
    nearest = counted[clusters.nearest]
    order = np.argsort(nearest)
    of_row = np.full(len(data.X), -1, dtype=np.int32)
    of_row[counted] = np.argsort(order)[clusters.of_row]
    clusters = Clusters(of_row, nearest[order])
    return Centroids(clusters, cluster_means(averaged, of_row).astype(X.dtype), averaged)


def as_small(X: Rows) -> NDArray[np.float32]:
    """Rows around 0 and at most 1, in float32, whatever their size and place."""
    small = X / powers_of_two(largest_values(X).max())
    small = small - small.mean(axis=0)
    return (small / (np.abs(small).max() or 1.0)).astype(np.float32)


@dataclass(frozen=True)
class Shares:
    """What groups have in centroids: ``pairs`` (group, centroid) with rows in common, by their keys, rising.

    ``others`` is the mean of a centroid's rows without those of the group, where there are any (``left``).
    """

    keys: NDArray[np.int64]
    others: Rows
    left: NDArray[np.bool_]

    @classmethod
    def of(cls, groups: NDArray[np.integer], centroids: Centroids) -> "Shares":
        """All of them."""
        of_row, n_centroids = centroids.clusters.of_row, len(centroids.rows)
        inside = np.flatnonzero(of_row >= 0)
        keys, pair_of_row = np.unique(pair_keys(groups[inside], of_row[inside], n_centroids), return_inverse=True)
        sizes, own = np.bincount(of_row[inside])[keys % n_centroids], np.bincount(pair_of_row)
        others = cluster_means(centroids.averaged[inside], pair_of_row)
        whole = cluster_means(centroids.averaged, of_row)[keys % n_centroids]
        n_left = np.maximum(sizes - own, 1)[:, np.newaxis]
        others += (whole - others) * (
            sizes[:, np.newaxis] / n_left
        )  # (nm − ks) / (n − k) = s + (m − s) n / (n − k)
        return cls(keys, others.astype(centroids.places.dtype), sizes > own)

    def parts(self, groups: NDArray[np.integer], n_centroids: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the pairs of each row's group begin and end."""
        begin = groups.astype(np.int64) * n_centroids
        return np.searchsorted(self.keys, begin), np.searchsorted(self.keys, begin + n_centroids)


def pair_keys(groups: NDArray[np.integer], centroids: NDArray[np.integer], n_centroids: int) -> NDArray[np.int64]:
    """Pairs as single numbers."""
    return groups.astype(np.int64) * n_centroids + centroids


def neighbors_among_centroids(
    data: TrainingSet, centroids: Centroids, k: int, search: NeighborSearch
) -> Neighbors:
    """The nearest centroids of every training row, by a search among them; as indices of training rows.

    A row is measured against what a centroid would be without the row's own group, as a query is against one that
    it has no part in: samples of one group do not vote on each other. Where nothing is left there is no vote.
    """
    n_centroids, shares = len(centroids.rows), Shares.of(data.groups, centroids)
    starts, ends = shares.parts(data.groups, n_centroids)
    gone = np.concatenate([[0], np.cumsum(~shares.left)])
    k = min(k, n_centroids - int((gone[ends] - gone[starts]).max()))
    if k < 1:
        raise ValueError(
            f"{n_centroids} centroids leave some training rows without one of another group; keep more of them."
        )
    widest = int((ends - starts).max())
    without = NeighborSearch(shares.others, search.rows.metric, n_jobs=search.rows.n_jobs, copy=False)
    indices, distances = np.empty((len(data.X), k), dtype=np.int32), np.empty((len(data.X), k))
    size = max(LEAST_ROWS, MOST_ENTRIES // (k + widest))
    for begin in range(0, len(data.X), size):
        part = slice(begin, min(begin + size, len(data.X)))
        rows = row_source(data.X).part(part)
        found = search.search(rows, min(n_centroids, k + widest))
        own = starts[part, np.newaxis] + np.arange(widest)
        own[own >= ends[part, np.newaxis]] = -1
        near = without.measure(rows, np.where((own >= 0) & shares.left[own], own, -1))
        concerned = np.isin(pair_keys(data.groups[part, np.newaxis], found.indices, n_centroids), shares.keys)
        among = np.hstack([found.indices, (shares.keys % n_centroids)[near.indices]])
        away = np.hstack([np.where(concerned, np.inf, found.distances), near.distances])
        first = np.lexsort((among, away), axis=1)[:, :k]
        indices[part] = centroids.rows[np.take_along_axis(among, first, axis=1)]
        distances[part] = np.take_along_axis(away, first, axis=1)
    return Neighbors(indices, distances)
