"""Facts from results: who is best, by how much, and what several splits say together."""

import numpy as np
import pytest

from nearboost.compare.comparison import Settings
from nearboost.compare.protocols import Split
from nearboost.compare.report.facts import gather, merged, warned
from nearboost.datasets import Dataset
from nearboost.measures.differences import mcnemar, paired
from nearboost.measures.metrics import measure

CLASSES = ("a", "b", "c")
N_TRAIN, N_TEST = 40, 30


def cell(method, split, right, features="gist", **changes):
    """A result with a given share of right answers."""
    rng = np.random.default_rng(split)
    truth = np.arange(N_TEST) % 3
    answers = np.where(np.arange(N_TEST) < right * N_TEST, truth, (truth + 1) % 3)
    chances = rng.dirichlet(np.ones(3), size=N_TEST)
    names = np.array(CLASSES)
    return {
        "method": method,
        "features": features,
        "split": split,
        "seed": split,
        "threads": 1,
        "status": "done",
        "reason": None,
        "measures": measure(names[truth], names[answers], CLASSES, probabilities=chances),
        "confusion": [[int(np.sum((truth == i) & (answers == j))) for j in range(3)] for i in range(3)],
        "reliability": [[0.5, 0.6, 10], [0.9, 0.8, 20]],
        "prototypes": 7,
        "chosen": {},
        "fit_seconds": 1.0,
        "query_seconds": 0.3,
        "queries": N_TEST,
        "train": N_TRAIN,
        "peak_mib": 100.0,
        "mistakes": [{"name": f"x{split}", "truth": "a", "said": "b", "probability": 0.5 + split / 10}],
        "gallery": [],
        "truth": truth.tolist(),
        "predictions": answers.tolist(),
        **changes,
    }


def facts(cells, n_splits):
    labels = np.array(CLASSES * 10)
    data = Dataset("toy", "vectors", np.zeros((30, 2)), labels, CLASSES, [f"row {i}" for i in range(30)])
    splits = [Split(np.arange(15), np.arange(15, 30), seed) for seed in range(n_splits)]
    return gather(cells, data, splits, Settings("toy.npz", protocol="half"), {}, lambda name: None)


def test_one_split_is_judged_by_its_items():
    better, worse = cell("n3", 0, 0.9), cell("knn", 0, 0.5)
    found = facts([worse, better], 1)
    assert found["best"] == "n3"
    assert [entry["method"] for entry in found["leaderboard"]] == ["n3", "knn"]
    test = mcnemar(*(np.equal(one["truth"], one["predictions"]) for one in (worse, better)))
    assert found["leaderboard"][0]["against_best"] is None
    assert found["leaderboard"][1]["against_best"] == {"difference": test["difference"], "p": test["p"]}
    assert found["leaderboard"][1]["accuracy"]["deviation"] is None


def test_several_splits_are_paired():
    shares = {"n3": (0.9, 0.8, 0.95), "knn": (0.8, 0.8, 0.7)}
    cells = [cell(method, split, share) for method, of in shares.items() for split, share in enumerate(of)]
    found = facts(cells, 3)
    accuracies = {
        method: [one["measures"]["accuracy"] for one in cells if one["method"] == method] for method in shares
    }
    test = paired(accuracies["knn"], accuracies["n3"], N_TRAIN, N_TEST)
    assert found["leaderboard"][1]["against_best"]["p"] == test["p"]
    assert found["leaderboard"][0]["accuracy"]["deviation"] == pytest.approx(np.std(accuracies["n3"], ddof=1))
    assert np.sum(found["confusion"]["counts"]) == 3 * N_TEST
    assert found["mistakes"][0]["name"] == "x2"


def test_the_best_has_finished_its_splits():
    cells = [cell("n3", 0, 0.99), cell("knn", 0, 0.6), cell("knn", 1, 0.6)]
    cells.append({"method": "n3", "features": "gist", "split": 1, "status": "failed", "reason": "Killed."})
    found = facts(cells, 2)
    assert found["best"] == "knn"
    assert found["failed"] == [{"method": "n3", "features": "gist", "reason": "Killed.", "split": 2}]
    assert [entry["splits"] for entry in found["leaderboard"]] == [2, 1]


def test_one_method_is_not_compared():
    assert facts([cell("n3", 0, 0.9)], 1)["title"] == "toy: 1 method"
    assert facts([cell("n3", 0, 0.9), cell("knn", 0, 0.5)], 1)["title"] == "toy: 2 methods compared"


def test_features_tell_runs_of_one_method_apart():
    found = facts([cell("n3", 0, 0.9), cell("n3", 0, 0.7, features="pixels")], 1)
    assert list(found["per_class"][0]["accuracy"]) == ["n3 · gist", "n3 · pixels"]
    assert list(found["reliability"]) == ["n3 · gist", "n3 · pixels"]


def test_a_missing_measure_leaves_no_mean():
    bare = cell("svm", 0, 0.9)
    bare["measures"]["log_loss"] = None
    assert facts([bare], 1)["leaderboard"][0]["log_loss"] is None


def test_bins_of_several_splits_are_weighted():
    assert merged([[[0.5, 0.4, 10]], [[0.5, 1.0, 30], [0.95, 1.0, 5]]]) == [
        [pytest.approx(0.5), pytest.approx(0.85), 40],
        [pytest.approx(0.95), 1.0, 5],
    ]


def test_the_gallery_is_that_of_the_best_with_weights():
    weighted = cell("unn", 0, 0.5, gallery=[{"name": "row 3", "weight": 2.0, "class": "a"}])
    found = facts([cell("svm", 0, 0.9), weighted], 1)
    assert found["gallery_of"] == "unn"
    assert found["gallery"] == [{"name": "row 3", "weight": 2.0, "class": "a", "thumbnail": None}]


def test_warnings_of_solvers_and_of_protocols_are_notes():
    cells = [{"method": "lbfgs", "features": "vectors", "split": 1, "warnings": ["lbfgs failed to converge."]}]
    assert warned(cells) == ["lbfgs (vectors, split 2): lbfgs failed to converge."]
    assert warned([{"method": "knn", "features": "vectors", "split": 0}]) == []
