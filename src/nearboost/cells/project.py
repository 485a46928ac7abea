"""A project: a folder that knows its images by their content, and has a place for everything made of them.

``project.json`` lists folders of images, channels and fields; ``pipeline.json`` all settings. Below are ``masks``,
``features``, ``tables`` and ``models``, and ``labels.csv``. The number of an image is given once to a content and
never again to another one.
"""

import os
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from nearboost.base.errors import UsageError
from nearboost.base.image_set import hash_file
from nearboost.cells.fields import Pictures, Reading, read_field
from nearboost.cells.files import read_json, write_json_lines
from nearboost.cells.layout import EMPTY, Layout, read_layout
from nearboost.cells.patterns import NUCLEI, Place, as_unicode
from nearboost.datasets import DataError

FORMAT = 1
FOLDERS = ("masks", "features", "tables", "models")
LARGEST_NUMBER = 2**31 - 1  # of an image
FILE, PIPELINE, LAYOUT, LABELS = "project.json", "pipeline.json", "layout.csv", "labels.csv"
BACKUPS = "backups"  # of annotations


class ImageFile(NamedTuple):
    """A file of images: the number of its folder, its path below, and its content's hash."""

    folder: int
    path: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Field:
    """A field of a project.

    Attributes
    ----------
    number : int
        ImageNumber of all tables.
    place : Place
        Plate, well and site.
    files : dict
        Image file of each channel's role.
    content : str
        Hash of the contents of its files and their roles.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import create_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_demo(Path(folder) / "plate", repeats=1, size=64, n_cells=2)
    ...     made = create_project(Path(folder) / "screen", [Path(folder) / "plate" / "images"])
    >>> field = made.project.fields[0]
    >>> field.number, field.place.well, sorted(field.files)
    (1, 'A01', ['nuclei', 'stain'])
    """

    number: int
    place: Place
    files: dict[str, ImageFile]
    content: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"image {self.number} ({self.place})"


@dataclass(frozen=True)
class Project:
    """An opened project.

    Attributes
    ----------
    folder : Path
        Where it is.
    image_folders : tuple of str
        Folders of images.
    pattern : str or None
        How names of files were read.
    reading : Reading
        How files become pictures.
    fields : tuple of Field
        In the order of their numbers.
    numbers : dict
        ImageNumber of every content that ever was in the project.
    layout : Layout
        What was done to each well.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import create_project, open_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=64, n_cells=2)
    ...     _ = create_project(screen, [plate / "images"], layout=plate / "layout.csv")
    ...     project = open_project(screen)
    >>> len(project.fields), project.pattern
    (8, 'plain')
    """

    folder: Path
    image_folders: tuple[str, ...]
    pattern: str | None
    reading: Reading
    fields: tuple[Field, ...]
    numbers: dict[str, int]
    layout: Layout = field(default=EMPTY, repr=False)

    def path_of(self, file: ImageFile) -> Path:
        """Where an image file should be.

        Parameters
        ----------
        file : ImageFile
            Of a field.

        Returns
        -------
        Path
            Its place; relative folders lie beside the project.
        """
        return self.folder / self.image_folders[file.folder] / file.path

    def change_of(self, one: Field) -> str:
        """What a reader should know where the images of a field are not those that the project was made of.

        Parameters
        ----------
        one : Field
            A field of this project.

        Returns
        -------
        str
            A sentence; "" where nothing has changed, or where images are gone.
        """
        for file in one.files.values():
            there = hash_file(self.path_of(file))
            if there.digest not in ("", file.sha256):
                return (
                    f"{self.path_of(file)} has changed since the project was made; bring the old image back, or "
                    "make a new project of the images as they are now."
                )
        return ""

    def read(self, one: Field) -> Pictures:
        """Read the pictures of a field, as they were when the project was made.

        Parameters
        ----------
        one : Field
            A field of this project.

        Returns
        -------
        Pictures
            By role.
        """
        missing = [self.path_of(file) for file in one.files.values() if not self.path_of(file).exists()]
        if missing:
            raise DataError(
                f"{missing[0]} is gone; if the images were moved, run nearboost cells relink {self.folder} FOLDER."
            )
        changed = self.change_of(one)
        if changed:
            raise DataError(changed)
        return read_field({role: self.path_of(file) for role, file in one.files.items()}, self.reading)

    def field_of(self, number: int) -> Field:
        """The field of an ImageNumber.

        Parameters
        ----------
        number : int
            ImageNumber.

        Returns
        -------
        Field
            The field.
        """
        for one in self.fields:
            if one.number == number:
                return one
        raise DataError(f"{self.folder} has no image numbered {number}.")

    def with_present_layout(self) -> "Project":
        """The same with the layout that its folder has now: users correct it while the project is open.

        Returns
        -------
        Project
            With the layout as it is on the disk.
        """
        return replace(self, layout=_layout_in(self.folder))

    def save(self) -> None:
        """Write ``project.json`` as a whole."""
        content = {
            "format": FORMAT,
            "image_folders": list(self.image_folders),
            "pattern": self.pattern,
            "channels": self.reading.roles,
            "project": self.reading.project,
            "plane": self.reading.plane,
            "pixel_size": self.reading.pixel_size,
            "fields": [_field_as_json(one) for one in self.fields],
            "numbers": self.numbers,
        }
        write_json_lines(self.folder / FILE, content)


def open_project(folder: Path) -> Project:
    """Open a project.

    Parameters
    ----------
    folder : Path
        A folder that `create_project` made.

    Returns
    -------
    Project
        As its file says.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import create_project, open_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     _ = create_project(screen, [plate / "images"])
    ...     project = open_project(screen)
    >>> [field.name for field in project.fields[:2]]
    ['image 1 (demo A01 site 1)', 'image 2 (demo A02 site 1)']
    """
    content = read_json(folder / FILE, f"{folder} is not a project; make one with nearboost cells new.")
    given = content.get("format")
    if type(given) is int and given > FORMAT:
        raise UsageError(f"{folder} was made by a newer version of nearboost; update it to open this project.")
    if given != FORMAT:
        raise DataError(f"{folder / FILE} has format {given!r}, and this version reads format {FORMAT}.")
    try:
        fields = tuple(_field_of_json(one) for one in content["fields"])
        reading = reading_of_json(content)
        folders = tuple(_as_text(one) for one in content["image_folders"])
        numbers = {str(one): int(number) for one, number in content["numbers"].items()}
        sound = all(
            file.folder in range(len(folders)) and set(one.files) == set(reading.roles) and _is_below(file.path)
            for one in fields
            for file in one.files.values()
        )
        numbered = {one.number for one in fields if 0 < one.number <= LARGEST_NUMBER}
        if not sound or len(numbered) < len(fields) or not isinstance(content["pattern"], str | None):
            raise ValueError
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder / FILE} is damaged; restore it from a copy, or make the project anew."
        ) from error
    _check_links(folder)
    return Project(folder, folders, content["pattern"], reading, fields, numbers, _layout_in(folder))


def _layout_in(folder: Path) -> Layout:
    return read_layout(folder / LAYOUT) if (folder / LAYOUT).exists() else EMPTY


def _check_links(folder: Path) -> None:
    """Refuse links among a project's own files: what is written to one would replace what it leads to."""
    waiting = [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                own = entry.path.startswith(tuple(os.path.join(folder, name) for name in (*FOLDERS, BACKUPS)))
                if entry.is_symlink() and (own or not entry.is_dir()):
                    raise DataError(
                        f"{entry.path} is a link; put the file itself there, or make the project anew."
                    )
                if own and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def reading_of_json(content: dict[str, Any]) -> Reading:
    """How files become pictures, if these are settings that `create_project` would take.

    Parameters
    ----------
    content : dict
        Channels by role, projection, plane and size of a pixel.

    Returns
    -------
    Reading
        Checked; others raise KeyError, AttributeError, TypeError or ValueError.
    """
    roles = {str(role): str(channel) for role, channel in content["channels"].items()}
    project, plane, size = content["project"], content["plane"], content["pixel_size"]
    if NUCLEI not in roles or not all(map(str.isidentifier, roles)) or project not in (None, "max", "mean"):
        raise ValueError
    if plane is not None and (type(plane) is not int or plane < 0):
        raise ValueError
    if size is not None and not 0 < size < inf:
        raise ValueError
    return Reading(roles, project, plane, size)


def _as_text(given: Any) -> str:
    """A text that may be (part of) the name of a file."""
    if not isinstance(given, str) or "\0" in given:
        raise ValueError
    return given


def _is_below(path: str) -> bool:
    return not os.path.isabs(path) and ".." not in Path(path).parts


def _field_as_json(one: Field) -> dict[str, Any]:
    return asdict(one) | {
        "place": one.place._asdict(),
        "files": {role: file._asdict() for role, file in one.files.items()},
    }


def _field_of_json(given: Any) -> Field:
    files = {
        str(role): ImageFile(int(file["folder"]), _as_text(file["path"]), str(file["sha256"]))
        for role, file in given["files"].items()
    }
    place = given["place"]
    return Field(
        int(given["number"]),
        Place(*(as_unicode(place[name]) for name in Place._fields)),
        files,
        str(given["content"]),
    )
