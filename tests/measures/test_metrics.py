"""Measures, beside scikit-learn's and SciPy's, and beside plain counting where those have none."""

import json
from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics

from nearboost.measures.metrics import class_accuracies, confusion, measure, reliability

CLASSES = [f"class {letter}" for letter in "abcdefgh"]


def answers(seed=0, n=200, n_classes=8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    raw = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[truth]
    chances = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    names = np.array(CLASSES[:n_classes])
    return names[truth], names[chances.argmax(axis=1)], chances, raw


def test_as_scikit_learn_has_them():
    truth, said, chances, _ = answers()
    found = measure(truth, said, CLASSES, probabilities=chances)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, said), abs=1e-12)
    assert found["mean_class_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, said), abs=1e-12)
    assert found["top5"] == pytest.approx(
        metrics.top_k_accuracy_score(truth, chances, k=5, labels=CLASSES), abs=1e-12
    )
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, chances, labels=CLASSES), abs=1e-12)
    for c, name in enumerate(CLASSES):
        assert found["auc"][name] == pytest.approx(metrics.roc_auc_score(truth == name, chances[:, c]), abs=1e-12)
    assert found["mean_auc"] == pytest.approx(
        metrics.roc_auc_score(truth, chances, multi_class="ovr", labels=CLASSES), abs=1e-12
    )
    np.testing.assert_array_equal(
        confusion(truth, said, CLASSES), metrics.confusion_matrix(truth, said, labels=CLASSES)
    )
    assert found["average_precision"] is None
    json.dumps(found, allow_nan=False)


def test_scores_give_what_scores_can():
    truth, said, chances, raw = answers()
    by_scores = measure(truth, said, CLASSES, scores=raw)
    by_chances = measure(truth, said, CLASSES, probabilities=chances)
    assert by_scores["log_loss"] is by_scores["ece"] is None
    assert by_scores["top5"] == by_chances["top5"]
    for c, name in enumerate(CLASSES):
        assert by_scores["auc"][name] == pytest.approx(metrics.roc_auc_score(truth == name, raw[:, c]), abs=1e-12)
    bare = measure(truth, said, CLASSES)
    assert bare["accuracy"] == by_scores["accuracy"]
    assert bare["top5"] is bare["mean_auc"] is bare["auc"]["class a"] is None


def test_two_classes_with_one_column_of_scores():
    truth, said, _, raw = answers(n_classes=2)
    margins = raw[:, 1] - raw[:, 0]
    found = measure(truth, said, CLASSES[:2], scores=margins)
    expected = metrics.roc_auc_score(truth == CLASSES[1], margins)
    assert found["auc"] == pytest.approx({CLASSES[0]: expected, CLASSES[1]: expected}, abs=1e-12)
    assert found["top5"] is None  # of two classes, all five


def test_ties_at_the_edge_of_the_five_are_drawn_fairly():
    """Votes of three neighbours leave most classes at zero; the order of classes must not matter."""
    votes = np.array([[0.4, 0.3, 0.3, 0, 0, 0, 0]])
    labels = np.array(CLASSES[:7])

    def stable(order):
        return set(order[np.argsort(-votes[0][order], kind="stable")][:5])

    orders = [np.array(order) for order in permutations(range(7))]
    for c in range(7):
        expected = np.mean([c in stable(order) for order in orders])
        assert measure(labels[[c]], labels[[0]], labels, probabilities=votes)["top5"] == pytest.approx(expected)


def test_classes_that_are_not_tested():
    truth, said, chances, _ = answers()
    kept = ~np.isin(truth, CLASSES[2:4])
    found = measure(truth[kept], said[kept], CLASSES, probabilities=chances[kept])
    assert found["auc"][CLASSES[2]] is found["auc"][CLASSES[3]] is None
    rest = [name for name in CLASSES if name not in CLASSES[2:4]]
    assert found["mean_class_accuracy"] == pytest.approx(
        np.mean([np.mean(said[truth == name] == name) for name in rest]), abs=1e-12
    )
    assert found["mean_auc"] == pytest.approx(np.mean([found["auc"][name] for name in rest]), abs=1e-12)
    assert found["log_loss"] == pytest.approx(
        metrics.log_loss(truth[kept], chances[kept], labels=CLASSES), abs=1e-12
    )
    table = confusion(truth[kept], said[kept], CLASSES)
    assert class_accuracies(table)[2] is None
    one = measure(["class a"] * 3, ["class a", "class b", "class a"], CLASSES[:2], scores=[0.1, -1.0, 2.0])
    assert one["mean_auc"] is None
    assert one["mean_class_accuracy"] == pytest.approx(2 / 3)


def test_calibration_against_plain_bins():
    truth, said, chances, _ = answers(1, 500)
    chances[:3] = np.eye(8)[:3]  # confidences of exactly 1
    confidence = np.array([chances[i, CLASSES.index(word)] for i, word in enumerate(said)])
    bins, error = [], 0.0
    for low in range(15):
        inside = (confidence > low / 15) & (confidence <= (low + 1) / 15) | ((low == 0) & (confidence == 0))
        if inside.any():
            right = np.mean(truth[inside] == said[inside])
            bins.append([confidence[inside].mean(), right, inside.sum()])
            error += inside.mean() * abs(confidence[inside].mean() - right)
    np.testing.assert_allclose(reliability(truth, said, CLASSES, chances), bins, rtol=0, atol=1e-12)
    assert measure(truth, said, CLASSES, probabilities=chances)["ece"] == pytest.approx(error, abs=1e-12)
    assert sum(count for _, _, count in bins) == 500


def test_bins_are_closed_above():
    chances = np.array([[0.6, 0.4], [0.55, 0.45], [0.61, 0.39]])  # 0.6 is 9/15
    found = reliability(["a"] * 3, ["a"] * 3, ["a", "b"], chances)
    assert [count for _, _, count in found] == [2, 1]


def test_a_truth_of_no_chance_costs_much_but_not_everything():
    found = measure(["class a"], ["class b"], CLASSES[:2], probabilities=[[0.0, 1.0]])
    assert found["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps))
    assert found["ece"] == 1.0


def marks(seed=0, n=60, n_labels=4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n, n_labels))
    scores = np.round(truth + rng.normal(size=(n, n_labels)), 1)  # rounded, so that some tie
    return truth, scores


def test_several_labels_as_scikit_learn_has_them():
    truth, scores = marks()
    chances = 1 / (1 + np.exp(-scores))
    names = CLASSES[:4]
    found = measure(truth, scores > 0.5, names, probabilities=chances)
    for c, name in enumerate(names):
        expected = metrics.average_precision_score(truth[:, c], chances[:, c])
        assert found["average_precision"][name] == pytest.approx(expected, abs=1e-12)
        assert found["auc"][name] == pytest.approx(metrics.roc_auc_score(truth[:, c], chances[:, c]), abs=1e-12)
    assert found["mean_average_precision"] == pytest.approx(
        metrics.average_precision_score(truth, chances, average="macro"), abs=1e-12
    )
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, scores > 0.5))
    losses = [metrics.log_loss(truth[:, c], chances[:, c]) for c in range(4)]
    assert found["log_loss"] == pytest.approx(np.mean(losses), abs=1e-12)
    json.dumps(found, allow_nan=False)
    bare = measure(truth, None, names, scores=scores)
    assert bare["accuracy"] is bare["log_loss"] is None
    assert bare["mean_average_precision"] == pytest.approx(found["mean_average_precision"], abs=1e-12)


def test_eleven_points_by_hand():
    """Hits at ranks 1 and 3 of four: recall ½ with precision 1, then 1 with ⅔."""
    truth, scores = np.array([[1], [0], [1], [0]]), np.array([[4.0], [3.0], [2.0], [1.0]])
    found = measure(truth, None, ["one"], scores=scores)
    assert found["mean_average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["mean_average_precision_11"] == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)


def test_a_label_nobody_has():
    truth, scores = marks()
    truth[:, 1] = 0
    found = measure(truth, None, CLASSES[:4], scores=scores)
    assert found["average_precision"]["class b"] is found["auc"]["class b"] is None
    others = [found["average_precision"][name] for name in ("class a", "class c", "class d")]
    assert found["mean_average_precision"] == pytest.approx(np.mean(others))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predictions": ["class z"] * 3}, "predictions has the label 'class z', which is none of the 2 classes"),
        ({"predictions": ["class a"] * 2}, "2 predictions for 3 items"),
        ({"predictions": None}, "predictions=None says nothing"),
        (
            {"probabilities": np.ones((3, 3))},
            r"probabilities have shape \(3, 3\); expected a row for each of 3 items",
        ),
        ({"scores": [[1, 2], [np.nan, 1], [0, 1]]}, "scores hold NaN or infinite values in row 1"),
    ],
)
def test_mistakes_are_named(given, message):
    truth = ["class a", "class b", "class a"]
    with pytest.raises(ValueError, match=message):
        measure(truth, **{"predictions": truth, "classes": CLASSES[:2], **given})
