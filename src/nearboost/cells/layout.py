"""What was done to each well: doses, compounds, controls, from a table."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from nearboost.cells.files import read_table
from nearboost.datasets import DataError

CONTROLS = ("positive", "negative", "")


@dataclass(frozen=True)
class Layout:
    """Columns of a layout by plate and well.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns besides plate and well.
    wells : dict
        Values by (plate, well); plate is "" where the table has no such column.
    sha256 : str or None
        Of the file, in hexadecimal, when it was read; None without one.
    """

    columns: tuple[str, ...]
    wells: Mapping[tuple[str, str], dict[str, str]]
    sha256: str | None = None

    def of(self, plate: str, well: str) -> dict[str, str]:
        """What the table says of a well.

        Parameters
        ----------
        plate : str
            Name of the plate.
        well : str
            Name of the well, such as A01.

        Returns
        -------
        dict
            A text for each column, "" where the table says nothing.
        """
        known = self.wells.get((plate, well)) or self.wells.get(("", well)) or {}
        return {name: known.get(name, "") for name in self.columns}

    def knows(self, plate: str, well: str) -> bool:
        """Whether the table has a line for a well.

        Parameters
        ----------
        plate : str
            Name of the plate.
        well : str
            Name of the well.

        Returns
        -------
        bool
            Whether it has.
        """
        return (plate, well) in self.wells or ("", well) in self.wells


EMPTY = Layout((), {})


def read_layout(path: Path) -> Layout:
    """Read a layout.

    Parameters
    ----------
    path : Path
        CSV file with a column ``well``, perhaps ``plate``, ``dose`` (numbers), ``control`` (positive, negative or
        empty), and any others.

    Returns
    -------
    Layout
        By plate and well.
    """
    sha256 = layout_hash(path)  # before it is read: what is written between the two counts as a later change
    table = read_table(path)
    wells = [as_well(name) for name in table.required(("well",))]
    plates = table.columns.get("plate", [""] * len(wells))
    names = tuple(name for name in table.columns if name not in ("plate", "well"))
    for name in names:
        if not re.fullmatch(r"\w[\w .()/%µμ-]*", name):
            raise DataError(f"{path} has a column called {name!r}; use letters, digits, spaces and underscores.")
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line, (plate, well) in enumerate(zip(plates, wells, strict=True), start=2):
        if (plate, well) in found:
            raise DataError(
                f"{path} has a second line for well {well} of plate {plate!r}, line {line}; delete one."
            )
        values = {name: table.columns[name][line - 2] for name in names}
        _check(values, path, line)
        found[plate, well] = values
    return Layout(names, found, sha256)


def layout_hash(path: Path) -> str | None:
    """What tells one layout from another.

    Parameters
    ----------
    path : Path
        Where a layout may be.

    Returns
    -------
    str or None
        SHA-256 of the file in hexadecimal; None without one.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def as_well(name: str) -> str:
    """A well as A01, however it was written.

    >>> as_well("a1"), as_well("P24"), as_well("slide 3")
    ('A01', 'P24', 'slide 3')
    """
    found = re.fullmatch(r"\s*([A-Za-z]{1,2})\s*0*(\d{1,2})\s*", name)
    return f"{found[1].upper()}{int(found[2]):02}" if found else name.strip()


def _check(values: dict[str, str], path: Path, line: int) -> None:
    control = values.get("control", "").lower()
    if control not in CONTROLS:
        raise DataError(f"{path} says control {control!r} in line {line}; use positive, negative or nothing.")
    if "control" in values:
        values["control"] = control
    dose = values.get("dose", "")
    try:
        sound = not dose or (isfinite(float(dose)) and float(dose) >= 0)
    except ValueError:
        sound = False
    if not sound:
        raise DataError(f"{path} says dose {dose!r} in line {line}; use a number of 0 or more, or nothing.")
