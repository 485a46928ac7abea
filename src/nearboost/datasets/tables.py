"""Tables beside the data: CSV files of labels and of metadata."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearboost.base.tables import unescaped
from nearboost.datasets.dataset import DataError, join_names

LABEL_COLUMNS = ("label", "class", "category", "target", "y")
FILE_COLUMNS = ("file_name", "filename", "file", "path", "name")
PART_COLUMNS = ("part", "split", "subset")
GROUP_COLUMNS = ("group", "track", "plate", "specimen", "patient")
MASK_COLUMNS = ("mask", "mask_file")
TRAIN_NAMES = ("train", "training", "trainval")
TEST_NAMES = ("test", "testing", "val", "valid", "validation")


@dataclass(frozen=True)
class LabelTable:
    """The columns of a file, by their names in small letters."""

    path: Path
    columns: dict[str, list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def column(self, names: Sequence[str]) -> list[str] | None:
        """The first of these columns that is there."""
        return next((self.columns[name] for name in names if name in self.columns), None)

    def required(self, names: Sequence[str]) -> list[str]:
        """The same; a sentence where there is none, or a cell is empty."""
        name = next((name for name in names if name in self.columns), None)
        if name is None:
            there = f"the columns {join_names(list(self.columns))}" if self.columns else "columns of numbers alone"
            raise DataError(f"{self.path} has {there}; expected one called {' or '.join(names)}.")
        found = self.columns[name]
        if "" in found:
            raise DataError(f"{self.path} has no {name} in line {found.index('') + 2}; fill or delete the line.")
        return found

    def labels(self) -> list[str]:
        """The label column, known by its name or because there is no other beside the file names."""
        if self.column(LABEL_COLUMNS) is not None:
            return self.required(LABEL_COLUMNS)
        known = (*FILE_COLUMNS, *PART_COLUMNS, *GROUP_COLUMNS, *MASK_COLUMNS)
        others = [name for name in self.columns if name not in known]
        return self.required(others if len(others) == 1 else LABEL_COLUMNS)

    def part(self) -> list[str] | None:
        """Train or test, where the table says so."""
        found = self.column(PART_COLUMNS)
        return None if found is None else [as_part(word, self.path) for word in found]

    def groups(self) -> list[str] | None:
        """The group of each line, where the table has them; a line without one would join all others without."""
        return None if self.column(GROUP_COLUMNS) is None else self.required(GROUP_COLUMNS)


def as_part(word: str, where: Path) -> str:
    """One of the words for a part of the data as "train" or "test"."""
    if word.lower() in TRAIN_NAMES:
        return "train"
    if word.lower() in TEST_NAMES:
        return "test"
    raise DataError(f"{where} calls a part {word!r}; use train or test.")


def read_csv(path: Path, header: Sequence[str] | None = None) -> LabelTable:
    """A file of comma- or semicolon-separated values; without ``header`` its first line names the columns."""
    lines = list(numbered_lines(path))
    if not lines:
        raise DataError(f"{path} is empty; expected a line for each item.")
    names = [cell(name).lower() for name in (header or lines[0][1])]
    body = lines if header else lines[1:]
    for number, line in body:
        check_width(path, number, line, names)
    return LabelTable(path, {name: [cell(line[i]) for _, line in body] for i, name in enumerate(names)})


def cell(text: str) -> str:
    """What a cell says, without spaces around it."""
    return unescaped(text.strip())


def check_width(path: Path, number: int, line: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a line that has not a value for each column."""
    if len(line) != len(names):
        raise DataError(
            f"{path} has {len(line)} values in line {number}; expected {len(names)}: {join_names(names)}."
        )


def read_rows(path: Path) -> list[list[str]]:
    """The lines of a CSV file that are not empty, as they stand."""
    return [line for _, line in numbered_lines(path)]


def numbered_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The same, one after the other, with their numbers in the file."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            separator = max(",;\t", key=file.readline().count)
            file.seek(0)
            reader = csv.reader(file, delimiter=separator, strict=True)
            yield from ((reader.line_num, line) for line in reader if line)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} cannot be read as UTF-8 text ({error}); save it as UTF-8.") from error
    except csv.Error as error:
        raise DataError(f"{path} is not a readable CSV file ({error}).") from error
