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
from nearboost.measures.differences import adjust_together, paired
from nearboost.measures.intervals import wilson
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


def right(run):
    return np.equal(run.assessment.truth, run.assessment.predictions)


def facts(runs, n_splits, **more):
    labels = np.array(CLASSES * 10)
    data = Dataset("toy", "vectors", np.zeros((30, 2)), labels, CLASSES, [f"row {i}" for i in range(30)])
    splits = [Split(np.arange(15), np.arange(15, 30), seed) for seed in range(n_splits)]
    return gather(runs, data, splits, Settings("toy.npz", protocol="half"), {}, lambda name: None, **more)


def test_one_split_is_judged_by_its_items():
    better, worse = finished("n3", 0, 0.9), finished("knn", 0, 0.5)
    found = facts([worse, better], 1)
    assert found.best == "n3"
    assert [entry.method for entry in found.leaderboard] == ["n3", "knn"]
    test = paired([right(better)], [right(worse)], N_TRAIN)
    low, high = test.interval(0.95)
    assert found.leaderboard[0].against_best is None
    assert found.leaderboard[1].against_best == Difference(
        -test.difference, test.p, (-high, -low), retrained=False
    )
    assert found.leaderboard[0].measures["accuracy"].deviation is None
    assert found.leaderboard[0].measures["accuracy"].interval == wilson(27, 30)
    assert found.per_class[0].intervals["n3"] == wilson(9, 10)


def test_items_of_several_splits_and_groups_are_units():
    """The same thirty items in two splits say as much as in one; three groups of them say next to nothing."""
    runs = [finished(method, split, share) for split in (0, 1) for method, share in (("n3", 0.9), ("knn", 0.6))]
    once = facts(runs[:2], 1).leaderboard[1].against_best
    twice = facts(runs, 2, units={0: np.arange(30), 1: np.arange(30)}).leaderboard[1].against_best
    assert twice.p == pytest.approx(once.p, abs=0.01)
    groups = np.repeat(["x", "y", "z"], 10)
    assert facts(runs, 2, units={0: groups, 1: groups}).leaderboard[1].against_best.p >= 0.25
    assert facts(runs, 2).leaderboard[1].against_best.p < once.p, "were they other items"


def test_all_pairs_are_looked_at():
    shares = {"n3": 0.9, "unn": 0.7, "knn": 0.5}
    runs = {method: finished(method, 0, share) for method, share in shares.items()}
    found = facts(list(runs.values()), 1).leaderboard
    pairs = [("n3", "unn"), ("n3", "knn"), ("unn", "knn")]
    tests = [paired([right(runs[a])], [right(runs[b])], N_TRAIN) for a, b in pairs]
    adjusted = adjust_together([test.p for test in tests])
    assert [one.against_best.p for one in found[1:]] == pytest.approx(adjusted[:2])
    low, high = tests[0].interval(1 - 0.05 / 3)
    assert found[1].against_best.interval == pytest.approx((-high, -low))


@pytest.mark.parametrize("n_splits", [3, 6])
def test_several_splits_are_paired(n_splits):
    shares = {"n3": (0.9, 0.8, 0.95, 0.9, 0.9, 0.8), "knn": (0.8, 0.8, 0.7, 0.6, 0.9, 0.8)}
    runs = [finished(m, split, share) for m, of in shares.items() for split, share in enumerate(of[:n_splits])]
    found = facts(runs, n_splits)
    answers = {method: [right(one) for one in runs if one.identity.method == method] for method in shares}
    test = paired(answers["n3"], answers["knn"], N_TRAIN)
    assert found.leaderboard[1].against_best.p == test.p
    assert found.leaderboard[1].against_best.retrained == (n_splits >= 5)
    values = [np.mean(one) for one in answers["n3"]]
    assert found.leaderboard[0].measures["accuracy"].deviation == pytest.approx(np.std(values, ddof=1))
    assert (found.leaderboard[0].measures["log_loss"].interval is None) == (n_splits < 5)
    assert np.sum(found.confusion.counts) == n_splits * N_TEST
    assert found.confusion.methods["n3"] == found.confusion.counts
    assert found.mistakes[0].name == f"x{n_splits - 1}"


def test_runs_without_answers_have_no_verdict():
    """As where items have several labels: a measure of one split alone is no evidence."""
    bare = [finished(method, 0, share, truth=[], predictions=[]) for method, share in (("n3", 0.9), ("knn", 0.5))]
    found = facts(bare, 1, units={0: np.arange(30)}).leaderboard
    assert found[1].against_best == Difference(pytest.approx(-0.4), None)
    assert found[0].measures["accuracy"].interval is None
    assert facts(bare, 1, units={0: np.arange(30)}).per_class[0].intervals == {}


def test_a_learning_curve_has_all_methods_and_shares():
    runs = [finished("n3", split, 0.9) for split in (0, 1)]
    part = [(0.5, finished("n3", split, 0.7)) for split in (0, 1)]
    found = facts(runs, 2, curve=[*part, (0.5, finished("gone", 0, 0.1))])
    assert [(one.label, one.share, one.train, one.accuracy.mean) for one in found.curve] == [
        ("n3", 0.5, N_TRAIN, pytest.approx(0.7)),
        ("n3", 1.0, N_TRAIN, pytest.approx(0.9)),
    ]
    assert found.curve[0].accuracy.interval is not None
    assert facts(runs, 2).curve == []


def test_what_to_fit():
    runs = [finished("adaboost", 0, 0.95), finished("n3:n_prototypes=0.5", 0, 0.9), finished("knn", 0, 0.5)]
    found = facts(runs, 1).fit
    assert (found.method, found.features, found.classes) == ("n3:n_prototypes=0.5", None, [])
    assert found.command == "nearboost fit toy.npz --method n3:n_prototypes=0.5"
    assert facts(runs[:1], 1).fit is None
    assert [one.method for one in facts(runs, 1).methods] == ["adaboost", "n3:n_prototypes=0.5", "knn"]


def test_held_out_accuracy_stands_beside():
    runs = [finished("n3", split, 0.9, held_out_accuracy=0.8 + split / 10) for split in (0, 1)]
    assert facts(runs, 2).leaderboard[0].held_out_accuracy.mean == pytest.approx(0.85)
    assert facts([*runs, finished("knn", 0, 0.5)], 2).leaderboard[1].held_out_accuracy is None


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


def test_mistakes_are_in_the_order_of_their_confidence():
    """An item that was wrong in two splits stands where it was surest."""
    first = [Mistake("twice", "a", "b", 0.6), Mistake("once", "a", "b", 0.8)]
    second = [Mistake("twice", "a", "c", 0.9), Mistake("other", "a", "b", 0.7)]
    runs = [finished("n3", 0, 0.9, mistakes=first), finished("n3", 1, 0.9, mistakes=second)]
    assert [(one.name, one.probability) for one in facts(runs, 2).mistakes] == [
        *(("twice", 0.9), ("once", 0.8), ("other", 0.7)),
    ]


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
    """Without advice, as there is no option for it."""
    warned = ["lbfgs failed to converge.", "Liblinear failed to converge, increase the number of iterations."]
    runs = [finished("lbfgs", 1, 0.5, "vectors", warned), finished("knn", 0, 0.5)]
    names = ("lbfgs", "Liblinear")
    assert complaints(runs) == [f"lbfgs (vectors, split 2): {name} failed to converge." for name in names]
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
        *("timings", "curve", "methods", "fit"),
    ]
    assert set(found["leaderboard"][0]) == {
        *("method", "features", "splits", "accuracy", "mean_class_accuracy", "top5", "log_loss", "ece"),
        *("prototypes", "fit_seconds", "query_ms", "peak_mib", "chosen", "against_best", "held_out_accuracy"),
    }
    assert set(found["leaderboard"][0]["accuracy"]) == {"mean", "deviation", "values", "interval"}
    assert set(found["leaderboard"][1]["against_best"]) == {"difference", "p", "interval", "retrained"}
    assert set(found["data"]) == {"name", "kind", "items", "classes", "counts", "notes"}
    assert set(found["protocol"]) == {
        *("name", "splits", "repeats", "seed", "training_items", "test_items", "scaling"),
    }
    assert found["failed"] == [{"method": "unn", "features": "gist", "reason": "Killed.", "split": 1}]
    assert set(found["per_class"][0]) == {"class", "n", "accuracy", "auc", "intervals"}
    assert set(found["confusion"]) == {"classes", "counts", "methods"}
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
