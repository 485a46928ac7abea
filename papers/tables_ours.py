"""Experiments that are in no paper: what else was tried on the papers' sets, beside their methods."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.svm import LinearSVC

from nearboost.boosting.knn import KNNClassifier
from nearboost.boosting.mapboost import MAPBoostClassifier
from nearboost.boosting.mlnn import MLNNClassifier
from nearboost.boosting.n3 import N3Classifier
from nearboost.boosting.unn import UNNClassifier
from nearboost.catalogue.tuning import Tuned
from nearboost.ensemble.split import MEANS
from nearboost.features.whitening import WhitenedPCA
from nearboost.inn.classifier import INNClassifier
from nearboost.linear.slnd import SLNDClassifier
from nearboost.metric.discriminant import SoftDiscriminant
from nearboost.metric.itml import ITML
from papers.estimators import CappedPCA, TunedInTurn
from papers.experiment import (
    ACCURACY,
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
from papers.results import largest, smallest
from papers.tables_inn import FIXATIONS, VOTED, naive_bayes
from papers.tables_n3 import CALTECH, SUN, knn_in_parts, n3, n3_defaults
from papers.tables_scenes import DRAWS, SHARES, SWEEPS, prototypes_to_match, published, random_rows, refitted

# ---------------------------------------------------------------------------------------------- Fisher vectors

TABLE_MEANS = Experiment(
    name="ours-table-means",
    about="three means over 64 parts of Fisher vectors",
    panels=(CALTECH, SUN),
    lines=(
        Line("N3, binlog", lambda mean, size: n3("binlog", size, "L1", mean=mean)),
        Line("N3, defaults", lambda mean, size: n3_defaults(size, "L1", mean=mean)),
        Line("k-NN", lambda mean, size: knn_in_parts(size, "L1", mean=mean)),
    ),
    varies="mean",
    xs=tuple(MEANS),
    row="{panel}, {line}",
    minutes=20,
)

SETS = {
    "Caltech, 30": replace(CALTECH, name="Caltech, 30"),
    "Scene-15, 30": Panel("Scene-15, 30", "15-cat", "fisher", "30-per-class"),
    "Scene-15, 100": Panel("Scene-15, 100", "15-cat", "fisher", "100-per-class"),
}
PER_GAUSSIAN = {
    name: replace(panel, name=f"{name}, per Gaussian", features="fisher-gaussian") for name, panel in SETS.items()
}
DAMPING = {"whitenedpca__damping": (0.03, 0.1, 0.3)}
STRENGTH = {"innclassifier__regularization": (0.02, 0.05, 0.2)}
SOFT = {"softdiscriminant__shrinkage": (0.1, 0.5), "softdiscriminant__rest": (0.5, 0.7)}


def tuned(name: str, make: Callable[[Size], Any], **grid: tuple[Any, ...]) -> Line:
    """A classifier of the vectors as they are, its settings by folds."""
    return Line(name, lambda _, size: Tuned(make(size), grid, random_state=size.seed) if grid else make(size))


def whitened(name: str, *steps: Any, grids: tuple[dict[str, Any], ...]) -> Line:
    """Steps after damped whitening of vectors whose Gaussians have unit length; grids are chosen in turn."""

    def make(_: Any, size: Size) -> Any:
        model = make_pipeline(WhitenedPCA(1024), *(clone(step) for step in steps))
        threads = {setting: size.n_jobs for setting in model.get_params() if setting.endswith("__n_jobs")}
        return TunedInTurn(model.set_params(**threads), grids, size.seed)

    return Line(name, make, on=tuple(panel.name for panel in PER_GAUSSIAN.values()))


INNC, INSIDE_CLASSES = INNClassifier(), INNClassifier(decision="residual")
SOFT_METRIC = (SoftDiscriminant(), Normalizer())
SVM = LinearSVC(tol=0.1, random_state=0)
C = (0.3, 1.0, 3.0, 10.0)
K_GRID = (1, 5, 11, 21)
TABLE_WHOLE = Experiment(
    name="ours-table-whole-vectors",
    about="neighbours, INN codes and linear classifiers on whole Fisher vectors, whitened and in a soft metric",
    panels=(*SETS.values(), *PER_GAUSSIAN.values()),
    lines=(
        tuned("k-NN", lambda size: KNNClassifier(n_jobs=size.n_jobs), n_neighbors=K_GRID),
        tuned("SLND", lambda size: SLNDClassifier(n_jobs=size.n_jobs)),
        tuned("SGD", lambda size: SGDClassifier(random_state=size.seed), alpha=(1e-6, 1e-5, 1e-4)),
        tuned("linear SVM", lambda size: SVM, C=C),
        whitened("linear SVM, whitened", SVM, grids=(DAMPING, {"linearsvc__C": C})),
        whitened("k-NN, whitened", KNNClassifier(), grids=({**DAMPING, "knnclassifier__n_neighbors": K_GRID},)),
        whitened("INNC, whitened", INNC, grids=(DAMPING,)),
        whitened("INNC, soft metric", *SOFT_METRIC, INNC, grids=(DAMPING, STRENGTH, SOFT)),
        whitened("INN inside classes, whitened", INSIDE_CLASSES, grids=(DAMPING, STRENGTH)),
        whitened("INN inside classes, soft metric", *SOFT_METRIC, INSIDE_CLASSES, grids=(DAMPING, STRENGTH, SOFT)),
    ),
    measures=(ACCURACY, PER_CLASS),
    column="{panel}, {measure}",
    minutes=60,
    notes=("Settings are chosen by three folds of the training images, those of several grids in turn.",),
)

# ------------------------------------------------------------------------------------------- local descriptors

TABLE_NEIGHBORHOODS = Experiment(
    name="ours-table-neighborhoods",
    about="votes of local descriptors by the 100 nearest and by all, 20 images a class to train and to test",
    panels=(Panel(FIXATIONS, "15-cat", "nimble", "20-per-class/20"),),
    lines=tuple(Line(name, naive_bayes(kind)) for name, kind in VOTED.items())
    + tuple(Line(f"{name}, all", naive_bayes(kind, neighborhood=None)) for name, kind in VOTED.items()),
    measures=(ACCURACY, Measure("query_seconds", "seconds to classify", 1.0)),
    column="{measure}",
    repeats=1,
    minutes=5,
)

# --------------------------------------------------------------------- prototypes and metrics, on scenes and signs


def _gists(name: str, data: str, n_per_class: int) -> Panel:
    """Square roots of Gist, unit length, 128 principal components."""
    steps = (FunctionTransformer(np.sqrt), Normalizer(), CappedPCA(128))
    return Panel(name, data, "gist-512", f"{n_per_class}-per-class", transformer=lambda _: make_pipeline(*steps))


def _pixels(name: str, data: str, protocol: str, *steps: Any) -> Panel:
    return Panel(name, data, "pixels", protocol, transformer=lambda _: make_pipeline(*steps))


def _discriminants(shrinkage: float | str) -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage)


METRICS: dict[str, Any] = {
    "none": None,
    "ITML": ITML(max_sweeps=SWEEPS, random_state=0),
    "LDA": _discriminants("auto"),
    "NCA": NeighborhoodComponentsAnalysis(max_iter=30, random_state=0),
}
DIGITS = _pixels("digits", "digits", "half", FunctionTransformer())
SCENE8 = _gists("scene8", "8-cat", 250)
SCENE13 = _gists("scene13", "13-cat", 150)
SCENE15 = _gists("scene15", "15-cat", 150)
SIGNS = _pixels("gtsrb-small", "gtsrb-small", "fixed", Normalizer(), _discriminants(0.1))
SIGN_PIXELS = _pixels("gtsrb-pixels", "gtsrb-small", "fixed", Normalizer(), CappedPCA(128))


def with_metric(panel: Panel, metric: str) -> Panel:
    """A panel in a metric that is learned from its training rows."""
    before = panel.transformer
    if before is None or metric == "none":
        return panel
    return replace(
        panel,
        name=f"{panel.name}, {metric}",
        transformer=lambda x: make_pipeline(before(x), clone(METRICS[metric])),
    )


def _by_default(method: Any) -> Make:
    return lambda part, size: method(n_prototypes=part, n_jobs=size.n_jobs)


PROTOTYPES = Experiment(
    name="ours-figure-prototypes",
    about="MLNN, MAPBoost, UNN, N3 and k-NN by the share of prototypes, with and without ITML",
    panels=tuple(
        with_metric(panel, metric) for panel in (SCENE8, SCENE13, SCENE15, SIGNS) for metric in ("none", "ITML")
    ),
    lines=(
        Line("MLNN", refitted(MLNNClassifier)),
        Line("MLNN, Gaussian", refitted(MLNNClassifier, kernel="gaussian")),
        Line("MLNN, adaptive", refitted(MLNNClassifier, kernel="adaptive")),
        Line("MLNN, one-vs-all", refitted(MLNNClassifier, one_vs_all=True)),
        Line("MLNN, T rounds", published(MLNNClassifier)),
        Line("MLNN, adaptive, T rounds", published(MLNNClassifier, kernel="adaptive")),
        Line(
            "MLNN, adaptive, T rounds, to the letter",
            published(MLNNClassifier, kernel="adaptive", smoothing="one_sided"),
        ),
        Line("MAPBoost", refitted(MAPBoostClassifier)),
        Line("MAPBoost, Gaussian", refitted(MAPBoostClassifier, estimator="gaussian")),
        Line("MAPBoost, adaptive", refitted(MAPBoostClassifier, estimator="adaptive")),
        Line(
            "MAPBoost, adaptive, one-vs-all", refitted(MAPBoostClassifier, estimator="adaptive", one_vs_all=True)
        ),
        Line("UNN", _by_default(UNNClassifier)),
        Line("N3", _by_default(N3Classifier)),
        Line("k-NN, random rows", random_rows(), draws=DRAWS),
        Line("weighted k-NN, random rows", random_rows("gaussian"), draws=DRAWS),
    ),
    measures=(PER_CLASS,),
    varies="prototypes, share of the training rows",
    xs=SHARES,
    label=share,
    row="{panel}, {line}",
    beside=("mlnn-figure-3", "mlnn-figure-4", "mapboost-figure-1", "thesis-figure-A.4"),
    claims={
        "adaptive kernel over the k-NN kernel, 200 prototypes": lambda r: r.lead(
            "MLNN, adaptive", "MLNN", "10%", "scene8"
        ),
        "multiclass over one-versus-all, at least": lambda r: smallest(
            r.leads("MLNN", "MLNN, one-vs-all", "scene8")
        ),
        "multiclass over one-versus-all, at most": lambda r: largest(
            r.leads("MLNN", "MLNN, one-vs-all", "scene8")
        ),
        "adaptive kernel over k-NN and weighted k-NN": lambda r: largest(
            r.leads("MLNN, adaptive", "k-NN, random rows", "scene8")
        ),
        "adaptive kernel with ITML over the others, 200 prototypes": lambda r: r.lead(
            "MLNN, adaptive", "k-NN, random rows", "10%", "scene8, ITML"
        ),
        "MLNN over k-NN on 13-cat, 60 prototypes a class": lambda r: r.lead(
            "MLNN", "k-NN, random rows", "40%", "scene13"
        ),
        "MLNN over k-NN on 15-cat, 60 prototypes a class": lambda r: r.lead(
            "MLNN", "k-NN, random rows", "40%", "scene15"
        ),
        "adaptive Gaussian over weighted k-NN on 8-cat, T = 200": lambda r: r.lead(
            "MAPBoost, adaptive", "weighted k-NN, random rows", "10%", "scene8"
        ),
        "adaptive Gaussian on 8-cat, at best": lambda r: r.best("MAPBoost, adaptive", "scene8"),
        "adaptive Gaussian on 13-cat, at best": lambda r: r.best("MAPBoost, adaptive", "scene13"),
        "adaptive Gaussian on 15-cat, at best": lambda r: r.best("MAPBoost, adaptive", "scene15"),
        "UNN with ITML, 400 prototypes, 20% of the training set": lambda r: r.mean("UNN", "20%", "scene8, ITML"),
        "prototypes with which UNN with ITML is as precise as without ITML with 1,000": lambda r: (
            prototypes_to_match(r, "UNN", "scene8, ITML", "UNN", "scene8")
        ),
    },
    minutes=25,
    notes=(
        "T rounds is the papers' way; the others keep the share that covers the rows best and learn on it.",
        "UNN and N3 have their defaults, the others 11 neighbours.",
    ),
)

METRICS_TABLE = Experiment(
    name="ours-table-metrics",
    about="k-NN, N3, UNN and MLNN after no learned metric, ITML, LDA and NCA, all rows voting",
    panels=tuple(with_metric(panel, name) for panel in (DIGITS, SCENE8, SCENE15, SIGN_PIXELS) for name in METRICS),
    lines=(
        Line("k-NN", lambda _, size: KNNClassifier(limit_neighbors(5, size), n_jobs=size.n_jobs)),
        Line("N3", lambda _, size: N3Classifier(n_jobs=size.n_jobs)),
        Line("UNN", lambda _, size: UNNClassifier(n_jobs=size.n_jobs)),
        Line(
            "MLNN, adaptive",
            lambda _, size: MLNNClassifier(limit_neighbors(11, size), kernel="adaptive", n_jobs=size.n_jobs),
        ),
    ),
    measures=(PER_CLASS,),
    row="{panel}",
    column="{line}",
    minutes=5,
)

EXPERIMENTS = (TABLE_MEANS, TABLE_WHOLE, TABLE_NEIGHBORHOODS, PROTOTYPES, METRICS_TABLE)
