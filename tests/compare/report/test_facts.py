"""Facts from results: who is best, by how much, and what several splits say together."""

from dataclasses import replace

import numpy as np
import pytest

from nearboost.compare.comparison import Settings
from nearboost.compare.protocols import Split
from nearboost.compare.records import (
    Assessment,
    Costs,
    FailedRun,
    FinishedRun,
    Mistake,
    Prototype,
    RunIdentity,
    run_from,
)
from nearboost.compare.report.facts import Difference, Failure
from nearboost.compare.report.gather import complaints, gather, merge_bins
from nearboost.datasets import Dataset
from nearboost.measures.differences import mcnemar, paired
from nearboost.measures.metrics import measure

CLASSES = ("a", "b", "c")
N_TRAIN, N_TEST = 40, 30


IDENTITY = RunIdentity(
    *("toy", "0123", list(CLASSES), "gist", "Gist-01", False, "n3", {}, "half"),
    *(0, 0, 1, "0.1.0", {}),
)


def identity(method, split, features="gist"):
    return replace(IDENTITY, method=method, split=split, seed=split, features=features)


def finished(method, split, right, features="gist", warnings=(), **changes):
    """A run with a given share of right answers."""
    rng = np.random.default_rng(split)
    truth = np.arange(N_TEST) % 3
    answers = np.where(np.arange(N_TEST) < right * N_TEST, truth, (truth + 1) % 3)
    chances = rng.dirichlet(np.ones(3), size=N_TEST)
    names = np.array(CLASSES)
    found = Assessment(
        prototypes=7,
        chosen={},
        gallery=[],
        truth=truth.tolist(),
        predictions=answers.tolist(),
        measures=measure(names[truth], names[answers], CLASSES, probabilities=chances),
        confusion=[[int(np.sum((truth == i) & (answers == j))) for j in range(3)] for i in range(3)],
        reliability=[[0.5, 0.6, 10], [0.9, 0.8, 20]],
        mistakes=[Mistake(f"x{split}", "a", "b", 0.5 + split / 10)],
    )
    costs = Costs(1.0, 0.3, N_TEST, N_TRAIN, 100.0, list(warnings))
    return FinishedRun(identity(method, split, features), costs, replace(found, **changes))


def facts(runs, n_splits):
    labels = np.array(CLASSES * 10)
    data = Dataset("toy", "vectors", np.zeros((30, 2)), labels, CLASSES, [f"row {i}" for i in range(30)])
    splits = [Split(np.arange(15), np.arange(15, 30), seed) for seed in range(n_splits)]
    return gather(runs, data, splits, Settings("toy.npz", protocol="half"), {}, lambda name: None)


def test_one_split_is_judged_by_its_items():
    better, worse = finished("n3", 0, 0.9), finished("knn", 0, 0.5)
    found = facts([worse, better], 1)
    assert found.best == "n3"
    assert [entry.method for entry in found.leaderboard] == ["n3", "knn"]
    test = mcnemar(*(np.equal(one.assessment.truth, one.assessment.predictions) for one in (worse, better)))
    assert found.leaderboard[0].against_best is None
    assert found.leaderboard[1].against_best == Difference(test.difference, test.p)
    assert found.leaderboard[1].measures["accuracy"].deviation is None


def test_several_splits_are_paired():
    shares = {"n3": (0.9, 0.8, 0.95), "knn": (0.8, 0.8, 0.7)}
    runs = [finished(method, split, share) for method, of in shares.items() for split, share in enumerate(of)]
    found = facts(runs, 3)
    accuracies = {
        method: [one.assessment.measures["accuracy"] for one in runs if one.identity.method == method]
        for method in shares
    }
    test = paired(accuracies["knn"], accuracies["n3"], N_TRAIN, N_TEST)
    assert found.leaderboard[1].against_best.p == test.p
    assert found.leaderboard[0].measures["accuracy"].deviation == pytest.approx(np.std(accuracies["n3"], ddof=1))
    assert np.sum(found.confusion.counts) == 3 * N_TEST
    assert found.mistakes[0].name == "x2"


def test_the_best_has_finished_its_splits():
    runs = [finished("n3", 0, 0.99), finished("knn", 0, 0.6), finished("knn", 1, 0.6)]
    runs.append(FailedRun(identity("n3", 1), "Killed."))
    found = facts(runs, 2)
    assert found.best == "knn"
    assert found.failed == [Failure("n3", "gist", "Killed.", 2)]
    assert [entry.splits for entry in found.leaderboard] == [2, 1]


def test_one_method_is_not_compared():
    assert facts([finished("n3", 0, 0.9)], 1).title == "toy: 1 method"
    assert facts([finished("n3", 0, 0.9), finished("knn", 0, 0.5)], 1).title == "toy: 2 methods compared"


def test_features_tell_runs_of_one_method_apart():
    found = facts([finished("n3", 0, 0.9), finished("n3", 0, 0.7, features="pixels")], 1)
    assert list(found.per_class[0].accuracy) == ["n3 · gist", "n3 · pixels"]
    assert list(found.reliability) == ["n3 · gist", "n3 · pixels"]


def test_a_missing_measure_leaves_no_mean():
    bare = finished("svm", 0, 0.9)
    bare.assessment.measures["log_loss"] = None
    assert facts([bare], 1).leaderboard[0].measures["log_loss"] is None


def test_bins_of_several_splits_are_weighted():
    assert merge_bins([[[0.5, 0.4, 10]], [[0.5, 1.0, 30], [0.95, 1.0, 5]]]) == [
        [pytest.approx(0.5), pytest.approx(0.85), 40],
        [pytest.approx(0.95), 1.0, 5],
    ]


def test_the_gallery_is_that_of_the_best_with_weights():
    weighted = finished("unn", 0, 0.5, gallery=[Prototype("row 3", 2.0, "a")])
    found = facts([finished("svm", 0, 0.9), weighted], 1)
    assert found.gallery_of == "unn"
    assert found.gallery == [Prototype("row 3", 2.0, "a", None)]


def test_warnings_of_solvers_are_notes():
    runs = [finished("lbfgs", 1, 0.5, "vectors", ["lbfgs failed to converge."]), finished("knn", 0, 0.5)]
    assert complaints(runs) == ["lbfgs (vectors, split 2): lbfgs failed to converge."]
    assert complaints(runs)[0] in facts(runs, 2).data.notes


def test_json_has_the_keys_of_earlier_versions():
    """Programs read ``results.json``."""
    prototype = Prototype("row 3", 2.0, "a", "data:image/png;base64,AA==")
    better = finished("n3", 0, 0.9, gallery=[prototype])
    found = facts([better, finished("knn", 0, 0.5), FailedRun(identity("unn", 0), "Killed.")], 1).as_json()
    assert list(found) == [
        *(
            "title",
            "command",
            "created",
            "machine",
            "versions",
            "data",
            "protocol",
            "leaderboard",
            "best",
            "failed",
        ),
        *("per_class", "confusion", "reliability", "gallery", "gallery_of", "mistakes", "mistakes_of", "skipped"),
        "timings",
    ]
    assert set(found["leaderboard"][0]) == {
        *("method", "features", "splits", "accuracy", "mean_class_accuracy", "top5", "log_loss", "ece"),
        *("prototypes", "fit_seconds", "query_ms", "peak_mib", "chosen", "against_best"),
    }
    assert set(found["leaderboard"][0]["accuracy"]) == {"mean", "deviation", "values"}
    assert set(found["leaderboard"][1]["against_best"]) == {"difference", "p"}
    assert set(found["data"]) == {"name", "kind", "items", "classes", "counts", "notes"}
    assert set(found["protocol"]) == {
        *("name", "splits", "repeats", "seed", "training_items", "test_items", "scaling"),
    }
    assert found["failed"] == [{"method": "unn", "features": "gist", "reason": "Killed.", "split": 1}]
    assert set(found["per_class"][0]) == {"class", "n", "accuracy", "auc"}
    assert set(found["confusion"]) == {"classes", "counts"}
    assert found["gallery"] == [{"name": "row 3", "weight": 2.0, "class": "a"}]
    assert found["mistakes"] == [{"name": "x0", "truth": "a", "said": "b", "probability": 0.5}]
    assert set(found["timings"][0]) == {
        *("method", "features", "fit_seconds", "query_seconds", "queries", "peak_mib", "threads", "split"),
        "query_ms",
    }
    result = better.as_result()
    assert run_from(result) == replace(
        better, assessment=replace(better.assessment, gallery=[replace(prototype, thumbnail=None)])
    )
    assert result["gallery"] == found["gallery"]
    assert (result["status"], result["reason"], result["method"]) == ("done", None, "n3")
