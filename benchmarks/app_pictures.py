"""The pictures of ``docs/cells-app.md`` and the times of its steps: ``python -m benchmarks.app_pictures``.

A made-up plate is worked on as a user would: commands, labels by keys in a browser, a model, counts.
Which key is pressed comes from the plate's truth.
"""

import csv
import io
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
CLASSES = ("diffuse", "granular")
WINDOW = {"width": 1366, "height": 768}
WIDTH, COLOURS = 960, 200  # of a picture in the documentation
LABELS = 50  # of each class


class Stopwatch:
    """Prints how long each step took."""

    def __init__(self) -> None:
        self._last = self._first = time.monotonic()

    def tell(self, step: str) -> None:
        """The time since the last step."""
        now = time.monotonic()
        print(f"{step}: {now - self._last:.1f} s, {now - self._first:.1f} s in all", flush=True)
        self._last = now


def run(*words: object) -> None:
    """A command, as it is typed."""
    subprocess.run([sys.executable, "-m", "nearboost", "cells", *map(str, words)], check=True)


@contextmanager
def app_of(project: Path) -> Iterator[str]:
    """The printed address of a running app."""
    words = [sys.executable, "-m", "nearboost", "cells", "app", str(project), "--no-browser", "--port", "8766"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def keep(page: Page, name: str) -> None:
    """A picture of the page, in few colours."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = shot.resize((WIDTH, shot.height * WIDTH // shot.width), Image.Resampling.LANCZOS)
    path = FIGURES / f"app-{name}.png"
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KB")


def truth_of(plate: Path) -> dict[str, list[tuple[float, float, str]]]:
    """Points with their class, by well."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    with open(plate / "truth.csv", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["well"], []).append((float(line["x"]), float(line["y"]), line["class"]))
    return found


def classes_of(page: Page, number: int, truth: dict[str, list[tuple[float, float, str]]]) -> dict[int, str]:
    """The true class of each cell of a field."""
    well = page.locator("h1").inner_text().split()[1]
    cells: list[dict[str, Any]] = page.evaluate(f"fetch('/api/fields/{number}').then((r) => r.json())")["cells"]
    return {
        one["object"]: min(truth[well], key=lambda true: (true[0] - one["x"]) ** 2 + (true[1] - one["y"]) ** 2)[2]
        for one in cells
    }


def label_by_keys(page: Page, origin: str, truth: dict[str, list[tuple[float, float, str]]]) -> int:
    """Walk through fields and press the key of each cell, until enough of each class have one; how many."""
    given = dict.fromkeys(CLASSES, 0)
    wells = (1, 8, 9, 16, 17, 24, 4, 12, 20, 6, 14, 22, 2, 10, 3, 11)
    for number in wells:
        open_field(page, origin, number)
        known = classes_of(page, number, truth)
        page.keyboard.press("n")
        for _ in known:
            now = int(page.locator("#cell strong").inner_text().split()[1])
            if given[known[now]] >= LABELS:
                page.keyboard.press("n")
                continue
            given[known[now]] += 1
            with page.expect_response("**/api/label"):
                page.keyboard.press(str(1 + CLASSES.index(known[now])))
        if number == wells[0]:
            keep(page, "field")
        if min(given.values()) >= LABELS:
            break
    return sum(given.values())


def open_field(page: Page, origin: str, number: int) -> None:
    """Show a field."""
    page.goto(f"{origin}/fields/{number}")
    page.wait_for_selector("body[data-ready=true]")


def follow(page: Page, name: str) -> None:
    """Open a page of the bar."""
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url(f"**/{name.lower()}", wait_until="load")


def main() -> None:
    """Work on the plate, keep pictures, tell times."""
    watch = Stopwatch()
    folder = Path(tempfile.mkdtemp(prefix="nearboost-app-"))
    plate, project = folder / "plate", folder / "screen"
    run("demo", plate)
    run("new", project, plate / "images", "--layout", plate / "layout.csv")
    run("segment", project)
    watch.tell("made, segmented")
    with app_of(project) as address, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport=WINDOW)
        page.goto(address)
        page.wait_for_url("**/plate")
        origin = address.partition("/open")[0]
        watch.tell("opened")
        follow(page, "Classes")
        for place, name in enumerate(CLASSES):
            page.get_by_label("New class").fill(name)
            page.keyboard.press("Enter")
            if place == 0:
                page.get_by_role("dialog").wait_for()
                page.keyboard.type("Ada")
                page.keyboard.press("Enter")
            page.get_by_role("button", name=f"Rename {name}").wait_for()
        labels = label_by_keys(page, origin, truth_of(plate))
        watch.tell(f"{labels} labels")
        train_and_count(page, origin, watch)
        chromium.close()
    shutil.rmtree(folder)


def train_and_count(page: Page, origin: str, watch: Stopwatch) -> None:
    """A model, a look at what it says, and counts."""
    follow(page, "Train")
    page.get_by_role("button", name="Train a model").click()
    page.locator("table.models").wait_for(timeout=120_000)
    watch.tell("trained")
    keep(page, "train")
    follow(page, "Gallery")
    page.locator("#kind").select_option("doubtful")
    page.get_by_role("button", name="Fetch").click()
    keep(page, "gallery")
    open_field(page, origin, 5)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")
    page.locator(".voters li").first.wait_for()
    keep(page, "votes")
    watch.tell("looked at")
    follow(page, "Results")
    page.get_by_role("button", name="Count the cells").click()
    page.locator("table.counts").first.wait_for(timeout=120_000)
    watch.tell("counted")
    keep(page, "results")
    page.goto(f"{origin}/plate?measure=Share_granular")
    page.locator(".well").nth(3).click()
    keep(page, "plate")


if __name__ == "__main__":
    main()
