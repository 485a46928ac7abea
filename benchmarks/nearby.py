"""Naive Bayes by neighbours, three ways from one search; what `NaiveBayesNN` does with a search for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import silent
from nearboost.codes.dictionary import ends_of, series_of, summed
from nearboost.codes.lists import LeastSquares, Lists
from nearboost.codes.local import pick_among
from nearboost.codes.near import NearestSamples
from nearboost.codes.pieces import Room, in_pieces
from nearboost.inn.coder import INNCoder
from nearboost.inn.decisions import ClassSums
from nearboost.inn.naive_bayes import REGULARIZATION
from nearboost.neighbors import NeighborSearch

QUERIES_AT_ONCE = 16_384


class Found:
    """Descriptors of images, one after the other, and the nearest training descriptors of each."""

    def __init__(self, images: list[NDArray[np.float32]], near: NDArray[np.int32]) -> None:
        self.near = near
        self.descriptors = np.concatenate(images)
        self.starts = np.concatenate([[0], np.cumsum([len(one) for one in images])[:-1]])


class Nearby:
    """The training descriptors, and how each way compares others with the nearest of them."""

    def __init__(
        self, images: list[NDArray[np.float32]], labels: NDArray[np.intp], n_near: int, n_jobs: int
    ) -> None:
        self.X = np.ascontiguousarray(np.concatenate(images))
        self.classes = np.repeat(labels, [len(one) for one in images])
        self.rows = NeighborSearch(self.X, n_jobs=n_jobs).rows
        self.nearest = NearestSamples(self.rows, n_near)

    def search(self, images: list[NDArray[np.float32]]) -> Found:
        """The nearest training descriptors, in rising order of their numbers."""
        found = Found(images, np.empty((sum(map(len, images)), self.nearest.n_near), dtype=np.int32))
        nobody = np.full(len(found.near), -1, dtype=np.int32)

        def find(piece: slice, room: Room) -> None:
            found.near[piece] = self.nearest.find(found.descriptors[piece], nobody[piece], room)

        in_pieces(find, len(found.near), self.nearest.shadow.columns, self.rows.n_jobs, silent)
        return found

    def scores(self, representation: str, found: Found) -> NDArray[np.float64]:
        """What the descriptors of each image say for each class, added up."""
        say = {"nn": self._distances, "inn": self._inn, "l1": self._l1}[representation]
        said = [
            say(found.descriptors[start : start + QUERIES_AT_ONCE], found.near[start : start + QUERIES_AT_ONCE])
            for start in range(0, len(found.near), QUERIES_AT_ONCE)
        ]
        return np.add.reduceat(np.concatenate(said), found.starts)

    def _distances(self, Q: NDArray[np.float32], near: NDArray[np.int32]) -> NDArray[np.float64]:
        """Minus the squared distance to the nearest of each class; a class that has none is as far as the last."""
        squares = np.stack([
            np.square(self.X[some].astype(np.float64) - q).sum(axis=1) for q, some in zip(Q, near, strict=True)
        ])  # fmt: skip
        said = np.repeat(-squares.max(axis=1, keepdims=True), self.classes.max() + 1, axis=1)
        np.maximum.at(said, (np.arange(len(Q))[:, np.newaxis], self.classes[near]), -squares)
        return said

    def _inn(self, Q: NDArray[np.float32], near: NDArray[np.int32]) -> NDArray[np.float64]:
        series = series_of(INNCoder(REGULARIZATION["inn"]))
        lengths, samples, weights = summed(pick_among(self.rows, series, Q, near), series.weights, len(self.X))
        return self._class_sums(lengths, samples, weights, to_one=False)

    def _l1(self, Q: NDArray[np.float32], near: NDArray[np.int32]) -> NDArray[np.float64]:
        problem = LeastSquares(self.X, REGULARIZATION["l1"], "lasso")
        lists, queries = Lists.of(near, near.shape[1]), Q.astype(np.float64)
        problem.solve(np.arange(len(Q)), queries, lists, np.empty_like(queries))
        holds = lists.weights != 0
        return self._class_sums(holds.sum(axis=1), near[holds], lists.weights[holds], to_one=True)

    def _class_sums(self, lengths: Any, samples: Any, weights: Any, *, to_one: bool) -> NDArray[np.float64]:
        codes = csr_array((weights, samples, ends_of(lengths)), shape=(len(lengths), len(self.X)))
        return ClassSums(lambda _: codes, self.classes, np.ones(len(self.X)), to_one=to_one).scores(codes)
