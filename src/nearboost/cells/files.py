"""JSON files of projects: read with care, written as a whole, the same bytes for the same content."""

import hashlib
import json
from math import isfinite
from pathlib import Path
from typing import Any

from nearboost.base.disk import write_text
from nearboost.base.errors import UsageError
from nearboost.datasets import DataError
from nearboost.datasets.tables import LabelTable, read_csv


def write_json_lines(path: Path, content: Any) -> None:
    """Write JSON for people and for programs: equal content gives equal bytes.

    Parameters
    ----------
    path : Path
        File to write, as a whole.
    content : object
        What JSON can hold.
    """
    write_text(path, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n")


def read_json(path: Path, missing: str) -> dict[str, Any]:
    """Read a file of ours.

    Parameters
    ----------
    path : Path
        JSON file.
    missing : str
        What to say where it is not there.

    Returns
    -------
    dict
        Its content.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_finite, parse_float=_finite)
        json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogateescape")  # texts that can be written
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(missing) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON file; restore it from a copy.") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is not what nearboost writes; restore it from a copy.")
    return content


def _finite(text: str) -> float:
    """A number as `write_json_lines` writes it: neither NaN nor infinite, nor too large for a float."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number of ours.")
    return number


def read_table(path: Path) -> LabelTable:
    """Read a CSV file that a user named.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    LabelTable
        Its columns.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist; give a CSV file.")
    return read_csv(path)


def digest_of(content: Any) -> str:
    """The hash of plain values.

    Parameters
    ----------
    content : object
        What JSON can hold.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
