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
        "Learning curve",
        "Confusion",
        "Classes",
        "Reliability",
        "Prototypes",
        "Worst mistakes",
        "Methods",
        "Timings",
        "How it was made",
    ]
    ids = {element["attributes"].get("id") for element in page.elements}
    links = [element["attributes"]["href"] for element in page.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def with_ends(measure):
    return f"{100 * measure.mean:.1f} % ({100 * measure.interval[0]:.1f} to {100 * measure.interval[1]:.1f})"


def test_headline(facts, page):
    (headline,) = page.all("p", class_="headline")
    best, other, knn = (facts.leaderboard[i].measures["accuracy"] for i in (0, 1, 7))
    assert headline["text"].replace("\u00a0", " ") == (
        f"n3 gets {with_ends(best)} of the test items right with 412 prototypes and is ahead of 6 of 7 others. "
        f"rbf-svm {100 * other.mean:.1f} % (between 1.3 points behind and 0.9 ahead) cannot be told apart from it"
        f"; knn {100 * knn.mean:.1f} %."
    )


def said_of(facts, chances, **changes):
    """The headline where the differences from the best have these chances."""
    rows = list(facts.leaderboard)
    for i, p in enumerate(chances, start=1):
        rows[i] = replace(rows[i], against_best=replace(rows[i].against_best, p=p, **changes))
    return (
        Page(render(replace(facts, leaderboard=rows)))
        .all("p", class_="headline")[0]["text"]
        .replace("\u00a0", " ")
    )


def test_headline_of_a_clear_winner(facts):
    best, other, knn = (facts.leaderboard[i].measures["accuracy"] for i in (0, 1, 7))
    text = said_of(facts, [0.049], interval=(-0.013, -0.001))
    assert text == (
        f"n3 gets {with_ends(best)} of the test items right with 412 prototypes and is ahead of all 7 others; "
        f"next is rbf-svm {100 * other.mean:.1f} % (0.1 to 1.3 points behind); knn {100 * knn.mean:.1f} %."
    )


def test_headline_of_many_that_may_be_as_good(facts):
    shares = [f"{100 * row.measures['accuracy'].mean:.1f} %" for row in facts.leaderboard]
    text = said_of(facts, [0.67, 0.01, 0.05])
    assert " and is ahead of 5 of 7 others. rbf-svm " in text
    assert f" ahead) and innc {shares[3]} (2.1 to 4.3 points behind) cannot be told apart from it; knn " in text
    text = said_of(facts, [1.0] * 7)
    assert "is ahead of" not in text
    assert text.endswith(f"innc {shares[3]} (2.1 to 4.3 points behind) and 4 more cannot be told apart from it.")
    assert "level" not in text, "not told apart is not equal"


def test_headline_says_what_few_splits_do_not_know(facts):
    text = said_of(facts, [0.001] * 7, retrained=False)
    assert text.endswith(". With fewer than five splits, intervals leave out how much the training items matter.")
    assert "Fewer than five" not in said_of(facts, [0.001] * 7)
    text = said_of(facts, [None] * 7, interval=None)
    assert "ahead" not in text
    assert "told apart" not in text
    assert text.endswith("so few splits do not tell how sure differences are.")


def test_leaderboard_numbers(facts, page):
    header, *rows = page.tables()["Leaderboard"]
    assert header == [
        "Method",
        "Accuracy %",
        "Held out %",
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
    low, high = (f"{100 * end:.1f}" for end in n3.measures["accuracy"].interval)
    assert rows[0][1] == f"{100 * n3.measures['accuracy'].mean:.1f} (best) {low}–{high}"
    assert rows[0][7] == f"{n3.prototypes.mean:.0f} (best)"
    assert rows[0][-2:] == ["–", "–"]
    assert rows[-1][-2:] == ["−9.1 −10.2 to −8.0", "< 0.001"]
    assert rows[1][7] == "–", "a support vector machine keeps no prototypes"
    told = page.all("p", class_="quiet")
    assert any("hold for all 28 pairs of methods together" in one["text"] for one in told)


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
    assert len(page.all("caption")) == len(page.all("table")) == 13
    assert len({one["text"] for one in page.all("caption")}) == 13


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
    low, high = (f"{100 * end:.1f}" for end in facts.per_class[0].intervals["n3"])
    assert rows[0][:3] == ["coast", "150", f"{100 * counts[0][0] / 150:.1f} {low}–{high}"]


def test_the_confusion_of_any_method_is_a_choice_away(facts, page):
    choices = page.all("input", type="radio", name="confusion")
    labels = {one["attributes"]["for"]: one["text"] for one in page.all("label")}
    assert [labels[one["attributes"]["id"]] for one in choices] == [one.method for one in facts.leaderboard]
    assert ["checked" in one["attributes"] for one in choices] == [True] + [False] * 7
    matrices = page.all("svg", class_="matrix")
    for method, matrix in zip(facts.confusion.methods, matrices, strict=True):
        counts = facts.confusion.counts if method == "n3" else facts.confusion.methods[method]
        right = sum(counts[i][i] for i in range(8)) / sum(map(sum, counts))
        assert f"{100 * right:.1f} % on the diagonal" in matrix["attributes"]["aria-label"]
    assert page.tables()["Most common mistakes of knn"]


def test_learning_curve(facts, page):
    header, *rows = page.tables()["Learning curve"]
    assert header == ["Method", "134 items %", "269 items %", "672 items %", "1,344 items %"]
    first = facts.curve[0].accuracy
    assert rows[0][:2] == [
        "n3",
        f"{100 * first.mean:.1f} {100 * first.interval[0]:.1f}–{100 * first.interval[1]:.1f}",
    ]
    assert len(rows) == 8
    (picture,) = (
        one for one in page.all("svg", class_="plot") if "Training items" in one["attributes"]["aria-label"]
    )
    assert f"n3: {100 * first.mean:.1f}," in picture["attributes"]["aria-label"]


def test_bins_have_counts_and_intervals(facts, page):
    (n3,) = (
        e for e in page.all("svg", class_="plot") if e["attributes"]["aria-label"].startswith("Reliability of n3")
    )
    c, a, n, low, high = facts.reliability["n3"][-1]
    words = f"{100 * c:.1f} % sure, {100 * a:.1f} % right ({100 * low:.1f} to {100 * high:.1f}), {n} items"
    assert words in n3["text"]
    assert f"items, at most {n}" in n3["text"]


def test_methods_are_explained_where_their_names_lead(facts, page):
    for method in facts.methods:
        (link,) = (one for one in page.all("a") if one["text"] == method.method)
        (term,) = page.all("dt", id=link["attributes"]["href"][1:])
        assert term["text"] == method.method
    assert any("What knn is, in one sentence. More in docs/compare.md." in one["text"] for one in page.all("dd"))


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
    assert [one["text"] for one in page.all("code")] == [facts.fit.command, facts.command]
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
        confusion=replace(
            facts.confusion,
            classes=[name, *facts.confusion.classes[1:]],
            methods={name: facts.confusion.methods["knn"], "knn": facts.confusion.methods["knn"]},
        ),
        reliability={name: facts.reliability["n3"]},
        curve=[replace(one, label=name) for one in facts.curve[:4]],
        methods=[replace(facts.methods[0], method=name, about=name, guide=name)],
        fit=replace(facts.fit, method=name, command=name),
        **{key: [one, *getattr(facts, key)[1:]] for key, one in first.items()},
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(name):
    page = Page(render(hostile_facts(name)))
    plain = Page(render(hostile_facts("plain")))
    assert [e["tag"] for e in page.elements if e["tag"] != "wbr" and "svg" not in e["path"]] == [
        e["tag"] for e in plain.elements if e["tag"] != "wbr" and "svg" not in e["path"]
    ]
    drawn = {e["tag"] for e in page.elements if "svg" in e["path"]}
    assert drawn == {e["tag"] for e in plain.elements if "svg" in e["path"]}
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
    assert text == "b gets 75.0 % average precision; a 50.0 %."


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
    assert page.all("p", class_="headline")[0]["text"].startswith("n3 · fisher gets 99.0\u00a0%")
    header, *table = page.tables()["Leaderboard"]
    assert header[:2] == ["Method", "Features"]
    assert [row[1] for row in table] == ["gist", "gist", "fisher", "fisher"]


def test_a_method_that_missed_splits_is_not_first():
    rows = [entry("lucky", accuracy=0.9), entry("steady", 5, accuracy=0.8)]
    page = Page(render(Facts("t", leaderboard=rows)))
    assert page.all("p", class_="headline")[0]["text"].startswith("steady gets 80.0")
    assert page.tables()["Leaderboard"][1][:2] == ["lucky", "1"]


def test_methods_are_ordered_by_rank(facts):
    last_first = dict(reversed(facts.reliability.items()))
    page = Page(render(replace(facts, reliability=last_first, leaderboard=facts.leaderboard[::-1])))
    assert [element["text"] for element in page.all("strong")][1:] == list(facts.reliability)
    chosen = [element["text"] for element in page.all("label")]
    assert chosen == [row.method for row in facts.leaderboard]
    methods = [title.removesuffix(" %") for title in page.tables()["Accuracy by class"][0][2:-1]]
    assert methods == [row.method for row in facts.leaderboard]


def test_many_classes_have_numbers():
    page = Page(render(many_classes(120)))
    header, *rows = page.tables()["Accuracy by class"]
    assert header == ["Class", "No.", "Test items", "n3 %", "knn %"]
    assert rows[119][:2] == ["class 119", "120"]
    (matrix,) = page.all("svg", class_="matrix")
    assert "120 classes" in matrix["attributes"]["aria-label"]
