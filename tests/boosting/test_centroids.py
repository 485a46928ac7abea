"""Centroids of each class in the place of examples."""

import numpy as np
import pytest

from nearboost import MAPBoostClassifier, MLNNClassifier, N3Classifier, NeighborSearch, UNNClassifier, load, save
from nearboost.boosting.centroids import find_centroids, neighbors_among_centroids
from nearboost.problem.targets import GivenRows, find_coding, pose_problem

ALL = (N3Classifier, UNNClassifier, MLNNClassifier, MAPBoostClassifier)
rng = np.random.default_rng(0)
CLASS = rng.integers(3, size=150)
X = rng.standard_normal((150, 4)) + 2 * np.eye(4)[CLASS]
QUERIES = rng.standard_normal((40, 4)) + 1


def centroids_of(n_wanted=20, metric="l2", weight=None, groups=None):
    given = GivenRows.of(X, CLASS, None, groups)
    data = pose_problem(given, find_coding(CLASS), None)
    weights = data.weights if weight is None else data.weights.hold_out(weight)
    return data, find_centroids(data, weights, n_wanted, metric, 0)


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine"])
def test_centroids_are_means_of_rows_of_one_class(metric):
    _, found = centroids_of(metric=metric)
    averaged = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    assert len(found.rows) == 20
    for j, row in enumerate(found.rows):
        members = np.flatnonzero(found.clusters.of_row == j)
        assert row in members
        assert (CLASS[members] == CLASS[row]).all()
        np.testing.assert_allclose(found.places[j], averaged[members].mean(axis=0), atol=1e-12)
        assert found.weigh(np.arange(150.0))[row] == pytest.approx(members.mean())
    np.testing.assert_array_equal(found.move(X)[found.rows], found.places)


def test_held_out_rows_have_no_part_in_them():
    held_out = np.arange(0, 150, 5)
    _, found = centroids_of(weight=held_out)
    assert (found.clusters.of_row[held_out] == -1).all()
    assert (np.delete(found.clusters.of_row, held_out) >= 0).all()
    assert not np.isin(found.rows, held_out).any()


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine"])
@pytest.mark.parametrize("n_groups", [150, 40, 5])
def test_a_row_sees_centroids_without_its_own_group(metric, n_groups):
    groups = np.random.default_rng(1).integers(n_groups, size=150) if n_groups < 150 else np.arange(150)
    data, found = centroids_of(60, metric, groups=groups)
    k = 7
    graph = neighbors_among_centroids(data, found, k, NeighborSearch(found.places, metric))
    averaged = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    for row in range(0, 150, 7):
        distances = np.full(len(found.rows), np.inf)
        for j in range(len(found.rows)):
            others = np.flatnonzero((found.clusters.of_row == j) & (groups != groups[row]))
            if len(others):
                place = averaged[others].mean(axis=0)
                distances[j] = NeighborSearch(place[np.newaxis], metric).search(X[[row]], 1).distances[0, 0]
        order = np.argsort(distances, kind="stable")[:k]
        np.testing.assert_array_equal(graph.indices[row], found.rows[order])
        np.testing.assert_allclose(graph.distances[row], distances[order], atol=1e-7)


def test_centroids_of_single_groups_vote_on_no_row_of_these():
    groups = np.arange(150) // 50
    data, found = centroids_of(6, groups=groups)
    least = min(
        sum(np.any(groups[found.clusters.of_row == j] != group) for j in range(len(found.rows)))
        for group in range(3)
    )
    graph = neighbors_among_centroids(data, found, 100, NeighborSearch(found.places))
    assert graph.n_neighbors == least
    data, found = centroids_of(150, groups=np.zeros(150, dtype=int))
    with pytest.raises(ValueError, match="150 centroids leave some training rows without one of another group"):
        neighbors_among_centroids(data, found, 3, NeighborSearch(found.places))


@pytest.mark.parametrize("cls", ALL)
def test_queries_are_voted_on_by_centroids(cls):
    model = cls(5, n_prototypes=30, prototypes="centroids").fit(X, CLASS)
    _, found = centroids_of(30)
    np.testing.assert_array_equal(model.prototypes_, found.rows)
    np.testing.assert_array_equal(model.voters_, found.rows)
    nearest = NeighborSearch(found.places).search(QUERIES, 5)
    scores = model.decision_function(QUERIES)
    for query, told in enumerate(model.explain(QUERIES)):
        listed = found.rows[nearest.indices[query]]
        np.testing.assert_array_equal(told.prototypes, listed[np.isin(listed, told.prototypes)])
        np.testing.assert_array_equal(told.distances, nearest.distances[query][np.isin(listed, told.prototypes)])
        np.testing.assert_array_equal(told.total(), scores[query])


@pytest.mark.parametrize("cls", ALL)
def test_nothing_changes_through_a_file(cls, tmp_path):
    model = cls(5, n_prototypes=0.2, prototypes="centroids").fit(X, CLASS)
    save(model, tmp_path / "few.nb")
    loaded = load(tmp_path / "few.nb")
    np.testing.assert_array_equal(loaded.decision_function(QUERIES), model.decision_function(QUERIES))
    np.testing.assert_array_equal(loaded.explain(QUERIES)[3].prototypes, model.explain(QUERIES)[3].prototypes)
    assert loaded.prototypes == "centroids"


def test_as_many_centroids_as_rows_keep_no_rows_to_forget(tmp_path):
    model = N3Classifier(3, n_prototypes=1.0, prototypes="centroids").fit(X, CLASS)
    np.testing.assert_array_equal(model.prototypes_, np.arange(150))
    save(model, tmp_path / "all.nb")
    with pytest.raises(ValueError, match="training rows are not in the file"):
        load(tmp_path / "all.nb").forget([0])


@pytest.mark.parametrize("cls", ALL)
def test_add_and_forget_refuse_centroids(cls):
    model = cls(3, n_prototypes=20, prototypes="centroids").fit(X, CLASS)
    for change in (lambda: model.forget([3]), lambda: model.add(X[:2], CLASS[:2])):
        with pytest.raises(
            ValueError, match="Centroids are means of rows, which cannot be taken into or out of them"
        ):
            change()
    everyone = cls(3, prototypes="centroids").fit(X, CLASS)  # no centroids yet: all rows vote
    assert len(everyone.forget([3]).voters_) == 149


@pytest.mark.parametrize("cls", ALL)
def test_pruning_makes_centroids(cls):
    pruned = cls(5, prototypes="centroids").fit(X, CLASS).prune(30)
    expected = cls(5, n_prototypes=30, prototypes="centroids").fit(X, CLASS)
    np.testing.assert_array_equal(pruned.decision_function(QUERIES), expected.decision_function(QUERIES))


@pytest.mark.parametrize("vote_weights", ["rank", "inn"])
def test_ahead_of_examples_where_clusters_are_round(vote_weights):
    """Noise around four points a class: means are nearer to these than any row is."""
    points = 3 * np.random.default_rng(5).standard_normal((12, 20))
    heap = np.random.default_rng(6).integers(12, size=1200)
    rows = points[heap] + 3 * np.random.default_rng(7).standard_normal((1200, 20))
    few = {kind: N3Classifier(n_prototypes=12, vote_weights=vote_weights, prototypes=kind) for kind in KINDS}
    score = {
        kind: model.fit(rows[:600], heap[:600] % 3).score(rows[600:], heap[600:] % 3)
        for kind, model in few.items()
    }
    assert score["centroids"] > score["examples"] + 0.05
    assert few["centroids"].held_out_accuracy_ == pytest.approx(score["centroids"], abs=0.04)


KINDS = ("examples", "centroids")


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_any_size_of_numbers(scale):
    model = N3Classifier(3, n_prototypes=15, prototypes="centroids").fit(X * scale, CLASS)
    assert model.score(X * scale, CLASS) > 0.8
    assert len(model.prototypes_) == 15


def test_the_order_of_rows_does_not_matter():
    shuffled = np.random.default_rng(2).permutation(150)
    settings = {"n_prototypes": 20, "prototypes": "centroids", "calibration": None}
    one, two = (
        N3Classifier(5, **settings).fit(X, CLASS),
        N3Classifier(5, **settings).fit(X[shuffled], CLASS[shuffled]),
    )
    np.testing.assert_array_equal(np.sort(shuffled[two.prototypes_]), one.prototypes_)
    np.testing.assert_allclose(two.decision_function(QUERIES), one.decision_function(QUERIES), atol=1e-10)


def test_threads_and_blocks_change_nothing(monkeypatch):
    one = N3Classifier(5, n_prototypes=40, prototypes="centroids", n_jobs=1).fit(
        X, CLASS, groups=np.arange(150) // 2
    )
    monkeypatch.setattr("nearboost.boosting.centroids.MOST_ENTRIES", 1)
    monkeypatch.setattr("nearboost.boosting.centroids.LEAST_ROWS", 7)
    two = N3Classifier(5, n_prototypes=40, prototypes="centroids", n_jobs=2).fit(
        X, CLASS, groups=np.arange(150) // 2
    )
    np.testing.assert_array_equal(two.decision_function(QUERIES), one.decision_function(QUERIES))


def test_rows_of_no_weight_are_as_good_as_absent():
    weight = np.ones(150)
    weight[::4] = 0
    settings = {"n_prototypes": 20, "prototypes": "centroids"}
    without = N3Classifier(5, **settings).fit(X[weight > 0], CLASS[weight > 0])
    weighed = N3Classifier(5, **settings).fit(X, CLASS, sample_weight=weight)
    np.testing.assert_array_equal(weighed.decision_function(QUERIES), without.decision_function(QUERIES))


def test_what_centroids_cannot_be():
    with pytest.raises(ValueError, match=r'Centroids are none of the rows; .* use vote_from="auto"\.'):
        N3Classifier(vote_from="all", prototypes="centroids").fit(X, CLASS)
    with pytest.raises(ValueError, match="Centroids are of classes and need one label per sample"):
        N3Classifier(prototypes="centroids").fit(X, np.eye(3, dtype=int)[CLASS])
    with pytest.raises(ValueError, match="prototypes='means' is not known; use one of 'examples', 'centroids'"):
        N3Classifier(prototypes="means").fit(X, CLASS)
