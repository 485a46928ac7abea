"""Every choice of `NearBoostClassifier`, made on held-out rows: scales, metric, linear head and weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from nearboost.base.threads import map_in_threads
from nearboost.ensemble.answers import HEADS
from nearboost.ensemble.code_heads import CodedRows, pieces_of, to_sphere
from nearboost.ensemble.linear_head import (
    PENALTIES,
    RIDGES,
    START,
    multinomial_weights,
    ridge_weights,
)
from nearboost.ensemble.prototypes import class_centres
from nearboost.ensemble.report import Report
from nearboost.ensemble.scaling import SCALINGS, Scaling
from nearboost.ensemble.stacking import centred, fit_stack, log_loss, stacked_loss
from nearboost.metric.discriminant import Discriminants
from nearboost.metric.landmarks import gaussian_kernel, kernel_width
from nearboost.metric.moments import ClassMoments

SCALING_RIDGES = (0.1, 0.01)
RANKS_MUST_GAIN = 0.98  # of the best other's log-loss
FEW_ROWS = 300  # below which all folds judge every metric
SCREENED_ROWS = 1_000
FLAT = (
    "linear",
    "wide",
)  # spaces whose rows may be divided by their length; those of a kernel have one of their own
SPHERE_FROM = 20  # coordinates: of a few, the length that is lost may be what tells classes apart
MOST_CODES = 200_000  # rows times classes, up to which multinomial regression takes as long as the rest
Indices = NDArray[np.int64]
Rows = NDArray[np.float32]
Numbers = NDArray[np.float64]
Regression = tuple[str, float, NDArray[np.float32], float]  # kind, strength, held-out scores and their log-loss


class Metric(NamedTuple):
    """Of which coordinates, and the settings of `SoftDiscriminant`."""

    space: str
    shrinkage: float
    rest: float
    on_sphere: bool = False

    def __str__(self) -> str:
        return f"{self.space}, shrinkage {self.shrinkage:g}, rest {self.rest:g}" + ", on a sphere" * self.on_sphere


METRICS = (
    Metric("linear", 0.01, 0.25),
    Metric("linear", 0.1, 0.5),
    Metric("linear", 0.5, 0.5),
    Metric("kernel", 0.1, 0.25),
    Metric("kernel", 0.1, 0.5),
    Metric("kernel", 0.5, 0.25),
    Metric("kernel", 0.5, 0.5),
)
WIDE_METRICS = (
    Metric("wide", 0.5, 0.5),
    Metric("wide", 0.75, 0.5),
)  # of long descriptors, whose tail helps the residual


@dataclass(frozen=True)
class Labelled:
    """Labels, weights and groups of the training rows. Equal rows are of one group."""

    classes: Indices
    weight: Numbers
    groups: NDArray[np.int32]
    n_classes: int

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, rows: NDArray[np.bool_] | Indices) -> "Labelled":
        """Those of some rows."""
        return replace(self, classes=self.classes[rows], weight=self.weight[rows], groups=self.groups[rows])

    def without(self, rows: Indices) -> NDArray[np.bool_]:
        """All rows but some."""
        left = np.ones(len(self), dtype=np.bool_)
        left[rows] = False
        return left


def choose_scaling(X: NDArray[np.floating], data: Labelled, folds: Sequence[Indices], report: Report) -> Scaling:
    """The scales whose kernel ridge regression has the least log-loss on folds of some rows."""
    sample = np.sort(np.concatenate(folds))
    numbered = [np.searchsorted(sample, fold) for fold in folds]
    made = {name: make(X, data.weight) for name, make in SCALINGS.items()}
    losses = {}
    for name, scaling in made.items():
        losses[name] = kernel_ridge_loss(scaling.apply(X[sample]), data.take(sample), numbered)
        report.tried.append(("scaling", name, losses[name]))
    best = min(("one scale", "a scale each"), key=lambda name: losses[name])
    if losses["normal ranks"] < RANKS_MUST_GAIN * losses[best]:
        best = "normal ranks"
    report.chosen["scaling"] = best
    return made[best]


def kernel_ridge_loss(X: Rows, data: Labelled, folds: Sequence[Indices]) -> float:
    """The log-loss of kernel ridge regression on held-out rows, with the better ridge."""
    kernel = gaussian_kernel(X, X, kernel_width(X, data.weight))
    scores = np.zeros((len(SCALING_RIDGES), len(X), data.n_classes))
    for held in folds:
        learned = np.flatnonzero(data.without(held))
        weight = data.weight[learned]
        codes = np.eye(data.n_classes)[data.classes[learned]]
        codes = (codes - weight @ codes / weight.sum()).astype(np.float32)
        for r, ridge in enumerate(SCALING_RIDGES):
            matrix = kernel[np.ix_(learned, learned)]
            np.fill_diagonal(matrix, 1 + ridge / weight)
            scores[r, held] = kernel[np.ix_(held, learned)] @ cho_solve(cho_factor(matrix), codes)
    return min(stacked_loss(one[np.newaxis], data.classes, data.weight) for one in scores)


@dataclass
class Space:
    """Rows in some coordinates, of which a metric uses the first ``width``; moments of all, and without a fold."""

    rows: Rows
    width: int
    data: Labelled
    folds: Sequence[Indices]

    @cached_property
    def moments(self) -> ClassMoments:
        return self._moments_of(slice(None))

    def __post_init__(self) -> None:
        self._without: dict[int, ClassMoments] = {}

    def without(self, fold: int) -> ClassMoments:
        """Those of all rows but a fold's."""
        if fold not in self._without:
            self._without[fold] = self.moments - self._moments_of(self.folds[fold])
        return self._without[fold]

    def _moments_of(self, rows: Indices | slice) -> ClassMoments:
        data = self.data
        return ClassMoments.of(self.rows[rows], data.classes[rows], data.weight[rows], data.n_classes)

    def discriminants(self, moments: ClassMoments) -> Discriminants:
        """Of the first coordinates."""
        moments = moments.first(self.width)
        return Discriminants(moments.within(), moments.means, moments.weights[moments.present])

    def mapped(self, found: Discriminants, metric: Metric) -> tuple[Rows, Rows, Rows]:
        """All rows in a metric, with its matrix and offset."""
        directions, _ = found.directions(metric.shrinkage, metric.rest)
        offset = (-found.mean @ directions).astype(np.float32)
        matrix = directions.astype(np.float32)
        mapped: Rows = self.rows[:, : self.width] @ matrix + offset
        return to_sphere(mapped) if metric.on_sphere else mapped, matrix, offset


@dataclass
class CrossFit:
    """What each head says of rows that it has not learned from, in several spaces of coordinates.

    "linear" are the features or their widest components, "wide" are more of these, "kernel" those of landmarks.
    Where there are components, each fold has spaces of its own, whose components were found without it: a row that
    helped to find them keeps more of its length in them than a row to come.
    """

    data: Labelled
    folds: list[Indices]
    spaces: dict[str, Space]
    apart: Sequence[dict[str, Space]]  # the spaces of each fold
    n_jobs: int | None
    report: Report

    def __post_init__(self) -> None:
        self._found: dict[tuple[str, int], Discriminants] = {}

    def _discriminants(self, space: str, fold: int) -> Discriminants:
        """Of all rows but a fold's."""
        if (space, fold) not in self._found:
            own = self.apart[fold][space]
            self._found[space, fold] = own.discriminants(own.without(fold))
        return self._found[space, fold]

    def truth(self, folds: Sequence[Indices]) -> tuple[Indices, Numbers, NDArray[np.bool_]]:
        """Classes and weights of held-out rows; which of them are of a class that learning has seen."""
        held = np.concatenate(folds)
        known = [np.bincount(self.data.classes[self.data.without(fold)], minlength=self.data.n_classes) > 0
                 for fold in folds]  # fmt: skip
        seen = [known[i][self.data.classes[fold]] for i, fold in enumerate(folds)]
        return self.data.classes[held], self.data.weight[held], np.concatenate(seen)

    def loss_of(self, heads: NDArray[np.float32], folds: Sequence[Indices]) -> float:
        """The log-loss of some heads with the best weights, over rows whose class could be known."""
        truth, weight, seen = self.truth(folds)
        return stacked_loss(heads[:, seen], truth[seen], weight[seen]) if seen.any() else np.inf

    def code_heads(self, metric: Metric, fold: int, held: Indices) -> NDArray[np.float32]:
        """Vote and residual of held-out rows, by all rows of other groups."""
        mapped, _, _ = self.apart[fold][metric.space].mapped(self._discriminants(metric.space, fold), metric)
        data = self.data
        coded = CodedRows(mapped, data.classes, data.n_classes, data.weight, metric.on_sphere)
        return coded_scores(coded, mapped, held, data.groups, data.groups)

    def prototype_heads(self, metric: Metric, fold: int, share: float, seed: int) -> NDArray[np.float32]:
        """The same by prototypes of the rows outside the fold."""
        held, data = self.folds[fold], self.data
        mapped, _, _ = self.apart[fold][metric.space].mapped(self._discriminants(metric.space, fold), metric)
        learned = data.without(held)
        own = mapped[learned], data.classes[learned], data.n_classes
        coded, _ = class_centres(*own, share, seed, metric.on_sphere)
        nobody = np.zeros(len(coded.rows), dtype=np.int32)
        return coded_scores(coded, mapped, held, nobody, np.full(len(data), -1, dtype=np.int32))

    def choose_metric(self) -> tuple[Metric, NDArray[np.float32]]:
        """The metric with the least log-loss of vote and residual, and these on all folds.

        All are tried on some rows of one fold, and the best of each flat space once more with rows of length 1: of
        pixels and their like, angles tell more than lengths. The best two are tried on all folds.
        """
        few, tried = len(self.data) < FEW_ROWS, [*METRICS, *WIDE_METRICS] if "wide" in self.spaces else [*METRICS]
        screened = self.folds if few else [self.folds[0][:SCREENED_ROWS]]
        step = "metric" if few else "metric, one fold"
        losses = self._losses(tried, screened, step)
        spheres = []
        for space in FLAT:
            own = [i for i, one in enumerate(tried) if one.space == space]
            if own and self.spaces[space].width >= SPHERE_FROM:
                best_of_space = tried[min(own, key=lambda i: losses[i][0])]
                spheres.append(best_of_space._replace(on_sphere=True))
        tried, losses = tried + spheres, losses + self._losses(spheres, screened, step)
        best = sorted(range(len(tried)), key=lambda i: losses[i][0])[:2]
        finalists = [tried[i] for i in best]
        full = [losses[i] for i in best] if few else self._losses(finalists, self.folds, "metric")
        winner = int(np.argmin([loss for loss, _ in full]))
        self.report.chosen["metric"] = str(finalists[winner])
        return finalists[winner], full[winner][1]

    def _losses(
        self, metrics: Sequence[Metric], folds: Sequence[Indices], step: str
    ) -> list[tuple[float, NDArray[np.float32]]]:
        needed = dict.fromkeys((metric.space, fold) for metric in metrics for fold in range(len(folds)))
        map_in_threads(lambda pair: self._discriminants(*pair), needed, self.n_jobs)
        tasks = [(metric, fold, held) for metric in metrics for fold, held in enumerate(folds)]
        heads = map_in_threads(lambda task: self.code_heads(*task), tasks, self.n_jobs)
        joined = [np.concatenate(heads[i : i + len(folds)], axis=1) for i in range(0, len(heads), len(folds))]
        losses = map_in_threads(lambda one: self.loss_of(one, folds), joined, self.n_jobs)
        self.report.tried += [(step, str(metric), loss) for metric, loss in zip(metrics, losses, strict=True)]
        return list(zip(losses, joined, strict=True))

    def choose_linear(self) -> tuple[str, float, NDArray[np.float32]]:
        """Ridge or multinomial regression with the strength of least log-loss, and its held-out scores."""
        chosen = self._best("ridge", RIDGES)
        if len(self.data) * self.data.n_classes <= MOST_CODES:
            chosen = self._try_multinomial(chosen)
        kind, strength, scores, _ = chosen
        self.report.chosen["linear"] = f"{kind} {strength:g}"
        return kind, strength, scores

    def _try_multinomial(self, chosen: Regression) -> Regression:
        """It may win on smooth problems of few classes: if it does on one fold, it is tuned on all."""
        first = self.folds[:1]
        trial = self.loss_of(self.linear_scores("multinomial", START, 0)[np.newaxis], first)
        if trial < self.loss_of(chosen[2][np.newaxis, : len(first[0])], first):
            return min(chosen, self._best("multinomial", PENALTIES), key=lambda one: one[3])
        return chosen

    def _best(self, kind: str, strengths: Sequence[float]) -> Regression:
        """The strength of least log-loss: downhill from `START`, as the loss has one valley."""
        found: dict[int, tuple[float, NDArray[np.float32]]] = {}

        def loss(i: int) -> float:
            if not 0 <= i < len(strengths):
                return np.inf
            if i not in found:
                scores = self.all_linear_scores(kind, strengths[i])
                found[i] = self.loss_of(scores[np.newaxis], self.folds), scores
                self.report.tried.append(("linear", f"{kind} {strengths[i]:g}", found[i][0]))
            return found[i][0]

        best = strengths.index(START)
        step = 1 if loss(best + 1) < loss(best) else -1
        while loss(best + step) < loss(best):
            best += step
        return kind, strengths[best], found[best][1], found[best][0]

    def all_linear_scores(self, kind: str, strength: float) -> NDArray[np.float32]:
        """Of all folds, one after the other."""
        score: Callable[[int], NDArray[np.float32]] = lambda fold: self.linear_scores(kind, strength, fold)  # noqa: E731
        return np.concatenate(map_in_threads(score, range(len(self.folds)), self.n_jobs))

    def linear_scores(self, kind: str, strength: float, fold: int) -> NDArray[np.float32]:
        """Of a fold's rows, by weights that were learned without them."""
        space, held = self.apart[fold]["kernel"], self.folds[fold]
        if kind == "ridge":
            weights = ridge_weights(space.without(fold), strength)
        else:
            learned = self.data.without(held)
            weights = learn_multinomial(space.rows[learned], self.data.take(learned), strength)
        return space.rows[held] @ weights.astype(np.float32)

    def stack(self, heads: NDArray[np.float32]) -> tuple[Numbers, Numbers, float]:
        """Weights of the heads, the scores they make of the held-out rows, and the log-loss."""
        truth, weight, seen = self.truth(self.folds)
        weights = fit_stack(heads[:, seen], truth[seen], weight[seen], len(self.data))
        scores = np.tensordot(weights, centred(heads), 1)
        loss = log_loss(scores[seen], truth[seen], weight[seen])
        for name, head in zip(HEADS, heads, strict=True):
            self.report.tried.append(("head alone", name, self.loss_of(head[np.newaxis], self.folds)))
        self.report.tried.append(("heads together", "weighted sum", loss))
        self.report.chosen["weights"] = named_weights(weights)
        return weights, scores, loss


def named_weights(weights: Numbers) -> str:
    """Weights of the heads, to be read."""
    return ", ".join(f"{name} {share:.3g}" for name, share in zip(HEADS, weights, strict=True))


def learn_multinomial(rows: Rows, data: Labelled, penalty: float) -> Numbers:
    """Weights from some rows and their labels."""
    return multinomial_weights(rows, data.classes, data.weight, data.n_classes, penalty)


def coded_scores(
    coded: CodedRows, mapped: Rows, held: Indices, groups: NDArray[np.int32], own_groups: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Vote and residual of some rows, a block at a time."""
    heads = np.empty((2, len(held), coded.n_classes), dtype=np.float32)
    for piece in pieces_of(len(held), coded):
        rows = held[piece]
        heads[:, piece] = coded.scores(coded.code(coded.halves(mapped[rows]), groups, own_groups[rows]))
    return heads
