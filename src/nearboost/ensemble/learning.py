"""How `NearBoostClassifier` learns: choose on held-out rows, then learn again from all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.answers import HEADS, Answers
from nearboost.ensemble.choosing import (
    CrossFit,
    Labelled,
    Metric,
    Space,
    choose_scaling,
    learn_multinomial,
    named_weights,
)
from nearboost.ensemble.code_heads import CodedRows
from nearboost.ensemble.linear_head import ridge_weights
from nearboost.ensemble.prototypes import class_centres
from nearboost.ensemble.report import Report
from nearboost.ensemble.scaling import ENOUGH_COMPONENTS, Components, Scaling, one_scale
from nearboost.metric.landmarks import draw_evenly, kernel_coordinates, kernel_width, landmark_basis

MANY_ROWS = 1_000  # from which on there are more landmarks, and more of their coordinates
LANDMARKS, MORE_LANDMARKS = 600, 1_000
WIDTH, MORE_WIDTH = 250, 350
WIDE = 500  # components, beyond which all of them are tried beside the first
LEAST_LANDMARKS = 200  # beside prototypes
UNFITTED = 3.0  # weight of vote and residual where no row can be held out
Rows = NDArray[np.float32]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Learned:
    """The outcome; ``held_rows`` may be named several times, once for each score."""

    answers: Answers
    representatives: Indices  # the row behind each coded row
    landmark_rows: Indices
    held_rows: Indices
    held_scores: NDArray[np.float64]
    held_loss: float


@dataclass
class Learner:
    """The steps, in order; ``n_prototypes`` None codes queries by all rows."""

    X: NDArray[np.floating]
    data: Labelled
    n_prototypes: int | None
    n_jobs: int | None
    generator: np.random.RandomState
    report: Report

    def learn(
        self, folds: list[Indices], scaling_folds: Sequence[Indices], advance: Callable[[], None]
    ) -> Learned:
        """All steps; ``scaling_folds`` are of few rows."""
        report = self.report
        with report.timed("scaling"):
            scaling = choose_scaling(self.X, self.data, scaling_folds, report)
        advance()
        with report.timed("coordinates"):
            components, rows = self._reduce(scaling)
            by_fold = [rows] * len(folds) if components is None else self._reduce_apart(scaling, rows, folds)
            n_landmarks = MORE_LANDMARKS if len(rows) >= MANY_ROWS else LANDMARKS
            kernel = self._map(rows, self._draw(min(len(rows), n_landmarks)))
            fit = self._cross_fit(rows, by_fold, kernel, folds)
        advance()
        with report.timed("metric"):
            metric, codes = fit.choose_metric()
        advance()
        with report.timed("linear"):
            kind, strength, linear = fit.choose_linear()
        advance()
        if self.n_prototypes is not None:
            with report.timed("prototypes"):
                kernel = self._map(rows, self._draw(self._few_landmarks(len(kernel.rows))))
                fit = self._cross_fit(rows, by_fold, kernel, folds)
                codes = self._prototype_codes(fit, metric)
                linear = fit.all_linear_scores(kind, strength)
        with report.timed("weights"):
            stack, scores, loss = fit.stack(np.concatenate([codes, linear[np.newaxis]]))
        with report.timed("refit"):
            weights = self._linear_weights(fit.spaces["kernel"], kind, strength)
            answers, representatives = self._answers(
                scaling, components, kernel, fit.spaces, metric, weights, stack
            )
        advance()
        landmarks = kernel.rows[: len(answers.landmarks)]
        return Learned(answers, representatives, landmarks, np.concatenate(folds), scores, loss)

    def learn_unseen(self) -> Learned:
        """Without held-out rows, where every class has a single row or group: nothing can be chosen."""
        metric = Metric("linear", 1.0, 1.0)
        weights = np.zeros((0, self.data.n_classes))
        stack = np.array([UNFITTED if name != "linear" else 0.0 for name in HEADS])
        self.report.chosen |= {"scaling": "one scale", "metric": str(metric), "weights": named_weights(stack)}
        with self.report.timed("fit"):
            scaling = one_scale(self.X, self.data.weight)
            components, rows = self._reduce(scaling)
            kernel = KernelMap(np.empty(0, dtype=np.int64), rows[:0], 1.0, np.empty((0, 0), dtype=np.float32))
            rows = rows[:, :ENOUGH_COMPONENTS]
            spaces = {"linear": Space(rows, rows.shape[1], self.data, [])}
            answers, representatives = self._answers(scaling, components, kernel, spaces, metric, weights, stack)
        nobody = np.empty(0, dtype=np.int64)
        return Learned(answers, representatives, nobody, nobody, np.empty((0, self.data.n_classes)), np.nan)

    def _reduce(self, scaling: Scaling) -> tuple[Components | None, Rows]:
        rows = scaling.apply(self.X)
        components = Components.of(rows, self.data.weight, self.generator)
        return components, rows if components is None else components.apply(rows)

    def _reduce_apart(self, scaling: Scaling, reduced: Rows, folds: Sequence[Indices]) -> list[Rows]:
        """All rows in components that were found without a fold, for each fold."""
        rows = scaling.apply(self.X)
        found = []
        for fold in folds:
            learned = self.data.without(fold)
            components = Components.of(rows[learned], self.data.weight[learned], self.generator)
            assert components is not None  # fewer rows, and as many features
            found.append(components.apply(rows) if components.matrix.size else reduced)  # equal rows have none
        return found

    def _draw(self, n_landmarks: int) -> Indices:
        return draw_evenly(self.data.classes, n_landmarks, self.generator)

    def _map(self, rows: Rows, drawn: Indices) -> "KernelMap":
        rows = rows[:, :ENOUGH_COMPONENTS]
        gamma = kernel_width(rows, self.data.weight)
        return KernelMap(drawn, rows[drawn], gamma, landmark_basis(rows[drawn], gamma).astype(np.float32))

    def _few_landmarks(self, before: int) -> int:
        assert self.n_prototypes is not None
        return min(before, max(LEAST_LANDMARKS, 2 * self.data.n_classes, 2 * self.n_prototypes))

    def _cross_fit(
        self, rows: Rows, by_fold: Sequence[Rows], kernel: "KernelMap", folds: list[Indices]
    ) -> CrossFit:
        wide = min(one.shape[1] for one in by_fold) > WIDE
        whole = self._spaces(rows, kernel, folds, wide)
        apart = [
            whole if one is rows else self._spaces(one, self._map(one, kernel.rows), folds, wide)
            for one in by_fold
        ]
        return CrossFit(self.data, folds, whole, apart, self.n_jobs, self.report)

    def _spaces(self, rows: Rows, kernel: "KernelMap", folds: list[Indices], wide: bool) -> dict[str, Space]:
        narrow = rows[:, :ENOUGH_COMPONENTS]
        coordinates = kernel_coordinates(narrow, kernel.landmarks, kernel.gamma, kernel.basis)
        width = min(coordinates.shape[1], MORE_WIDTH if len(rows) >= MANY_ROWS else WIDTH)
        spaces = {
            "linear": Space(narrow, narrow.shape[1], self.data, folds),
            "kernel": Space(coordinates, width, self.data, folds),
        }
        if wide:
            spaces["wide"] = Space(rows, rows.shape[1], self.data, folds)
        return spaces

    @property
    def _share(self) -> float:
        assert self.n_prototypes is not None
        return self.n_prototypes / len(self.data)

    def _prototype_codes(self, fit: CrossFit, metric: Metric) -> NDArray[np.float32]:
        seed = int(self.generator.randint(2**31 - 1))
        folds = range(len(fit.folds))
        return np.concatenate([fit.prototype_heads(metric, fold, self._share, seed) for fold in folds], axis=1)

    def _linear_weights(self, space: Space, kind: str, strength: float) -> NDArray[np.float64]:
        if kind == "ridge":
            return ridge_weights(space.moments, strength)
        return learn_multinomial(space.rows, self.data, strength)

    def _answers(
        self,
        scaling: Scaling,
        components: Components | None,
        kernel: "KernelMap",
        spaces: dict[str, Space],
        metric: Metric,
        weights: NDArray[np.float64],
        stack: NDArray[np.float64],
    ) -> tuple[Answers, Indices]:
        """Everything learned from all rows; the kernel's coordinates and what follows become one matrix."""
        space, of_kernel = spaces[metric.space], metric.space == "kernel"
        mapped, matrix, offset = space.mapped(space.discriminants(space.moments), metric)
        if self.n_prototypes is None:
            coded = CodedRows(mapped, self.data.classes, self.data.n_classes, self.data.weight, metric.on_sphere)
            representatives = np.arange(len(mapped))
        else:
            seed = int(self.generator.randint(2**31 - 1))
            coded, representatives = class_centres(
                mapped, self.data.classes, self.data.n_classes, self._share, seed, metric.on_sphere
            )
        if components is not None and metric.space != "wide":
            components = components.first(ENOUGH_COMPONENTS)
        needed = of_kernel or stack[HEADS.index("linear")] > 0
        landmarks = kernel.landmarks if needed else kernel.landmarks[:0]
        answers = Answers(
            scaling,
            components,
            landmarks,
            kernel.gamma,
            of_kernel,
            kernel.basis[:, : space.width] @ matrix if of_kernel else matrix,
            offset,
            (kernel.basis @ weights).astype(np.float32)[: len(landmarks)],
            stack,
            coded,
        )
        return answers, representatives


@dataclass(frozen=True)
class KernelMap:
    """Landmarks, by their rows and where they are; the kernel's width; what makes coordinates of kernel rows."""

    rows: Indices
    landmarks: Rows
    gamma: float
    basis: Rows
