"""Held-out folds: whole, disjoint, spread, and scored without their own labels."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss

from boosting.problems import brute_force, make_problems, random_rows
from nearboost import MAPBoostClassifier, MLNNClassifier, N3Classifier, UNNClassifier
from nearboost.boosting import classifier
from nearboost.boosting.engine import Learned, held_out_path
from nearboost.boosting.newton import rank_examples
from nearboost.boosting.training import choose_rounds, choose_voters, learn_coefficients, train
from nearboost.neighbors import Neighbors
from nearboost.problem import held_out
from nearboost.problem.held_out import deal_folds
from nearboost.problem.targets import ExampleWeights, TrainingSet, labels_from_classes, labels_from_indicator


def choose(classes, groups=None, seed=0):
    groups = np.arange(len(classes)) if groups is None else groups
    return deal_folds(labels_from_classes(classes, int(classes.max()) + 1), groups, np.random.RandomState(seed))


def test_few_rows_are_all_held_out_once():
    classes = np.random.default_rng(0).integers(0, 3, 103)
    folds = choose(classes)
    assert len(folds) == 10
    assert sorted(np.concatenate(folds).tolist()) == list(range(103))
    assert {len(fold) for fold in folds} == {10, 11}
    for c in range(3):
        per_fold = [int((classes[fold] == c).sum()) for fold in folds]
        assert max(per_fold) - min(per_fold) <= 1


def test_folds_follow_the_seed():
    classes = np.random.default_rng(0).integers(0, 3, 103)
    assert all(np.array_equal(a, b) for a, b in zip(choose(classes), choose(classes), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(choose(classes), choose(classes, seed=1), strict=True))


def test_of_many_rows_one_fold_is_held_out(monkeypatch):
    monkeypatch.setattr(held_out, "FEW_ROWS", 50)
    classes = np.random.default_rng(0).integers(0, 3, 1000)
    folds = choose(classes)
    assert len(folds) == 1
    assert len(folds[0]) == 50
    per_class = np.bincount(classes[folds[0]], minlength=3) / np.bincount(classes)
    np.testing.assert_allclose(per_class, 0.05, atol=1 / np.bincount(classes).min())
    assert [len(fold) for fold in choose(classes[:50])] == [5] * 10
    assert [len(fold) for fold in choose(classes[:60])] == [6]


def test_groups_stay_whole():
    rng = np.random.default_rng(1)
    classes, groups = rng.integers(0, 3, 200), rng.integers(0, 23, 200)
    folds = choose(classes, groups)
    assert sorted(np.concatenate(folds).tolist()) == list(range(200))
    for a in range(10):
        for b in range(a):
            assert not set(groups[folds[a]]) & set(groups[folds[b]])


def test_fewer_groups_than_folds():
    folds = choose(np.array([0, 1, 0, 1, 0, 1]), np.array([4, 4, 4, 9, 9, 9]))
    assert sorted(map(tuple, folds)) == [(0, 1, 2), (3, 4, 5)]
    assert choose(np.array([0, 1, 0]), np.array([7, 7, 7])) == []  # nobody would be left to learn from


def test_rows_without_a_label_are_held_out_too():
    labels = labels_from_indicator(np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0, 0], [0, 1]]))
    folds = deal_folds(labels, np.arange(6), np.random.RandomState(0))
    assert sorted(np.concatenate(folds).tolist()) == list(range(6))


# ---- what the labels of held-out rows may and may not change ----


def one_sided_problem(seed):
    """Rows 0 to 79 vote on everyone; rows 80 to 99, which are held out, vote on nobody."""
    rng = np.random.default_rng(seed)
    X, classes = random_rows(seed, m=100, n_classes=3)
    distances = np.abs(X[:, None, 0] - X[None, :80, 0])
    distances[np.arange(80), np.arange(80)] = np.inf
    indices = np.argsort(distances, axis=1, kind="stable")[:, :6]
    graph = Neighbors(indices.astype(np.int32), np.take_along_axis(distances, indices, axis=1))
    shuffled = classes.copy()
    while np.array_equal(shuffled[80:], classes[80:]):
        shuffled[80:] = rng.permutation(classes[80:])
    return X, classes, shuffled, graph


MODELS = [
    N3Classifier(6, n_rounds=15),
    N3Classifier(6, n_rounds=15, start="zero", loss="hinge", oracle="delta"),
    N3Classifier(6, n_rounds=15, n_prototypes=20),
    N3Classifier(6, n_rounds=15, n_prototypes=20, vote_from="all"),
    N3Classifier(6, n_rounds=15, vote_from="prototypes"),
    UNNClassifier(6, n_rounds=15),
    UNNClassifier(6, n_rounds=15, loss="mat", balance="adaptive", delta="exact"),
]
FOLD = np.arange(80, 100)


def learn(data, graph, weights, recipe, n_rounds):
    return learn_coefficients(choose_voters(data, graph, data.weights, recipe), data, weights, recipe, n_rounds)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_rows_that_vote_on_nobody_are_scored_without_their_labels(model, seed):
    """Their labels count in no sum. Shuffled within the fold they change nothing at all, to the last bit."""
    X, classes, shuffled, graph = one_sided_problem(seed)
    scores = []
    for y in (classes, shuffled):
        labels = labels_from_classes(y, 3)
        weights = ExampleWeights(np.ones(100), np.ones(100), np.zeros(100))
        data = TrainingSet(X, labels, weights, np.arange(100, dtype=np.int32))
        outcome = train(data, graph, model._recipe(100, labels, 6), [FOLD], np.ones(100, dtype=bool))
        np.testing.assert_array_equal(outcome.held_out_rows, FOLD)
        scores.append(outcome.held_out_scores)
    assert np.abs(scores[0]).max() > 0
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[5]])
def test_a_held_out_row_enters_learning_by_its_votes_alone(model):
    """Held out, rows that vote on nobody might as well not be there; otherwise they do count."""
    X, classes, _, graph = one_sided_problem(3)
    labels = labels_from_classes(classes, 3)
    weights = ExampleWeights(np.ones(100), np.ones(100), np.zeros(100))
    recipe = model._recipe(100, labels, 6)
    data = TrainingSet(X, labels, weights, np.arange(100, dtype=np.int32))
    held = learn_coefficients(
        choose_voters(data, graph, data.weights, recipe), data, weights.hold_out(FOLD), recipe, 15
    )
    everyone = learn(data, graph, weights, recipe, 15)
    assert not np.array_equal(held.coefficients.toarray(), everyone.coefficients.toarray())
    # The held-out rows gone altogether: the same coefficients, unless the start counts rows of the classes.
    if model.start == "zero":
        first = Neighbors(graph.indices[:80], graph.distances[:80])
        part = TrainingSet(
            X[:80], labels_from_classes(classes[:80], 3), ExampleWeights(np.ones(80), np.ones(80), np.zeros(80)),
            np.arange(80, dtype=np.int32),
        )  # fmt: skip
        gone = learn(part, first, part.weights, recipe, 15)
        np.testing.assert_allclose(held.coefficients.toarray()[:80], gone.coefficients.toarray(), rtol=1e-12)


@pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])
def test_the_start_coefficient_does_not_know_how_many_held_out_rows_each_class_has(cls):
    """Other labels for the held-out rows, not a shuffle: they vote on nobody, so nothing may change."""
    X, classes, _, graph = one_sided_problem(4)
    learned = []
    for held_out_class in (0, 2):
        y = classes.copy()
        y[FOLD] = held_out_class
        labels = labels_from_classes(y, 3)
        weights = ExampleWeights(np.ones(100), np.ones(100), np.zeros(100))
        recipe = cls(6, n_rounds=10)._recipe(100, labels, 6)
        data = TrainingSet(X, labels, weights, np.arange(100, dtype=np.int32))
        learned.append(
            learn_coefficients(
                choose_voters(data, graph, data.weights, recipe), data, weights.hold_out(FOLD), recipe, 10
            )
        )
    assert learned[0].start_coefficient == pytest.approx(learned[1].start_coefficient, rel=1e-9)


def test_held_out_rows_are_no_prototypes():
    X, classes = random_rows(5, m=100, n_classes=3)
    problems = make_problems(X, classes, vote_weights="rank")
    ranking = rank_examples(problems.votes, problems.labels, problems.weights.hold_out(FOLD), 40)
    assert sorted(ranking) == list(range(80))


@pytest.mark.parametrize("model", [N3Classifier(n_rounds=99), UNNClassifier(n_rounds=99), MLNNClassifier()])
def test_held_out_rows_are_given_no_weight(model):
    X, classes = random_rows(5, m=100, n_classes=3)
    labels = labels_from_classes(classes, 3)
    data = TrainingSet(
        X, labels, ExampleWeights(np.ones(100), np.ones(100), np.zeros(100)), np.arange(100, dtype=np.int32)
    )
    learned = learn(data, brute_force(X, 6), data.weights.hold_out(FOLD), model._recipe(100, labels, 6), 99)
    assert len(learned.voters) > 0
    assert not np.isin(learned.voters, FOLD).any()


@pytest.mark.parametrize("n_rounds", [20, 40, 160, None])
@pytest.mark.parametrize("model", [MLNNClassifier(), MAPBoostClassifier(), N3Classifier(start="zero")])
def test_tight_classes_are_judged_as_new_rows_are(model, n_rounds):
    """One pick is enough for all of a class; it must not be the row that is then asked about."""
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(40, 10)), rng.permutation(np.repeat(np.arange(40), 10))
    X, new = (centers[y] + 0.05 * rng.normal(size=(400, 10)) for _ in range(2))
    fitted = clone(model).set_params(n_rounds=n_rounds).fit(X, y)
    assert fitted.held_out_accuracy_ == pytest.approx(fitted.score(new, y), abs=0.01)


def test_the_held_out_risk_of_a_class_that_stopped_stays_put():
    runs = [SimpleNamespace(held_out_risk=np.array(path)) for path in ([5.0, 3.0], [4.0, 2.0, 1.0, 0.5])]
    assert held_out_path([Learned(None, 0.0, runs)]).tolist() == [9.0, 5.0, 4.0, 3.5]


def test_rounds_are_chosen_along_the_path():
    """Round 4 mends the only errors; what follows is as good, and equals go to the fewest rounds."""
    labels = labels_from_classes(np.zeros(30, dtype=int), 3)

    def scores(data, recipe, n_rounds):
        return np.eye(3)[(np.arange(30) < (3 if n_rounds < 4 else 0)).astype(int)]

    fit = SimpleNamespace(fold=np.arange(30), scores=scores, voters=SimpleNamespace(graph=()))
    data = SimpleNamespace(labels=labels, weights=ExampleWeights(np.ones(30), np.ones(30), np.zeros(30)))
    known = np.ones(30, dtype=bool)
    assert choose_rounds([fit], data, SimpleNamespace(n_rounds=20, start="vote"), known) == 4
    assert choose_rounds([fit], data, SimpleNamespace(n_rounds=20, start="zero"), known) == 20
    assert choose_rounds([fit], data, SimpleNamespace(n_rounds=20, start="vote"), np.arange(30) > 4) == 0


def test_what_learning_gains_in_log_loss_is_seen():
    """A few rounds mend too few digits to tell from chance."""
    X, y = load_digits(return_X_y=True)
    models = [N3Classifier(31, n_rounds=n_rounds).fit(X[::2], y[::2]) for n_rounds in (None, 0)]
    assert models[0].n_rounds_ > 0
    learned, plain = (log_loss(y[1::2], model.predict_proba(X[1::2])) for model in models)
    assert learned < plain


def test_held_out_scores_tell_the_truth_about_random_labels():
    """Nothing to learn: leave-one-out of learned weights would look good, held-out scores must not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    model = N3Classifier(7, n_rounds=200, vote_weights="uniform", start="zero").fit(X, y)
    train_accuracy = (model.decision_function(X) > 0) == (y == 1)
    assert train_accuracy.mean() > 0.75
    assert abs(model.held_out_accuracy_ - 0.5) < 0.1  # four standard errors


@pytest.mark.parametrize("n_rows", [12, 30, 100])
@pytest.mark.parametrize("make", [UNNClassifier, N3Classifier])
def test_one_wrong_label_does_not_take_the_confidence_of_all(make, n_rows):
    """A fold that holds the wrong label out learns without errors: its scores must stay in scale."""
    X, y = make_blobs(n_rows, centers=2, cluster_std=0.5, random_state=0)
    queries, truth = make_blobs(300, centers=2, cluster_std=0.5, random_state=0)
    sure = make(3).fit(X, y).predict_proba(queries)[np.arange(300), truth].mean()
    y[0] = 1 - y[0]
    less_sure = make(3).fit(X, y).predict_proba(queries)[np.arange(300), truth].mean()
    assert sure > 0.95
    assert 1 - 3 / n_rows < less_sure < sure


BOOSTED = [N3Classifier(), UNNClassifier(), MLNNClassifier(), MAPBoostClassifier()]


@pytest.mark.parametrize("model", BOOSTED)
def test_copies_do_not_judge_each_other(model):
    """Every row is there twice, and three labels of ten are wrong: more than seven of ten cannot be known."""
    rng = np.random.default_rng(0)
    once = rng.normal(size=(150, 2))
    wrong = rng.random(150) < 0.3
    X, y = np.repeat(once, 2, axis=0), np.repeat((once[:, 0] > 0) ^ wrong, 2)
    assert 0.5 < clone(model).fit(X, y).held_out_accuracy_ < 0.8
    if model.start == "vote":
        with pytest.warns(UserWarning, match="no copy of theirs"):
            alone = clone(model).set_params(n_neighbors=1).fit(X, y)
        assert np.isnan(alone.held_out_accuracy_)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.filterwarnings("ignore:No example was given a weight")
@pytest.mark.parametrize("model", BOOSTED)
def test_one_row_of_each_class_tells_nothing_of_new_rows(model):
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.warns(UserWarning, match="unknown") as told:
        fitted = clone(model).fit(X, np.arange(30))
    assert len([one for one in told if "unknown" in str(one.message)]) == 1
    assert np.isnan(fitted.held_out_accuracy_)
    assert fitted.held_out_rows_.shape == (0,)
    assert fitted.held_out_proba_.shape == (0, 30)
    p = fitted.predict_proba(X + 0.01)
    assert p.min() >= 1 / 60
    if model.start == "vote":
        assert fitted.score(X + 0.01, np.arange(30)) == 1


def test_a_few_prototypes_leave_no_class_out():
    """Held out with one of its two rows, a class is known by the other alone, which covers nobody."""
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(300, 10)), np.repeat(np.arange(300), 2)
    model = N3Classifier(n_prototypes=0.5).fit(centers[y] + 0.05 * rng.normal(size=(600, 10)), y)
    assert sorted(model._data.labels.classes()[model.prototypes_]) == list(range(300))
    assert model.held_out_accuracy_ > 0.95


@pytest.mark.parametrize("model", BOOSTED)
def test_no_class_is_ruled_out(model):
    X, y = make_blobs(120, centers=3, cluster_std=0.3, random_state=0)
    p = clone(model).fit(X, y).predict_proba(X)
    assert p.min() >= (1 - 1e-9) / 122 / 3
    assert log_loss(y, p) < 0.1


def test_copies_are_held_out_together(monkeypatch):
    """Else weights would be learned from the label of a held-out row's copy."""
    seen = []

    def spy(data, graph, recipe, folds, known):
        seen.extend(folds)
        return train(data, graph, recipe, folds, known)

    monkeypatch.setattr(classifier, "train", spy)
    content = np.random.default_rng(0).permutation(np.arange(60) // 2)
    X = random_rows(0, 30)[0][content]
    N3Classifier(3, n_rounds=5).fit(X, content % 2)
    assert sorted(np.concatenate(seen).tolist()) == list(range(60))
    for fold in seen:
        assert not set(content[fold]) & set(np.delete(content, fold))


@pytest.mark.parametrize("model", [*BOOSTED, N3Classifier(start="zero"), UNNClassifier(start="zero")])
def test_what_cannot_be_known_of_a_class_is_not_counted_against_it(model):
    """Half of the classes have one row: held out, it can only be wrong, and says nothing of new rows."""
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(80, 10)), np.concatenate([np.arange(40), np.repeat(np.arange(40, 80), 8)])
    X, truth = centers[y] + 0.05 * rng.normal(size=(len(y), 10)), rng.integers(0, 80, 800)
    fitted = clone(model).fit(X, y)
    assert fitted.held_out_accuracy_ > 0.95
    p = fitted.predict_proba(centers[truth] + 0.05 * rng.normal(size=(800, 10)))
    right = p.argmax(axis=1) == truth
    often = truth >= 40
    assert p.max(axis=1)[often].mean() == pytest.approx(right[often].mean(), abs=0.05)


@pytest.mark.parametrize("model", [MAPBoostClassifier(), MLNNClassifier(), N3Classifier(start="zero")])
def test_nothing_is_known_from_zero_of_classes_with_two_rows(model):
    """Without a row that is held out nobody could learn to vote for its class."""
    rng = np.random.default_rng(0)
    centers, y = 3 * rng.normal(size=(100, 8)), np.repeat(np.arange(100), 2)
    X = centers[y] + rng.normal(size=(200, 8))
    with pytest.warns(UserWarning, match="held-out accuracy is unknown") as told:
        fitted = clone(model).fit(X, y)
    assert len(told) == 1
    assert np.isnan(fitted.held_out_accuracy_)
    p = fitted.predict_proba(X)
    assert np.isfinite(np.log(p)).all()


def test_features_that_have_seen_the_labels_flatter_what_is_held_out():
    """Which is why the documentation warns of them: nothing inside `fit` can know."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 60)), rng.integers(0, 2, 200)
    seen = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    assert N3Classifier().fit(seen, y).held_out_accuracy_ > 0.65
    assert N3Classifier().fit(X, y).held_out_accuracy_ < 0.6
