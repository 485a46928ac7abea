"""The tutorials, followed to the letter: ``python -m benchmarks.tutorials [NAME…]`` (vectors, images, cells).

Each page of ``docs/tutorials`` is worked through in an empty folder, as a reader would: its ``sh`` blocks are run
by a shell, its ``python`` blocks by one Python session, and every line of a ``text`` block must stand in what was
printed, where … is any text. Prints how long each step took. The pictures that
``<!-- picture: FILE WIDTHxHEIGHT -->`` asks for are taken anew and go to ``docs/figures``.
"""

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"
WIDTH, COLOURS = 900, 256  # of a picture in the documentation
# A command that left items out, and told so, ends with 3; any other failure ends the block.
TOLERANT = "trap 'code=$?; [ $code = 3 ] || exit $code' ERR\n"
BLOCK = re.compile(
    r"^```(?P<kind>sh|python|text)\n(?P<text>.*?)^```$"
    r"|^<!-- picture: (?P<source>\S+)(?: (?P<width>\d+)x(?P<height>\d+))? -->\n"
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

    Raises AssertionError where a block prints something other than the page says.
    """
    session: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    with contextlib.chdir(folder):
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            begin = time.monotonic()
            if block["kind"] == "text":
                missing = [line for line in block["text"].splitlines() if not stands_in(line, printed)]
                assert not missing, f"{page.name}: {missing} is not in:\n{printed}"
            elif block["kind"]:
                printed = run_shell(block["text"]) if block["kind"] == "sh" else run_python(block["text"], session)
                yield Step(block["text"].partition("\n")[0], printed, time.monotonic() - begin)
            elif pictures:
                size = (int(block["width"]), int(block["height"])) if block["width"] else None
                keep(Path(block["source"]), size, ROOT / "docs" / block["target"])
            else:
                assert Path(block["source"].partition("#")[0]).is_file(), f"{page.name}: no {block['source']}"


def stands_in(line: str, printed: str) -> bool:
    """Whether what was printed has this line, wherever lines were broken; … is any text."""
    pattern = r".*?".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))
    return re.search(pattern, printed, re.DOTALL) is not None


def run_shell(commands: str) -> str:
    """What the commands print, on either stream."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-uo", "pipefail", "-c", TOLERANT + commands.replace("NEARBOOST/", f"{ROOT}/") + "exit 0"],
        env=os.environ | {"PATH": paths, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, f"{commands}\n{result.stdout}"
    return result.stdout


def run_python(code: str, session: dict[str, Any]) -> str:
    """What the code prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<tutorial>", "exec"), session)
    return out.getvalue()


def keep(source: Path, size: tuple[int, int] | None, target: Path) -> None:
    """A picture, or the part of a page that is below ``#``, in few colours."""
    name, _, anchor = source.name.partition("#")
    file = source.with_name(name).resolve()
    shot = photograph(file, anchor, size) if size else Image.open(file)
    shot = shot.convert("RGB")
    if shot.width > WIDTH:
        shot = shot.resize((WIDTH, shot.height * WIDTH // shot.width), Image.Resampling.LANCZOS)
    shot.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size // 1024} KB", flush=True)


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
