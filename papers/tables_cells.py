"""UNN on cells: chapter 5 of the thesis."""

from dataclasses import replace

from nearboost.boosting.knn import KNNClassifier
from nearboost.boosting.unn import UNNClassifier
from papers.experiment import PER_CLASS, Experiment, Line, Measure, Panel, Size, limit_neighbors
from papers.tables_bags import SECONDS_TO_FIT, svm

K = 10  # as in print
SOFT_LAMBDA = 0.5


def unn(loss: str, size: Size, n_jobs: int | None = 1) -> UNNClassifier:
    """As published, on the histograms themselves."""
    return UNNClassifier(
        limit_neighbors(K, size), loss=loss, metric="l1", start="zero", calibration=None, n_jobs=n_jobs
    )


def by_loss(loss: str) -> Line:
    return Line(f"UNN, {loss}", lambda _, size: unn(loss, size))


WHOLE = Panel("BIF whole", "hep2", "bif-whole", "half")
CELL = Panel("BIF cell", "hep2", "bif-cell", "half")
SIFT = Panel("SIFT", "hep2", "bag-1024", "half")
UNN = Line("UNN", lambda _, size: unn("exp", size))
UNN_THREADS = Line("UNN, threads", lambda _, size: unn("exp", size, None))
SVM = Line("SVM", svm)
AUC = Measure("mean_auc", "AUC")
OPEN = (
    "Areas under the curve are of scores, one class against the rest.",
    "C and γ of the SVM are chosen by folds of the training rows.",
)


def soft_unn(balance: str, size: Size) -> UNNClassifier:
    """With soft votes at query time; λ is not stated."""
    return unn("exp", size).set_params(soft_lambda=SOFT_LAMBDA, balance=balance)


WELLS = (
    "Control wells of BBBC013 stand in: negative, in place of Mb, the larger class, and a third of the positive.",
    "k = 10 is that of the chapter's other tables, and λ = 0.5: neither is stated here.",
    "Halves are drawn from all cells, as in print: cells of a well are in both, which flatters all methods.",
)
TABLE_5_1 = Experiment(
    name="thesis-table-5.1",
    about="prototypes that soft UNN keeps of each class, with and without adaptive regularisation",
    panels=(Panel("thyroid", "thyroid", "bif-regions", "half"),),
    lines=(
        Line("soft UNN", lambda _, size: soft_unn("uniform", size)),
        Line("soft UNN, adaptive", lambda _, size: soft_unn("adaptive", size)),
    ),
    measures=(Measure("prototype_share", "all"), Measure("class_prototypes", "of each class")),
    column="{measure}",
    repeats=100,
    minutes=0.5,
    notes=WELLS,
)
TABLE_5_2 = replace(
    TABLE_5_1,
    name="thesis-table-5.2",
    about="accuracy of soft UNN, k-NN and SVM on thyroid cells",
    lines=(
        Line("k-NN", lambda _, size: KNNClassifier(limit_neighbors(K, size), metric="l1", n_jobs=size.n_jobs)),
        *TABLE_5_1.lines,
        SVM,
    ),
    measures=(replace(PER_CLASS, title="mean"), Measure("class_accuracy", "accuracy of each class")),
    notes=(*WELLS, *OPEN[1:]),
)
TABLE_5_3 = Experiment(
    name="thesis-table-5.3",
    about="UNN with three losses on single cells, bio-inspired features",
    panels=(CELL,),
    lines=tuple(by_loss(loss) for loss in ("exp", "log", "mat")),
    measures=(Measure("mean_class_accuracy", "accuracy"), AUC),
    column="{measure}",
    repeats=10,
    minutes=0.4,
    notes=OPEN[:1],
)
TABLE_5_4 = Experiment(
    name="thesis-table-5.4",
    about="accuracy of each pattern of single cells, by features and classifier",
    panels=(WHOLE, CELL, SIFT),
    lines=(UNN, SVM),
    measures=(Measure("class_accuracy", "accuracy of each class"), replace(PER_CLASS, title="mean")),
    row="{line}, {panel}",
    column="{measure}",
    repeats=10,
    minutes=1.3,
    notes=OPEN[1:],
)
TABLE_5_5 = replace(
    TABLE_5_4,
    name="thesis-table-5.5",
    about="area under the curve of each pattern of single cells, by features and classifier",
    measures=(Measure("auc", "AUC of each class"), replace(AUC, title="mean")),
    notes=OPEN,
)
FIGURE_5_8 = Experiment(
    name="thesis-figure-5.8",
    about="seconds to train UNN and SVM on single cells",
    panels=(WHOLE, CELL, SIFT),
    lines=(UNN, UNN_THREADS, SVM),
    measures=(SECONDS_TO_FIT,),
    row="{line}",
    column="{panel}",
    repeats=10,
    claims={
        text: lambda r: r.ratio("SVM", "UNN", "fit_seconds")
        for text in (
            "how many times as fast as SVM the training of UNN is, roughly, at least",
            "how many times as fast as SVM the training of UNN is, roughly, at most",
        )
    },
    minutes=1.3,
    notes=("The time of the SVM includes the choice of C and γ by folds.",),
)

EXPERIMENTS = (TABLE_5_1, TABLE_5_2, TABLE_5_3, TABLE_5_4, TABLE_5_5, FIGURE_5_8)
