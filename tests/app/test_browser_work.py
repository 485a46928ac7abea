"""Gallery, training and results in a real browser: dragging, suspects, narrow windows, dark and light."""

import csv
import shutil
from threading import Event

import pytest

from app.talking import running
from app.visiting import ADA, Visitor
from browsing import CONTRAST
from nearboost.base.progress import progress_bar
from nearboost.cells.annotation_records import Cell
from nearboost.cells.labelling import label_cells
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels, open_store
from nearboost.cells.results import count_again
from nearboost.cells.training import train_cells

READY = "body[data-ready]"
PAGES = ("/gallery?kind=doubtful&labelled=1", "/train", "/results")


@pytest.fixture(scope="module")
def trained_once(screen_once, plate, tmp_path_factory):
    """Every second cell is labelled; two labels are wrong."""
    folder = shutil.copytree(screen_once, tmp_path_factory.mktemp("trained") / "screen")
    lines = (plate / "truth.csv").read_text().splitlines()
    (folder / "half.csv").write_text("\n".join([lines[0], *lines[1::2]]))
    project = open_project(folder)
    import_labels(project, folder / "half.csv")
    with open_store(project) as store:
        wrong = store.labels()[:2]
        for one in wrong:
            label_cells(project, store, "Eve", [Cell(one.image, one.object, one.event)], 3 - one.class_id)
    train_cells(project)
    count_again(project)
    return folder


@pytest.fixture
def app(trained_once, tmp_path):
    with running(shutil.copytree(trained_once, tmp_path / "screen")) as one:
        yield one


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


def visited(browser, app, **context):
    made = Visitor(browser, **context)
    made.enter(app.entrance)
    made.be(ADA)
    return made


def test_the_numbers_beside_a_field_are_those_of_the_counts(app, browser):
    """Labelled and predicted cells of each class, without those whose outline is wrong."""
    project, store = app.desk.project, app.desk.annotations
    labelled = [one for one in store.labels() if one.image == 1]
    free = next(n for n in range(1, 13) if n not in {one.object for one in labelled})
    store.exclude(ADA, [Cell(1, free), Cell(1, labelled[0].object, labelled[0].event)], True)
    count_again(project)
    with (project.folder / "tables" / "counts.csv").open(newline="") as file:
        lines = [one for one in csv.DictReader(file) if (one["level"], one["ImageNumber"]) == ("image", "1")]
    assert {one["total"] for one in lines} == {"10"}
    visitor = visited(browser, app)
    page = visitor.open("/fields/1")
    shown = page.locator("#classes button").all_inner_texts()
    for one, said in zip(lines, shown, strict=False):
        name, numbers = said.split("\n")[-2:]
        labels, _, predicted = numbers.partition(" + ")
        assert (name, int(labels)) == (one["class"], int(one["annotated"]))
        assert int(labels) + int(predicted or 0) == int(one["count"])
    assert "labelled + predicted in this field" in page.locator("#classes").inner_text()
    visitor.context.close()


def test_pages_can_be_read(app, browser, scheme):
    """Contrast of 4.5 to 1, nothing sideways, no word to the console, no request elsewhere."""
    visitor = visited(browser, app, color_scheme=scheme)
    for path in PAGES:
        page = visitor.open(path)
        page.wait_for_selector(READY)
        for width in (1366, 400):
            page.set_viewport_size({"width": width, "height": 768})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
        assert page.evaluate(CONTRAST) >= 4.5, path
        names = page.evaluate("[...document.querySelectorAll('button, select, [role=option]')].filter((e) => "
                              "!(e.ariaLabel || e.textContent.trim() || e.labels?.length)).length")  # fmt: skip
        assert names == 0, path
        page.close()
    visitor.context.close()
    assert visitor.told == []
    assert [url for url in visitor.asked if not url.startswith((visitor.origin, "blob:"))] == []


def test_what_is_shown_is_what_is_asked_for(app, browser):
    """A well that was chosen is shown at once, so that no key labels cells of the wells before."""
    visitor = visited(browser, app)
    page = visitor.open("/gallery")
    page.wait_for_selector(READY)
    page.locator("#from").select_option("demo A02")
    page.locator(".crop:focus").wait_for()
    wells = page.locator(".crop").evaluate_all(
        "(all) => [...new Set(all.map((one) => one.ariaLabel.split(', ')[1]))]"
    )
    assert wells == ["A02"]
    there = page.locator(".crop").count()
    page.keyboard.press("a")
    with page.expect_response("**/api/label") as answered:
        page.keyboard.press("1")
    assert {one["image"] for one in answered.value.json()["labels"]} == {2}
    assert len(answered.value.json()["labels"]) == there
    page.locator("#from").focus()
    for well in ("A03", "A04"):  # keys walk on in the list
        with page.expect_response("**/api/gallery?*") as answered:
            page.keyboard.press("ArrowDown")
        assert {one["well"] for one in answered.value.json()["cells"]} == {well}
        page.locator("#from:focus").wait_for()
    visitor.context.close()
    assert visitor.told == []


def test_pictures_are_dragged_to_a_class(app, browser):
    visitor = visited(browser, app)
    page = visitor.open("/gallery")
    page.wait_for_selector(READY)
    before = len(app.desk.annotations.labels())
    page.locator(".crop").nth(0).click()
    page.locator(".crop").nth(2).click(modifiers=["Shift"])
    with page.expect_response("**/api/label") as answered:
        page.locator(".crop").nth(1).drag_to(page.get_by_role("button", name="Label the chosen cells granular"))
    assert len(answered.value.json()["labels"]) == 3
    assert len(app.desk.annotations.labels()) == before + 3
    page.locator(".bin", has_text="granular").locator("text=3 here").wait_for()
    page.keyboard.press("Control+z")
    page.locator(".bin", has_text="granular").locator("text=0 here").wait_for()
    assert len(app.desk.annotations.labels()) == before
    visitor.context.close()
    assert visitor.told == []


def test_suspects_are_mended_where_they_are_shown(app, browser):
    visitor = visited(browser, app)
    page = visitor.open("/train")
    page.wait_for_selector(READY)
    first = page.locator("#suspects button").first
    name = first.get_attribute("aria-label")
    said = 1 if "votes say diffuse" in name else 2
    first.focus()
    with page.expect_response("**/api/label") as answered:
        page.keyboard.press(str(said))
    [made] = answered.value.json()["labels"]
    assert (made["class"], made["who"]) == (said, ADA)
    page.locator("#suspects .crop.done").first.wait_for()
    visitor.open("/results", page)
    assert "Labels have changed" in page.locator("#stale").inner_text()
    visitor.context.close()
    assert visitor.told == []


def test_a_job_that_runs_is_seen_and_cancelled(app, browser):
    """Also from a page that is opened while it runs."""
    visitor, go_on = visited(browser, app), Event()

    def work():
        with progress_bar("Waiting", 100, 0) as advance:
            for _ in range(100):
                advance()
                go_on.wait(0.1)
        return "done"

    app.desk.jobs.start("count", work)
    page = visitor.open("/results")
    page.get_by_text("Waiting, ").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.locator("#said", has_text="Cancelled").wait_for()
    visitor.context.close()
    assert visitor.told == []
