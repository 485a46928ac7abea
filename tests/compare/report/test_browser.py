"""The report in a real browser: nothing is asked of the network, and its buttons work."""

from dataclasses import replace

import pytest

from browsing import CONTRAST
from compare.report.test_page import HOSTILE, hostile_facts
from compare.sample_facts import bare, many_classes, scenes
from nearboost.compare.report.page import render
from nearboost.measures.differences import summarise


@pytest.fixture
def visit(browser, tmp_path):
    """Opens facts as a page, or in one that is open; after the test, no error was told and no request left."""
    told, asked, visits, pages = [], [], [], []

    def new_page(**context):
        page = browser.new_page(**context)
        pages.append(page)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        return page

    def open_page(facts, page=None, **context):
        path = tmp_path / "report.html"
        path.write_text(render(facts), encoding="utf-8")
        page = page or new_page(**context)
        visits.append(page.goto(path.as_uri(), wait_until="load"))
        return page

    yield open_page
    for page in pages:
        page.close()
    assert told == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == len(visits), "the page and nothing more"


def column(page, caption, number):
    cells = f"table:has(caption:text-is('{caption}')) tbody tr > *:nth-child({number})"
    return [text.split()[0] for text in page.locator(cells).all_inner_texts()]


def test_pictures_are_shown(visit):
    page = visit(scenes())
    widths = page.eval_on_selector_all("img", "images => images.map(image => image.naturalWidth)")
    assert widths == [64] * 46


def test_tables_are_sorted(visit):
    page = visit(scenes())
    methods = column(page, "Leaderboard", 1)
    head = page.locator("table:has(caption:text-is('Leaderboard')) thead th", has_text="Log-loss")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending", "the best first"
    losses = column(page, "Leaderboard", 6)
    assert losses[-2:] == ["–", "–"]
    assert losses[:-2] == sorted(losses[:-2], key=float)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    losses = column(page, "Leaderboard", 6)
    assert losses[-2:] == ["–", "–"], "what is unknown stays last"
    assert losses[:-2] == sorted(losses[:-2], key=float, reverse=True)
    page.get_by_role("region", name="Leaderboard").get_by_role("button", name="Method").click()
    assert column(page, "Leaderboard", 1) == sorted(methods)
    assert head.get_attribute("aria-sort") is None


@pytest.mark.parametrize("system", ["light", "dark"])
def test_dark_and_light(visit, system):
    page = visit(scenes(), color_scheme=system)

    def paper():
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return "dark" if sum(map(int, colour[4:-1].split(","))) < 200 else "light"

    other = {"light": "dark", "dark": "light"}[system]
    assert paper() == system
    page.get_by_role("button", name=other.capitalize()).click()
    assert paper() == other
    page.get_by_role("button", name=system.capitalize()).click()
    assert paper() == system
    page.get_by_role("button", name=other.capitalize()).click()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def many_methods():
    """Twenty methods with two kinds of features: more columns than any window has room for."""
    facts = scenes()
    rows = [
        replace(row, method=f"{row.method}:n_prototypes=0.{i}", features=features)
        for i in range(1, 4)
        for features in ("gist", "bif")
        for row in facts.leaderboard
    ]
    labels = [f"{row.method} · {row.features}" for row in rows]
    classes = [
        replace(one, accuracy=dict.fromkeys(labels, 0.5), intervals=dict.fromkeys(labels, (0.4, 0.6)))
        for one in facts.per_class
    ]
    confusion = replace(facts.confusion, methods=dict.fromkeys(labels, facts.confusion.counts))
    curve = [replace(one, label=label) for label in labels for one in facts.curve[:4]]
    return replace(
        facts, leaderboard=rows, best=rows[0].method, per_class=classes, confusion=confusion, curve=curve
    )


INSIDE = """
() => Array.from(document.querySelectorAll(".box")).filter((box) => box.clientWidth
  && box.scrollWidth > box.clientWidth).map((box) => [box.getAttribute("aria-label"), box.scrollWidth])
"""


@pytest.mark.parametrize("facts", [scenes(), many_classes(), many_methods(), bare(), hostile_facts(HOSTILE[5])])
def test_page_is_not_wider_than_the_window_nor_a_table_than_its_box(visit, facts):
    page = visit(facts)
    for width in (360, 768, 1366):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]
        assert page.evaluate(INSIDE) == []


def test_rows_without_room_are_blocks(visit):
    page = visit(scenes())
    shown = "table:has(caption:text-is('Leaderboard'))"
    for width, display in ((360, "block"), (768, "block"), (1366, "table")):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.eval_on_selector(shown, "table => getComputedStyle(table).display") == display
    page.set_viewport_size({"width": 360, "height": 800})
    cell = f"{shown} tbody tr:first-child td:nth-child(2)"
    assert page.eval_on_selector(cell, "td => getComputedStyle(td, '::before').content") == '"Accuracy %"'
    page.locator(f"{shown} thead th", has_text="Log-loss").get_by_role("button").click()
    losses = column(page, "Leaderboard", 6)
    assert losses[:-2] == sorted(losses[:-2], key=float), "and still can be sorted"


def test_the_confusion_of_any_method(visit):
    page = visit(scenes())
    shown = "svg.matrix"

    def visible():
        labels = page.eval_on_selector_all(
            ".switch .scroll", "boxes => boxes.filter(b => b.clientWidth).map(b => b.getAttribute('aria-label'))"
        )
        return [label for label in labels if label.startswith("Confusion")]

    assert page.locator(shown).count() == 8
    assert visible() == ["Confusion matrix of n3"]
    page.get_by_text("weighted-knn", exact=True).locator("xpath=ancestor-or-self::label").click()
    assert visible() == ["Confusion matrix of weighted-knn"]
    page.keyboard.press("ArrowRight")
    assert visible() == ["Confusion matrix of knn"]


def test_hostile_names_do_nothing(visit):
    page = None
    for name in HOSTILE:
        page = visit(hostile_facts(name), page)
        assert page.title() == " ".join(name.split())
        assert page.locator("script").count() == 1


OVERLAPS = """
() => Array.from(document.querySelectorAll("svg.plot")).flatMap((picture) => {
  const inside = picture.getBoundingClientRect();
  const texts = Array.from(picture.querySelectorAll("text")).map((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    const room = (bottom - top) / 4;  // above and below the letters
    return { said: text.textContent, left, right, top: top + room, bottom: bottom - room };
  });
  const outside = texts.filter((t) =>
    t.left < inside.left || t.right > inside.right || t.top < inside.top || t.bottom > inside.bottom);
  const meeting = texts.flatMap((a, i) => texts.slice(0, i).filter((b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map((b) => [a.said, b.said]));
  return [...outside.map((t) => t.said), ...meeting];
})
"""
CROSSED = """
() => Array.from(document.querySelectorAll("svg.plot")).flatMap((picture) => {
  const lines = Array.from(picture.querySelectorAll("path.front, path.whisker, path.curve"));
  const names = Array.from(picture.querySelectorAll("text.label"));
  return names.flatMap((name) => {
    const { left, right, top, bottom } = name.getBoundingClientRect();
    const room = (bottom - top) / 5;  // above and below the letters
    const inside = (line) => {
      const matrix = line.getScreenCTM(), length = line.getTotalLength();
      for (let at = 0; at <= length; at += 0.5) {
        const { x, y } = line.getPointAtLength(at).matrixTransform(matrix);
        if (x > left && x < right && y > top + room && y < bottom - room) return true;
      }
      return false;
    };
    return lines.filter(inside).map((line) => [name.textContent, line.getAttribute("class")]);
  });
})
"""
LABELS = "pictures => pictures.map(picture => picture.querySelectorAll('text.label').length)"


def close_together(name, apart, cost):
    """Ten methods of nearly the same accuracy and cost, in both charts of what accuracy costs; no pictures."""
    facts = replace(scenes(), gallery=[], mistakes=[])
    row = replace(facts.leaderboard[0], against_best=None)
    rows = [
        replace(
            row,
            method=f"{name} {i}",
            measures={**row.measures, "accuracy": around(0.8 + apart * (i % 4))},
            prototypes=summarise([cost * (1 + apart * i)]),
            query_ms=summarise([0.3 * (1 + apart * i)]),
        )
        for i in range(10)
    ]
    return replace(facts, leaderboard=rows, best=f"{name} 3")


def around(share):
    return summarise([share], (share - 0.02, share + 0.015))


@pytest.mark.parametrize("name", ["n3", "weighted-knn", "WWWWWWWWWWWW", "n3:n_prototypes=0.1:loss=matsushita"])
def test_texts_of_charts_keep_clear(visit, name):
    page = None
    for apart, cost in [(0.0, 1344), (0.001, 120000), (0.01, 412), (0.06, 1)]:
        page = visit(close_together(name, apart, cost), page)
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate(CROSSED) == []
        assert min(page.eval_on_selector_all("svg.plot:has(circle.dot)", LABELS)) >= 1


@pytest.mark.parametrize("system", ["light", "dark"])
def test_text_has_contrast(visit, system):
    assert visit(scenes(), color_scheme=system).evaluate(CONTRAST) >= 4.5


def test_printed_tables_repeat_their_headers(visit):
    """Buttons in headers are laid out so that a table that goes on keeps its header on each sheet."""
    page = visit(scenes())
    page.emulate_media(media="print")
    assert page.eval_on_selector("thead button", "button => getComputedStyle(button).display") == "contents"
    assert page.eval_on_selector(".tall", "box => getComputedStyle(box).maxHeight") == "none"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_readable_without_scripts(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(scenes()), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.get_by_role("columnheader", name="Accuracy %").first.is_visible()
    assert page.get_by_role("button").count() == 0, "no button that would do nothing"
    context.close()
