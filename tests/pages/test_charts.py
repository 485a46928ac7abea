"""The figures: where things stand, what is said about them, and that no two labels overlap."""

import re

import numpy as np
import pytest

from compare.reading import Page
from nearboost.measures.differences import Summary
from nearboost.pages import matrix, numbers
from nearboost.pages.charts import FRAME, Point, learning_curves, reliability, trade_off, undominated
from nearboost.pages.doses import dose_curve
from nearboost.pages.svg import Axis, axis_around, text_width

NAN = float("nan")


def drawn(picture):
    return Page(str(picture))


def centres(page):
    """Label of each point (from its tooltip) to its place."""
    titles = [title["text"].split(":")[0] for title in page.all("title")]
    dots = [(float(d["attributes"]["cx"]), float(d["attributes"]["cy"])) for d in page.all("circle")]
    return dict(zip(titles, dots, strict=True))


@pytest.mark.parametrize(("low", "high"), [(0.1, 3.0), (412, 1344), (0.0004, 90000), (1820, 2240), (5, 5)])
def test_logarithmic_axis(low, high):
    axis = axis_around((low, high), 10, 110, logarithmic=True)
    assert 10 < axis.place(low) <= axis.place(high) < 110
    assert axis.place(np.sqrt(axis.low * axis.high)) == pytest.approx(60)
    ticks = axis.ticks()
    assert 3 <= len(ticks) <= 10
    assert all(axis.low <= tick <= axis.high for tick in ticks)


@pytest.mark.parametrize(("low", "high"), [(0.73, 0.84), (0.0, 1.0), (0.5, 0.5), (0.9981, 0.9992)])
def test_linear_axis(low, high):
    ticks = axis_around((low, high), 0, 100).ticks()
    assert 2 <= len(ticks) <= 8
    assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])
    leading = f"{ticks[1] - ticks[0]:.0e}"[0]
    assert leading in "125", "steps are round"


def test_axis_may_run_downwards():
    axis = Axis(0, 1, 200, 10)
    assert [axis.place(value) for value in (0, 0.5, 1)] == [200, 105, 10]


POINTS = [
    Point("cheap", 10, 0.70),
    Point("best", 100, 0.90, interval=(0.88, 0.91), best=True),
    Point("beaten", 200, 0.80),
    Point("dear", 10000, 0.95),
]


def test_front_is_not_beaten_in_both():
    front = undominated(POINTS)
    assert [point.label for point in front] == ["cheap", "best", "dear"]
    for point in POINTS:
        beaten = any(o.cost <= point.cost and o.share >= point.share and o is not point for o in POINTS)
        assert (point in front) == (not beaten)


def test_trade_off_places_points():
    page = drawn(trade_off(POINTS, "Prototypes", "Accuracy, %"))
    places = centres(page)
    assert places["cheap"][0] < places["best"][0] < places["beaten"][0] < places["dear"][0]
    assert places["dear"][1] < places["best"][1] < places["beaten"][1] < places["cheap"][1], "up is better"
    decade = places["best"][0] - places["cheap"][0]
    assert places["dear"][0] - places["best"][0] == pytest.approx(2 * decade, abs=0.05), "logarithmic"
    assert len(page.all("circle", class_="strong")) == 1
    assert len(page.all("path", class_="whisker")) == 1
    (picture,) = page.all("svg")
    assert "best: 100, 90.0 %" in picture["attributes"]["aria-label"]


def test_labels_keep_apart_and_inside():
    rng = np.random.default_rng(3)
    points = [Point(f"method {i}", 10 ** rng.uniform(0, 2), rng.uniform(0.7, 0.9)) for i in range(40)]
    page = drawn(trade_off(points, "ms", "Accuracy"))
    boxes = []
    for text in page.all("text", class_="label"):
        a, width = text["attributes"], text_width(text["text"])
        left = float(a["x"]) - {"start": 0, "middle": width / 2, "end": width}[a["text-anchor"]]
        boxes.append((left, float(a["y"]) - 10, left + width, float(a["y"])))
    assert len(page.all("circle")) == 40
    assert 10 < len(boxes) <= 40
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert FRAME.left <= left
        assert right <= FRAME.right
        for l2, t2, r2, b2 in boxes[:i]:
            assert right <= l2 or r2 <= left or bottom <= t2 or b2 <= top


def test_a_point_at_the_edge_has_its_name():
    """On its right the picture ends, on its left is another name, and centred above, its own would end outside."""
    points = [Point("slnd", 0.0174, 0.473), Point("unn", 0.158, 0.407), Point("weighted-knn", 0.477, 0.407)]
    page = drawn(trade_off(points, "ms", "Accuracy"))
    assert {text["text"] for text in page.all("text", class_="label")} == {point.label for point in points}


def test_whiskers_and_lines_leave_room_for_names():
    """The cheapest is at the left edge, the dashed line to its right; other names are in the way of two."""
    points = [
        Point("linear-svm", 0.00176, 0.95, (0.912, 0.989)),
        Point("n3", 0.0453, 0.977, (0.958, 0.996)),
        Point("innc", 0.0943, 0.98, (0.946, 1.0), best=True),
        Point("knn", 0.202, 0.976, (0.942, 1.0)),
    ]
    page = drawn(trade_off(points, "ms", "Accuracy"))
    assert {text["text"] for text in page.all("text", class_="label")} == {point.label for point in points}


def test_trade_off_needs_two_points():
    assert trade_off(POINTS[:1], "x", "y") is None
    assert trade_off([POINTS[0], Point("free", 0.0, 0.5)], "x", "y") is None


def test_accuracy_of_one_hundred_is_the_last_tick():
    page = drawn(trade_off([Point("a", 1, 1.0), Point("b", 2, 0.999)], "x", "y"))
    ticks = [float(t["text"]) for t in page.all("text", **{"text-anchor": "end"}) if t["text"][0].isdigit()]
    assert max(ticks) == 100


def test_reliability_curve():
    bins = [[0.25, 0.3, 10, 0.1, 0.6], [None, None, 0], [0.75, 0.6, 90], [1.0, 1.0, 40]]
    page = drawn(reliability(bins, "n3"))
    dots = page.all("circle")
    assert len(dots) == 3, "an empty bin is no point"
    heights = [float(column["attributes"]["height"]) for column in page.all("rect", class_="column")]
    assert heights == pytest.approx([heights[1] / 9, heights[1], heights[1] * 4 / 9], abs=0.02), "as many as items"
    assert len(page.all("path", class_="whisker")) == 1, "where an interval is known"
    assert "25.0 % sure, 30.0 % right (10.0 to 60.0), 10 items" in [title["text"] for title in page.all("title")]
    assert "75.0 % sure, 60.0 % right, 90 items" in [title["text"] for title in page.all("title")]
    x = [float(dot["attributes"]["cx"]) for dot in dots]
    assert (x[1] - x[0]) == pytest.approx(2 * (x[2] - x[1]), abs=0.05)
    assert reliability([], "n3") is None
    assert reliability([[float("nan"), 0.5, 3]], "n3") is None


def test_learning_curves_have_their_names_at_the_end():
    """Lines that end together have names one below the other, in the order of their ends, within the frame."""
    curves = {
        f"method {i}": [Point(f"method {i}", n, 0.5 + 0.001 * i + n / 1000, (0.4, 0.9)) for n in (10, 20, 100)]
        for i in range(12)
    }
    page = drawn(learning_curves(curves, "method 3", "Training items", "Accuracy, %"))
    names = page.all("text", class_="label")
    heights = [float(name["attributes"]["y"]) for name in names]
    assert [name["text"] for name in names] == [f"method {i}" for i in reversed(range(12))], "the best on top"
    assert min(np.diff(heights)) >= 13
    assert FRAME.top <= min(heights) < max(heights) <= FRAME.bottom + 5
    assert len({name["attributes"]["x"] for name in names}) == 1
    assert [name["text"] for name in page.all("text", class_="strong")] == ["method 3"]
    assert learning_curves({"a": [Point("a", 1, 0.5)]}, "a", "x", "y") is None


def test_confusion_matrix_with_numbers():
    counts = [[8, 2, 0], [0, 10, 0], [1, 0, 9]]
    page = drawn(matrix.confusion_matrix(["a", "b", "c<d>"], counts))
    assert [t["text"] for t in page.all("text", class_="count")] == ["8", "2", "10", "1", "9"]
    assert [t["text"] for t in page.all("text", class_="on")] == ["8", "10", "9"]
    tiles = sum(path["attributes"]["d"].count("M") for path in page.all("path", class_="heat"))
    assert tiles == 5, "empty cells have no colour"
    names = [text["text"] for text in page.all("text") if "class" not in text["attributes"]]
    assert names == ["a", "a", "b", "b", "c<d>", "c<d>"]
    assert "90.0 % on the diagonal" in page.all("svg")[0]["attributes"]["aria-label"]


def test_colour_follows_the_share_of_the_row():
    page = drawn(matrix.confusion_matrix(["a", "b"], [[990, 10], [5, 5]]))
    opacity = {}
    for path in page.all("path", class_="heat"):
        for x, y in re.findall(r"M(\S+) (\S+?)h", path["attributes"]["d"]):
            opacity[float(y) > 0, float(x) > 0] = float(path["attributes"]["fill-opacity"])
    assert opacity[False, False] == 1.0
    assert opacity[False, True] == 0.16
    assert opacity[True, False] == opacity[True, True] == 0.85


def test_confusion_of_many_classes_has_few_elements():
    n = 397
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (n, n)) + 50 * np.eye(n, dtype=int)
    page = drawn(matrix.confusion_matrix([f"class {i}" for i in range(n)], counts.tolist()))
    assert len(page.elements) < 100
    assert not page.all("text", class_="count")
    assert [t["text"] for t in page.all("text")][::2] == [str(i) for i in range(20, 398, 20)]


def test_no_confusion_without_items():
    assert matrix.confusion_matrix(["a", "b"], [[0, 0], [0, 0]]) is None
    assert matrix.most_confused(["a", "b"], [[3, 0], [0, 0]]) == []


def test_most_confused():
    pairs = matrix.most_confused(["a", "b", "c"], [[5, 3, 0], [3, 0, 0], [1, 0, 9]], most=2)
    assert [(p.truth, p.said, p.count, p.share) for p in pairs] == [("b", "a", 3, 1.0), ("a", "b", 3, 3 / 8)]


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (numbers.percent, -0.0001, "0.0"),
        (numbers.points, 0.0, "+0.0"),
        (numbers.points, 0.021, "+2.1"),
        (numbers.count, 1234567.8, "1,234,568"),
        (numbers.quantity, 0.0, "0"),
        (numbers.quantity, 0.000123, "0.000123"),
        (numbers.quantity, -1.736, "−1.74"),
        (numbers.quantity, 99999, "99,999"),
    ],
)
def test_numbers_as_text(write, value, text):
    assert write(value) == text


@pytest.mark.parametrize(
    "unknown", [None, NAN, float("inf"), Summary(None, None, []), Summary(NAN, NAN, [NAN, 0.5])]
)
def test_unknown_measures(unknown):
    assert numbers.mean(unknown) is None
    assert numbers.interval(unknown) is None
    assert numbers.with_interval(unknown) == "–"


def test_curves_of_doses():
    """A dot for each well, the curve through them, and no dose at the left edge."""
    curve = [(dose, dose / (1 + dose)) for dose in (0.1, 1.0, 10.0)]
    picture = str(dose_curve([0.0, 0.1, 1.0, 10.0], [0.0, 0.1, 0.5, 0.9], curve, 1.0, "share of <round>"))
    assert picture.count("<circle") == 4
    assert 'class="curve strong"' in picture
    assert 'class="leader"' in picture
    assert "Half of the effect is at 1." in picture
    assert "share of &lt;round&gt;" in picture
    assert "style=" not in picture
    places = [float(x) for x in re.findall(r'cx="([\d.]+)"', picture)]
    assert places == sorted(places)
    assert len(set(places)) == 4
    assert 'class="curve' not in str(dose_curve([1.0, 2.0], [0.1, 0.1], [], None, "share"))
    assert dose_curve([1.0, 1.0], [0.1, 0.2], [], None, "share") is None
