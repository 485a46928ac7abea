"""How a project is shown: colour and limits of each channel, kept for all of its fields."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.errors import UsageError
from nearboost.cells.files import read_json, write_json_lines
from nearboost.cells.project import Project
from nearboost.cells.trust import check_images
from nearboost.datasets import DataError

FILE = "display.json"
SAMPLE, DARKEST, BRIGHTEST = 8, 0.01, 0.999  # fields that limits come from, and shares of their pixels
COLOURS = ("#4da6ff", "#ffd23c", "#ff5aa0", "#5ae6a0", "#ffffff")  # of channels on black; nuclei, stain, others
THINNEST, THICKEST = 0.5, 8.0
LARGEST = 1e9  # of the limits of a channel


@dataclass(frozen=True)
class Channel:
    """How a channel is shown.

    Parameters
    ----------
    shown : bool
        Whether it is.
    colour : str
        Of its brightest pixels, as #4da6ff.
    low, high : float
        Pixels that are black, and those of the full colour; the same in all fields.
    """

    shown: bool
    colour: str
    low: float
    high: float


@dataclass(frozen=True)
class Display:
    """How a project is shown.

    Parameters
    ----------
    channels : dict
        `Channel` by role.
    outlines : bool, default=True
        Whether outlines of cells are drawn.
    line_width : float, default=1.5
        Of outlines, in pixels of the screen.
    predictions : bool, default=True
        Whether outlines have the colour of the predicted class.
    """

    channels: dict[str, Channel]
    outlines: bool = True
    line_width: float = 1.5
    predictions: bool = True

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def read_display(project: Project) -> Display:
    """How a project is shown, as it was kept, or as its brightness suggests.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Display
        With all of its channels.
    """
    path = project.folder / FILE
    usual = usual_display(project)
    if not path.exists():
        return usual
    try:
        return display_of(usual, read_json(path, ""))
    except (DataError, UsageError):  # damaged: it is about looks only
        return usual


def save_display(project: Project, given: Mapping[str, Any]) -> Display:
    """Keep how a project is shown.

    Parameters
    ----------
    project : Project
        The project.
    given : mapping
        What changes of `Display`, as plain values; channels by role, each with what changes of it.

    Returns
    -------
    Display
        What holds now.
    """
    display = display_of(read_display(project), given)
    write_json_lines(project.folder / FILE, display.as_json())
    return display


def display_of(known: Display, given: Mapping[str, Any]) -> Display:
    """A display with changes, which are checked.

    Parameters
    ----------
    known : Display
        What holds.
    given : mapping
        See `save_display`.

    Returns
    -------
    Display
        Both together.
    """
    channels, changes = dict(known.channels), given.get("channels", {})
    if not set(given) <= {"channels", "outlines", "line_width", "predictions"} or not isinstance(changes, Mapping):
        raise UsageError("A display has channels, outlines, line_width and predictions.")
    for role, one in changes.items():
        if role not in channels or not isinstance(one, Mapping):
            raise UsageError(f"The project has no channel {role!r}; it has {', '.join(channels)}.")
        channels[role] = _changed(channels[role], one)
    found = replace(known, **(dict(given) | {"channels": channels}))
    if not (isinstance(found.outlines, bool) and isinstance(found.predictions, bool)):
        raise UsageError("Outlines and predictions are shown or not: true or false.")
    if not _is_number(found.line_width) or not THINNEST <= found.line_width <= THICKEST:
        raise UsageError(f"Lines are {THINNEST:g} to {THICKEST:g} pixels wide.")
    return found


def _changed(known: Channel, given: Mapping[str, Any]) -> Channel:
    if not set(given) <= {"shown", "colour", "low", "high"}:
        raise UsageError("A channel has shown, colour, low and high.")
    found = replace(known, **given)
    if not isinstance(found.shown, bool):
        raise UsageError("A channel is shown or not: true or false.")
    if not isinstance(found.colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", found.colour):
        raise UsageError("A colour is written as #4da6ff.")
    if not (_is_number(found.low) and _is_number(found.high) and found.low < found.high):
        raise UsageError("The darker limit of a channel must be below the brighter one.")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def usual_display(project: Project) -> Display:
    """Limits that suit all fields: from the darkest to the brightest of some of them.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Display
        With a colour for each channel.
    """
    limits = _limits(project.folder, tuple(project.reading.roles), _Sample(project))
    channels = {
        role: Channel(True, COLOURS[min(place, len(COLOURS) - 1)], *limits[role])
        for place, role in enumerate(project.reading.roles)
    }
    return Display(channels)


class _Sample:
    """Fields to look at; all samples are equal, so that limits are found once for a folder and its channels."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sample)


@lru_cache(maxsize=4)
def _limits(folder: Path, roles: tuple[str, ...], sample: _Sample) -> dict[str, tuple[float, float]]:
    fields = sample.project.fields
    lows: dict[str, list[float]] = {role: [] for role in roles}
    highs: dict[str, list[float]] = {role: [] for role in roles}
    for one in fields[:: max(1, -(-len(fields) // SAMPLE))]:
        try:
            check_images(sample.project, one)
            pictures = sample.project.read(one).by_role
        except (ValueError, OSError):
            continue
        for role in roles:
            low, high = np.quantile(pictures[role][::2, ::2], (DARKEST, BRIGHTEST))
            lows[role].append(float(low))
            highs[role].append(float(high))
    return {role: _limits_of(lows[role], highs[role]) for role in roles}


def _limits_of(lows: list[float], highs: list[float]) -> tuple[float, float]:
    low, high = (min(lows), max(highs)) if lows else (0.0, 65535.0)
    return low, high if high > low else low + 1.0
