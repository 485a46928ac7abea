"""What a terminal shows of a command, as text and as a picture."""

import fcntl
import html
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 80
ERASED = re.compile(r"[^\n]*\r\x1b\[2K")  # what a progress bar writes over
COMPILING = re.compile(r"nearboost: compiling kernels[^.]*\.\n")  # on a machine's first run only; may be wrapped
MOVES = re.compile(r"\x1b\[\?\d+[hl]|\x1b\[\d*[A-DGJK]|\r(?=\n)")
SCALE = 0.7  # from the 20 pixels of rich's letters to those of the page
BELOW = 24  # what is left free around the lines
TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")
# No font is fetched: each line is stretched to its length, whatever fixed-width font there is.
PICTURE = """<svg size="{width} {terminal_height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
<rect width="100%" height="100%" fill="#0c0c0c"/>
<g transform="translate({terminal_x}, {terminal_x})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Shown(NamedTuple):
    """A command, its exit code, and what it wrote on either stream, with the terminal's codes for colours."""

    command: str
    code: int
    written: str


def run(command: str, columns: int = COLUMNS) -> Shown:
    """A command of a shell, run in a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": paths, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    with subprocess.Popen(
        ["bash", "-uo", "pipefail", "-c", command], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        written = b"".join(_all_of(ours))
        os.close(ours)
    text = MOVES.sub("", ERASED.sub("", written.decode("utf-8", "replace")))
    return Shown(command, process.returncode, COMPILING.sub("", text))


def _all_of(terminal: int) -> Iterable[bytes]:
    """What is written to a terminal until nobody has it open any more."""
    while True:
        try:
            some = os.read(terminal, 2**16)
        except OSError:  # as Linux tells the end
            return
        if not some:
            return
        yield some


def plain(shown: Iterable[Shown]) -> str:
    """What was written, without colours."""
    return "".join(Text.from_ansi(one.written.rstrip()).plain + "\n" for one in shown if one.written)


def picture(shown: Iterable[Shown], columns: int = COLUMNS) -> str:
    """Commands after their prompts, each with what it wrote, as an SVG."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for one in shown:
        console.print(Text.assemble(("$ ", "green"), (one.command, "bold")), soft_wrap=False)
        if one.written.strip():
            console.print(Text.from_ansi(one.written.rstrip()), soft_wrap=False)
    drawn = console.export_svg(code_format=PICTURE, theme=MONOKAI, unique_id="shown")
    [(width, height)] = re.findall(r'size="(\S+) (\S+)"', drawn)
    wide, high = float(width), float(height) + BELOW
    size = f'viewBox="0 0 {wide:.0f} {high:.0f}" width="{SCALE * wide:.0f}" height="{SCALE * high:.0f}"'
    return drawn.replace(f'size="{width} {height}"', size, 1)


def words_in(text: str) -> list[str]:
    """The words of a text or of such a picture: neither numbers, which are times for the most part, nor frames."""
    if text.startswith("<svg"):
        text = html.unescape(" ".join(TEXT.findall(text)))
    return re.findall(r"[^\W\d_]+", text)
