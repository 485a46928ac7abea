"""The tutorials, followed to the letter: ``python -m benchmarks.tutorials [NAME…]`` (vectors, images, cells).

Each page of ``docs/tutorials`` is worked through in an empty folder, as a reader would: the lines of its ``sh``
blocks are run in a terminal, its ``python`` blocks by one Python session, and every line of a ``text`` block must
stand in what was printed, where … is any text. Prints how long each step took. Pictures are taken anew and go to
``docs/figures``, as a comment before each says:

- ``<!-- picture: FILE WIDTHxHEIGHT -->``: a page in a window of this size, or a file that is a picture;
- ``<!-- pictures: PATTERN PATTERN… -->``: those that match, a row for each pattern;
- ``<!-- terminal … -->``: what the last ``sh`` block showed; more lines of the comment must stand in it.
"""

import argparse
import contextlib
import io
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from benchmarks import terminal

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"
WIDTH, COLOURS = 900, 256  # of a picture in the documentation
TILE, GAP = 220, 6  # most width of one of several pictures, and what is between them
DONE = (0, 3)  # a command that left items out, and told so, ends with 3
BLOCK = re.compile(
    r"^```(?P<kind>sh|python|text)\n(?P<text>.*?)^```$"
    r"|^<!-- (?:pictures?: (?P<source>[^>]+?)(?: (?P<width>\d+)x(?P<height>\d+))? |terminal(?P<said>.*?))-->\n"
    r"!\[[^\]]*\]\(\.\./(?P<target>\S+)\)$",
    re.MULTILINE | re.DOTALL,
)


class Step(NamedTuple):
    """A block that was run: its first line, what it printed, and how long it took."""

    line: str
    printed: str
    seconds: float


def main() -> None:
    """Work through the named pages, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=["vectors", "images", "cells"])
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
            begin = time.monotonic()
            for step in follow(PAGES / f"{name}.md", Path(folder), pictures=True):
                print(f"{name}: {step.seconds:5.1f} s  {step.line}", flush=True)
            print(f"{name}: {time.monotonic() - begin:5.1f} s in all, pictures included", flush=True)


def follow(page: Path, folder: Path, *, pictures: bool = False) -> Iterator[Step]:
    """Run the blocks of a page one after the other in an empty folder.

    Raises AssertionError where a block prints something other than the page or its pictures say.
    """
    session: dict[str, Any] = {"__name__": "__main__"}
    printed, shown = "", list[terminal.Shown]()
    with contextlib.chdir(folder):
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            begin, target = time.monotonic(), ROOT / "docs" / (block["target"] or "")
            said = block["text"] if block["kind"] == "text" else block["said"] or ""
            missing = [line for line in said.splitlines() if not stands_in(line, printed)]
            assert not missing, f"{page.name}: {missing} is not in:\n{printed}"
            if block["kind"] == "sh":
                shown = run_shell(block["text"])
                printed = terminal.plain(shown)
                yield Step(block["text"].partition("\n")[0], printed, time.monotonic() - begin)
            elif block["kind"] == "python":
                printed = run_python(block["text"], session)
                yield Step(block["text"].partition("\n")[0], printed, time.monotonic() - begin)
            elif block["said"] is not None:
                drawn = terminal.picture(shown)
                if pictures:
                    target.write_text(drawn, encoding="utf-8")
                there = target.read_text(encoding="utf-8")
                assert terminal.words_in(there) == terminal.words_in(drawn), f"{page.name}: {target.name} is old"
            elif block["source"] and pictures:
                size = (int(block["width"]), int(block["height"])) if block["width"] else None
                keep(taken(block["source"].split(), size), target)
            elif block["source"]:
                sources = [source.partition("#")[0] for source in block["source"].split()]
                assert all(any(Path().glob(source)) for source in sources), f"{page.name}: no {block['source']}"


def stands_in(line: str, printed: str) -> bool:
    """Whether what was printed has this line, wherever lines were broken; … is any text."""
    pattern = r".*?".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))
    return re.search(pattern, printed, re.DOTALL) is not None


def run_shell(commands: str) -> list[terminal.Shown]:
    """What a terminal shows of commands, one in each line."""
    shown = []
    for command in commands.splitlines():
        one = terminal.run(command.replace("NEARBOOST/", f"{ROOT}/"))
        written = one.written.replace(str(Path.cwd()), "~")  # whose name changes with every call
        shown.append(terminal.Shown(command, one.code, written))
        assert one.code in DONE, f"{command}\n{terminal.plain(shown)}"
    return shown


def run_python(code: str, session: dict[str, Any]) -> str:
    """What the code prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<tutorial>", "exec"), session)
    return out.getvalue()


def taken(sources: Sequence[str], size: tuple[int, int] | None) -> Image.Image:
    """A page, the part of it that is below ``#``, a picture, or several in rows."""
    file, _, anchor = sources[0].partition("#")
    if size is not None:
        return photograph(Path(file).resolve(), anchor, size)
    rows = [[Image.open(file) for file in sorted(Path().glob(source))] for source in sources]
    return rows[0][0] if rows == [rows[0][:1]] else side_by_side(rows)


def keep(picture: Image.Image, target: Path) -> None:
    """Write a picture in few colours."""
    picture = picture.convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, picture.height * WIDTH // picture.width), Image.Resampling.LANCZOS)
    few = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size // 1024} KB", flush=True)


def side_by_side(rows: Sequence[Sequence[Image.Image]]) -> Image.Image:
    """Square pictures in rows."""
    most = max(map(len, rows))
    side = min(TILE, rows[0][0].width, (WIDTH + GAP) // most - GAP)
    sheet = Image.new("RGB", (most * (side + GAP) - GAP, len(rows) * (side + GAP) - GAP), "white")
    for y, row in enumerate(rows):
        for x, one in enumerate(row):
            sheet.paste(
                as_shown(one).resize((side, side), Image.Resampling.LANCZOS), (x * (side + GAP), y * (side + GAP))
            )
    return sheet


def as_shown(picture: Image.Image) -> Image.Image:
    """A picture in colours; one of a microscope from its darkest to its brightest."""
    if picture.mode.startswith("I"):
        grey = np.asarray(picture).astype(float)
        low, high = np.percentile(grey, (1, 99.8))
        picture = Image.fromarray((255 * np.clip((grey - low) / (high - low), 0, 1)).astype(np.uint8))
    return picture.convert("RGB")


def photograph(file: Path, anchor: str, size: tuple[int, int]) -> Image.Image:
    """What a browser of this size shows of a page, from the element with this id on."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(f"file://{file}")
        if anchor:
            page.evaluate("id => document.getElementById(id).scrollIntoView()", anchor)
        page.wait_for_timeout(400)
        shot = page.screenshot()
        browser.close()
    return Image.open(io.BytesIO(shot))


if __name__ == "__main__":
    main()
