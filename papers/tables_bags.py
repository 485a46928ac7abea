"""Soft UNN on bags of features: tables 2.3 to 2.5 of the thesis."""

from dataclasses import replace
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearboost.boosting.knn import KNNClassifier
from nearboost.boosting.unn import UNNClassifier
from nearboost.catalogue.methods import METHODS, NEIGHBORS
from nearboost.catalogue.tuning import Tuned
from papers.estimators import GentleStumps
from papers.experiment import PER_CLASS, Experiment, Line, Measure, Panel, Size, limit_neighbors

N_CLASSES = (5, 10, 15, *range(20, 101, 10))


def soft_unn(size: Size, n_jobs: int | None) -> Tuned:
    """Alg. 1 of the thesis, soft votes at query time; k and λ, which are not stated, by folds."""
    model = UNNClassifier(metric="l1", start="zero", calibration=None, n_jobs=n_jobs)
    ks = tuple(limit_neighbors(k, size) for k in (11, 31))
    return Tuned(model, {"n_neighbors": ks, "soft_lambda": (0.1, 0.5)}, random_state=size.seed, n_jobs=1)


def svm(_: Any, size: Size) -> Any:
    """Features scaled to [0, 1], Gaussian kernel, C and γ by folds: the guide that the thesis follows."""
    return make_pipeline(MinMaxScaler(), METHODS["rbf-svm"].make(size.seed, size.n_jobs))


SECONDS_TO_FIT = Measure("fit_seconds", "seconds to train", 1.0)
SECONDS_TO_ASK = Measure("query_seconds", "seconds to classify", 1.0)

TABLE_2_3 = Experiment(
    name="thesis-table-2.3",
    about="soft UNN, k-NN, SVM and AdaBoost on more and more classes of scenes",
    panels=tuple(Panel(f"{n} classes", "sun397", "bag-500", "half", n_classes=n) for n in N_CLASSES),
    lines=(
        Line("k-NN", lambda _, size: Tuned(KNNClassifier(metric="l1", n_jobs=size.n_jobs), NEIGHBORS)),
        Line("SVM", svm),
        Line("AdaBoost", lambda _, size: GentleStumps()),
        Line("soft UNN", lambda _, size: soft_unn(size, 1)),
        Line("soft UNN, threads", lambda _, size: soft_unn(size, None)),
        Line("UNN, defaults", lambda _, size: UNNClassifier(metric="l1", n_jobs=size.n_jobs)),
    ),
    measures=(PER_CLASS,),
    column="{panel}",
    repeats=10,
    minutes=12,
    notes=(
        "k of k-NN, and k and λ of soft UNN, are chosen by folds; its rounds are 2m/C a class.",
        "Which 100 of the 397 classes were used is not stated; ours are drawn with a seed, fewer within more.",
        "5, 15, 70, 80 and 90 classes are ours.",
        "AdaBoost is Gentle AdaBoost on 100 stumps for each class; their number is not stated.",
        "The codebook is learned from the training images of a panel's classes.",
    ),
)
TABLE_2_4 = replace(
    TABLE_2_3, name="thesis-table-2.4", about="seconds to train, as in table 2.3", measures=(SECONDS_TO_FIT,)
)
TABLE_2_5 = replace(
    TABLE_2_3, name="thesis-table-2.5", about="seconds to classify, as in table 2.3", measures=(SECONDS_TO_ASK,)
)
TABLES = (TABLE_2_3, TABLE_2_4, TABLE_2_5)
ON_OBJECTS = tuple(
    replace(
        table,
        name=f"{table.name}-caltech",
        about=f"the same as {table.name} on Caltech-101, which has 100 classes",
        panels=tuple(replace(panel, data="objects") for panel in table.panels),
        beside=(table.name,),
        repeats=3,
        minutes=25,
    )
    for table in TABLES
)

EXPERIMENTS = (*TABLES, *ON_OBJECTS)
