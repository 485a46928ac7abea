"""Prototypes among Gist descriptors of scenes: the MLNN and MAPBoost papers, and appendix A of the thesis."""

from dataclasses import replace
from typing import Any

from sklearn.pipeline import make_pipeline

from nearboost.boosting.knn import KNNClassifier
from nearboost.boosting.mapboost import MAPBoostClassifier
from nearboost.boosting.mlnn import MLNNClassifier
from nearboost.boosting.unn import UNNClassifier
from nearboost.metric.itml import ITML
from papers.estimators import CappedPCA, RandomShare
from papers.experiment import (
    PER_CLASS,
    Experiment,
    Line,
    Make,
    Measure,
    Panel,
    Size,
    limit_neighbors,
    share,
)
from papers.results import Results, largest, smallest

K = 11  # as in print
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
DRAWS = 10
SWEEPS = 100  # of ITML: accuracy has settled long before its dual variables have


def scenes(name: str, features: str, n_components: int, protocol: str) -> Panel:
    """Gist descriptors and their principal components."""
    return Panel(name, name, features, protocol, transformer=lambda _: CappedPCA(n_components))


def published(method: Any, per_class: bool = False, **settings: Any) -> Make:
    """T rounds on the graph over all rows, a share of their number; whoever was picked then votes alone."""

    def make(part: float, size: Size) -> Any:
        n_rounds = max(1, round(part * size.n_rows / (size.n_classes if per_class else 1)))
        return method(
            limit_neighbors(K, size),
            n_rounds=n_rounds,
            vote_from="prototypes",
            calibration=None,
            n_jobs=size.n_jobs,
            **settings,
        )

    return make


def refitted(method: Any, **settings: Any) -> Make:
    """The share that covers the rows best, weights learned anew on the graph over them."""
    return lambda part, size: method(limit_neighbors(K, size), n_prototypes=part, n_jobs=size.n_jobs, **settings)


def random_rows(vote_weights: str = "uniform") -> Make:
    """k-NN on a random share."""

    def make(part: float, size: Size) -> Any:
        kept = max(1, round(part * size.n_rows))
        voters = KNNClassifier(min(K, max(1, kept // 2)), vote_weights=vote_weights, n_jobs=size.n_jobs)
        return RandomShare(voters, part, random_state=size.seed)

    return make


def with_itml(make: Make) -> Make:
    """The same in the metric of ITML."""
    return lambda part, size: make_pipeline(ITML(max_sweeps=SWEEPS, random_state=size.seed), make(part, size))


SCENES_8 = scenes("8-cat", "gist-512", 128, "250-per-class")
SCENES_13 = scenes("13-cat", "gist-512", 128, "150-per-class")
SCENES_15 = scenes("15-cat", "gist-512", 128, "150-per-class")
KNN = Line("k-NN", random_rows(), draws=DRAWS)
WEIGHTED_KNN = Line("weighted k-NN", random_rows("gaussian"), draws=DRAWS)
MLNN = Line("MLNN", published(MLNNClassifier))
ADAPTIVE = Line("MLNN, adaptive", published(MLNNClassifier, kernel="adaptive"))
GAUSSIAN = Line("MLNN, Gaussian", published(MLNNClassifier, kernel="gaussian"))
ONE_VS_ALL = Line("MLNN, one-vs-all", published(MLNNClassifier, per_class=True, one_vs_all=True))
KNN_ITML = Line("k-NN, ITML", with_itml(random_rows()), draws=DRAWS)
ADAPTIVE_ITML = Line("MLNN, adaptive, ITML", with_itml(published(MLNNClassifier, kernel="adaptive")))
REFITTED = Line("MLNN, adaptive, refitted", refitted(MLNNClassifier, kernel="adaptive"))
OPEN = (
    "T rounds, a share of the training rows; kernels other than k-NN's are smoothed always (see the errata).",
    "The fixed Gaussian is as wide as the median distance of the k-th neighbour; print has 0.25.",
    "Lines called refitted are ours: weights learned anew on the graph over the prototypes.",
)

FIGURE_3 = Experiment(
    name="mlnn-figure-3",
    about="MLNN with three kernels and one-versus-all, k-NN and ITML against the number of prototypes",
    panels=(SCENES_8,),
    lines=(MLNN, GAUSSIAN, ADAPTIVE, ONE_VS_ALL, KNN, WEIGHTED_KNN, KNN_ITML, ADAPTIVE_ITML, REFITTED),
    measures=(PER_CLASS,),
    varies="prototypes, share of the training rows",
    xs=SHARES,
    label=share,
    claims={
        "adaptive kernel over the k-NN kernel, 200 prototypes": lambda r: r.lead("MLNN, adaptive", "MLNN", "10%"),
        "multiclass over one-versus-all, at least": lambda r: smallest(r.leads("MLNN", "MLNN, one-vs-all")),
        "multiclass over one-versus-all, at most": lambda r: largest(r.leads("MLNN", "MLNN, one-vs-all")),
        "adaptive kernel over k-NN and weighted k-NN": lambda r: largest(r.leads("MLNN, adaptive", "k-NN")),
        "adaptive kernel with ITML over the others, 200 prototypes": lambda r: r.lead(
            "MLNN, adaptive, ITML", "k-NN, ITML", "10%"
        ),
        "MLNN over k-NN on 8-cat, 80 prototypes": lambda r: r.lead("MLNN", "k-NN", "30%"),
    },
    minutes=1.6,
    notes=(*OPEN, "80 prototypes of the 250 training images of a class are read off at 30%."),
)
FIGURE_4 = Experiment(
    name="mlnn-figure-4",
    about="MLNN against k-NN by the number of prototypes a class, 13 and 15 classes",
    panels=(SCENES_13, SCENES_15),
    lines=(MLNN, GAUSSIAN, ADAPTIVE, KNN, WEIGHTED_KNN, REFITTED),
    measures=(PER_CLASS,),
    varies="prototypes, share of the 150 training rows a class",
    xs=SHARES,
    label=share,
    row="{panel}, {line}",
    claims={
        "MLNN over k-NN on 13-cat, 60 prototypes a class": lambda r: r.lead("MLNN", "k-NN", "40%", "13-cat"),
        "MLNN over k-NN on 15-cat, 60 prototypes a class": lambda r: r.lead("MLNN", "k-NN", "40%", "15-cat"),
    },
    minutes=8,
    notes=OPEN,
)


# ---------------------------------------------------------------------------------------------------- MAPBoost


def _map(name: str, **settings: Any) -> Line:
    per_class = settings.get("one_vs_all", False)
    return Line(name, published(MAPBoostClassifier, per_class=per_class, **settings))


FIGURE_1 = Experiment(
    name="mapboost-figure-1",
    about="MAPBoost with three estimators and one-versus-all, and k-NN, against the rounds",
    panels=(
        scenes("8-cat", "gist-320", 128, "250-per-class"),
        scenes("13-cat", "gist-320", 128, "150-per-class"),
        scenes("15-cat", "gist-320", 128, "150-per-class"),
    ),
    lines=(
        _map("MAPBoost, adaptive", estimator="adaptive"),
        _map("MAPBoost, fixed", estimator="gaussian"),
        _map("MAPBoost, rectangular", estimator="rectangular"),
        _map("MAPBoost, adaptive, one-vs-all", estimator="adaptive", one_vs_all=True),
        KNN,
        WEIGHTED_KNN,
        Line("MAPBoost, adaptive, refitted", refitted(MAPBoostClassifier, estimator="adaptive")),
    ),
    measures=(PER_CLASS,),
    varies="rounds, share of the training rows",
    xs=SHARES,
    label=share,
    row="{panel}, {line}",
    claims={
        "adaptive Gaussian over weighted k-NN on 8-cat, T = 200": lambda r: r.lead(
            "MAPBoost, adaptive", "weighted k-NN", "10%", "8-cat"
        ),
        "adaptive Gaussian on 8-cat, at best": lambda r: r.best("MAPBoost, adaptive", "8-cat"),
        "adaptive Gaussian on 13-cat, at best": lambda r: r.best("MAPBoost, adaptive", "13-cat"),
        "adaptive Gaussian on 15-cat, at best": lambda r: r.best("MAPBoost, adaptive", "15-cat"),
        "MAPBoost over k-NN": lambda r: largest(r.leads("MAPBoost, adaptive", "k-NN", "8-cat")),
    },
    minutes=12,
    notes=(*OPEN, "Print draws 2,000 training images in all; ours are 250 a class of 8-cat, 150 of the others."),
)

# ---------------------------------------------------------------------------------------------------- appendix A


def _unn_all(_: Any, size: Size) -> UNNClassifier:
    return UNNClassifier(limit_neighbors(K, size), start="zero", calibration=None, n_jobs=size.n_jobs)


FIGURE_A2 = Experiment(
    name="thesis-figure-A.2",
    about="accuracy against the principal components of Gist",
    panels=(Panel("8-cat", "8-cat", "gist-512", "250-per-class", transformer=CappedPCA),),
    lines=(
        Line("UNN", _unn_all),
        Line("k-NN", lambda _, size: KNNClassifier(limit_neighbors(K, size), n_jobs=size.n_jobs)),
    ),
    measures=(PER_CLASS,),
    varies="components",
    xs=(4, 8, 16, 32, 64, 128, 256, 512),
    claims={"dimensions from which accuracy is practically constant": lambda r: _settled(r, "UNN")},
    minutes=0.4,
    notes=("Practically constant is read as within two points of the best.", "k is not stated: 11."),
)


def _settled(results: Results, line: str) -> float | None:
    """The least value from which on a line stays within two points of its best."""
    course = results.course(line)
    if not course:
        return None
    best, settled = max(course.values()), None
    for x, mean in reversed(course.items()):
        if mean < best - 2:
            break
        settled = float(x)
    return settled


SCENES_A = scenes("8-cat", "gist-512", 32, "250-per-class")
UNN = Line("UNN", published(UNNClassifier, per_class=True, start="zero"))
UNN_ITML = Line("UNN, ITML", with_itml(published(UNNClassifier, per_class=True, start="zero")), draws=DRAWS)
UNN_REFITTED = Line("UNN, refitted", refitted(UNNClassifier))
OPEN_A = (
    "A share of the rounds m/C a class; k is not stated: 11.",
    "Print takes the prototypes of the largest coefficients; ours are those that so many rounds pick.",
    *OPEN[2:],
)

FIGURE_A3 = Experiment(
    name="thesis-figure-A.3",
    about="UNN against k-NN by the share of prototypes",
    panels=(SCENES_A,),
    lines=(UNN, KNN, UNN_REFITTED),
    measures=(PER_CLASS,),
    varies="prototypes, share of the training rows",
    xs=SHARES,
    label=share,
    repeats=1,
    minutes=0.5,
    notes=OPEN_A,
)
FIGURE_A4 = replace(
    FIGURE_A3,
    name="thesis-figure-A.4",
    about="UNN and k-NN with and without ITML by the share of prototypes",
    lines=(UNN, UNN_ITML, KNN, KNN_ITML),
    claims={
        "UNN with ITML, 400 prototypes, 20% of the training set": lambda r: r.mean("UNN, ITML", "20%"),
        "prototypes with which UNN with ITML is as precise as without ITML with 1,000": lambda r: (
            prototypes_to_match(r, "UNN, ITML", None, "UNN", None)
        ),
    },
    minutes=0.6,
    notes=OPEN_A[:2],
)


def prototypes_to_match(
    results: Results, line: str, panel: str | None, other: str, other_panel: str | None
) -> float | None:
    """The fewest of 2,000 rows with which a line is as good as another with half of them."""
    half = results.mean(other, "50%", other_panel)
    reached = [x for x, mean in results.course(line, panel).items() if half is not None and mean >= half]
    return 20 * float(reached[0].rstrip("%")) if reached else None


SPREAD = Measure("draw_deviation", "deviation over 10 draws")
FIGURE_A5 = replace(
    FIGURE_A4,
    name="thesis-figure-A.5",
    about="how far UNN with ITML varies with the pairs that ITML draws",
    lines=(UNN_ITML,),
    measures=(PER_CLASS, SPREAD),
    row="{line}, {measure}",
    claims={"evaluations": lambda r: float(DRAWS)},
    minutes=0.5,
)
FIGURE_A6 = replace(
    FIGURE_A5,
    name="thesis-figure-A.6",
    about="how far k-NN varies with the prototypes that are drawn",
    lines=(KNN,),
    minutes=0.3,
    notes=OPEN_A[:1],
)

EXPERIMENTS = (FIGURE_3, FIGURE_4, FIGURE_1, FIGURE_A2, FIGURE_A3, FIGURE_A4, FIGURE_A5, FIGURE_A6)
