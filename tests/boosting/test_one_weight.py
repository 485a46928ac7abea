"""MLNN and MAPBoost: one weight for all classes."""

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits

from boosting.problems import brute_force, make_problems, random_rows
from nearboost import MAPBoostClassifier, MLNNClassifier, NeighborSearch
from nearboost.boosting.engine import boost, leverage_voters
from nearboost.boosting.mapboost import MapPosterior
from nearboost.boosting.one_weight import EdgeRule, leverage_symmetric
from nearboost.problem.held_out import deal_folds
from nearboost.problem.targets import labels_from_classes
from nearboost.votes import KernelVotes
from reference import mlnn as reference

KINDS = ["random", "ties", "unbalanced"]
KERNELS = ["knn", "gaussian", "adaptive"]


def dense_votes(problems):
    """Votes as the papers' m x k arrays over (m, k) indices; who has no vote gets 0."""
    matrix = problems.votes.matrix().toarray()
    indices = np.tile(np.arange(matrix.shape[1]), (len(matrix), 1))
    return indices, matrix


def compare(run, expected, rtol=1e-9):
    assert run.picks.tolist() == expected.picks
    np.testing.assert_allclose(run.deltas, expected.deltas, rtol=rtol)
    np.testing.assert_allclose(run.risk, expected.risk, rtol=rtol)


# ---- against the plain reading ----


@pytest.mark.pairs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("always_smooth", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_classes_at_once(kind, kernel, density, always_smooth, weighted):
    X, classes = random_rows(11, kind=kind, n_classes=2 if kind == "unbalanced" else 4)
    v = np.random.default_rng(1).uniform(0, 2, len(X)).round(1) if weighted else np.ones(len(X))
    problems = make_problems(X, classes, vote_weights=KernelVotes(kernel, density=density), sample=v)
    rule = EdgeRule(False, kernel == "knn", always_smooth, density)
    [run] = boost(problems, rule, 25)
    n_classes = problems.labels.n_classes
    r = reference.edge_matrix(*dense_votes(problems), classes, n_classes)
    expected = reference.mlnn(
        r, n_classes, n_rounds=25, example_weight=v, equal_votes=kernel == "knn", always_smooth=always_smooth
    )
    compare(run, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_versus_all_is_the_same_with_two_classes(kind, kernel):
    X, classes = random_rows(12, kind=kind, n_classes=2 if kind == "unbalanced" else 3)
    problems = make_problems(X, classes, vote_weights=KernelVotes(kernel))
    for column, run in enumerate(boost(problems, EdgeRule(True, kernel == "knn", True, False), 25)):
        sides = (problems.labels.codes(column) > 0).astype(int)
        r = reference.edge_matrix(*dense_votes(problems), sides, 2)
        compare(run, reference.mlnn(r, 2, n_rounds=25, equal_votes=kernel == "knn", always_smooth=True))


@pytest.mark.parametrize("kernel", KERNELS)
def test_votes_of_the_estimators_are_the_papers_kernels(kernel):
    X, classes = random_rows(13)
    graph = brute_force(X, 5)
    rho = graph.distances[:, -1]
    K = {
        "knn": np.ones_like(graph.distances),
        "gaussian": reference.gaussian_kernel(graph.distances, np.median(rho)),
        "adaptive": reference.gaussian_kernel(graph.distances, rho),
    }[kernel]
    r = reference.edge_matrix(graph.indices, K, classes, 4)
    expected = reference.mlnn(r, 4, n_rounds=20, equal_votes=kernel == "knn", always_smooth=True)
    model = MLNNClassifier(5, kernel=kernel, n_rounds=20).fit(X, classes)
    alpha = np.zeros(len(X))
    alpha[model.prototypes_] = model.coefficients_
    np.testing.assert_allclose(alpha, expected.alpha, rtol=1e-9, atol=1e-9)


def test_density_estimates_of_mapboost():
    X, classes = random_rows(14)
    graph = brute_force(X, 5)
    f = reference.density_estimate(graph.indices, graph.distances, graph.distances[:, -1])
    r = reference.edge_matrix(graph.indices, f, classes, 4)
    expected = reference.mlnn(r, 4, n_rounds=20, equal_votes=False, always_smooth=True)
    model = MAPBoostClassifier(5, estimator="adaptive", n_rounds=20).fit(X, classes)
    alpha = np.zeros(len(X))
    alpha[model.prototypes_] = model.coefficients_
    np.testing.assert_allclose(alpha, expected.alpha, rtol=1e-9, atol=1e-9)


def test_rectangular_mapboost_is_mlnn_with_weights_times_k():
    X, classes = random_rows(15, m=100)
    mlnn = MLNNClassifier(7, n_rounds=40).fit(X, classes)
    mapboost = MAPBoostClassifier(7, n_rounds=40).fit(X, classes)
    np.testing.assert_array_equal(mlnn.prototypes_, mapboost.prototypes_)
    np.testing.assert_allclose(mapboost.coefficients_, 7 * mlnn.coefficients_, rtol=1e-12)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    heard = np.array([len(e.prototypes) > 0 and e.contributions.any() for e in mlnn.explain(rows)])
    np.testing.assert_array_equal(mlnn.predict(rows)[heard], mapboost.predict(rows)[heard])


def test_scores_are_symmetric_codes_times_weights():
    """h_c(x) = Σ α_j K y_jc, eq. (2), and for MAPBoost eq. (3) and P of eq. (2)."""
    X, classes = random_rows(16, m=80)
    rows = np.random.default_rng(1).normal(size=(40, 2))
    y = reference.symmetric_codes(classes, 4)
    for model in (MLNNClassifier(5, kernel="adaptive"), MAPBoostClassifier(5, estimator="adaptive")):
        model.fit(X, classes)
        alpha = np.zeros(len(X))
        alpha[model.prototypes_] = model.coefficients_
        found = NeighborSearch(X).search(rows, 5)
        K = reference.gaussian_kernel(found.distances, found.distances[:, -1])
        h = np.einsum("qk,qkc->qc", alpha[found.indices] * K, y[found.indices])
        prior = np.bincount(classes) / len(classes)
        mass = (alpha[found.indices] * K).sum(axis=1, keepdims=True)
        h = np.where(mass > 0, h, (4 * prior - 1) / 3)
        if isinstance(model, MAPBoostClassifier):
            P = np.einsum("qk,qkc->qc", alpha[found.indices] * K, (y[found.indices] == 1).astype(float))
            P = np.where(mass > 0, P / np.where(mass > 0, mass, 1), prior)
            h = np.where(mass > 0, h / np.where(mass > 0, mass, 1), h)
            np.testing.assert_allclose(model.class_posteriors(rows), P, rtol=1e-12, atol=1e-12)
            sharp = model.set_params(calibration="posterior").fit(X, classes)
            np.testing.assert_allclose(sharp.predict_proba(rows), P, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(rows), h, rtol=1e-12, atol=1e-12)


# ---- the theorem ----


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_weak_index_assumption_bounds_the_risk(seed, n_classes):
    X, classes = random_rows(seed, m=120, n_classes=n_classes)
    model = MLNNClassifier(7, n_rounds=80, calibration=None).fit(X, classes)
    [diagnostics], [risk] = model.diagnostics_, model.history_
    graph = brute_force(X, 7)
    r = reference.edge_matrix(graph.indices, np.ones((120, 7)), classes, n_classes)
    alpha = np.zeros(120)
    alpha[model.prototypes_] = model.coefficients_
    edges = r @ alpha
    exponential = np.exp(-edges).mean()
    np.testing.assert_allclose(np.prod(diagnostics.factors), exponential, rtol=1e-9)  # eq. (24)
    np.testing.assert_allclose(risk[-1], exponential, rtol=1e-9)
    assert (edges < 0).mean() <= exponential  # eq. (5)
    assert exponential <= diagnostics.bound[-1]  # theorem 2, with the smallest γ and η of the run
    tau, C = len(diagnostics.gamma), n_classes
    weakest = diagnostics.eta.min() * diagnostics.gamma.min() ** 2
    np.testing.assert_allclose(diagnostics.bound[-1], np.exp(-C / (C - 1) * weakest * tau), rtol=1e-12)


def test_what_the_assumption_measures():
    X, classes = random_rows(2, m=60, n_classes=3)
    model = MLNNClassifier(5, n_rounds=1, calibration=None).fit(X, classes)
    graph, [j] = brute_force(X, 5), model.prototypes_
    voted_on = (graph.indices == j).any(axis=1)
    agreeing = (classes[voted_on] == classes[j]).mean()
    [diagnostics] = model.diagnostics_
    np.testing.assert_allclose(diagnostics.gamma, abs(agreeing - 1 / 3), rtol=1e-12)
    np.testing.assert_allclose(diagnostics.eta, voted_on.mean(), rtol=1e-12)


@pytest.mark.parametrize("smoothing", ["one_sided", "always"])
def test_roots_take_a_handful_of_steps_and_few_are_solved(smoothing):
    X, classes = random_rows(4, m=2000, n_classes=4)
    for model in (MLNNClassifier(kernel="adaptive"), MAPBoostClassifier(estimator="adaptive")):
        model.set_params(n_rounds=1500, calibration=None, smoothing=smoothing)
        [diagnostics] = model.fit(X, classes).diagnostics_
        assert diagnostics.n_steps.sum() / diagnostics.n_roots.sum() < 5
        touched = 11 * 11  # voters on the rows that an average example votes on, at most
        assert diagnostics.n_roots.mean() < touched / 2


# ---- what users expect of every boosted neighbour ----


def closeness(distances):
    return 1 / (1 + distances)


MODELS = [
    MLNNClassifier(5),
    MLNNClassifier(5, kernel="gaussian", n_prototypes=0.3),
    MLNNClassifier(5, kernel="adaptive", sigma="sqrt", one_vs_all=True),
    MLNNClassifier(5, kernel="adaptive", smoothing="one_sided", n_rounds=40),
    MLNNClassifier(5, kernel=closeness, metric="l1", vote_from="prototypes", n_rounds=20),
    MAPBoostClassifier(5),
    MAPBoostClassifier(5, estimator="adaptive", n_prototypes=20, smoothing="always"),
    MAPBoostClassifier(5, estimator="gaussian", sigma=0.5, one_vs_all=True),
    MAPBoostClassifier(5, estimator="adaptive", calibration="temperature", early_stopping=True),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=lambda model: re.sub(r" at 0x\w+", "", str(model)))
QUIET = pytest.mark.filterwarnings("ignore::UserWarning")


@ALL
@QUIET
@pytest.mark.parametrize("n_classes", [2, 4])
def test_answers_agree(model, n_classes):
    X, classes = random_rows(21, m=120, n_classes=n_classes)
    y = np.array(["ant", "bee", "cow", "dog"])[classes]
    model = clone(model).fit(X, y)
    rows = np.concatenate([X[:10], np.random.default_rng(3).normal(size=(50, 2))])
    scores, p = model.decision_function(rows), model.predict_proba(rows)
    assert scores.shape == ((60,) if n_classes == 2 else (60, n_classes))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows))
    np.testing.assert_array_equal(model.predict_top(rows, 2)[:, 0], model.predict(rows))
    for explanation, score in zip(model.explain(rows), scores, strict=True):
        np.testing.assert_array_equal(explanation.total(), np.atleast_1d(score))
    n_prototypes = len(model.prototypes_)
    assert model.coefficients_.shape[0] == n_prototypes
    assert model.coefficients_.ndim == (2 if model.one_vs_all else 1)
    assert np.all(np.diff(model.prototypes_) > 0)
    assert model.held_out_scores_.shape == (120, 1 if n_classes == 2 else n_classes)
    unsure = model.predict(rows, reject_below=0.999, reject_label="?")
    np.testing.assert_array_equal(unsure == "?", p.max(axis=1) < 0.999)


@ALL
@QUIET
def test_the_risk_never_rises(model):
    for seed in range(5):
        X, classes = random_rows(seed, m=90, kind=["random", "ties"][seed % 2])
        for risk in clone(model).set_params(n_rounds=60, calibration=None).fit(X, classes).history_:
            assert np.diff(risk).max(initial=-1) <= 1e-13
            assert np.isfinite(risk).all()


@pytest.mark.alone
@ALL
@QUIET
def test_threads_and_pickles_change_nothing(model):
    X, classes = random_rows(22, m=120)
    one, two = (clone(model).set_params(n_jobs=n).fit(X, classes) for n in (1, 2))
    again = pickle.loads(pickle.dumps(two))
    for other in (two, again):
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
@pytest.mark.parametrize("one_vs_all", [False, True])
def test_prune_equals_fitting_with_so_many(cls, one_vs_all):
    X, classes = random_rows(23, m=150)
    whole = cls(5, one_vs_all=one_vs_all).fit(X, classes)
    pruned, fitted = whole.prune(30), cls(5, one_vs_all=one_vs_all, n_prototypes=30).fit(X, classes)
    np.testing.assert_array_equal(pruned.prototypes_, fitted.prototypes_)
    np.testing.assert_array_equal(pruned.decision_function(X), fitted.decision_function(X))
    assert len(pruned.prototypes_) == 30


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_a_graph_of_ones_own_gives_the_same_fit(cls):
    X, classes = random_rows(24, m=100)
    graph = NeighborSearch(X).graph(11)
    np.testing.assert_array_equal(
        cls(7).fit(X, classes, graph=graph).decision_function(X), cls(7).fit(X, classes).decision_function(X)
    )


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_weights_count(cls):
    X, classes = random_rows(25, m=100, n_classes=3)
    zero = np.ones(100)
    zero[60:] = 0
    left_out, cut = cls(5).fit(X, classes, sample_weight=zero), cls(5).fit(X[:60], classes[:60])
    np.testing.assert_array_equal(left_out.decision_function(X), cut.decision_function(X))
    balanced = cls(5, class_weight="balanced", n_rounds=30).fit(X, classes)
    by_hand = (100 / 3 / np.bincount(classes))[classes]
    np.testing.assert_allclose(
        balanced.decision_function(X),
        cls(5, n_rounds=30).fit(X, classes, sample_weight=by_hand).decision_function(X),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_label_matrices_need_one_versus_all(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0.5, X.sum(axis=1) > 0], axis=1).astype(int)
    with pytest.raises(ValueError, match="one_vs_all=True"):
        cls(5).fit(X, Y)
    model = cls(5, one_vs_all=True).fit(X, Y)
    p = model.predict_proba(X)
    assert p.shape == (120, 3)
    np.testing.assert_array_equal(model.predict(X), p > 0.5)
    assert (model.predict(X) == Y).mean() > 0.9


@QUIET
def test_nobody_to_vote_is_the_prior():
    X, classes = random_rows(26, m=90, n_classes=3)
    model = MAPBoostClassifier(5, n_rounds=0, calibration="posterior").fit(X, classes)
    np.testing.assert_allclose(model.predict_proba(X[:4]), np.tile(np.bincount(classes) / 90, (4, 1)), rtol=1e-12)
    assert (model.predict(X) == np.bincount(classes).argmax()).all()
    silent = MLNNClassifier(5, n_rounds=0).fit(X, classes)
    assert (silent.predict(X) == np.bincount(classes).argmax()).all()
    np.testing.assert_array_equal(silent.explain(X[:1])[0].total(), silent.decision_function(X[:1])[0])


@QUIET
@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_the_names_of_two_classes_do_not_matter(cls):
    """Rows that nobody speaks on must not be counted for the class that happens to be first."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = (rng.random(300) < 0.05 + 0.3 * (X[:, 0] > 1)).astype(int)
    one, other = cls(5).fit(X, y), cls(5).fit(X, 1 - y)
    assert one.n_rounds_ == other.n_rounds_ > 0
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), rtol=1e-9, atol=1e-12)


@QUIET
@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e30, 1e200])
def test_only_ratios_of_kernel_values_matter(factor):
    X, classes = random_rows(29, m=150)
    plain = MLNNClassifier(7, kernel=lambda d: np.exp(-d), n_rounds=60).fit(X, classes)
    scaled = MLNNClassifier(7, kernel=lambda d: np.exp(-d) * factor, n_rounds=60).fit(X, classes)
    np.testing.assert_array_equal(plain.prototypes_, scaled.prototypes_)
    np.testing.assert_allclose(scaled.coefficients_ * factor, plain.coefficients_, rtol=1e-9)
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-12)


def test_a_kernel_may_write_into_what_it_is_given():
    def in_place(distances):
        distances /= 2
        return np.exp(-distances)

    X, classes = random_rows(30, m=100)
    one = MLNNClassifier(5, kernel=in_place).fit(X, classes)
    two = MLNNClassifier(5, kernel=lambda d: np.exp(-d / 2)).fit(X, classes)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.neighbors_.distances, two.neighbors_.distances)


@pytest.mark.parametrize("sigma", [1e-3, 0.02, 0.05, 0.1, 0.2, 1.0])
@QUIET
def test_narrow_kernels(sigma):
    """Votes from 1 down to nothing on neighbouring rows."""
    X, classes = random_rows(31, m=300)
    for model in (
        MLNNClassifier(7, kernel="gaussian", sigma=sigma),
        MLNNClassifier(7, kernel="adaptive", sigma=sigma),
    ):
        for smoothing in ("always", "one_sided"):
            model.set_params(smoothing=smoothing).fit(X, classes)
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.predict_proba(X)).all()


def test_posteriors_do_not_depend_on_the_calibration():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0.5, X.sum(axis=1) > 0], axis=1).astype(int)
    one, two = (
        MAPBoostClassifier(5, one_vs_all=True, n_rounds=30, calibration=c).fit(X, Y)
        for c in ("posterior", "temperature")
    )
    np.testing.assert_allclose(one.class_posteriors(X), two.class_posteriors(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MLNNClassifier(kernel="cubic"), "kernel='cubic'.*'adaptive'"),
        (MAPBoostClassifier(estimator="knn"), "estimator='knn'.*'rectangular'"),
        (MLNNClassifier(sigma=1.0), "no meaning"),
        (MLNNClassifier(kernel="gaussian", sigma="sqrt"), "no meaning"),
        (MLNNClassifier(kernel="adaptive", sigma="half"), "sigma='half'"),
        (MAPBoostClassifier(estimator="gaussian", sigma=-1.0), "sigma"),
        (MLNNClassifier(one_vs_all="yes"), "one_vs_all"),
        (MLNNClassifier(smoothing="never"), "smoothing='never'"),
        (MLNNClassifier(calibration="posterior"), "calibration='posterior'"),
        (MLNNClassifier(60), "59 or fewer"),
    ],
)
def test_mistakes_get_one_clear_sentence(model, message):
    X, classes = random_rows(27)
    with pytest.raises(ValueError, match=message):
        model.fit(X, classes)


@QUIET
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e30])
@pytest.mark.parametrize("smoothing", ["always", "one_sided"])
def test_never_a_nan_whatever_the_kernel_values(scale, smoothing):
    """A width far from the distances makes votes of 1e-6 or steps of 1e16."""
    X, classes = random_rows(28, m=150, kind="ties")
    for model in (
        MLNNClassifier(7, kernel="gaussian", sigma=scale, smoothing=smoothing, n_rounds=300),
        MLNNClassifier(7, kernel=lambda d: np.exp(-d) * scale, smoothing=smoothing, n_rounds=300),
        MAPBoostClassifier(7, estimator="adaptive", smoothing=smoothing, n_rounds=300),
    ):
        model.fit(X, classes)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_proba(X)).all()
        assert all(np.isfinite(risk).all() for risk in model.history_)


def test_warning_of_held_out_rows_without_a_voter():
    """With two groups, whoever may vote on a held-out row has voted on held-out rows only."""
    X, classes = random_rows(32, m=200)
    with pytest.warns(UserWarning, match="Only 0 of 200 held-out rows"):
        model = MLNNClassifier(7).fit(X, classes, groups=np.arange(200) % 2)
    assert model.n_rounds_ > 1
    assert model.score(X, classes) > 0.6


def test_faint_votes_are_told_of():
    X, classes = random_rows(33, m=200)
    with pytest.warns(UserWarning, match="widen the kernel"):
        MLNNClassifier(7, kernel="gaussian", sigma=0.01).fit(X, classes)


# ---- what a reader's mutations found untested ----


def dense_alpha(model, m):
    alpha = np.zeros((m, 1 if not model.one_vs_all else model.coefficients_.shape[1]))
    alpha[model.prototypes_] = (
        model.coefficients_.toarray() if model.one_vs_all else model.coefficients_[:, np.newaxis]
    )
    return alpha


@pytest.mark.parametrize("normalised", [False, True])
def test_scores_of_one_versus_all(normalised):
    """Each class: Σ ± α f over its voters, for MAPBoost over Σ α f; else twice the prior less 1."""
    X, classes = random_rows(41, m=90)
    cls = MAPBoostClassifier if normalised else MLNNClassifier
    model = cls(4, one_vs_all=True, n_rounds=6, calibration=None).fit(X, classes)
    rows = np.random.default_rng(2).normal(size=(60, 2))
    found, alpha = NeighborSearch(X).search(rows, 4), dense_alpha(model, 90)
    signs = np.where(classes[:, None] == np.arange(4), 1, -1)
    vote = 1 / 4 if normalised else 1
    said = (vote * alpha * signs)[found.indices].sum(axis=1)
    mass = (vote * alpha)[found.indices].sum(axis=1)
    assert (mass == 0).any()
    assert (mass > 0).any()
    expected = np.where(mass > 0, said / np.where(mass > 0, mass, 1) if normalised else said, 0)
    expected = np.where(mass > 0, expected, 2 * np.bincount(classes) / 90 - 1)
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-12)


def test_equal_voices_are_not_silence():
    """Two voters of two classes with equal weights: one half each, whatever the classes' shares."""
    left = np.array([[-1 - 0.1 * i, 0] for i in range(3)])
    far = np.array([[50 + 0.1 * i, 9.0] for i in range(6)])
    X, y = np.r_[left, -left, far], np.r_[np.zeros(3), np.ones(3), np.zeros(6)].astype(int)
    model = MAPBoostClassifier(2, n_rounds=12, calibration=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), [[0.5, 0.5]], rtol=1e-12)
    np.testing.assert_array_equal(model.explain([[0.0, 0.0]])[0].intercept, 0)


def test_classes_that_are_all_ruled_out_share_alike():
    posterior = MapPosterior(n_classes=2, multilabel=False)
    scores = np.array([[-1.0, -1.0, -1.0], [-1.0, -1 + 1e-16, -1.0], [1.0, -1.0, 0.0]])
    expected = [[1 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3], [2 / 3, 0, 1 / 3]]
    np.testing.assert_allclose(posterior.probabilities(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
@pytest.mark.parametrize("kernel", ["knn", "adaptive"])
def test_held_out_scores_are_learned_without_the_fold(cls, kernel):
    """A fold's rows have no vote and count nothing in learning; then they are scored like queries."""
    X, classes = random_rows(42, m=80)
    density = cls is MAPBoostClassifier
    name = {"estimator": "rectangular" if kernel == "knn" else kernel} if density else {"kernel": kernel}
    model = cls(5, n_rounds=15, **name).fit(X, classes)
    labels, graph = labels_from_classes(classes, 4), brute_force(X, 5)
    held_out = model.held_out_scores_.toarray()
    codes, done = reference.symmetric_codes(classes, 4), 0
    rule = KernelVotes(kernel, density=density)
    for fold in deal_folds(labels, np.arange(80), np.random.RandomState(0)):
        v = np.ones(80)
        v[fold] = 0
        r = reference.edge_matrix(graph.indices, rule.in_training(graph), classes, 4)
        r[:, fold] = 0
        alpha = reference.mlnn(
            r, 4, n_rounds=15, example_weight=v, equal_votes=kernel == "knn", always_smooth=True
        ).alpha
        weights = alpha[graph.indices] * rule.on_queries(graph)
        h, mass = np.einsum("ik,ikc->ic", weights, codes[graph.indices]), weights.sum(axis=1, keepdims=True)
        prior = np.bincount(classes, v, 4) / v.sum()
        expected = np.where(mass > 0, h / np.where(mass > 0, mass, 1) if density else h, (4 * prior - 1) / 3)
        np.testing.assert_array_equal(model.held_out_rows_[done : done + len(fold)], fold)
        np.testing.assert_allclose(held_out[done : done + len(fold)], expected[fold], rtol=1e-9, atol=1e-9)
        done += len(fold)
    assert done == 80


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_held_out_risk_is_that_of_the_folds_rows(cls):
    X, classes = random_rows(43, m=80)
    model = cls(5, n_rounds=15).fit(X, classes)
    labels, graph = labels_from_classes(classes, 4), brute_force(X, 5)
    vote = 1.0 if cls is MLNNClassifier else 1 / 5
    total = 0.0
    for fold in deal_folds(labels, np.arange(80), np.random.RandomState(0)):
        v = np.ones(80)
        v[fold] = 0
        r = reference.edge_matrix(graph.indices, np.full((80, 5), vote), classes, 4)
        r[:, fold] = 0
        total += np.exp(-(r @ reference.mlnn(r, 4, n_rounds=15, example_weight=v).alpha))[fold].mean()
    np.testing.assert_allclose(model.held_out_risk_[0], 10)
    np.testing.assert_allclose(model.held_out_risk_[-1], total, rtol=1e-9)


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_rows_of_one_group_never_vote_on_each_other(cls):
    X, classes = random_rows(44, m=120)
    X = np.repeat(X[:40], 3, axis=0) + 1e-6 * X
    classes, groups = np.repeat(classes[:40], 3), np.repeat(np.arange(40), 3)
    model = cls(5, n_rounds=30).fit(X, classes, groups=groups)
    assert not (groups[model.neighbors_.indices] == groups[:, None]).any()
    assert model.held_out_accuracy_ < cls(5, n_rounds=30).fit(X, classes).held_out_accuracy_


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_kept_prototypes_may_vote_from_all_rows(cls):
    X, classes = random_rows(45, m=120)
    model = cls(7, n_prototypes=40, vote_from="all", n_rounds=60).fit(X, classes)
    rows = np.random.default_rng(3).normal(size=(30, 2))
    for explanation, row in zip(model.explain(rows), rows, strict=True):
        nearest = NeighborSearch(X).search(row[None], 7).indices[0]
        np.testing.assert_array_equal(explanation.prototypes, nearest[np.isin(nearest, model.prototypes_)])


def test_one_versus_all_has_rounds_enough_for_many_classes():
    rng = np.random.default_rng(6)
    centres = rng.normal(size=(30, 5)) * 3
    classes = np.repeat(np.arange(30), 30)
    X = centres[classes] + rng.normal(size=(900, 5))
    one_vs_all = MLNNClassifier(one_vs_all=True, calibration=None).fit(X[::2], classes[::2])
    at_once = MLNNClassifier(calibration=None).fit(X[::2], classes[::2])
    assert one_vs_all.score(X[1::2], classes[1::2]) > at_once.score(X[1::2], classes[1::2]) - 0.1


def test_coefficients_may_be_more_than_32_bits_can_count():
    labels = labels_from_classes(np.array([0, 1, 0]), 2)
    for leverage in (
        leverage_voters(csr_array(np.eye(3, 2)), labels, np.ones(3)),
        leverage_symmetric(csr_array(np.ones((3, 1))), labels),
    ):
        assert leverage.values.indptr.dtype == np.int64


@pytest.mark.parametrize("cls", [MLNNClassifier, MAPBoostClassifier])
def test_few_prototypes_are_asked_in_small_numbers(cls):
    """All rows vote by 11; a tenth of them, with ten classes, would be asked across classes."""
    X, y = load_digits(return_X_y=True)
    assert cls(n_rounds=5).fit(X[:300], y[:300]).n_neighbors_ == 11
    few = cls(n_prototypes=0.1).fit(X[::4], y[::4])
    assert few.n_neighbors_ < 5
    assert (
        few.score(X[1::4], y[1::4]) > cls(11, n_prototypes=0.1).fit(X[::4], y[::4]).score(X[1::4], y[1::4]) + 0.03
    )
