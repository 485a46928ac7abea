"""The app in a real browser: labels by keys and by mouse, two tabs, restarts; nothing is asked of other hosts."""

import json
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import tifffile

from app.talking import free_port, running
from app.visiting import ADA, READY, Visitor
from browsing import CONTRAST
from cells.labelled import name_classes
from cli.calling import program
from nearboost.cells.annotation_records import Cell
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.creating import create_project
from nearboost.cells.display import read_display
from nearboost.cells.following import carry_labels
from nearboost.cells.labelling import label_cells
from nearboost.cells.project_labels import open_store
from nearboost.cells.saved_masks import mask_path, read_segmentation, write_segmentation
from nearboost.cells.writing import opened_for_writing


@pytest.fixture
def app(screen):
    with open_store_of(screen) as (_, store):
        name_classes(store)
    with running(screen) as one:
        yield one


@contextmanager
def open_store_of(folder):
    with opened_for_writing(folder) as project, open_store(project) as store:
        yield project, store


def labels_of(app):
    return {(one.image, one.object): one.class_id for one in app.desk.annotations.labels()}


def said(page):
    return page.locator("#said").inner_text()


def wait_for_labels(page, app, count):
    for _ in range(100):
        if len(labels_of(app)) == count:
            return
        page.wait_for_timeout(20)
    assert len(labels_of(app)) == count


def test_the_token_leaves_the_address(app, visitor):
    visitor.expected = ("403",)
    page = visitor.enter(app.entrance)
    assert page.url == f"{app.address.origin}/plate"
    assert page.evaluate("document.cookie") == "", "scripts do not see it"
    page.go_back()
    assert app.entrance.partition("#")[2] not in page.url
    late = visitor.page()
    late.goto(app.address.origin + "/open#wrong")
    late.wait_for_url("**/plate")


def test_a_used_address_says_so(app, visitor, browser):
    visitor.enter(token := app.entrance)
    other = browser.new_page()
    other.goto(token)
    other.get_by_text("used already").wait_for()
    other.goto(app.address.origin + "/plate")
    assert "works once" in other.locator("main").inner_text()
    other.close()


def test_labels_without_a_mouse(app, visitor):
    """From the first page on: to a field, through its cells, with a name asked once, and back with undo."""
    page = visitor.enter(app.entrance)
    keys = page.keyboard
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    keys.press("Enter")
    page.wait_for_url("**/fields/2")
    page.wait_for_selector(READY)
    keys.press("ArrowRight")
    assert said(page) == "" or "Cell" in said(page)
    keys.press("1")
    page.get_by_role("dialog").wait_for()
    keys.type(ADA)
    keys.press("Enter")
    wait_for_labels(page, app, 1)
    for count, key in enumerate("1212", start=2):
        keys.press(key)
        wait_for_labels(page, app, count)
    assert sorted(labels_of(app).values()) == [1, 1, 1, 2, 2]
    assert {one.who for one in app.desk.annotations.labels()} == {ADA}
    keys.press("Control+z")
    wait_for_labels(page, app, 4)
    page.reload()
    page.wait_for_selector(READY)
    keys.press("Control+z")
    wait_for_labels(page, app, 3)
    keys.press("Control+y")
    wait_for_labels(page, app, 4)
    keys.press("a")
    keys.press("2")
    wait_for_labels(page, app, len(page.evaluate("fetch('/api/fields/2').then((r) => r.json())")["cells"]))
    assert set(labels_of(app).values()) == {2}
    page.locator("#said", has_text="cells: granular").wait_for()
    keys.press("n")
    page.locator("#said", has_text="Every cell here has a label.").wait_for()
    keys.press("ArrowRight")
    keys.press("0")
    keys.press("x")
    page.get_by_text("is left out: wrong outline").wait_for()


def test_keys_are_listed_and_dialogs_close(app, visitor):
    page = visitor.enter(app.entrance)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert "undo" in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    for size in ({"width": 1366, "height": 768}, {"width": 400, "height": 800}):
        page.set_viewport_size(size)
        visitor.open("/fields/1", page)
        page.keyboard.press("?")
        assert dialog.evaluate("(one) => [one.scrollTop, one.scrollWidth - one.clientWidth]") == [0, 0]
        assert (dialog.evaluate("(one) => one.scrollHeight <= one.clientHeight")) == (size["width"] == 1366)


def test_a_name_can_be_given_later(app, visitor):
    visitor.enter(app.entrance)
    page = visitor.open("/fields/1?cell=1")
    page.keyboard.press("1")
    page.get_by_role("button", name="Not now").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert labels_of(app) == {}
    page.keyboard.press("1")
    page.get_by_label("Your name").fill(ADA)
    page.keyboard.press("Enter")
    wait_for_labels(page, app, 1)


def on_screen(page, cell):
    """Where a cell is on the page."""
    box = page.locator("#canvas").bounding_box()
    field = page.evaluate("fetch(`/api${location.pathname}`).then((r) => r.json())")
    scale = min(box["width"] / field["width"], box["height"] / field["height"])
    one = next(one for one in field["cells"] if one["object"] == cell)
    left = box["x"] + (box["width"] - scale * field["width"]) / 2
    top = box["y"] + (box["height"] - scale * field["height"]) / 2
    return left + scale * (one["x"] + 0.5), top + scale * (one["y"] + 0.5)


def test_labels_by_mouse(app, visitor):
    visitor.enter(app.entrance)
    visitor.be(ADA)
    page = visitor.open("/fields/1")
    page.mouse.click(*on_screen(page, 3))
    assert page.locator("#cell").inner_text().startswith("Cell 3")
    page.get_by_role("button", name="granular").click()
    wait_for_labels(page, app, 1)
    assert labels_of(app) == {(1, 3): 2}
    (x, y), (far_x, far_y) = on_screen(page, 1), on_screen(page, 2)
    page.keyboard.down("Shift")
    page.mouse.move(min(x, far_x) - 3, min(y, far_y) - 3)
    page.mouse.down()
    page.mouse.move(max(x, far_x) + 3, max(y, far_y) + 3, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.keyboard.press("1")
    page.locator("#said", has_text="diffuse").wait_for()
    assert {(1, 1), (1, 2)} <= {cell for cell, kind in labels_of(app).items() if kind == 1}


def test_two_tabs_that_differ(app, visitor):
    visitor.expected = ("409",)
    visitor.enter(app.entrance)
    visitor.be(ADA)
    first, second = visitor.open("/fields/1?cell=1"), visitor.open("/fields/1?cell=1")
    first.keyboard.press("1")
    wait_for_labels(first, app, 1)
    second.keyboard.press("2")
    dialog = second.get_by_role("dialog", name="Two opinions")
    assert "diffuse" in dialog.inner_text()
    assert "granular" in dialog.inner_text()
    assert ADA in dialog.inner_text()
    dialog.get_by_role("button", name="Keep theirs").click()
    second.get_by_text("Nothing was changed.").wait_for()
    assert labels_of(app) == {(1, 1): 1}
    second.keyboard.press("2")  # now that it was seen
    second.locator("#said", has_text="Cell 1: granular").wait_for()
    first.keyboard.press("1")
    first.keyboard.press("ArrowLeft")
    assert labels_of(app)[1, 1] == 2


def test_two_tabs_and_taking_ones_own(app, visitor):
    visitor.expected = ("409",)
    visitor.enter(app.entrance)
    visitor.be(ADA)
    first, second = visitor.open("/fields/1?cell=1"), visitor.open("/fields/1?cell=1")
    first.keyboard.press("1")
    wait_for_labels(first, app, 1)
    second.keyboard.press("2")
    second.get_by_role("button", name="Take mine").click()
    second.get_by_text("Cell 1: granular").wait_for()
    assert labels_of(app) == {(1, 1): 2}


def test_classes_are_edited(app, visitor):
    visitor.enter(app.entrance)
    visitor.be(ADA)
    page = visitor.open("/classes")
    page.get_by_label("New class").fill("<b>odd</b>")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Classes", exact=True).get_by_text("<b>odd</b>").wait_for()
    page.locator("input[name=name]:focus").wait_for()  # for the next one
    page.get_by_role("button", name="Rename diffuse").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("smooth")
    page.keyboard.press("Enter")
    page.get_by_text("smooth").first.wait_for()
    page.get_by_role("button", name="Delete smooth").click()
    page.get_by_role("button", name="Restore smooth").click()
    page.get_by_role("button", name="Delete smooth").wait_for()
    page.get_by_role("button", name="Move granular up").click()
    page.get_by_role("button", name="Move smooth up").and_(page.locator(":enabled")).wait_for()
    page.get_by_role("button", name="Move granular down").press("Enter")
    page.locator("[aria-label='Move granular down']:focus").wait_for()
    page.get_by_role("button", name="Move granular up").click()
    page.get_by_role("button", name="Move smooth up").and_(page.locator(":enabled")).wait_for()
    page.get_by_role("button", name="Merge smooth").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    page.get_by_role("button", name="Restore smooth").wait_for()
    assert [one.name for one in app.desk.annotations.classes()] == ["granular", "<b>odd</b>"]


def test_how_a_project_is_shown_is_kept(app, visitor):
    visitor.enter(app.entrance)
    page = visitor.open("/fields/1")
    picture = page.locator("#canvas").screenshot()
    with page.expect_response("**/api/display"):
        page.get_by_label("nuclei", exact=True).uncheck()
    with page.expect_response("**/api/display"):
        page.keyboard.press("o")
    assert page.locator("#canvas").screenshot() != picture
    visitor.open("/fields/2", page)
    assert not page.get_by_label("nuclei", exact=True).is_checked()
    assert not page.get_by_label("shown (O)").is_checked()


def test_channels_are_set_by_keys(app, visitor):
    visitor.enter(app.entrance)
    page = visitor.open("/fields/1")
    for name in ("black of nuclei", "full of nuclei", "Width of outlines"):
        slider = page.get_by_label(name)
        slider.focus()
        before = float(slider.input_value())
        with page.expect_response("**/api/display"):
            page.keyboard.press("ArrowRight")
        after = float(page.get_by_label(name).input_value())
        assert after > before
        assert page.evaluate("document.activeElement.ariaLabel") == name, "so that the next key moves it on"
    assert said(page) == "", "no cell was walked to"
    kept = app.desk.project
    assert read_display(kept).line_width == 2


def test_the_focus_stays_on_what_was_pressed(app, visitor):
    """Buttons are drawn anew after a label, and keys go on from where they were."""
    visitor.enter(app.entrance)
    visitor.be(ADA)
    page = visitor.open("/fields/1?cell=3")
    for name in ("granular", "no label", "Wrong outline"):
        page.get_by_role("button", name=name).focus()
        with page.expect_response("**/api/*"):
            page.keyboard.press("Enter")
        page.wait_for_timeout(100)
        assert name in page.locator("button:focus").inner_text(timeout=1000)


@pytest.mark.alone
def test_a_killed_app_has_lost_nothing(screen, visitor):
    """And the page says what to do when its app was started anew."""
    visitor.expected = ("ERR_", "401")
    with open_store_of(screen) as (_, store):
        name_classes(store)
    words = program("cells", "app", screen, "--no-browser", "--port", free_port())
    with subprocess.Popen(words, stdout=-1, stderr=-1, text=True) as server:
        page = visitor.enter(server.stdout.readline().strip())
        visitor.be(ADA)
        visitor.open("/fields/1", page)
        acknowledged = 0
        for _ in range(5):
            page.keyboard.press("ArrowRight" if not acknowledged else "n")
            with page.expect_response("**/api/label") as answered:
                page.keyboard.press("1")
            acknowledged += answered.value.ok
        server.send_signal(signal.SIGKILL)
        server.wait()
        page.keyboard.press("2")
        page.get_by_text("The app does not answer, and nothing was changed.").wait_for()
    with AnnotationStore(screen / "annotations.db") as store:
        assert len(store.labels()) == acknowledged == 5
    with subprocess.Popen(words, stdout=-1, stderr=-1, text=True) as server:
        address = server.stdout.readline().strip()
        page.keyboard.press("2")
        page.get_by_text("The app was started anew, and nothing was changed.").wait_for()
        page.goto(address)
        page.wait_for_url("**/plate")
        assert "5 labelled" in page.locator("main").inner_text()
        server.terminate()


def test_a_label_without_a_cell_is_placed(screen, visitor):
    with open_store_of(screen) as (project, store):
        kinds = name_classes(store)
        label_cells(project, store, ADA, [Cell(1, 2)], kinds[0])
        lose_cells(project, store, [2])
    with running(screen) as app:
        page = visitor.enter(app.entrance)
        visitor.be(ADA)
        page.get_by_role("link", name="Unplaced 1").click()
        page.get_by_role("link", name="Show in").click()
        page.wait_for_selector(READY)
        page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Place").click()
        page.locator("#waiting-box").wait_for(state="hidden")
        assert list(labels_of(app).values()) == [kinds[0]]
        assert app.desk.annotations.unplaced() == []


def lose_cells(project, store, numbers):
    """New masks of the first image, without some cells."""
    one = project.fields[0]
    found = read_segmentation(project, one)
    gone = np.isin(found.cells, numbers)
    fewer = replace(found, cells=np.where(gone, 0, found.cells), nuclei=np.where(gone, 0, found.nuclei))
    carry_labels(project, store, one, fewer, "fewer")
    record = json.loads(mask_path(project, one, "record.json").read_text())
    write_segmentation(project, one, fewer, project.read(one).by_role, "fewer", record["floor"])


PAGES = ["/plate", "/classes", "/unplaced", "/fields/1"]
WIDE = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.mark.parametrize("system", ["light", "dark"])
def test_pages_fit_and_can_be_read(app, browser, system):
    visitor = Visitor(browser, color_scheme=system)
    page = visitor.enter(app.entrance)
    for path in PAGES:
        visitor.open(path, page)
        for width, height in ((1366, 768), (400, 800)):
            page.set_viewport_size({"width": width, "height": height})
            found, there = page.evaluate(WIDE)
            assert found <= there, path
        assert page.evaluate(CONTRAST) >= 4.5, path
        assert page.evaluate(NAMELESS) == [], path
    visitor.context.close()


NAMELESS = """
() => Array.from(document.querySelectorAll("button, a, input, select, canvas, [role]")).filter((one) => {
  if (!one.checkVisibility()) return false;
  const label = one.labels?.[0]?.textContent ?? "";
  return !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()
    || label.trim() || one.getAttribute("role") === "status");
}).map((one) => one.outerHTML.slice(0, 80))
"""

PIXEL = """
([x, y]) => {
  const shown = document.getElementById("canvas");
  const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  copy.drawImage(shown, -x * shown.width / shown.clientWidth, -y * shown.height / shown.clientHeight);
  return Array.from(copy.getImageData(0, 0, 1, 1).data);
}
"""


@pytest.mark.parametrize("size", [1600, pytest.param(8000, marks=pytest.mark.slow)])
def test_large_fields_come_in_tiles(size, tmp_path, visitor):
    """Only what is seen is asked for, coarse from afar and whole from near, and it stands in its place."""
    picture = np.full((size, size), 100, np.uint16)
    spot = slice(size * 3 // 4, size * 3 // 4 + 40)
    picture[spot, spot] = 1000
    (tmp_path / "images").mkdir()
    tifffile.imwrite(tmp_path / "images" / "P_A01_s1_nuclei.tif", picture)
    create_project(tmp_path / "project", [tmp_path / "images"], roles={"nuclei": "nuclei"})
    with running(tmp_path / "project") as app:
        page = visitor.enter(app.entrance)
        visitor.be(ADA)
        app.cookies = {one["name"]: one["value"] for one in visitor.context.cookies()}
        shown = {"channels": {"nuclei": {"low": 0, "high": 1000, "colour": "#ffffff"}}}
        app.write("/api/display", {"display": shown})
        visitor.open("/fields/1", page)
        page.wait_for_load_state("networkidle")

        def tiles():
            return {url.partition("?")[0].partition("/nuclei/")[2] for url in visitor.asked if "/tiles/" in url}

        afar = tiles()
        assert len(afar) <= 4, "the whole field in little"
        assert not any(one.startswith("0/") for one in afar)
        box = page.locator("#canvas").bounding_box()
        scale = min(box["width"], box["height"]) / size
        middle = size * 3 // 4 + 20
        at = [
            (box["width"] - scale * size) / 2 + scale * middle,
            (box["height"] - scale * size) / 2 + scale * middle,
        ]
        assert page.evaluate(PIXEL, at)[0] > 200
        page.mouse.move(box["x"] + at[0], box["y"] + at[1])
        for _ in range(5):
            page.mouse.wheel(0, -400)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(300)
        near = tiles() - afar
        assert any(one.startswith("0/") for one in near)
        assert len(near) <= 60, "of 256, where the field is 8,000 pixels wide"
        assert page.evaluate(PIXEL, at)[:3] == [255, 255, 255]
        assert page.evaluate(PIXEL, [1, 1])[0] < 30, "the ground is dark"
        page.close()
