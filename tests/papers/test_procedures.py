"""How points are measured, and what they come to."""

import numpy as np
import pytest
from papers.experiment import PER_CLASS, Experiment, Line, Measure, Panel, Size, share
from papers.procedures import LineRun, Samples, averaged, fits, passes, spectrum
from papers.registry import find
from papers.report import cell_text, grid
from papers.results import Results, make_facts, values_by_cell
from papers.tables_scenes import _settled, published, random_rows
from papers.tables_slnd import descent
from sklearn.datasets import load_digits

from nearboost.boosting.knn import KNNClassifier
from nearboost.linear.slnd import SLNDClassifier

DIGITS = load_digits()
X, Y = DIGITS.data.astype(np.float32) / 16, DIGITS.target
ROWS = Samples(X[:400], Y[:400], X[400:700], Y[400:700], [str(c) for c in range(10)])


def work(line, xs, rows=ROWS):
    return LineRun(line, xs, lambda x: rows, str, Size(len(rows.y), 10, seed=0, n_jobs=1))


def test_fits_measure_each_value():
    points = fits(work(Line("k-NN", lambda k, size: KNNClassifier(k, n_jobs=1)), (1, 5)))
    expected = np.mean(KNNClassifier(5, n_jobs=1).fit(ROWS.X, ROWS.y).predict(ROWS.queries) == ROWS.truth)
    assert points[1]["measures"]["accuracy"] == pytest.approx(expected)
    by_class = points[1]["measures"]["class_accuracy"]
    assert np.mean(list(by_class.values())) == pytest.approx(points[1]["measures"]["mean_class_accuracy"])


def test_what_is_not_possible_says_why():
    points = fits(work(Line("k-NN", lambda k, size: KNNClassifier(k)), (1, 1000)))
    assert "measures" in points[0]
    assert "n_neighbors=1000 is too many" in points[1]["reason"]


def test_draws_are_averaged_with_their_deviation():
    [point] = fits(work(Line("k-NN", random_rows(), draws=4), (0.1,)))
    alone = [
        fits(
            work(Line("k-NN", lambda part, size, seed=seed: random_rows()(part, size._replace(seed=seed))), (0.1,))
        )
        for seed in range(4)
    ]
    accuracies = [one[0]["measures"]["mean_class_accuracy"] for one in alone]
    assert point["measures"]["mean_class_accuracy"] == pytest.approx(np.mean(accuracies))
    assert point["measures"]["draw_deviation"] == pytest.approx(np.std(accuracies, ddof=1))


def test_averages_leave_unknown_values_out():
    assert averaged([{"a": 1.0, "b": None, "c": {"x": 2.0}}, {"a": 3.0, "b": None, "c": {"x": None}}]) == {
        "a": 2.0, "b": None, "c": {"x": 2.0},
    }  # fmt: skip


def test_passes_follow_one_model():
    line = descent("SLND", SLNDClassifier, loss="log", rank=20, damping=0)
    points = passes(work(line, (1, 3)))
    model = line.make(points[0]["measures"]["step"], Size(400, 10))
    for _ in range(3):
        model.partial_fit(ROWS.X, ROWS.y, classes=np.arange(10))
    assert points[1]["measures"]["accuracy"] == pytest.approx(np.mean(model.predict(ROWS.queries) == ROWS.truth))
    assert points[1]["measures"]["accuracy"] > 0.7


def test_spectrum_is_that_of_the_second_moment():
    line = Line(
        "eigenvalue",
        lambda _, size: SLNDClassifier("log", scaling="none", fit_intercept=False, damping=0, max_passes=1),
    )
    points = spectrum(work(line, (1, 2, 1000)))
    expected = np.linalg.eigvalsh(ROWS.X.T.astype(float) @ ROWS.X / len(ROWS.X))[::-1]
    assert [point["x"] for point in points] == ["1", "2"]
    found = [point["measures"]["eigenvalue"] for point in points]
    assert found[1] / found[0] == pytest.approx(expected[1] / expected[0], rel=1e-4)


def test_published_lines_keep_a_share():
    from nearboost.boosting.mlnn import MLNNClassifier

    model = published(MLNNClassifier)(0.1, Size(400, 10)).fit(ROWS.X, ROWS.y)
    assert model.n_rounds == 40
    assert len(model.prototypes_) <= 40


# ------------------------------------------------------------------------------------------ results


def cells(values, panel="p", xs=("10%", "20%")):
    """One cell for each line and split: values[line][split][x]."""
    return [
        {
            "panel": panel, "line": line, "split": split, "status": "done",
            "points": [
                {"x": x, "measures": {"mean_class_accuracy": v}} for x, v in zip(xs, of_split, strict=True)
            ],
        }
        for line, splits in values.items() for split, of_split in enumerate(splits)
    ]  # fmt: skip


SMALL = Experiment(
    "mlnn-figure-3",
    "small",
    (Panel("p", "8-cat", "gist-512", "half"),),
    (),
    (PER_CLASS,),
    "share",
    (0.1, 0.2),
    share,
)


def test_results_are_asked_by_name():
    results = Results(SMALL, cells({"a": [[0.5, 0.6], [0.7, 0.8]], "b": [[0.4, 0.4], [0.4, 0.4]]}))
    assert results.mean("a", "10%") == pytest.approx(60)
    assert results.lead("a", "b", "20%") == pytest.approx(30)
    assert results.leads("a", "b") == pytest.approx([20, 30])
    assert results.best("a") == pytest.approx(70)
    assert results.mean("c") is None
    assert results.lead("a", "c") is None


def test_facts_have_mean_deviation_and_values():
    facts = make_facts(SMALL, cells({"a": [[0.5, 0.6], [0.7, 0.8]]}))
    [row] = facts["rows"]
    assert row["cells"][0]["ours"] == {
        "mean": pytest.approx(60), "deviation": pytest.approx(np.std([50, 70], ddof=1)), "values": [50, 70],
    }  # fmt: skip
    assert cell_text(row["cells"][0]) == "60.0 ± 14.1"
    assert all(claim["ours"] is None for claim in facts["claims"])  # no such lines
    assert facts["claims"][0]["paper"]["place"] == "section 3.2, of 3(a)"


def test_measures_by_class_become_columns_and_wide_tables_are_turned():
    experiment = find("thesis-table-5.4")
    names = [f"class {i}" for i in range(10)]
    point = {"x": "None", "measures": {"class_accuracy": dict.fromkeys(names, 0.5), "mean_class_accuracy": 0.5}}
    found = [{"panel": "SIFT", "line": "UNN", "split": 0, "status": "done", "points": [point]}]
    values = values_by_cell(Results(experiment, found))
    assert values["UNN, SIFT", "class 3"] == [50.0]
    facts = make_facts(experiment, found)
    columns, rows = grid(facts)
    assert "UNN, SIFT" in columns
    assert dict(rows)["mean"][columns.index("UNN, SIFT")] == "50.0 (82.47)"
    assert dict(rows)["Nucleolar"][columns.index("UNN, SIFT")] == "(87.25)"


def test_settled_is_where_a_line_stays_near_its_best():
    experiment = Experiment("x", "", (), (), (Measure("mean_class_accuracy", ""),), "", (4, 8, 16, 32))
    found = cells({"UNN": [[0.5, 0.7, 0.79, 0.8]]}, xs=("4", "8", "16", "32"))
    assert _settled(Results(experiment, found), "UNN") == 16
