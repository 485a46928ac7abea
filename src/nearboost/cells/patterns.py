"""Names of image files: which plate, well, site and channel each belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nearboost.base.errors import UsageError

GROUPS = ("plate", "well", "row", "column", "site", "channel")
ENDING = r"\.(?:tif|tiff|png)$"
NUCLEI, STAIN = "nuclei", "stain"


class Place(NamedTuple):
    """Where in an experiment a picture was taken; "" for what its name does not say."""

    plate: str
    well: str
    site: str

    def __str__(self) -> str:
        return " ".join(filter(None, (self.plate, self.well, self.site and f"site {self.site}"))) or "a field"


def as_unicode(name: str) -> str:
    """A name that every table can hold: bytes of a file's name that are no text are written out."""
    return str(name).encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Pattern:
    """How names are read.

    Attributes
    ----------
    name : str
        Of a preset, or the pattern itself.
    expressions : tuple of str
        Regular expressions with named groups (plate, well or row and column, site, channel), looked for in the
        path below the folder of images; the first that fits counts.
    roles : dict
        Channel of the nuclei and of the stain, where a preset knows them.
    """

    name: str
    expressions: tuple[str, ...]
    roles: dict[str, str]

    def read(self, path: str) -> dict[str, str] | None:
        """What a name says.

        Parameters
        ----------
        path : str
            Path below the folder of images, with slashes.

        Returns
        -------
        dict or None
            Values of the groups; None if the name does not fit.
        """
        for expression in self.expressions:
            found = re.search(expression + ENDING, path, re.IGNORECASE)
            if found:
                said = {name: value or "" for name, value in found.groupdict().items()}
                if said.get("row") and said.get("column"):
                    said["well"] = f"{said['row'].upper()}{int(said['column']):02}"
                return said
        return None


PRESETS = {
    "bbbc013": Pattern(
        "bbbc013",
        (
            r"(?P<plate>BBBC013)_(?P<well>[A-P]\d{2})_s(?P<site>\d+)_w(?P<channel>\d)",
            r"Channel(?P<channel>\d)-\d+-(?P<row>[A-P])-(?P<column>\d{2})",
        ),
        {NUCLEI: "2", STAIN: "1"},
    ),
    "bbbc022": Pattern(
        "bbbc022",
        (
            r"(?P<plate>[^_/]+)_(?P<well>[A-P]\d{2})_site(?P<site>\d+)_Ch(?P<channel>\d)",
            r"BBBC022_v1_images_(?P<plate>\d+)w\d/I?XMtest_(?P<well>[A-P]\d{2})_s(?P<site>\d+)_w(?P<channel>\d)[^/]*",
        ),
        {NUCLEI: "1", STAIN: "4"},
    ),
    "plain": Pattern(
        "plain",
        (r"(?P<plate>[^_/]+)_(?P<well>[A-P]\d{2})_s(?P<site>\d+)_(?P<channel>[^_/]+)",),
        {NUCLEI: NUCLEI, STAIN: STAIN},
    ),
}


def find_pattern(name: str | None, paths: Sequence[str]) -> Pattern | None:
    """The pattern of a name.

    Parameters
    ----------
    name : str or None
        A preset, a regular expression, or None for the preset that fits most files.
    paths : sequence of str
        Names of the files.

    Returns
    -------
    Pattern or None
        None where no preset fits any file: then each file is a field of its own.
    """
    if name is None:
        fitting = {name: sum(one.read(path) is not None for path in paths) for name, one in PRESETS.items()}
        best = max(fitting, key=lambda preset: fitting[preset])
        return PRESETS[best] if fitting[best] else None
    if name in PRESETS:
        return PRESETS[name]
    try:
        groups = set(re.compile(name + ENDING).groupindex)
    except re.error as error:
        raise UsageError(f"The pattern {name!r} is no regular expression ({error}).") from None
    if not groups & {"well", "row", "site", "channel", "plate"} or not groups <= set(GROUPS):
        raise UsageError(
            f"The pattern {name!r} has the groups {', '.join(sorted(groups)) or 'none'}; write some of "
            "(?P<plate>…), (?P<well>…) or (?P<row>…) and (?P<column>…), (?P<site>…), (?P<channel>…), or use "
            f"{', '.join(PRESETS)}."
        )
    return Pattern(name, (name,), {})
