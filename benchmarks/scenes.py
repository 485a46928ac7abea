"""One weight for all classes, and learned metrics, on scenes and traffic signs: ``python -m benchmarks.scenes``.

1. Mean per-class accuracy against the number of prototypes, a tenth to a half of the training rows, of MLNN and
   MAPBoost with all their kernels, one-versus-all, UNN, N3 and k-NN on random rows, each in the Euclidean metric
   and in that of ITML: the figures of the MLNN and MAPBoost papers and of appendix A of the thesis.
2. The papers' claims beside what comes out here.
3. Time of one round of boosting, and of all rounds.
4. k-NN, N3 and MLNN after no metric, ITML, LDA and NCA.

Prints Markdown tables, draws the figures into ``docs/figures`` and writes ``benchmarks/results/scenes.json``;
``--show`` prints and draws what was written last.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.contenders import FIXED_SPLIT, random_share
from benchmarks.data import ROOT, Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown, percent
from nearboost import (
    ITML,
    KNNClassifier,
    MAPBoostClassifier,
    MLNNClassifier,
    N3Classifier,
    NeighborSearch,
    UNNClassifier,
)

SETS = ("scene8", "scene13", "scene15", "gtsrb-small")
METRIC_SETS = ("digits", "scene8", "scene15", "gtsrb-pixels")
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
METRICS = ("Euclidean", "ITML")
K = 11  # as in the papers
DRAWS = 10  # of random prototypes
SWEEPS = 100  # of ITML: accuracy has settled long before its dual variables have
FIGURES = ROOT / "docs" / "figures"

Row = dict[str, Any]
BOOSTED: dict[str, Callable[[float, int], Any]] = {
    "MLNN": lambda share, m: MLNNClassifier(n_prototypes=share),
    "MLNN, Gaussian": lambda share, m: MLNNClassifier(kernel="gaussian", n_prototypes=share),
    "MLNN, adaptive": lambda share, m: MLNNClassifier(kernel="adaptive", n_prototypes=share),
    "MLNN, one-vs-all": lambda share, m: MLNNClassifier(one_vs_all=True, n_prototypes=share),
    "MLNN, T rounds": lambda share, m: as_published(MLNNClassifier, share, m),
    "MLNN, adaptive, T rounds": lambda share, m: as_published(MLNNClassifier, share, m, kernel="adaptive"),
    "MLNN, adaptive, T rounds, to the letter": lambda share, m: as_published(
        MLNNClassifier, share, m, kernel="adaptive", smoothing="one_sided"
    ),
    "MAPBoost": lambda share, m: MAPBoostClassifier(n_prototypes=share),
    "MAPBoost, Gaussian": lambda share, m: MAPBoostClassifier(estimator="gaussian", n_prototypes=share),
    "MAPBoost, adaptive": lambda share, m: MAPBoostClassifier(estimator="adaptive", n_prototypes=share),
    "MAPBoost, adaptive, one-vs-all": lambda share, m: MAPBoostClassifier(
        estimator="adaptive", one_vs_all=True, n_prototypes=share
    ),
    "UNN": lambda share, m: UNNClassifier(n_prototypes=share),
    "N3": lambda share, m: N3Classifier(n_prototypes=share),
}
PLAIN = {"k-NN, random rows": "uniform", "weighted k-NN, random rows": "gaussian"}
LEARNED: dict[str, Callable[[], TransformerMixin | None]] = {
    "none": lambda: None,
    "ITML": lambda: ITML(max_sweeps=SWEEPS),
    "LDA": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "NCA": lambda: NeighborhoodComponentsAnalysis(max_iter=30, random_state=0),
}
AFTER: dict[str, Callable[[], Any]] = {
    "k-NN": lambda: KNNClassifier(5),
    "N3": N3Classifier,
    "UNN": UNNClassifier,
    "MLNN, adaptive": lambda: MLNNClassifier(kernel="adaptive"),
}


def as_published(cls: Any, share: float, n_rows: int, **settings: Any) -> Any:
    """T rounds on the graph over all rows; whoever was picked then votes alone."""
    return cls(n_rounds=round(share * n_rows), vote_from="prototypes", **settings)


def in_metric(split: Split, metric: TransformerMixin | None) -> tuple[Split, float]:
    """The split as the metric sees it, and the seconds it took to learn."""
    if metric is None:
        return split, 0.0
    start = perf_counter()
    metric.fit(split.X_train, split.y_train)
    seconds = perf_counter() - start
    return replace(
        split,
        X_train=np.ascontiguousarray(metric.transform(split.X_train), dtype=np.float32),
        X_test=np.ascontiguousarray(metric.transform(split.X_test), dtype=np.float32),
    ), seconds


def per_class(split: Split, predicted: NDArray) -> float:
    """The mean of the classes' accuracies, which the papers call mean average precision."""
    return float(balanced_accuracy_score(split.y_test, predicted))


def measure(split: Split, seed: int) -> list[Row]:
    """All contenders on one split in one metric."""
    rows = []
    for share in SHARES:
        for name, make in BOOSTED.items():
            model = make(share, len(split.y_train))
            start = perf_counter()
            model.fit(split.X_train, split.y_train, groups=split.groups_train)
            seconds = perf_counter() - start
            rows.append({
                "contender": name, "share": share, "accuracy": per_class(split, model.predict(split.X_test)),
                "n_prototypes": len(model.prototypes_), "n_rounds": model.n_rounds_, "fit_seconds": seconds,
            })  # fmt: skip
        for name, votes in PLAIN.items():
            drawn = [random_share(split, share, DRAWS * seed + draw) for draw in range(DRAWS)]
            plain = [KNNClassifier(K, vote_weights=votes).fit(rows_.X, rows_.y) for rows_ in drawn]
            accuracies = [per_class(split, model.predict(split.X_test)) for model in plain]
            rows.append({
                "contender": name, "share": share, "accuracy": float(np.mean(accuracies)),
                "n_prototypes": len(drawn[0].y),
            })  # fmt: skip
    return rows


def round_costs(split: Split, rounds: int = 5) -> list[Row]:
    """Microseconds of one round of boosting and seconds of m rounds in all, on the graph over all rows.

    A round of one-versus-all is one of each class. Medians, with judges left out.
    """
    X, y = split.X_train, split.y_train
    m, n_classes = len(y), len(np.unique(y))
    graph = NeighborSearch(X).graph(K)
    models = {
        "MLNN": MLNNClassifier(),
        "MLNN, Gaussian": MLNNClassifier(kernel="gaussian"),
        "MLNN, adaptive": MLNNClassifier(kernel="adaptive"),
        "MLNN, one-vs-all": MLNNClassifier(one_vs_all=True),
        "MLNN, adaptive, one-vs-all": MLNNClassifier(kernel="adaptive", one_vs_all=True),
        "MAPBoost, adaptive": MAPBoostClassifier(estimator="adaptive"),
        "N3, from zero": N3Classifier(K, start="zero"),
        "UNN, from zero": UNNClassifier(K, start="zero"),
    }

    def timed(model: Any, n_rounds: int) -> float:
        model.set_params(n_rounds=n_rounds, calibration=None, n_jobs=1)
        times = []
        for _ in range(rounds):
            start = perf_counter()
            model.fit(X, y, graph=graph)
            times.append(perf_counter() - start)
        return median(times)

    results = []
    for name, model in models.items():
        at_once = isinstance(model, MLNNClassifier | MAPBoostClassifier) and not model.one_vs_all
        many = m if at_once else -(-m // n_classes)
        few = many // 10
        model.set_params(n_rounds=few, calibration=None).fit(X, y, graph=graph)  # compile or load
        short, long = timed(model, few), timed(model, many)
        row = {
            "contender": name,
            "rounds": many,
            "seconds": long,
            "microseconds": 1e6 * (long - short) / (many - few),
        }
        if hasattr(model, "diagnostics_"):
            roots = sum(int(d.n_roots.sum()) for d in model.diagnostics_)
            row["roots"] = roots / sum(len(d.n_roots) for d in model.diagnostics_)
            row["newton_steps"] = sum(int(d.n_steps.sum()) for d in model.diagnostics_) / max(1, roots)
        results.append(row)
    return results


def compare_metrics(split: Split) -> list[Row]:
    """Accuracy of each classifier with all rows after each metric."""
    rows = []
    for metric, make in LEARNED.items():
        seen, seconds = in_metric(split, make())
        for name, classifier in AFTER.items():
            model = classifier()
            groups = {} if name == "k-NN" else {"groups": split.groups_train}
            predicted = model.fit(seen.X_train, seen.y_train, **groups).predict(seen.X_test)
            rows.append({
                "metric": metric, "classifier": name, "accuracy": per_class(split, predicted),
                "metric_seconds": seconds,
            })  # fmt: skip
    return rows


class Table:
    """The rows of a run, asked by what they are of."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def values(self, field: str = "accuracy", **wanted: Any) -> list[float]:
        """One number per split."""
        return [row[field] for row in self.rows if all(row[key] == value for key, value in wanted.items())]

    def mean(self, data: str, contender: str, share: float, metric: str = "Euclidean") -> float:
        """In points."""
        return 100 * float(np.mean(self.values(data=data, contender=contender, share=share, metric=metric)))

    def lead(self, data: str, one: str, other: str, share: float, metric: str = "Euclidean") -> float:
        """By how many points ``one`` is ahead."""
        return self.mean(data, one, share, metric) - self.mean(data, other, share, metric)


class Claim(NamedTuple):
    """What a paper reports, and the figure here."""

    source: str
    text: str
    paper: str
    ours: Callable[[Table], str]


def _span(values: list[float]) -> str:
    return f"{min(values):+.1f} to {max(values):+.1f}"


CLAIMS = (
    Claim(
        "MLNN, fig. 3(a)", "8-cat, a tenth kept: adaptive kernel over k-NN kernel", "+7",
        lambda t: f"{t.lead('scene8', 'MLNN, adaptive', 'MLNN', 0.1):+.1f}",
    ),
    Claim(
        "MLNN, fig. 3(a)", "8-cat: multiclass over one-versus-all", "+1 to +3",
        lambda t: _span([t.lead("scene8", "MLNN", "MLNN, one-vs-all", s) for s in SHARES]),
    ),
    Claim(
        "MLNN, fig. 3(b)", "8-cat: adaptive kernel over k-NN, at most", "+6",
        lambda t: _span([t.lead("scene8", "MLNN, adaptive", "k-NN, random rows", s) for s in SHARES]),
    ),
    Claim(
        "MLNN, fig. 3(b)", "8-cat: adaptive kernel against k-NN with ITML", "slightly below",
        lambda t: _span([
            t.mean("scene8", "MLNN, adaptive", s) - t.mean("scene8", "k-NN, random rows", s, "ITML")
            for s in SHARES
        ]),
    ),
    Claim(
        "MLNN, fig. 3(b)", "8-cat, a tenth kept: adaptive kernel with ITML over k-NN with ITML", "up to +3",
        lambda t: f"{t.lead('scene8', 'MLNN, adaptive', 'k-NN, random rows', 0.1, 'ITML'):+.1f}",
    ),
    Claim(
        "MLNN, fig. 4", "13-cat, 60 of 150 kept: MLNN over k-NN", "+7",
        lambda t: f"{t.lead('scene13', 'MLNN', 'k-NN, random rows', 0.4):+.1f}",
    ),
    Claim(
        "MLNN, fig. 4", "15-cat, 60 of 150 kept: MLNN over k-NN", "+7",
        lambda t: f"{t.lead('scene15', 'MLNN', 'k-NN, random rows', 0.4):+.1f}",
    ),
    Claim(
        "MAPBoost, fig. 1", "8-cat, a tenth kept: adaptive over weighted k-NN", "+6",
        lambda t: f"{t.lead('scene8', 'MAPBoost, adaptive', 'weighted k-NN, random rows', 0.1):+.1f}",
    ),
    Claim(
        "MAPBoost, fig. 1", "8-cat, 13-cat, 15-cat: best of the adaptive estimator", "81, 67, 64",
        lambda t: ", ".join(
            f"{max(t.mean(data, 'MAPBoost, adaptive', s) for s in SHARES):.0f}" for data in SETS[:3]
        ),
    ),
    Claim(
        "MAPBoost, fig. 1", "8-cat: multiclass over one-versus-all", "ahead",
        lambda t: _span([
            t.lead("scene8", "MAPBoost, adaptive", "MAPBoost, adaptive, one-vs-all", s) for s in SHARES
        ]),
    ),
    Claim(
        "thesis, fig. A.3", "8-cat: UNN over k-NN", "ahead",
        lambda t: _span([t.lead("scene8", "UNN", "k-NN, random rows", s) for s in SHARES]),
    ),
    Claim(
        "thesis, fig. A.4", "8-cat, a fifth kept: UNN with ITML", "more than 81",
        lambda t: f"{t.mean('scene8', 'UNN', 0.2, 'ITML'):.1f}",
    ),
    Claim(
        "thesis, fig. A.4", "8-cat: UNN with ITML, 30% kept, less UNN without, 50% kept", "0",
        lambda t: f"{t.mean('scene8', 'UNN', 0.3, 'ITML') - t.mean('scene8', 'UNN', 0.5):+.1f}",
    ),
)  # fmt: skip


def report(results: Row) -> str:
    """The tables in Markdown."""
    table = Table(results["rows"])
    contenders = [*BOOSTED, *PLAIN]
    tables = []
    for data in SETS:
        lines = [
            [
                contender,
                metric,
                *(percent(table.values(data=data, contender=contender, share=s, metric=metric)) for s in SHARES),
            ]
            for contender in contenders
            for metric in METRICS
        ]
        tables.append(f"{data}\n\n" + markdown(["", "metric", *(f"{s:.0%} kept" for s in SHARES)], lines))
    tables.append(
        markdown(["claim", "of", "there", "here"], [[c.text, c.source, c.paper, c.ours(table)] for c in CLAIMS])
    )
    tables.append(
        markdown(
            ["scene15", "rounds", "all, s", "one, µs", "roots a round", "Newton steps a root"],
            [
                [
                    row["contender"], f"{row['rounds']:,}", f"{row['seconds']:.2f}", f"{row['microseconds']:.0f}",
                    f"{row.get('roots', 0):.1f}", f"{row.get('newton_steps', 0):.1f}",
                ]
                for row in results["round_costs"]
            ],
        )
    )  # fmt: skip
    metrics = Table(results["metrics"])
    lines = []
    for metric in LEARNED:
        for classifier in AFTER:
            cells = [
                percent(metrics.values(data=data, metric=metric, classifier=classifier)) for data in METRIC_SETS
            ]
            times = [
                f"{np.median(metrics.values('metric_seconds', data=data, metric=metric)):.1f}"
                for data in METRIC_SETS
            ]
            lines.append([metric, classifier, *cells, ", ".join(times) if classifier == "k-NN" else ""])
    tables.append(markdown(["metric", "classifier", *METRIC_SETS, "seconds to learn"], lines))
    return "\n\n".join(tables)


PANELS = {
    "MLNN": [
        "MLNN",
        "MLNN, Gaussian",
        "MLNN, adaptive",
        "MLNN, one-vs-all",
        "MLNN, T rounds",
        "MLNN, adaptive, T rounds",
    ],
    "MAPBoost": ["MAPBoost", "MAPBoost, Gaussian", "MAPBoost, adaptive", "MAPBoost, adaptive, one-vs-all"],
    "UNN and N3": ["UNN", "N3"],
}


def draw(results: Row) -> list[Path]:
    """One picture per data set: a panel for each family, k-NN in all, dashed lines with ITML."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    table, paths = Table(results["rows"]), []
    FIGURES.mkdir(parents=True, exist_ok=True)
    for data in SETS:
        figure, axes = pyplot.subplots(1, 3, figsize=(13, 5.2), sharey=True, layout="constrained")
        for axis, (title, contenders) in zip(axes, PANELS.items(), strict=True):
            shown = [*contenders, *PLAIN]
            for number, contender in enumerate(shown):
                colour = (
                    f"C{number}" if contender in contenders else ("0.35", "0.65")[contender != next(iter(PLAIN))]
                )
                for metric, line in (("Euclidean", "-"), ("ITML", "--")):
                    x = [
                        np.mean(
                            table.values("n_prototypes", data=data, contender=contender, share=s, metric=metric)
                        )
                        for s in SHARES
                    ]
                    y = [table.mean(data, contender, s, metric) for s in SHARES]
                    label = contender if metric == "Euclidean" else None
                    axis.plot(x, y, line, color=colour, marker="o", markersize=3, linewidth=1.4, label=label)
            axis.set(title=title, xlabel="prototypes")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
        axes[0].set_ylabel("mean per-class accuracy, %")
        figure.suptitle(f"{data}, k = {K}; dashed: in the metric of ITML")
        path = FIGURES / f"{data}.png"
        figure.savefig(path, dpi=110)
        pyplot.close(figure)
        paths.append(path)
    return paths


def main() -> None:
    """Measure, write, draw and print; or draw and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="splits, where they are drawn")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        warnings.simplefilter("ignore", ConvergenceWarning)  # of ITML, after so few sweeps, and of NCA
        rows: list[Row] = []
        metrics: list[Row] = []
        for data in SETS:
            for seed in options.seeds[: 1 if data in FIXED_SPLIT else None]:
                learned = ITML(max_sweeps=SWEEPS, random_state=seed)
                for metric in METRICS:
                    split, _ = in_metric(load(data, seed), learned if metric == "ITML" else None)
                    rows += [{"data": data, "seed": seed, "metric": metric, **row} for row in measure(split, seed)]
                    print(data, seed, metric, flush=True)
        for data in METRIC_SETS:
            for seed in options.seeds[: 1 if data.startswith("gtsrb") else None]:
                metrics += [{"data": data, "seed": seed, **row} for row in compare_metrics(load(data, seed))]
                print(data, seed, "metrics", flush=True)
        costs = round_costs(load("scene15"))
        write_results("scenes", {"rows": rows, "metrics": metrics, "round_costs": costs})
    results = read_results("scenes")
    print(report(results))
    for path in draw(results):
        print(f"drawn: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
