"""Figures 4.2 to 4.7 of the thesis: ``python -m benchmarks.slnd_figures``, on the traffic signs.

Eigenvalues of the second moment; accuracy against the rank, against the rows that the second moment is measured
on, and against the passes of SGD, SGD-P, SGD-QN, diagonal SLND and SLND with both losses, for the first and the
first five answers. Everything is as published: one class against the rest, no damping, constant steps, and no
intercept, but for the centred features of SGD-P, which cannot do without. Each method's step is the best of six on
tracks held out; accuracies are those of the test rows. Writes ``benchmarks/results/slnd_figures.json`` and
``docs/figures/slnd-*.png``; ``--show`` draws what was written last.

``--data fisher`` takes the Fisher vectors of Caltech-101, first split (`benchmarks.fisher_data`): single rows are
held out there, and steps are judged after fewer passes. It writes ``slnd_fisher.json`` and ``slnd-fisher-*.png``.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import ROOT, Split, load
from benchmarks.fisher_data import load_fisher
from benchmarks.machine import read_results, write_results
from nearboost.linear.contenders import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

FIGURES = ROOT / "docs" / "figures"
RANK = 200
STEPS = tuple(4.0**power for power in range(-3, 3))  # times 1/√m, or times the step that is safe for the features
SHARED: dict[str, Any] = {"fit_intercept": False, "tol": None, "random_state": 0}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SLND, log": (SLNDClassifier, {"loss": "log", "rank": RANK, "damping": 0}),
    "SLND, hinge": (SLNDClassifier, {"loss": "hinge", "rank": RANK, "damping": 0}),
    "SGD": (LinearSGDClassifier, {"loss": "log", "scaling": "none"}),
    "SGD-P": (LinearSGDClassifier, {"loss": "log", "scaling": "standard", "fit_intercept": True}),
    "SGD-QN": (LinearSGDClassifier, {"loss": "log", "scaling": "quasi-newton"}),
    "diagonal SLND": (LinearSGDClassifier, {"loss": "log", "scaling": "diagonal"}),
}

Row = dict[str, Any]
Rows = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Ground:
    """What the figures are drawn on, and how far."""

    load: Callable[[], Split]
    file: str
    ranks: tuple[int, ...]
    samples: tuple[int, ...]  # of the second moment
    short: int  # passes for each rank and sample
    trial: int  # passes for each step
    passes: int
    every: int  # row that the unit of the step is measured on


def fisher() -> Split:
    """30 images of each class to learn from."""
    split = load_fisher("caltech101", 0)
    return Split("fisher", split.X_train, split.y_train, split.X_test, split.y_test)


SIGNS = Ground(
    lambda: load("gtsrb-24x24"), "slnd_figures", (8, 16, 32, 64, 100, 150, 200, 300, 400, 500, 576),
    (300, 600, 1_000, 2_000, 5_000, 10_000, 20_000, 39_209), short=3, trial=8, passes=20, every=20,
)  # fmt: skip
FISHER = Ground(
    fisher, "slnd_fisher", (8, 16, 32, 64, 128, 256, 512, 1024),
    (300, 600, 1_000, 2_000, 3_030), short=10, trial=3, passes=12, every=2,
)  # fmt: skip
GROUNDS = {"signs": SIGNS, "fisher": FISHER}


def slnd(split: Split, n_passes: int, **settings: Any) -> SLNDClassifier:
    """As published, with the mean over passes to take the noise of a constant step out."""
    step = len(split.X_train) ** -0.5
    model = SLNDClassifier("log", damping=0, step=step, average=True, max_passes=n_passes, **SHARED | settings)
    return model.fit(split.X_train, split.y_train)


def against_rank(split: Split, ground: Ground) -> list[Row]:
    """Figures 4.2 and 4.3."""
    rows = []
    for rank in ground.ranks:
        model = slnd(split, ground.short, rank=rank)
        rows.append({"rank": rank, "accuracy": model.score(split.X_test, split.y_test)})
    return [*rows, {"eigenvalues": model.eigenvalues_.tolist()}]


def against_samples(split: Split, ground: Ground) -> list[Row]:
    """Figure 4.4, for three draws."""
    return [
        {
            "n_samples": n,
            "seed": seed,
            "accuracy": slnd(split, ground.short, rank=RANK, hessian_samples=n, random_state=seed).score(
                split.X_test, split.y_test
            ),
        }
        for n in ground.samples
        for seed in range(3)
    ]


def pass_by_pass(name: str, step: float, n_passes: int, train: Rows, test: Rows) -> list[Row]:
    """Accuracy of the first and of the first five answers after each pass with a constant step."""
    method, settings = METHODS[name]
    model, course = method(step=step, **SHARED | settings), []
    classes = np.union1d(train[1], test[1])
    for _ in range(n_passes):
        model.partial_fit(*train, classes=classes)
        top = model.predict_top(test[0], 5) == test[1][:, np.newaxis]
        course.append({"top1": float(top[:, 0].mean()), "top5": float(top.any(axis=1).mean())})
    return course


def safe_step(name: str, split: Split, every: int) -> float:
    """1/√m for SLND; for the others the unit in which `fit` counts steps, from which each has its own."""
    if name.startswith("SLND"):
        return len(split.X_train) ** -0.5
    method, settings = METHODS[name]
    probe = method(**SHARED | settings | {"max_passes": 1}).fit(split.X_train[::every], split.y_train[::every])
    trials = probe.report_["trials"]
    return min(trial["step"] for trial in trials)


def against_passes(split: Split, ground: Ground, names: list[str]) -> list[Row]:
    """Figures 4.5 to 4.7: the step by held-out tracks or rows, the curve on the test rows."""
    groups = np.arange(len(split.y_train)) if split.groups_train is None else split.groups_train
    tracks = np.random.default_rng(0).permutation(np.unique(groups))
    held = np.isin(groups, tracks[: len(tracks) // 5])
    learn, judge = (split.X_train[~held], split.y_train[~held]), (split.X_train[held], split.y_train[held])
    rows = []
    for name in names:
        unit, tried = safe_step(name, split, ground.every), []
        for factor in STEPS:
            course = pass_by_pass(name, unit * factor, ground.trial, learn, judge)
            tried.append((course[-1]["top1"], unit * factor))
        best = max(tried)[1]
        course = pass_by_pass(
            name, best, ground.passes, (split.X_train, split.y_train), (split.X_test, split.y_test)
        )
        rows.append({"name": name, "step": best, "course": course, "tried": tried})
        print(name, best, course[0], course[-1], flush=True)
    return rows


def draw(results: Row, prefix: str) -> list[Path]:
    """Two pictures."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    FIGURES.mkdir(parents=True, exist_ok=True)
    by_rank, spectrum = results["rank"][:-1], results["rank"][-1]["eigenvalues"]
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    left.semilogy(np.arange(1, len(spectrum) + 1), spectrum)
    left.set(xlabel="number", title="eigenvalues of the second moment (4.2)")
    middle.plot([row["rank"] for row in by_rank], [100 * row["accuracy"] for row in by_rank], marker="o")
    middle.set(xlabel="rank", ylabel="test accuracy, %", title="accuracy against the rank (4.3)")
    draw_samples(right, results["samples"])
    paths = [FIGURES / f"{prefix}-rank.png", FIGURES / f"{prefix}-passes.png"]
    figure.savefig(paths[0], dpi=110)
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    for axis, top, title in zip(
        axes, ("top1", "top5"), ("first answer (4.5, 4.6)", "first five (4.7)"), strict=True
    ):
        for row in results["passes"]:
            values = [100 * place[top] for place in row["course"]]
            axis.plot(np.arange(1, len(values) + 1), values, marker="o", markersize=3, label=row["name"])
        axis.xaxis.set_major_locator(pyplot.MaxNLocator(integer=True))
        axis.set(xlabel="passes", ylabel="test accuracy, %", title=title)
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(paths[1], dpi=110)
    pyplot.close("all")
    return paths


def draw_samples(axis: Any, rows: list[Row]) -> None:
    """Figure 4.4."""
    sizes = sorted({row["n_samples"] for row in rows})
    for seed in range(3):
        accuracies = [100 * row["accuracy"] for row in rows if row["seed"] == seed]
        axis.semilogx(sizes, accuracies, marker="o", label=f"draw {seed + 1}")
    axis.set_xticks(sizes, [f"{n / 1000:.2g}" for n in sizes])
    axis.minorticks_off()
    axis.set(xlabel="thousand rows of the second moment", title=f"accuracy against m', rank {RANK} (4.4)")
    axis.legend(frameon=False)


def main() -> None:
    """Measure, write and draw; or draw what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="draw the last results, measure nothing")
    parser.add_argument("--names", nargs="+", choices=METHODS, help="measure the passes of these alone anew")
    parser.add_argument("--data", choices=GROUNDS, default="signs", help="what to draw them on")
    options = parser.parse_args()
    ground = GROUNDS[options.data]
    if options.names:
        payload = read_results(ground.file)
        anew = {row["name"]: row for row in against_passes(ground.load(), ground, options.names)}
        payload["passes"] = [anew.get(row["name"], row) for row in payload["passes"]]
        write_results(ground.file, payload)
    elif not options.show:
        split = ground.load()
        payload = {
            "rank": against_rank(split, ground),
            "samples": against_samples(split, ground),
            "passes": against_passes(split, ground, list(METHODS)),
        }
        write_results(ground.file, payload)
    for path in draw(read_results(ground.file), "slnd" if ground is SIGNS else "slnd-fisher"):
        print(f"drawn: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
