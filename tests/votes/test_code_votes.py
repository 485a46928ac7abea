"""INN codes as votes: the weights of the codes, no learning is INNC, learning runs on top."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nearboost import INNClassifier, INNCoder, MLNNClassifier, N3Classifier, UNNClassifier
from nearboost.neighbors import Neighbors, NeighborSearch
from nearboost.votes import CodeVotes
from reference.inn import code

X, y = load_digits(return_X_y=True)
X = X / 16


def test_votes_on_queries_are_the_codes_over_their_neighbours():
    found = NeighborSearch(X[:300]).search(X[300:340], 12)
    weights = CodeVotes("l2").on_queries(found, X[300:340], X[:300])
    for row in range(40):
        expected = np.zeros(300)
        near = np.sort(found.indices[row])
        expected[near] = code(X[near], X[300 + row], 0.05, 62)
        np.testing.assert_allclose(weights[row], expected[found.indices[row]], atol=1e-12)
    assert (weights == 0).any()
    np.testing.assert_allclose(weights.sum(axis=1), 1 - 1.05**-62, rtol=1e-12)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_votes_in_training_are_left_out_codes(metric):
    graph = NeighborSearch(X[:60], metric).graph(59)
    weights = CodeVotes(metric).in_training(graph, X[:60])
    votes = np.zeros((60, 60))
    np.put_along_axis(votes, graph.indices, weights, axis=1)
    expected = INNCoder(metric=metric).fit(X[:60]).leave_one_out().toarray()
    np.testing.assert_allclose(votes, expected, atol=1e-12)


def test_distances_of_the_graph_do_not_matter():
    graph = NeighborSearch(X[:200]).graph(20)
    wrong = Neighbors(graph.indices, graph.distances * 1e-6)
    votes = CodeVotes("l2")
    np.testing.assert_array_equal(votes.in_training(graph, X[:200]), votes.in_training(wrong, X[:200]))


@pytest.mark.parametrize("model", [N3Classifier, UNNClassifier])
def test_without_rounds_it_is_the_inn_classifier(model):
    few = model(199, vote_weights="inn", n_rounds=0, start="vote", loss="log", vote_from="all")
    few.fit(X[:200], y[:200])
    alone = INNClassifier().fit(X[:200], y[:200])
    np.testing.assert_array_equal(few.predict(X[200:600]), alone.predict(X[200:600]))


@pytest.mark.parametrize("model", [N3Classifier(50, vote_weights="inn"), MLNNClassifier(50, vote_weights="inn")])
def test_learning_lowers_the_risk_and_explanations_add_up(model):
    model.set_params(n_rounds=30).fit(X[:400], y[:400])
    for risk in model.history_:
        assert np.all(np.diff(risk) <= 1e-12)
        assert risk[-1] < risk[0]
    scores = model.decision_function(X[400:420])
    for row, explanation in enumerate(model.explain(X[400:420])):
        np.testing.assert_array_equal(explanation.total(), scores[row])
        assert len(explanation.prototypes) == len(explanation.distances) <= 50
        assert np.all(explanation.votes > 0)


@pytest.mark.parametrize("start", ["zero", "vote"])
@pytest.mark.parametrize("loss", ["exp", "log", "mat"])
def test_votes_of_all_sizes_do_not_break_the_steps_of_unn(loss, start):
    model = UNNClassifier(vote_weights="inn", loss=loss, start=start, n_rounds=60).fit(X[:300], y[:300])
    for risk in model.history_:
        assert np.isfinite(risk).all()
        assert risk[-1] < risk[0]


def test_queries_are_coded_by_the_kept_prototypes():
    model = N3Classifier(30, vote_weights="inn", n_prototypes=80, n_rounds=5).fit(X[:400], y[:400])
    kept = X[model.prototypes_]
    coder = INNCoder(neighborhood=30).fit(kept)
    for explanation, weights in zip(model.explain(X[400:420]), coder.transform(X[400:420]).toarray(), strict=True):
        expected = np.flatnonzero(weights)
        order = np.argsort(explanation.prototypes)
        np.testing.assert_array_equal(explanation.prototypes[order], model.prototypes_[expected])
        np.testing.assert_allclose(explanation.votes[order], weights[expected], rtol=1e-12)


def test_rows_of_one_group_are_not_in_each_others_codes():
    groups = np.arange(200) // 4
    model = N3Classifier(40, vote_weights="inn", n_rounds=0).fit(X[:200], y[:200], groups=groups)
    assert not np.any(groups[model.neighbors_.indices] == groups[:, np.newaxis])
    assert model.held_out_accuracy_ > 0.5


def test_auto_takes_a_wide_neighbourhood():
    assert N3Classifier(vote_weights="inn", n_rounds=0).fit(X[:400], y[:400]).n_neighbors_ > 15


def test_cosine_is_refused():
    for model in (
        N3Classifier(vote_weights="inn", metric="cosine"),
        MLNNClassifier(vote_weights="inn", metric="cosine"),
    ):
        with pytest.raises(ValueError, match='scale rows to unit length and use metric="l2"'):
            model.fit(X[:50], y[:50])
