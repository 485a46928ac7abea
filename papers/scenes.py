"""Prototypes and metrics on scenes and traffic signs, as kept: ``python -m papers.scenes``.

Prints the tables and claims of ours-figure-prototypes and ours-table-metrics from ``papers/results/scenes.json``
and draws a picture of each set into ``docs/figures``. ``python -m papers ours-figure-prototypes`` measures anew;
its ``results.json`` may be given instead.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from nearboost.cli.common import echo, echo_table
from papers.registry import find
from papers.report import as_table, claim_lines
from papers.results import Results, make_facts

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "papers" / "results" / "scenes.json"
FIGURES = ROOT / "docs" / "figures"
PROTOTYPES, METRICS = "ours-figure-prototypes", "ours-table-metrics"
SETS = ("scene8", "scene13", "scene15", "gtsrb-small")
PLAIN = {"k-NN, random rows": "0.35", "weighted k-NN, random rows": "0.65"}  # shades of grey
FAMILIES = {
    "MLNN": [
        *("MLNN", "MLNN, Gaussian", "MLNN, adaptive", "MLNN, one-vs-all"),
        *("MLNN, T rounds", "MLNN, adaptive, T rounds"),
    ],
    "MAPBoost": ["MAPBoost", "MAPBoost, Gaussian", "MAPBoost, adaptive", "MAPBoost, adaptive, one-vs-all"],
    "UNN and N3": ["UNN", "N3"],
}

Row = dict[str, Any]


def read_runs(path: Path) -> dict[str, list[Row]]:
    """The runs of each experiment, from kept rows or from what ``python -m papers`` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if "runs" in found:
        return {found["facts"]["name"]: found["runs"]}
    rows = found["results"]
    return {
        PROTOTYPES: [_run(row, row["contender"], f"{row['share']:.0%}") for row in rows["rows"]],
        METRICS: [_run(row, row["classifier"], "None") for row in rows["metrics"]],
    }


def _run(row: Row, line: str, x: str) -> Row:
    plain = row["metric"] in ("Euclidean", "none")
    measures = {"mean_class_accuracy": row["accuracy"], "prototypes": row.get("n_prototypes")}
    return {
        "panel": row["data"] if plain else f"{row['data']}, {row['metric']}",
        "line": line,
        "split": row["seed"],
        "status": "done",
        "points": [{"x": x, "measures": measures}],
    }


def draw(results: Results, folder: Path) -> list[Path]:
    """A picture of each set: a panel for each family, k-NN in all, dashed lines with ITML."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    paths = []
    for data in SETS:
        figure, axes = pyplot.subplots(1, 3, figsize=(13, 5.2), sharey=True, layout="constrained")
        for axis, (title, lines) in zip(axes, FAMILIES.items(), strict=True):
            colours = {line: f"C{number}" for number, line in enumerate(lines)} | PLAIN
            for line, colour in colours.items():
                for panel, style, label in ((data, "-", line), (f"{data}, ITML", "--", None)):
                    x, y = curve(results, line, panel)
                    axis.plot(x, y, style, color=colour, marker="o", markersize=3, linewidth=1.4, label=label)
            axis.set(title=title, xlabel="prototypes")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
        axes[0].set_ylabel("mean per-class accuracy, %")
        figure.suptitle(f"{data}; dashed: in the metric of ITML")
        paths.append(folder / f"{data}.png")
        figure.savefig(paths[-1], dpi=110)
        pyplot.close(figure)
    return paths


def curve(results: Results, line: str, panel: str) -> tuple[list[float], list[float]]:
    """Mean numbers of prototypes and mean accuracies along a line."""
    prototypes: dict[str, list[float]] = {}
    for point in results.points:
        if (point.panel, point.line) == (panel, line):
            prototypes.setdefault(point.x, []).append(point.measures["prototypes"])
    course = results.course(line, panel)
    return [sum(prototypes[x]) / len(prototypes[x]) for x in course], list(course.values())


def main() -> None:
    """Print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=KEPT, help="kept rows, or results.json of a run")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="folder of the pictures")
    options = parser.parse_args()
    for name, runs in read_runs(options.results).items():
        experiment = find(name)
        facts = make_facts(experiment, runs)
        echo_table(as_table(facts))
        for line in claim_lines(facts):
            echo(f"- {line}")
        if name == PROTOTYPES:
            for path in draw(Results(experiment, runs), options.figures):
                echo(f"Drawn: {path}")


if __name__ == "__main__":
    main()
