"""Tables and picture of `benchmarks.fisher_tables`."""

from typing import Any

import numpy as np

from benchmarks.data import ROOT
from benchmarks.fisher_data import SEEDS, SETS
from benchmarks.fisher_splits import CONTENDERS, N_SPLITS, NORMALIZATIONS, Row
from benchmarks.tables import markdown, percent
from nearboost.ensemble.split import MEANS

FIGURE = ROOT / "docs" / "figures" / "fisher-splits.png"
TITLES = {"caltech101": "Caltech-101, 30", "scene15-30": "Scene-15, 30", "scene15-100": "Scene-15, 100"}
SVMS = ("linear SVM", "linear SVM, per Gaussian", "linear SVM, whitened")
WHOLE = ("k-NN", "SLND", "SGD", "linear SVM")
METRIC = (
    "k-NN, whitened",
    "INNC, whitened",
    "INNC, soft metric",
    "INN inside classes, whitened",
    "INN inside classes, soft metric",
)
LINES = {"N3 binlog, published": "tab:blue", "N3, defaults": "tab:red", "k-NN": "tab:gray"}
OVERALL, PER_CLASS = 0, 1


def report(results: Row) -> str:
    """All tables in Markdown, of what there is."""
    tables = [losses(results, name) for name in SETS]
    tables += [parts(results, name) for name in SETS]
    tables += [whole(results), paired(results, OVERALL), paired(results, PER_CLASS), seconds(results)]
    return "\n\n".join(tables)


def in_parts(
    results: Row, name: str, cut: tuple[int, str], contender: str, mean: str, seeds: tuple[int, ...] = SEEDS
) -> list[float]:
    """Overall accuracy on each split that has been measured."""
    keys = (f"{name}/{seed}/parts/{cut[0]}/{cut[1]}" for seed in seeds)
    return [results[key][contender][mean][OVERALL] for key in keys if key in results]


def of_whole(results: Row, name: str, contender: str, field: str = "accuracy") -> dict[int, Any]:
    """By seed."""
    piece = "metric" if contender in METRIC else "svm" if contender == SVMS[-1] else "whole"
    keys = {seed: f"{name}/{seed}/{piece}" for seed in SEEDS}
    return {seed: results[key][contender][field] for seed, key in keys.items() if key in results}


def finished(results: Row, name: str) -> tuple[int, ...]:
    """Splits that have been measured at all numbers of parts."""
    cuts = [f"parts/{n}/{norm}" for n in N_SPLITS for norm in NORMALIZATIONS]
    return tuple(seed for seed in SEEDS if all(f"{name}/{seed}/{cut}" in results for cut in cuts))


def shown(values: list[float]) -> str:
    return percent(values) if values else ""


def losses(results: Row, name: str) -> str:
    """Table 4: all contenders at 64 parts, and whole."""
    body = [
        [contender, *(
            shown(in_parts(results, name, (n, norm), contender, mean))
            for norm in NORMALIZATIONS for n, mean in [(1, "harmonic"), *((64, mean) for mean in MEANS)]
        )]
        for contender in CONTENDERS
    ]  # fmt: skip
    columns = [
        f"{norm.upper()}, {what}" for norm in NORMALIZATIONS for what in ("whole", *(f"64, {m}" for m in MEANS))
    ]
    return markdown([f"{TITLES[name]} a class", *columns], body)


def parts(results: Row, name: str) -> str:
    """Figure 1: accuracy against the number of parts, L1; the other losses are in the results."""
    cuts = sorted(N_SPLITS)
    measured = {n: sum(f"{name}/{seed}/parts/{n}/l1" in results for seed in SEEDS) for n in cuts}
    body = [
        [f"{contender}, {mean}", *(shown(in_parts(results, name, (n, "l1"), contender, mean)) for n in cuts)]
        for contender in LINES
        for mean in MEANS
    ]
    columns = [str(n) if measured[n] == len(SEEDS) else f"{n} (splits: {measured[n]})" for n in cuts]
    return markdown([f"{TITLES[name]} a class, L1", *columns], body)


def whole(results: Row) -> str:
    """Everything on whole vectors."""
    names = [name + normalisation for name in WHOLE for normalisation in ("", ", per Gaussian")]
    body = []
    for contender in [*(name for name in names if name != "SGD, per Gaussian"), SVMS[-1], *METRIC]:
        cells = [list(of_whole(results, name, contender).values()) for name in SETS]
        body.append(
            [contender, *(shown([one[m] for one in some]) for some in cells for m in (OVERALL, PER_CLASS))]
        )
    columns = [f"{TITLES[name]}{what}" for name in SETS for what in ("", ", per class")]
    return markdown(["whole vectors", *columns], body)


def paired(results: Row, measure: int) -> str:
    """Points over the SVM, split by split; of its normalisations the one that is best on the test images."""
    body = []
    for contender in (*METRIC, *best_parts()):
        row = []
        for name in SETS:
            gains = [100 * (value[measure] - svm[measure]) for value, svm in pairs(results, name, contender)]
            spread = f" ± {np.std(gains, ddof=1):.1f}" if len(gains) > 1 else ""
            row += [f"{np.mean(gains):+.1f}{spread}" if gains else "", ", ".join(f"{g:+.1f}" for g in gains)]
        body.append([contender, *row])
    columns = [text for name in SETS for text in (TITLES[name], "splits")]
    of = ("of all images", "mean over classes")[measure]
    return markdown([f"points over the linear SVM, {of}", *columns], body)


def best_parts() -> dict[str, tuple[str, str]]:
    """Contenders in 64 parts of L1 unit length, each with a mean fixed beforehand."""
    return {
        "N3 binlog, published, 64 parts, harmonic": ("N3 binlog, published", "harmonic"),
        "N3, defaults, 64 parts, geometric": ("N3, defaults", "geometric"),
        "k-NN, 64 parts, geometric": ("k-NN", "geometric"),
    }


def pairs(results: Row, name: str, contender: str) -> list[tuple[list[float], list[float]]]:
    """Accuracies of a contender and of the SVM on each split."""
    found = []
    for seed in SEEDS:
        rows = results.get(f"{name}/{seed}/whole", {}) | results.get(f"{name}/{seed}/svm", {})
        svms = [rows[kind]["accuracy"] for kind in SVMS if kind in rows]
        if contender in METRIC:
            value = of_whole(results, name, contender).get(seed)
        else:
            inner, mean = best_parts()[contender]
            value = results.get(f"{name}/{seed}/parts/64/l1", {}).get(inner, {}).get(mean)
        if value is not None and svms:
            found.append((value, list(map(max, zip(*svms, strict=True)))))
    return found


def seconds(results: Row) -> str:
    """CPU seconds on Caltech-101, first split."""
    rows = {}
    for piece in ("whole", "svm", "metric"):
        rows |= results.get(f"caltech101/0/{piece}", {})
    order = [*(kind + more for kind in WHOLE for more in ("", ", per Gaussian")), SVMS[-1], *METRIC]
    rows = {name: rows[name] for name in order if name in rows}
    rows |= {f"{name}, 64 parts": row for name, row in results.get("caltech101/0/times", {}).items()}
    body = [
        [name, f"{row['choice_seconds']:.0f}" if "choice_seconds" in row else "", f"{row['fit_seconds']:.1f}",
         f"{row['predict_seconds']:.1f}"]
        for name, row in rows.items()
    ]  # fmt: skip
    return markdown(["CPU seconds, Caltech-101, first split", "choosing", "fit", "5,647 images"], body)


def draw(results: Row) -> None:
    """Figure 1: overall accuracy against the number of parts, mean of the splits measured at all of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    styles = {"arithmetic": ":", "geometric": "--", "harmonic": "-"}
    figure, axes = pyplot.subplots(2, len(SETS), figsize=(14, 8), sharex=True, sharey="col", layout="constrained")
    cuts = sorted(N_SPLITS)
    for column, name in zip(axes.T, SETS, strict=True):
        seeds = finished(results, name)
        for axis, norm in zip(column, NORMALIZATIONS, strict=True):
            for contender, color in LINES.items():
                for mean, style in styles.items():
                    by_cut = (in_parts(results, name, (n, norm), contender, mean, seeds) for n in cuts)
                    values = [100 * np.mean(some) for some in by_cut]
                    axis.plot(cuts, values, style, color=color, marker="o", ms=3, label=f"{contender}, {mean}")
            axis.set(title=f"{TITLES[name]} a class, parts of {norm.upper()} unit length")
            axis.set_xscale("log", base=2, subs=[])
            axis.set_xticks(cuts, map(str, cuts))
            axis.grid(alpha=0.3)
        column[-1].set_xlabel("parts")
    for axis in axes[:, 0]:
        axis.set_ylabel("test accuracy, %")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LINES), frameon=False
    )
    figure.savefig(FIGURE, dpi=100)
    pyplot.close("all")
