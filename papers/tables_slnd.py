"""SLND on Fisher vectors and on traffic signs: chapter 4 of the thesis."""

from dataclasses import replace
from typing import Any

from sklearn.preprocessing import Normalizer

from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier
from papers.experiment import ACCURACY, TOP5, Experiment, Line, Measure, Panel, Size
from papers.tables_n3 import CALTECH, IMAGENET, SUN

SIGNS = Panel("signs", "gtsrb", "pixels", "fixed", transformer=lambda _: Normalizer())

RANK = 200
SHARED: dict[str, Any] = {"fit_intercept": False, "tol": None, "calibration": None}


def slnd(size: Size, **settings: Any) -> SLNDClassifier:
    """As published: one class against the rest, no damping, constant steps of 1/√m, the mean of three passes."""
    fixed = {"damping": 0, "step": size.n_rows**-0.5, "average": True, "max_passes": 3, **SHARED}
    return SLNDClassifier("log", random_state=size.seed, n_jobs=size.n_jobs, **fixed | settings)


def descent(name: str, method: Any, **settings: Any) -> Line:
    """A line over passes with a constant step, which is chosen on held-out rows."""

    def make(step: Any, size: Size) -> Any:
        given = {} if step is None else {"step": step}
        return method(random_state=size.seed, n_jobs=size.n_jobs, **SHARED | settings | given)

    return Line(name, make, procedure="passes")


DESCENTS = (
    descent("SLND, log", SLNDClassifier, loss="log", rank=RANK, damping=0),
    descent("SLND, hinge", SLNDClassifier, loss="hinge", rank=RANK, damping=0),
    descent("SGD", LinearSGDClassifier, loss="log", scaling="none"),
    descent("SGD-QN", LinearSGDClassifier, loss="log", scaling="quasi-newton"),
    descent("diagonal SLND", LinearSGDClassifier, loss="log", scaling="diagonal"),
)
SGD_P = descent("SGD-P", LinearSGDClassifier, loss="log", scaling="standard", fit_intercept=True)
OPEN_SLND = (
    f"The rank is not stated: {RANK}. Steps are the best of six on a fifth of the training rows or tracks.",
    "ImageNet is run only where the user's copy of ILSVRC 2010 is there.",
)

FIGURE_4_2 = Experiment(
    name="thesis-figure-4.2",
    about="eigenvalues of the second moment of Fisher vectors",
    panels=(CALTECH, SUN, IMAGENET),
    lines=(Line("eigenvalue", lambda _, size: slnd(size, max_passes=1), procedure="spectrum"),),
    measures=(Measure("eigenvalue", "eigenvalue", 1.0),),
    varies="number",
    xs=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000),
    row="{panel}",
    repeats=1,
    minutes=8,
    notes=OPEN_SLND[1:],
)
FIGURE_4_3 = replace(
    FIGURE_4_2,
    name="thesis-figure-4.3",
    about="accuracy of SLND against the rank",
    lines=(Line("SLND", lambda rank, size: slnd(size, rank=rank)),),
    measures=(ACCURACY,),
    varies="rank",
    xs=(8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
    minutes=20,
)
FIGURE_4_4 = replace(
    FIGURE_4_2,
    name="thesis-figure-4.4",
    about="accuracy of SLND against the rows that the second moment is measured on",
    lines=(Line("SLND", lambda rows, size: slnd(size, rank=RANK, hessian_samples=rows), draws=3),),
    measures=(ACCURACY,),
    varies="rows of the second moment",
    xs=(300, 500, 1000, 1500, 2000, 3000),
    minutes=20,
    notes=OPEN_SLND,
)
FIGURE_4_5 = Experiment(
    name="thesis-figure-4.5",
    about="accuracy of SLND and of stochastic gradients against passes, Caltech",
    panels=(CALTECH,),
    lines=DESCENTS,
    varies="passes",
    xs=(1, 2, 3, 5, 10, 15, 20),
    repeats=1,
    minutes=10,
    notes=OPEN_SLND[:1],
)
FIGURE_4_6 = replace(
    FIGURE_4_5,
    name="thesis-figure-4.6",
    about="accuracy of SLND and of stochastic gradients against passes, SUN",
    panels=(SUN,),
    minutes=2.5,
)
FIGURE_4_7 = replace(
    FIGURE_4_5,
    name="thesis-figure-4.7",
    about="accuracy of SLND and of stochastic gradients against passes, ImageNet",
    panels=(IMAGENET,),
    lines=(*DESCENTS, SGD_P),
    measures=(ACCURACY, TOP5),
    row="{line}, {measure}",
    claims={
        "SLND after 10 or 20 passes, first answer": lambda r: r.best("SLND, log", key="accuracy"),
        "SLND after 10 or 20 passes, first five": lambda r: r.best("SLND, log", key="top5"),
        "SLND over the best of SGD, first answer": lambda r: _ahead(r, "SGD", "accuracy"),
        "SLND over the best of SGD, first five": lambda r: _ahead(r, "SGD", "top5"),
        "SLND over the best of SGD-QN, first answer": lambda r: _ahead(r, "SGD-QN", "accuracy"),
        "SLND over the best of SGD-QN, first five": lambda r: _ahead(r, "SGD-QN", "top5"),
    },
    minutes=3000,
)


def _ahead(results: Any, other: str, key: str) -> float | None:
    ours, theirs = results.best("SLND, log", key=key), results.best(other, key=key)
    return None if ours is None or theirs is None else ours - theirs


# ---------------------------------------------------------------------------------- the same on traffic signs


def _on_signs(figure: Experiment, minutes: float, **changes: Any) -> Experiment:
    return replace(
        figure,
        name=f"{figure.name}-signs",
        about=f"{figure.about.split(', ')[0].replace('Fisher vectors', 'pixels')}, on traffic signs",
        panels=(SIGNS,),
        beside=(figure.name,),
        claims={},
        minutes=minutes,
        notes=OPEN_SLND[:1],
        **changes,
    )


ON_SIGNS = (
    _on_signs(FIGURE_4_2, 0.1, xs=(1, 2, 5, 10, 20, 50, 100, 200, 400, 576)),
    _on_signs(FIGURE_4_3, 0.2, xs=(8, 16, 32, 64, 100, 150, 200, 300, 400, 500, 576)),
    _on_signs(FIGURE_4_4, 0.3, xs=(300, 600, 1_000, 2_000, 5_000, 10_000, 20_000, 39_209)),
    _on_signs(FIGURE_4_5, 1.5, lines=(*DESCENTS, SGD_P), measures=(ACCURACY, TOP5), row="{line}, {measure}"),
)

EXPERIMENTS = (FIGURE_4_2, FIGURE_4_3, FIGURE_4_4, FIGURE_4_5, FIGURE_4_6, FIGURE_4_7, *ON_SIGNS)
