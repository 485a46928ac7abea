"""From a made-up plate to counts in a real browser: labels by keys, a model, tables, and a kill in between."""

import csv
import io
import re
import shutil
import signal
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest

from app.talking import free_port
from app.visiting import ADA
from cli.calling import call, program
from nearboost.cells.labels import read_label_file
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import read_labels
from nearboost.cells.saying import said_of
from nearboost.cli.common import Exit

OF_EACH, ENOUGH = 50, 0.90
READY = "body[data-ready]:not([data-ready='0'])"
NAMES = {"1": "diffuse", "2": "granular"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The plate of the demo command, segmented and described."""
    folder = tmp_path_factory.mktemp("journey")
    for words in (
        ("demo", folder / "plate"),
        ("new", folder / "screen", folder / "plate" / "images", "--layout", folder / "plate" / "layout.csv"),
        ("segment", folder / "screen"),
        ("features", folder / "screen"),
    ):
        assert call("cells", *words).code == Exit.DONE
    return folder


@pytest.fixture
def screen(demo, tmp_path):
    return shutil.copytree(demo / "screen", tmp_path / "screen")


@pytest.fixture
def truth(demo, screen):
    found = read_label_file(open_project(screen), demo / "plate" / "truth.csv").labels
    return {(one.image, one.object): one.name for one in found}


@contextmanager
def serve(screen, port):
    """The app as people start it, in a process of its own."""
    words = program("cells", "app", screen, "--no-browser", "--port", port)
    with subprocess.Popen(words, stdout=-1, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            yield server
        finally:
            server.kill()


CURRENT = "document.querySelector('.crop[tabindex=\"0\"]')"


def label_by_keys(page, truth):
    """Fifty of each class, in the order in which the gallery shows them."""
    wanted = dict.fromkeys(NAMES, OF_EACH)
    while any(wanted.values()):
        page.wait_for_selector(READY)
        shown = page.locator(".crop").count()
        for _ in range(shown):
            name, place = page.evaluate(f"[{CURRENT}.ariaLabel, {CURRENT}.dataset.place]")
            number, image = map(int, re.match(r"cell (\d+) of image (\d+)", name).groups())
            key = next((key for key, kind in NAMES.items() if truth.get((image, number)) == kind), None)
            if key is None or not wanted[key]:
                page.keyboard.press("ArrowRight")
            else:
                with page.expect_response("**/api/label") as answered:
                    page.keyboard.press(key)
                assert answered.value.ok
                wanted[key] -= 1
                if not any(wanted.values()):
                    return
            if int(place) == shown - 1:
                break
            page.locator(f'.crop[tabindex="0"]:not([data-place="{place}"])').wait_for()
        page.evaluate("delete document.body.dataset.ready")
        page.keyboard.press("r")


def mean_accuracy(screen, truth):
    """Over the classes, of all cells whose truth is known."""
    said = said_of(open_project(screen))
    pairs = [(kind, said.of(*cell)[0]) for cell, kind in truth.items() if said.of(*cell)]
    assert len(pairs) > 500
    return np.mean(
        [np.mean([answer == kind for kind, answer in pairs if kind == name]) for name in NAMES.values()]
    )


@pytest.mark.slow
def test_from_labels_to_counts_and_through_a_kill(screen, truth, visitor):
    port = free_port()
    with serve(screen, port) as server:
        page = visitor.enter(server.stdout.readline().strip())
        visitor.be(ADA)
        go_to(page, "Classes")
        for name in NAMES.values():
            page.get_by_label("New class").fill(name)
            page.keyboard.press("Enter")
            page.locator(".classes", has_text=name).wait_for()
        go_to(page, "Gallery")
        label_by_keys(page, truth)
        server.send_signal(signal.SIGKILL)
        server.wait()
    visitor.expected = ("ERR_",)  # of an app that was killed
    labels = read_labels(open_project(screen)).labels
    assert {(one.image, one.object): one.name for one in labels}.items() <= truth.items()
    assert len(labels) == 2 * OF_EACH
    with serve(screen, port) as server:
        page.goto(server.stdout.readline().strip())
        page.wait_for_url("**/plate")
        go_to(page, "Train")
        assert page.locator("table.labels tfoot").inner_text().split()[-2:] == ["50", "50"]
        page.wait_for_selector("body[data-ready]")
        page.get_by_role("button", name="Train a model").click()
        page.locator("table.models").wait_for()
        assert "predicts" in page.locator("table.models").inner_text()
        assert mean_accuracy(screen, truth) >= ENOUGH
        go_to(page, "Results")
        page.wait_for_selector("body[data-ready]")
        page.get_by_role("button", name="Count the cells").click()
        page.locator("table.counts").first.wait_for()
        check_counts(page, screen)
        relabel_one(page)
        go_to(page, "Results")
        page.get_by_text("Labels have changed since the cells were counted.").wait_for()
        page.wait_for_selector("body[data-ready]")
        page.get_by_role("button", name="Count again").click()
        page.get_by_text("Labels have changed").wait_for(state="hidden")
        page.close()


def go_to(page, name):
    """Open a page of the bar; its scripts have begun when it is loaded."""
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url(f"**/{name.lower()}")


def check_counts(page, screen):
    """The table of the page, and what is downloaded, are counts.csv."""
    content = (screen / "tables" / "counts.csv").read_text()
    with page.expect_download() as loaded:
        page.get_by_role("link", name="counts.csv").click()
    assert loaded.value.path().read_text() == content
    plates = [one for one in csv.DictReader(io.StringIO(content)) if one["level"] == "plate"]
    rows = page.locator("table.counts").first.locator("tbody tr").all_inner_texts()
    shown = [re.split(r"\s*\t\s*", row) for row in rows]
    assert [(row[1], row[2], row[3], row[6]) for row in shown] == [
        (one["class"], one["count"], one["total"], one["annotated"]) for one in plates
    ]
    assert sum(int(one["annotated"]) for one in plates) == 2 * OF_EACH


def relabel_one(page):
    go_to(page, "Gallery")
    page.wait_for_selector(READY)
    with page.expect_response("**/api/label"):
        page.keyboard.press("1")


@pytest.mark.slow
def test_all_of_it_without_a_mouse(screen, truth, visitor):
    """Links and buttons are reached by Tab, and what has the focus can be seen."""
    port = free_port()
    with serve(screen, port) as server:
        page = visitor.enter(server.stdout.readline().strip())
        follow(page, "Classes")
        for name in NAMES.values():
            page.locator("input[name=name]:focus").wait_for()  # of a new class, also after the one before
            page.keyboard.type(name)
            page.keyboard.press("Enter")
            if name == NAMES["1"]:
                page.get_by_role("dialog").wait_for()
                page.keyboard.type(ADA)
                page.keyboard.press("Enter")
            page.locator(".classes", has_text=name).wait_for()
        follow(page, "Gallery")
        label_by_keys(page, truth)
        follow(page, "Train")
        page.wait_for_selector("body[data-ready]")
        page.keyboard.press("t")
        page.locator("table.models").wait_for()
        assert mean_accuracy(screen, truth) >= ENOUGH
        follow(page, "Gallery")
        page.wait_for_selector(READY)
        page.keyboard.press("v")
        page.locator(".voters li").first.wait_for()
        with page.expect_response("**/api/gallery/confirm"):
            page.keyboard.press("Enter")
        page.locator("#said", has_text="48 predictions are confirmed").wait_for()
        page.keyboard.press("Control+z")
        page.locator("#said", has_text="Undone: confirm").wait_for()
        follow(page, "Results")
        page.wait_for_selector("body[data-ready]")
        page.keyboard.press("c")
        page.locator("table.counts").first.wait_for()
        check_counts(page, screen)
        page.close()


FOCUSED = "document.activeElement"


def tab_to(page, name, most=60):
    """Press Tab until the element of a name has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        said = page.evaluate(f"{FOCUSED}.ariaLabel ?? {FOCUSED}.labels?.[0]?.innerText ?? {FOCUSED}.innerText")
        if said.strip() == name:
            seen = page.evaluate(f"getComputedStyle({FOCUSED}).outlineStyle")
            assert seen != "none", f"{name} has the focus, and nobody sees it"
            return
    raise AssertionError(f"Tab does not lead to {name}")


def follow(page, name):
    """Open a page of the bar by keys."""
    tab_to(page, name)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{name.lower()}")
