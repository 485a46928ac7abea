"""How unusual an item is beside those that a model was fitted to: a classifier knows no answer but its classes.

Features are read as places among those of training items, so that units and long tails do not count. Two things
are unusual: to be farther from the nearest of some training items, the landmarks, than these are from their own
nearest; and to be nearer to all of them than items are, as the description of an empty picture may be, which is an
average. Training items that are no landmarks say how often that occurs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from nearboost.base.entries import Array, Flag, Integer, Misfit
from nearboost.base.schema import Schema
from nearboost.neighbors import NeighborSearch
from nearboost.problem.held_out import whole_groups

UNLIKE = 0.01  # an item is unlike the training items where fewer of these are as unusual
NOTE = "unlike the training items"
MOST_LANDMARKS, MOST_JUDGES, MOST_FEATURES, N_NEIGHBORS = 300, 2000, 1024, 10
LEAST_ITEMS = 30
QUANTILES = np.linspace(1 / 64, 63 / 64, 16)
OUTSIDE = 2.5  # the normal score of what is beyond all quantiles
TOP, LEAST_TOP = 10, 5  # the tail begins with the last tenth of the judges
SMALLEST = 1e-9
ROWS_AT_ONCE = 2048

Rows = NDArray[Any]


def _check_novelty(state: Mapping[str, Any]) -> None:
    if (np.diff(state["edges"], axis=0) < 0).any() or (np.diff(state["strangeness"]) < 0).any():
        raise Misfit("must have edges and measures in order")
    if state["landmarks"].max(initial=0) > 2 * len(state["edges"]):
        raise Misfit("must have landmarks whose places are among its edges")


@dataclass(frozen=True)
class Novelty:
    """What is needed to tell how unusual a row is.

    Attributes
    ----------
    n_features : int
        Number of features of a row.
    columns : ndarray of shape (n_columns,)
        Features that are looked at: all, or some of very many.
    edges : ndarray of shape (n_edges, n_columns)
        Quantiles of each of them, over the landmarks.
    landmarks : ndarray of uint8 of shape (n_landmarks, n_columns)
        Places of the landmarks' features among the edges.
    nearest : ndarray of shape (n_landmarks,)
        Mean distance of each landmark from its nearest others.
    n_neighbors : int
        How many are the nearest.
    usual : ndarray of shape (2, 2)
        Median and spread of both measures, over the judges: training items that are no landmarks.
    strangeness : ndarray of shape (n_judges,)
        How unusual the judges are, rising.
    by_group : bool
        Whether items of one group were kept apart.
    """

    n_features: int
    columns: NDArray[np.int64]
    edges: Rows
    landmarks: NDArray[np.uint8]
    nearest: NDArray[np.float64]
    n_neighbors: int
    usual: NDArray[np.float64]
    strangeness: NDArray[np.float64]
    by_group: bool

    model_schema: ClassVar[Schema] = Schema(
        {
            "n_features": Integer(1),
            "columns": Array("int64", ("n_columns",), low=0, rising=True, least=1),
            "edges": Array("float", ("n_edges", "n_columns"), least=2),
            "landmarks": Array("uint8", ("n_landmarks", "n_columns"), least=1, by_rows=True),
            "nearest": Array("float64", ("n_landmarks",), above=0),
            "n_neighbors": Integer(1, "n_landmarks"),
            "usual": Array("float64", (2, 2)),
            "strangeness": Array("float64", (None,), least=LEAST_TOP + 1),
            "by_group": Flag(),
        },
        check=_check_novelty,
    )

    def __post_init__(self) -> None:
        if self.columns[-1] >= self.n_features or (self.usual[:, 1] <= 0).any():
            raise ValueError("The measures of a model's novelty must be of its features, and vary.")

    @cached_property
    def _search(self) -> NeighborSearch:
        return self._search_in(None)

    def _search_in(self, n_jobs: int | None) -> NeighborSearch:
        return NeighborSearch(_scores(self.landmarks, len(self.edges)), n_jobs=n_jobs, copy=False)

    def shares(self, rows: Rows, n_jobs: int | None = None) -> NDArray[np.float64]:
        """The share of training items that are as unusual as each row, or more.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Rows as the classifier sees them.
        n_jobs : int or None, default=None
            Number of threads; None uses all cores.

        Returns
        -------
        ndarray of shape (n_rows,)
            Shares. Of the most unusual tenth they follow a smooth tail, so that few judges tell small ones.
        """
        strange = _strangeness(self._measure(rows, n_jobs), self.usual)
        n_judges = len(self.strangeness)
        n_top = max(LEAST_TOP, n_judges // TOP)
        start = self.strangeness[-n_top - 1]
        excess = max(float((self.strangeness[-n_top:] - start).mean()), SMALLEST)
        beyond = np.maximum(strange - start, 0) / (n_top * excess)
        tail = n_top / n_judges * (1 + beyond) ** -n_top  # what so few exponential excesses predict of the next
        among = 1 - np.searchsorted(self.strangeness, strange, side="left") / n_judges
        return np.where(strange > start, tail, among)

    def _measure(self, rows: Rows, n_jobs: int | None) -> NDArray[np.float64]:
        """Both measures of each row, on a scale of ratios."""
        search = self._search if n_jobs is None else self._search_in(n_jobs)
        parts = [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
        return np.concatenate([np.empty((0, 2)), *(self._measure_some(part, search) for part in parts)])

    def _measure_some(self, rows: Rows, search: NeighborSearch) -> NDArray[np.float64]:
        places = _places(rows[:, self.columns], self.edges)
        found = search.search(_scores(places, len(self.edges)), len(self.landmarks))
        near = found.distances[:, : self.n_neighbors].mean(axis=1)
        theirs = self.nearest[found.indices[:, : self.n_neighbors]].mean(axis=1)
        middle = np.median(found.distances, axis=1)
        return np.log(np.maximum(np.stack([near / theirs, 1 / np.maximum(middle, SMALLEST)], axis=1), SMALLEST))


def learn_novelty(rows: Rows, groups: Rows | None = None) -> Novelty | None:
    """From training rows as the classifier sees them; None of few rows or groups, and where rows are all alike.

    Half of the groups are landmarks, up to `MOST_LANDMARKS` rows, and up to `MOST_JUDGES` of the others judges.
    """
    together = np.unique(whole_groups(rows, groups), return_inverse=True)[1]
    generator = np.random.RandomState(0)
    order = generator.permutation(together.max(initial=-1) + 1)
    first = np.isin(together, order[: len(order) // 2])
    landmarks, judges = (
        np.sort(generator.permutation(np.flatnonzero(chosen))[:most])
        for chosen, most in ((first, MOST_LANDMARKS), (~first, MOST_JUDGES))
    )
    n_apart = len(landmarks) - np.bincount(together[landmarks]).max(initial=0)
    if min(len(landmarks), len(judges)) < LEAST_ITEMS // 2 or n_apart < 1:
        return None
    n_features, n_neighbors = rows.shape[1], min(N_NEIGHBORS, n_apart)
    columns = np.sort(generator.permutation(n_features)[:MOST_FEATURES]).astype(np.int64)
    edges = np.quantile(rows[np.ix_(landmarks, columns)], QUANTILES, axis=0, method="inverted_cdf")
    places = _places(rows[np.ix_(landmarks, columns)], edges)
    graph = NeighborSearch(_scores(places, len(edges)), copy=False).graph(n_neighbors, together[landmarks])
    nearest = graph.distances.mean(axis=1)
    if not np.median(nearest):
        return None
    nearest = np.maximum(nearest, np.median(nearest) / 10)  # copies of landmarks do not make others unusual
    unknown = np.tile([0.0, 1.0], (2, 1))
    known = (n_features, columns, edges, places, nearest, n_neighbors)
    measured = Novelty(*known, unknown, np.arange(LEAST_TOP + 1.0), groups is not None)._measure(
        rows[judges], None
    )
    middle, high = np.quantile(measured, [0.5, 0.9], axis=0)
    usual = np.stack([middle, np.maximum(high - middle, SMALLEST)], axis=1)
    return Novelty(*known, usual, np.sort(_strangeness(measured, usual)), groups is not None)


def _places(values: Rows, edges: Rows) -> NDArray[np.uint8]:
    """Where values lie among the edges of their column: 0 below all, odd if equal to some."""
    places = np.empty(values.shape, dtype=np.uint8)
    for column, (own, theirs) in enumerate(zip(values.T, edges.T, strict=True)):
        places[:, column] = np.searchsorted(theirs, own, "left") + np.searchsorted(theirs, own, "right")
    return places


def _scores(places: NDArray[np.uint8], n_edges: int) -> NDArray[np.float32]:
    """Normal scores of places."""
    shares = (np.arange(2 * n_edges + 1) - 1) / (2 * (n_edges - 1))
    table = ndtri(np.clip(shares, 0.01, 0.99))
    table[0], table[-1] = -OUTSIDE, OUTSIDE
    scores: NDArray[np.float32] = table.astype(np.float32)[places]
    return scores


def _strangeness(measures: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """The larger of both measures, in their usual units."""
    scaled: NDArray[np.float64] = ((measures - usual[:, 0]) / usual[:, 1]).max(axis=1)
    return scaled
