"""Displays show what models say, on axes of the caller's, and refuse what they cannot show."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from nearboost import (
    INNClassifier,
    INNCoder,
    KNNClassifier,
    MLNNClassifier,
    N3Classifier,
    NearBoostClassifier,
    SRCClassifier,
    UNNClassifier,
)
from nearboost.plotting import CodeDisplay, PrototypeDisplay, ReliabilityDisplay, VotersDisplay

RNG = np.random.default_rng(0)
Y = np.repeat(["ant", "bee", "cat"], 30)
X = RNG.normal(size=(90, 4)) + 2 * np.unique(Y, return_inverse=True)[1][:, np.newaxis]
NEW, TRUTH = X[::2] + RNG.normal(size=X[::2].shape), Y[::2]


@pytest.fixture(scope="module")
def n3():
    return N3Classifier(n_neighbors=5, n_rounds=6).fit(X, Y)


# Reliability


def test_dots_are_confidence_and_accuracy_of_bins():
    chances = np.array([[0.95, 0.05], [0.9, 0.1], [0.4, 0.6], [0.55, 0.45]])
    display = ReliabilityDisplay.from_predictions(["a", "b", "b", "a"], chances, n_bins=2)
    assert display.counts.tolist() == [4]
    assert display.confidence.tolist() == pytest.approx([0.75])
    assert display.accuracy.tolist() == [0.75]
    assert display.calibration_error_ == pytest.approx(0)
    finer = ReliabilityDisplay.from_predictions(["a", "b", "b", "a"], chances, n_bins=4)
    assert finer.counts.tolist() == [2, 2]
    assert finer.accuracy.tolist() == [1, 0.5]
    assert finer.calibration_error_ == pytest.approx((0.425 + 0.425) / 2)  # |1 - 0.575| and |0.5 - 0.925|


def test_one_column_is_that_of_the_second_class():
    one = ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.7, 0.4])
    two = ReliabilityDisplay.from_predictions([0, 1, 1], [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    np.testing.assert_allclose(one.confidence, two.confidence)
    assert one.counts.tolist() == two.counts.tolist()


def test_estimators_share_axes_and_one_diagonal(n3):
    display = ReliabilityDisplay.from_estimator(n3, NEW, TRUTH, color="C4")
    again = ReliabilityDisplay.from_estimator(KNNClassifier().fit(X, Y), NEW, TRUTH, name="plain", ax=display.ax_)
    assert again.ax_ is display.ax_
    assert again.figure_ is display.figure_
    names = display.ax_.get_legend_handles_labels()[1]
    assert [name.split(":")[0] for name in names] == ["says what it reaches", "N3Classifier", "plain"]
    assert display.line_.get_color() == "C4"
    np.testing.assert_allclose(display.counts.sum(), len(NEW))


@pytest.mark.parametrize(
    ("y", "proba", "settings", "message"),
    [
        ([[0, 1]], [[0.5, 0.5]], {}, "give one label for each row"),
        ([0, 1], [[0.5, 0.5]], {}, "a row for each of 2 labels"),
        ([0, 1], [[0.2, 0.3, 0.5]] * 2, {}, "a column for each of 2 classes"),
        ([0, 1], [[3.0, -2.0]] * 2, {}, "between 0 and 1"),
        ([0, 1], [[np.nan, 0.5]] * 2, {}, "between 0 and 1"),
        ([0, 1], [[0.5, 0.5]] * 2, {"n_bins": 0}, "n_bins=0"),
        ([0, 2], [[0.5, 0.5]] * 2, {"classes": [0, 1]}, "'2', which is none of the 2 classes"),
        ([], np.empty((0, 2)), {"classes": [0, 1]}, "give at least one label"),
    ],
)
def test_probabilities_that_are_none_are_refused(y, proba, settings, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(y, proba, **settings)


@pytest.mark.parametrize(("kind", "other"), [(int, float), (float, int), (bool, int)])
def test_equal_numbers_are_one_class(kind, other):
    chances = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    display = ReliabilityDisplay.from_predictions(
        np.array([0, 1, 1], other), chances, classes=np.array([0, 1], kind), n_bins=1
    )
    assert display.accuracy.tolist() == pytest.approx([2 / 3])


@pytest.mark.parametrize(("accuracy", "counts"), [([0.5, 0.5], [1]), ([0.5], [1, 1]), ([0.5], [0])])
def test_bins_have_one_of_each_and_answers(accuracy, counts):
    with pytest.raises(ValueError, match="give one of each for each bin"):
        ReliabilityDisplay([0.5], accuracy, counts)


def test_without_probabilities_nothing_is_reliable():
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(X, Y), NEW, TRUTH)
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(N3Classifier(), NEW, TRUTH)


# Prototypes and rounds


def test_accuracy_along_prototypes_is_that_of_pruned_models(n3):
    display = PrototypeDisplay.from_estimator(n3, NEW, TRUTH, n_prototypes=[20, 0.1], color="C3")
    assert display.steps.tolist() == [9, 20]
    for place, n in enumerate((9, 20)):
        pruned = n3.prune(n)
        assert display.curves["other rows"][place] == pruned.score(NEW, TRUTH)
        assert display.curves["held-out rows"][place] == pruned.held_out_accuracy_
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["9", "20"]
    assert display.lines_["other rows"].get_color() == "C3"


@pytest.mark.parametrize(
    "classifier",
    [N3Classifier(n_neighbors=5), UNNClassifier(n_neighbors=5), MLNNClassifier(n_neighbors=5, n_rounds=20)],
    ids=lambda one: type(one).__name__,
)
def test_risks_along_rounds_begin_at_one(classifier):
    model = classifier.fit(X, Y)
    display = PrototypeDisplay.from_estimator(model, along="rounds")
    for name, curve in display.curves.items():
        assert len(curve) == len(display.steps) == len(display.lines_[name].get_xdata())
        assert curve[0] == 1
    training = display.curves["training rows"]
    training = training[np.isfinite(training)]
    assert len(training) == max(map(len, model.history_))
    assert (np.diff(training) <= 1e-12).all()  # boosting never raises the risk it descends
    last = sum(run[-1] for run in model.history_) / sum(run[0] for run in model.history_)
    assert training[-1] == pytest.approx(last)
    assert display.chosen == model.n_rounds_


def test_paths_that_cannot_be_shown_are_refused(n3):
    with pytest.raises(ValueError, match="LogisticRegression cannot be pruned"):
        PrototypeDisplay.from_estimator(LogisticRegression().fit(X, Y))
    with pytest.raises(NotFittedError):
        PrototypeDisplay.from_estimator(N3Classifier())
    with pytest.raises(ValueError, match="give both X and y"):
        PrototypeDisplay.from_estimator(n3, NEW)
    with pytest.raises(ValueError, match="leave X and y away"):
        PrototypeDisplay.from_estimator(n3, NEW, TRUTH, along="rounds")
    with pytest.raises(ValueError, match="along='time' is not known"):
        PrototypeDisplay.from_estimator(n3, along="time")
    for none in ([], 0.1):
        with pytest.raises(ValueError, match=r"must be a list of numbers or shares"):
            PrototypeDisplay.from_estimator(n3, n_prototypes=none)
    with pytest.raises(ValueError, match="'a' has 1 values for 2 steps"):
        PrototypeDisplay([1, 2], {"a": [0.5]})


def test_answers_of_models_of_several_sizes(n3):
    models = [n3.prune(n) for n in (40, 9)]
    answers = {len(model.voters_): model.predict(NEW) for model in models}
    display = PrototypeDisplay.from_predictions(TRUTH, answers, name="new", color="black")
    assert display.steps.tolist() == [9, 40]
    assert display.curves["new"].tolist() == [model.score(NEW, TRUTH) for model in models[::-1]]
    assert display.lines_["new"].get_color() == "black"
    for wrong in ({}, [TRUTH]):
        with pytest.raises(ValueError, match="Give y_pred as a dict: the answers of each model, by the number"):
            PrototypeDisplay.from_predictions(TRUTH, wrong)
    with pytest.raises(ValueError, match=r"number of prototypes=0\.1 must be a whole number"):
        PrototypeDisplay.from_predictions(TRUTH, {0.1: TRUTH})


# Voters


@pytest.mark.parametrize(
    "classifier",
    [
        N3Classifier(n_neighbors=5),
        NearBoostClassifier(),
        KNNClassifier(7),
        INNClassifier(),
        SRCClassifier(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_strongest_voters_come_first(classifier):
    model = classifier.fit(X, Y)
    display = VotersDisplay.from_estimator(model, NEW[0], X, Y, n_voters=3)
    assert display.about == model.predict(NEW[:1])[0]
    assert len(display.panels_) == 1 + len(display.voters) <= 4
    assert (np.diff(np.abs(display.votes)) <= 0).all()
    for label, vote in zip(display.labels, display.votes, strict=True):
        if vote < 0:
            assert label != display.about


def test_votes_and_the_rest_are_the_score(n3):
    display = VotersDisplay.from_estimator(n3, NEW[:1], X, Y, about="bee", n_voters=2)
    score = n3.decision_function(NEW[:1])[0, 1]
    assert display.votes.sum() + display.rest == pytest.approx(score)
    assert f"score {score:+.3g}" in display.ax_.get_title()


def test_two_classes_are_asked_about_by_either():
    pair = Y != "cat"
    model = N3Classifier(n_neighbors=5).fit(X[pair], Y[pair])
    ant, bee = (VotersDisplay.from_estimator(model, X[0], X[pair], about=name) for name in ("ant", "bee"))
    np.testing.assert_array_equal(ant.votes, -bee.votes)
    assert ant.score == -bee.score == -model.decision_function(X[:1])[0]


def test_rows_are_pictures_lines_or_have_pictures(n3):
    colors = {False: "#1f6fb4", True: "#c4590a"}
    display = VotersDisplay.from_estimator(n3, X[0], X, Y, shape=(2, 2))
    assert all(panel.images[0].get_array().shape == (2, 2) for panel in display.panels_)
    for panel, vote in zip(display.panels_[1:], display.votes, strict=True):
        if vote:
            assert panel.xaxis.label.get_color() == colors[bool(vote < 0)]
    lines = VotersDisplay.from_estimator(n3, X[0], X, Y)
    assert [len(panel.lines) for panel in lines.panels_] == [1] * len(lines.panels_)
    low, high = X.min(axis=0), X.max(axis=0)
    np.testing.assert_allclose(lines.item, (X[0] - low) / (high - low))
    images = [np.full((3, 3, 3), place, dtype=np.uint8) for place in range(len(X))]
    seen = VotersDisplay.from_estimator(n3, X[0], X, Y, images=images, image=images[0])
    voters = n3.explain(X[:1])[0].prototypes
    assert {int(one.flat[0]) for one in seen.voters} <= set(voters.tolist())


def test_colours_of_floats_are_on_one_scale():
    rows = np.random.default_rng(1).integers(0, 256, (30, 12)).astype(np.float64)
    model = KNNClassifier(3).fit(rows, np.arange(30) % 3)
    display = VotersDisplay.from_estimator(model, rows[0], rows, shape=(2, 2, 3))
    low = min(one.min() for one in (display.item, *display.voters))
    high = max(one.max() for one in (display.item, *display.voters))
    drawn = display.panels_[0].images[0].get_array()
    np.testing.assert_allclose(drawn, (display.item - low) / (high - low))
    grey = VotersDisplay.from_estimator(model, rows[0], rows, shape=(4, 3, 1)).panels_[0].images[0]
    assert grey.cmap.name == "gray"
    assert grey.get_clim() == (low, high)
    small = VotersDisplay.from_estimator(
        model, rows[0], rows, images=rows.reshape(30, 2, 2, 3) / 255, image=np.ones((2, 2, 3))
    )
    np.testing.assert_array_equal(small.panels_[0].images[0].get_array(), 1)  # as given


def test_a_pipeline_is_asked_with_rows_as_given():
    model = make_pipeline(StandardScaler(), KNNClassifier(5)).fit(X, Y)
    display = VotersDisplay.from_estimator(model, X[0], X, Y)
    assert display.votes[0] == pytest.approx(0.2)
    assert display.rest is None  # a share is no sum of votes for and against
    assert display.score == pytest.approx(max(model.decision_function(X[:1])[0]))


@pytest.mark.parametrize(
    "classifier",
    [N3Classifier(n_neighbors=5), NearBoostClassifier(), INNClassifier(), KNNClassifier(7)],
    ids=lambda one: type(one).__name__,
)
def test_explanations_are_drawn_without_their_model(classifier):
    model = classifier.fit(X, Y)
    for row in NEW[:5]:
        [explanation] = model.explain(row[np.newaxis])
        display = VotersDisplay.from_predictions(explanation, row, X, Y, n_voters=4)
        expected = VotersDisplay.from_estimator(model, row, X, Y, n_voters=4)
        assert (display.about, display.score) == (expected.about, expected.score)
        if isinstance(model, KNNClassifier):  # shares of other classes add nothing
            assert display.votes.sum() + display.rest == pytest.approx(display.score)
        else:
            np.testing.assert_array_equal(display.votes, expected.votes)
            assert (display.labels, display.rest) == (expected.labels, expected.rest)
        pyplot.close(display.figure_)
        pyplot.close(expected.figure_)
    assert VotersDisplay.from_predictions(explanation, row, X, about="bee").about == "bee"
    for changed, message in (
        ({"about": "dog"}, "no class 'dog'"),
        ({"explanation": 3}, "A int names no voters; give one of those of `explain`"),
        ({"X": X[:1], "y": None}, "X has 1 rows; give the rows of the fit"),
        ({"n_voters": 0}, "n_voters=0"),
    ):
        with pytest.raises(ValueError, match=message):
            VotersDisplay.from_predictions(**{"explanation": explanation, "x": row, "X": X, "y": Y, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": X[:2]}, "give one row, such as"),
        ({"X": X[:3], "y": None}, "X has 3 rows; give the rows of the fit"),
        ({"x": csr_matrix(X[:1])}, r"x is sparse, .* give x\.toarray"),
        ({"X": csr_matrix(X)}, r"X is sparse, .* give X\.toarray"),
        ({"shape": (2, 1, 2)}, r"has shape \(2, 1, 2\); give \(height, width\)"),
        ({"X": X[0], "y": None}, "give a table of the training rows"),
        ({"y": Y[:5]}, "one label for each of 90 rows"),
        ({"about": "dog"}, "no class 'dog'"),
        ({"shape": (3, 3)}, "4 values, which do not fill a picture of shape"),
        ({"images": [np.zeros((2, 2))] * 90}, "Give images of all 90 training rows"),
        ({"n_voters": 0}, "n_voters=0"),
        ({"estimator": LogisticRegression().fit(X, Y)}, "LogisticRegression has no voters"),
    ],
)
def test_voters_that_cannot_be_shown_are_refused(n3, changed, message):
    with pytest.raises(ValueError, match=message):
        VotersDisplay.from_estimator(**{"estimator": n3, "x": X[0], "X": X, "y": Y, **changed})


def test_voters_need_a_fit_and_one_vote_each():
    with pytest.raises(NotFittedError):
        VotersDisplay.from_estimator(N3Classifier(), X[0], X, Y)
    with pytest.raises(ValueError, match="2 votes of 1 voters"):
        VotersDisplay(X[0], [X[1]], [0.5, 0.5])


# Codes


def test_bars_are_the_heaviest_weights():
    coder = INNCoder(0.3).fit(X)
    code = coder.transform(NEW[:1]).toarray()[0]
    display = CodeDisplay.from_estimator(coder, NEW[0], Y, n_terms=3)
    np.testing.assert_array_equal(display.weights, np.sort(code[code > 0])[::-1])
    np.testing.assert_array_equal(code[display.samples], display.weights)
    assert display.labels.tolist() == Y[display.samples].tolist()
    assert sorted(bar.get_height() for bar in display.ax_.patches) == sorted(display.weights[:3])
    assert f"{len(display.weights) - 3} more weigh" in display.ax_.get_xlabel()


@pytest.mark.parametrize("classifier", [INNClassifier(), SRCClassifier()], ids=lambda one: type(one).__name__)
def test_classifiers_by_codes_show_theirs(classifier):
    model = classifier.fit(X, Y)
    display = CodeDisplay.from_estimator(model, NEW[0])
    [explanation] = model.explain(NEW[:1])
    np.testing.assert_array_equal(display.samples, explanation.samples)
    assert display.labels.tolist() == explanation.labels.tolist()


def test_codes_that_were_made_before(n3):
    coder, model = INNCoder(0.3).fit(X), INNClassifier().fit(X, Y)
    codes, [explanation] = coder.transform(NEW[:2]), model.explain(NEW[:1])
    expected = CodeDisplay.from_estimator(coder, NEW[0], Y)
    for code in (codes[[0]], codes.toarray()[0]):
        display = CodeDisplay.from_predictions(code, Y)
        np.testing.assert_array_equal(display.samples, expected.samples)
        np.testing.assert_array_equal(display.weights, expected.weights)
        assert display.labels.tolist() == expected.labels.tolist()
    display = CodeDisplay.from_predictions(explanation, n_terms=2)
    np.testing.assert_array_equal(display.samples, explanation.samples)
    assert len(display.ax_.patches) == 2
    with pytest.raises(ValueError, match="give one row"):
        CodeDisplay.from_predictions(codes)
    with pytest.raises(ValueError, match="one label for each of 90 samples"):
        CodeDisplay.from_predictions(codes[[0]], Y[:3])


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("tolerance", [0.0, 0.4])
def test_the_path_makes_the_code(metric, tolerance):
    coder = INNCoder(0.3, metric=metric, tolerance=tolerance).fit(X[:, :2])
    for row in NEW[:10, :2]:
        display = CodeDisplay.from_estimator(coder, row, kind="path")
        terms = 0.3 / 1.3 ** np.arange(1, len(display.taken) + 1)
        found = np.zeros(len(X))
        for weight, sample in zip(terms, display.taken, strict=True):
            found[np.flatnonzero((X[:, :2] == sample).all(axis=1))[0]] += weight
        np.testing.assert_allclose(found, coder.transform(row[np.newaxis]).toarray()[0], atol=1e-12)
        np.testing.assert_allclose(display.path[0], row)
        pyplot.close(display.figure_)


def test_codes_that_cannot_be_shown_are_refused(n3):
    coder = INNCoder().fit(X)
    with pytest.raises(NotFittedError):
        CodeDisplay.from_estimator(INNCoder(), X[0])
    with pytest.raises(ValueError, match="4 features, and a path needs 2"):
        CodeDisplay.from_estimator(coder, X[0], kind="path")
    with pytest.raises(ValueError, match="N3Classifier has no codes"):
        CodeDisplay.from_estimator(n3, X[0])
    with pytest.raises(ValueError, match="INNClassifier has no path"):
        CodeDisplay.from_estimator(INNClassifier().fit(X, Y), X[0], kind="path")
    with pytest.raises(ValueError, match="kind='tree' is not known"):
        CodeDisplay.from_estimator(coder, X[0], kind="tree")
    with pytest.raises(ValueError, match="one label for each of 90 samples"):
        CodeDisplay.from_estimator(coder, X[0], Y[:3])
    with pytest.raises(ValueError, match="This code has no path"):
        CodeDisplay([0], [1.0]).plot(kind="path")
    with pytest.raises(ValueError, match="n_terms=-1"):
        CodeDisplay([0, 1], [0.6, 0.4]).plot(n_terms=-1)
    with pytest.raises(ValueError, match="1 weights of 2 samples"):
        CodeDisplay([0, 1], [0.6])
    with pytest.raises(ValueError, match="3 labels of 2 samples"):
        CodeDisplay([0, 1], [0.6, 0.4], labels=["a", "b", "c"])


# All


def test_pictures_are_drawn_on_the_axes_given(n3):
    coder = INNCoder().fit(X)
    for draw in (
        lambda ax: ReliabilityDisplay.from_estimator(n3, NEW, TRUTH, ax=ax),
        lambda ax: PrototypeDisplay.from_estimator(n3, along="rounds", ax=ax),
        lambda ax: VotersDisplay.from_estimator(n3, X[0], X, Y, ax=ax),
        lambda ax: CodeDisplay.from_estimator(coder, X[0], ax=ax),
        lambda ax: ReliabilityDisplay.from_predictions(TRUTH, n3.predict_proba(NEW), ax=ax),
        lambda ax: PrototypeDisplay.from_predictions(TRUTH, {9: n3.predict(NEW)}, ax=ax),
        lambda ax: VotersDisplay.from_predictions(n3.explain(X[:1])[0], X[0], X, Y, ax=ax),
        lambda ax: CodeDisplay.from_predictions(coder.transform(X[:1]), ax=ax),
    ):
        figure, ax = pyplot.subplots()
        display = draw(ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        figure.canvas.draw()
        display.plot()
        assert display.ax_ is not ax


def test_matplotlib_is_loaded_by_drawing_only():
    code = """
import sys
import nearboost.plotting
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None  # as if it were not installed
try:
    nearboost.plotting.ReliabilityDisplay([0.5], [0.5], [1]).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == 'Pictures need matplotlib: pip install "nearboost[plot]"'
