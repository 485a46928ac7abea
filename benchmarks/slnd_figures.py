"""Figures 4.2 to 4.7 of the thesis on the traffic signs: ``python -m benchmarks.slnd_figures``.

Eigenvalues of the second moment; accuracy against the rank, against the rows that the second moment is measured
on, and against the passes of SGD, SGD-P, SGD-QN, diagonal SLND and SLND with both losses, for the first and the
first five answers. Everything is as published: one class against the rest, no damping, constant steps, and no
intercept, but for the centred features of SGD-P, which cannot do without. Each method's step is the best of six on
tracks held out; accuracies are those of the test rows. Writes ``benchmarks/results/slnd_figures.json`` and
``docs/figures/slnd-*.png``; ``--show`` draws what was written last.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import ROOT, Split, load
from benchmarks.machine import read_results, write_results
from nearboost.linear.contenders import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

FIGURES = ROOT / "docs" / "figures"
RANKS = (8, 16, 32, 64, 100, 150, 200, 300, 400, 500, 576)
SAMPLES = (300, 600, 1_000, 2_000, 5_000, 10_000, 20_000, 39_209)
RANK, PASSES = 200, 20
CHOICE_PASSES = 8
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


def slnd(**settings: Any) -> SLNDClassifier:
    """As published, with the mean over passes to take the noise of a constant step out."""
    return SLNDClassifier("log", damping=0, step=39_209**-0.5, average=True, max_passes=3, **SHARED | settings)


def against_rank(split: Split) -> list[Row]:
    """Figures 4.2 and 4.3."""
    rows = []
    for rank in RANKS:
        model = slnd(rank=rank).fit(split.X_train, split.y_train)
        rows.append({"rank": rank, "accuracy": model.score(split.X_test, split.y_test)})
    return [*rows, {"eigenvalues": model.eigenvalues_.tolist()}]


def against_samples(split: Split) -> list[Row]:
    """Figure 4.4, for three draws."""
    return [
        {
            "n_samples": n,
            "seed": seed,
            "accuracy": slnd(rank=RANK, hessian_samples=n, random_state=seed)
            .fit(split.X_train, split.y_train)
            .score(split.X_test, split.y_test),
        }
        for n in SAMPLES
        for seed in range(3)
    ]


def pass_by_pass(name: str, step: float, n_passes: int, train: Rows, test: Rows) -> list[Row]:
    """Accuracy of the first and of the first five answers after each pass with a constant step."""
    method, settings = METHODS[name]
    model, course = method(step=step, **SHARED | settings), []
    for _ in range(n_passes):
        model.partial_fit(*train, classes=np.arange(43))
        top = model.predict_top(test[0], 5) == test[1][:, np.newaxis]
        course.append({"top1": float(top[:, 0].mean()), "top5": float(top.any(axis=1).mean())})
    return course


def safe_step(name: str, split: Split) -> float:
    """1/√m for SLND; for the others the unit in which `fit` counts steps, from which each has its own."""
    if name.startswith("SLND"):
        return len(split.X_train) ** -0.5
    method, settings = METHODS[name]
    probe = method(**SHARED | settings | {"max_passes": 1}).fit(split.X_train[::20], split.y_train[::20])
    trials = probe.report_["trials"]
    return min(trial["step"] for trial in trials)


def against_passes(split: Split, names: list[str]) -> list[Row]:
    """Figures 4.5 to 4.7: the step by held-out tracks, the curve on the test rows."""
    assert split.groups_train is not None
    tracks = np.random.default_rng(0).permutation(np.unique(split.groups_train))
    held = np.isin(split.groups_train, tracks[: len(tracks) // 5])
    learn, judge = (split.X_train[~held], split.y_train[~held]), (split.X_train[held], split.y_train[held])
    rows = []
    for name in names:
        unit, tried = safe_step(name, split), []
        for factor in STEPS:
            course = pass_by_pass(name, unit * factor, CHOICE_PASSES, learn, judge)
            tried.append((course[-1]["top1"], unit * factor))
        best = max(tried)[1]
        course = pass_by_pass(name, best, PASSES, (split.X_train, split.y_train), (split.X_test, split.y_test))
        rows.append({"name": name, "step": best, "course": course, "tried": tried})
        print(name, best, course[0], course[-1], flush=True)
    return rows


def draw(results: Row) -> list[Path]:
    """Three pictures."""
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
    sizes = sorted({row["n_samples"] for row in results["samples"]})
    for seed in range(3):
        accuracies = [100 * row["accuracy"] for row in results["samples"] if row["seed"] == seed]
        right.semilogx(sizes, accuracies, marker="o", label=f"draw {seed + 1}")
    right.set(xlabel="rows of the second moment", title=f"accuracy against m', rank {RANK} (4.4)")
    right.legend(frameon=False)
    paths = [FIGURES / "slnd-rank.png", FIGURES / "slnd-passes.png"]
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


def main() -> None:
    """Measure, write and draw; or draw what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="draw the last results, measure nothing")
    parser.add_argument("--names", nargs="+", choices=METHODS, help="measure the passes of these alone anew")
    options = parser.parse_args()
    if options.names:
        payload = read_results("slnd_figures")
        anew = {row["name"]: row for row in against_passes(load("gtsrb-24x24"), options.names)}
        payload["passes"] = [anew.get(row["name"], row) for row in payload["passes"]]
        write_results("slnd_figures", payload)
    elif not options.show:
        split = load("gtsrb-24x24")
        payload = {
            "rank": against_rank(split),
            "samples": against_samples(split),
            "passes": against_passes(split, list(METHODS)),
        }
        write_results("slnd_figures", payload)
    for path in draw(read_results("slnd_figures")):
        print(f"drawn: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
