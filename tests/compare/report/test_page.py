"""The report as text: what it says, what it leaves out, and that nothing in it is taken for HTML."""

import base64
import hashlib
import re
from dataclasses import replace

import pytest

from compare.reading import Page
from compare.sample_facts import bare, entry, many_classes, scenes
from nearboost.compare.report.facts import Facts, Failure
from nearboost.compare.report.page import render
from nearboost.measures.differences import Summary
from nearboost.pages.rendering import Card

HOSTILE = (
    '<script>alert("1")</script>',
    "\"><img src=x onerror='alert(1)'>",
    "'; --</style><b>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egpj.elif \u0645\u0644\u0641",
    "long " + "x" * 3000,
    "& &lt; &#60;",
)


@pytest.fixture(scope="module")
def facts():
    return scenes()


@pytest.fixture(scope="module")
def page(facts):
    return Page(render(facts))


def headings(page):
    return [element["text"] for element in page.all("h2")]


def test_sections_in_order(page):
    assert headings(page) == [
        "Leaderboard",
        "Failed runs",
        "What accuracy costs",
        "Confusion",
        "Classes",
        "Reliability",
        "Prototypes",
        "Worst mistakes",
        "Timings",
        "How it was made",
    ]
    ids = {element["attributes"].get("id") for element in page.elements}
    links = [element["attributes"]["href"] for element in page.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_headline(facts, page):
    (headline,) = page.all("p", class_="headline")
    best, other, knn = (facts.leaderboard[i].measures["accuracy"] for i in (0, 1, 7))
    text = headline["text"].replace("\u00a0", " ")
    spread = f"{100 * best.mean:.1f} ± {100 * best.deviation:.1f} %"
    levels = f"{spread} and {100 * other.mean:.1f} % of the test items right"
    assert text == (
        f"n3 and rbf-svm are level: {levels}, a difference of 0.2 points (p = 0.67); knn {100 * knn.mean:.1f} %."
    )


def said_of(facts, chances):
    """The headline where the differences from the best have these chances."""
    rows = list(facts.leaderboard)
    for i, p in enumerate(chances, start=1):
        rows[i] = replace(rows[i], against_best=replace(rows[i].against_best, p=p))
    return (
        Page(render(replace(facts, leaderboard=rows)))
        .all("p", class_="headline")[0]["text"]
        .replace("\u00a0", " ")
    )


def test_headline_of_a_clear_winner(facts):
    best, other, knn = (facts.leaderboard[i].measures["accuracy"] for i in (0, 1, 7))
    text = said_of(facts, [0.049])
    spread = f"{100 * best.mean:.1f} ± {100 * best.deviation:.1f} %"
    assert text == (
        f"n3 is best: {spread} of the test items right with 412 prototypes; "
        f"rbf-svm {100 * other.mean:.1f} %; knn {100 * knn.mean:.1f} %."
    )


def test_headline_of_many_that_are_level(facts):
    shares = [f"{100 * row.measures['accuracy'].mean:.1f} %" for row in facts.leaderboard]
    text = said_of(facts, [0.67, 0.01, 0.05])
    assert text.startswith("n3 and 2 others are level: ")
    assert f"; rbf-svm {shares[1]} (p = 0.67) and innc {shares[3]} (p = 0.05); knn {shares[7]}." in text
    text = said_of(facts, [1.0] * 7)
    assert text.startswith("n3 and 7 others are level: ")
    assert text.endswith(f"unn {shares[2]} (p = 1.00), innc {shares[3]} (p = 1.00) and 4 more.")


def test_leaderboard_numbers(facts, page):
    header, *rows = page.tables()["Leaderboard"]
    assert header == [
        "Method",
        "Accuracy %",
        "Mean per class %",
        "Top 5 %",
        "Log-loss",
        "ECE",
        "Prototypes",
        "Fit s",
        "Query ms",
        "Peak memory MiB",
        "Against best points",
        "p",
    ]
    assert [row[0] for row in rows] == [row.method for row in facts.leaderboard]
    n3 = facts.leaderboard[0]
    spread = f"± {100 * n3.measures['accuracy'].deviation:.1f}"
    assert rows[0][1] == f"{100 * n3.measures['accuracy'].mean:.1f} (best) {spread}"
    assert rows[0][6] == f"{n3.prototypes.mean:.0f} (best)"
    assert rows[0][-2:] == ["–", "–"]
    assert rows[-1][-2:] == ["−9.1", "< 0.001"]
    assert rows[1][6] == "–", "a support vector machine keeps no prototypes"


def test_best_of_each_column_is_marked(facts, page):
    header, *rows = page.tables()["Leaderboard"]
    least = {
        "Log-loss": lambda row: row.measures["log_loss"],
        "ECE": lambda row: row.measures["ece"],
        "Query ms": lambda row: row.query_ms,
        "Peak memory MiB": lambda row: row.peak_mib,
    }
    for title, read in least.items():
        known = [row for row in facts.leaderboard if read(row)]
        winner = min(known, key=lambda row, read=read: read(row).mean).method
        marked = [row[0] for row in rows if "(best)" in row[header.index(title)]]
        assert winner in marked
        shown = {row[header.index(title)].split()[0] for row in rows if row[0] in marked}
        assert len(shown) == 1, "only what is written alike is equally good"


def test_tables_have_headers_for_screen_readers(page):
    for element in page.all("th"):
        assert element["attributes"]["scope"] == ("col" if "thead" in element["path"] else "row")
    assert len(page.all("caption")) == len(page.all("table")) == 5


def test_failed_runs_have_their_reason(page):
    assert page.tables()["Failed runs"][1] == ["unn", "gist", "3", "killed after 600 s: the limit of one run"]
    assert any(element["text"] == "1 run failed" for element in page.all("a", href="#failed"))


def test_classes_and_most_common_mistakes(facts, page):
    counts = facts.confusion.counts
    names = facts.confusion.classes
    most, i, j = max((n, i, j) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j)
    share = f"{100 * most / sum(counts[i]):.1f}"
    assert page.tables()["Most common mistakes"][1] == [names[i], names[j], str(most), share]
    header, *rows = page.tables()["Accuracy by class"]
    assert header[:3] == ["Class", "Test items", "n3 %"]
    assert rows[0][:3] == ["coast", "150", f"{100 * counts[0][0] / 150:.1f}"]


def test_pictures_have_names_and_weights(facts, page):
    pictures = page.all("img")
    assert [element["attributes"]["alt"] for element in pictures] == [
        one.name for one in [*facts.gallery, *facts.mistakes]
    ]
    assert all(element["attributes"]["src"].startswith("data:image/png;base64,") for element in pictures)
    texts = [element["text"] for element in page.all("dd")]
    assert {"2.50", "−1.74", "99.0 %"} <= set(texts)
    bars = [float(element["attributes"]["width"]) for element in page.all("rect", class_="filled")]
    assert bars[0] == 100
    weights = [one.weight for one in facts.gallery]
    assert bars[5] == pytest.approx(100 * abs(weights[5]) / weights[0], abs=0.1)


def test_whose_prototypes(facts):
    assert "largest weights in unn;" in render(replace(facts, gallery_of="unn"))
    assert "largest weights in n3;" in render(facts)


def test_how_it_was_made(facts, page):
    assert page.all("code")[0]["text"] == facts.command
    pairs = dict(zip((e["text"] for e in page.all("dt")), (e["text"] for e in page.all("dd")), strict=True))
    assert pairs["numpy"] == "2.3.1"
    assert pairs["memory, GiB"] == "7.8"
    assert pairs["repeats"] == "5"
    assert any("2 files were no images" in element["text"] for element in page.all("li"))
    assert len(page.tables()["Timings"]) == 1 + len(facts.timings)


def test_nothing_is_loaded(facts):
    html = render(facts)
    page = Page(html)
    for element in page.elements:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            value = element["attributes"].get(name) or "#"
            assert value.startswith(("#", "data:")), (element["tag"], value)
    assert not re.search(r"https?://|url\(|@import", html)


def test_policy_allows_this_script_and_no_other(page):
    (policy,) = (e["attributes"]["content"] for e in page.all("meta") if "http-equiv" in e["attributes"])
    (script,) = page.all("script")
    digest = base64.b64encode(hashlib.sha256(script["text"].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"


def hostile_facts(name):
    facts = scenes()
    first = {
        "failed": replace(facts.failed[0], reason=name),
        "per_class": replace(facts.per_class[0], class_=name),
        "gallery": replace(facts.gallery[0], name=name, class_=name),
        "mistakes": replace(facts.mistakes[0], name=name, truth=name, said=name),
        "leaderboard": replace(facts.leaderboard[0], method=name, features=name),
        "timings": replace(facts.timings[0], method=name, features=name),
    }
    return replace(
        facts,
        **dict.fromkeys(("title", "command", "created", "best"), name),
        data=replace(facts.data, name=name, notes=[name]),
        protocol=replace(facts.protocol, name=name),
        machine={name: name},
        confusion=replace(facts.confusion, classes=[name, *facts.confusion.classes[1:]]),
        reliability={name: facts.reliability["n3"]},
        **{key: [one, *getattr(facts, key)[1:]] for key, one in first.items()},
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(name):
    page = Page(render(hostile_facts(name)))
    plain = Page(render(hostile_facts("plain")))
    assert [e["tag"] for e in page.elements if e["tag"] != "wbr"] == [
        e["tag"] for e in plain.elements if e["tag"] != "wbr"
    ]
    assert not [a for e in page.elements for a in e["attributes"] if a.startswith("on")]
    assert page.all("title")[0]["text"] == page.all("h1")[0]["text"] == name
    assert page.all("code")[0]["text"] == name
    assert page.tables()["Accuracy by class"][1][0] == " ".join(name.split())
    assert page.all("img")[0]["attributes"]["alt"] == name
    named = [e for e in page.all("bdi") if e["text"] == name]
    assert len(named) >= 8, "names stand apart from the text around them"


def test_names_of_bytes_that_are_no_text():
    html = render(hostile_facts("caf\udce9.png"))
    assert "caf?.png" in html.encode("utf-8").decode("utf-8")


@pytest.mark.parametrize("source", ["https://example.org/x.png", "javascript:alert(1)", "data:image/svg+xml,x"])
def test_only_pictures_become_pictures(source):
    assert Card("name", [("class", "a")], thumbnail=source).picture is None
    facts = scenes()
    html = render(replace(facts, gallery=[replace(facts.gallery[0], thumbnail=source)], mistakes=[]))
    assert not Page(html).all("img")
    assert source not in html


def test_one_method_without_anything_more():
    page = Page(render(bare()))
    assert headings(page) == ["Leaderboard", "Confusion", "Worst mistakes", "How it was made"]
    assert page.tables()["Leaderboard"] == [["Method", "Accuracy %", "Query ms"], ["slnd", "95.0", "0"]]
    (headline,) = page.all("p", class_="headline")
    assert headline["text"].replace("\u00a0", " ") == "slnd gets 95.0 % of the test items right."
    assert not page.all("img")
    assert "nan" not in page.all("main")[0]["text"].lower()


def test_all_failed():
    failed = [Failure(method, None, "out of memory", 0) for method in ("n3", "knn")]
    page = Page(render(Facts("t", failed=failed)))
    assert page.all("p", class_="headline")[0]["text"].startswith("No method finished")
    assert headings(page) == ["Failed runs", "How it was made"]
    assert any(element["text"] == "2 runs failed" for element in page.all("a"))


def test_measures_that_are_not_numbers_are_dashes(facts):
    rows = [entry("a", accuracy=0.5, ece=float("nan")), entry("b", accuracy=0.25, ece=0.1)]
    changed = replace(facts, leaderboard=rows, best="a", reliability={"a": [[None, None, 0]]})
    page = Page(render(changed))
    assert page.tables()["Leaderboard"][1:] == [["a", "50.0 (best)", "–"], ["b", "25.0", "0.100"]]
    assert "Reliability" not in headings(page)


def test_labels_instead_of_classes():
    rows = [entry("a", accuracy=None, average_precision=0.5), entry("b", accuracy=None, average_precision=0.75)]
    page = Page(render(Facts("t", leaderboard=rows, best="b")))
    text = page.all("p", class_="headline")[0]["text"].replace("\u00a0", " ")
    assert text == "b is best: 75.0 % average precision; a 50.0 %."


def test_vectors_are_no_features():
    facts = bare()
    rows = [replace(facts.leaderboard[0], features="vectors")]
    (summary,) = Page(render(replace(facts, leaderboard=rows))).all("p", class_="summary")
    assert "1,797 vectors · 2 classes · protocol fixed" in summary["text"]
    assert "features" not in summary["text"]


def test_several_features_are_told_apart(facts):
    rows = facts.leaderboard[:2]
    rows += [replace(row, features="fisher") for row in rows]
    accuracy = Summary(0.99, *(getattr(rows[2].measures["accuracy"], name) for name in ("deviation", "values")))
    rows[2] = replace(rows[2], measures={**rows[2].measures, "accuracy": accuracy})
    page = Page(render(replace(facts, leaderboard=rows, best="n3")))
    assert page.all("p", class_="headline")[0]["text"].startswith("n3 · fisher and 2 others are level")
    header, *table = page.tables()["Leaderboard"]
    assert header[:2] == ["Method", "Features"]
    assert [row[1] for row in table] == ["gist", "gist", "fisher", "fisher"]


def test_a_method_that_missed_splits_is_not_first():
    rows = [entry("lucky", accuracy=0.9), entry("steady", 5, accuracy=0.8)]
    page = Page(render(Facts("t", leaderboard=rows)))
    assert page.all("p", class_="headline")[0]["text"].startswith("steady is best")
    assert page.tables()["Leaderboard"][1][:2] == ["lucky", "1"]


def test_methods_are_ordered_by_rank(facts):
    last_first = dict(reversed(facts.reliability.items()))
    page = Page(render(replace(facts, reliability=last_first, leaderboard=facts.leaderboard[::-1])))
    assert [element["text"] for element in page.all("strong")][1:] == list(facts.reliability)
    methods = [title.removesuffix(" %") for title in page.tables()["Accuracy by class"][0][2:-1]]
    assert methods == [row.method for row in facts.leaderboard]


def test_many_classes_have_numbers():
    page = Page(render(many_classes(120)))
    header, *rows = page.tables()["Accuracy by class"]
    assert header == ["Class", "No.", "Test items", "n3 %", "knn %"]
    assert rows[119][:2] == ["class 119", "120"]
    (matrix,) = page.all("svg", class_="matrix")
    assert "120 classes" in matrix["attributes"]["aria-label"]
