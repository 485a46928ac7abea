"""Small words for sentences: counts with their noun, times that are known roughly, texts of strangers."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

MOST_COMPARED = 50  # names, letter by letter, which takes long
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def counted(n: int, noun: str) -> str:
    """A number and its noun, which gets an s unless there is one of them.

    >>> counted(1, "method"), counted(2400, "file")
    ('1 method', '2,400 files')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def roughly(seconds: float) -> str:
    """A time that is known roughly.

    >>> roughly(40), roughly(700), roughly(9000)
    ('less than a minute', 'about 12 minutes', 'about 2.5 hours')
    """
    if seconds < 55:
        return "less than a minute"
    minutes = max(1, round(seconds / 60))
    return f"about {counted(minutes, 'minute')}" if minutes < 100 else f"about {seconds / 3600:.1f} hours"


def near_names(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The names most like one that is not known, the likest first; those that share most groups of letters.

    >>> near_names("beech/17.jpg", ["beach/17.jpg", "beach/71.jpg", "forest/17.jpg", "x"], 2)
    ['beach/17.jpg', 'beach/71.jpg']
    """
    wanted = _groups_of_letters(name)
    shared = ((len(wanted & _groups_of_letters(one)), one) for one in known)
    likely = nlargest(MOST_COMPARED, shared, key=lambda pair: pair[0])
    return get_close_matches(name, [one for _, one in likely], n=n)


def _groups_of_letters(text: str) -> set[str]:
    """All pairs of letters that follow each other."""
    return {text[i : i + 2] for i in range(len(text) - 1)}


def printable(text: str) -> str:
    r"""A text that a stranger may have written, for a terminal: what would steer it is spelled, lines stay lines.

    >>> print(printable("a \x1b[31mred\x1b[0m name"))
    a \x1b[31mred\x1b[0m name
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
