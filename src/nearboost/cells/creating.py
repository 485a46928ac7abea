"""Projects are made of folders of images, and find images that were moved."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nearboost.base.disk import check_folder
from nearboost.base.image_set import Content, hash_file
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.base.words import counted
from nearboost.cells.fields import Reading, check_roles, list_images, sort_files
from nearboost.cells.files import digest_of
from nearboost.cells.layout import EMPTY, as_well, read_layout
from nearboost.cells.patterns import Place, find_pattern
from nearboost.cells.project import FOLDERS, LAYOUT, Field, ImageFile, Project
from nearboost.cells.trust import knows_folders, sign_folders
from nearboost.datasets import DataError

MOST_TRIED = 8  # fields, until one can be read


class Made(NamedTuple):
    """A project, what was left out of it, by name, and what a reader should know."""

    project: Project
    skipped: dict[str, str]
    notes: list[str]


def create_project(
    folder: Path,
    images: Sequence[Path],
    *,
    pattern: str | None = None,
    roles: Mapping[str, str] | None = None,
    project: str | None = None,
    plane: int | None = None,
    pixel_size: float | None = None,
    layout: Path | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Made:
    """Make a project of folders of images.

    Parameters
    ----------
    folder : Path
        The project's own folder, new or empty.
    images : sequence of Path
        Folders of images.
    pattern : str or None, default=None
        A preset's name or a regular expression with named groups; None finds the preset.
    roles : mapping or None, default=None
        Channel of "nuclei", "stain" and others.
    project : {"max", "mean"} or None, default=None
        How several planes become one.
    plane : int or None, default=None
        The plane to take instead.
    pixel_size : float or None, default=None
        Micrometres; None takes what files say.
    layout : Path or None, default=None
        Table of wells, which is copied into the project.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Returns
    -------
    Made
        The project, and places without a whole field.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import create_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     made = create_project(screen, [plate / "images"], layout=plate / "layout.csv")
    >>> len(made.project.fields), made.project.reading.roles, made.skipped
    (8, {'nuclei': 'nuclei', 'stain': 'stain'}, {})
    """
    check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is not empty; give the name of a new folder for the project.")
    known = EMPTY if layout is None else read_layout(layout)
    listed = [list_images(one) for one in images]
    names = find_pattern(pattern, [path for paths in listed for path in paths])
    reading = Reading(check_roles(roles or {}, names), project, plane, pixel_size)
    made = Project(
        folder, tuple(str(one.resolve()) for one in images), names.name if names else None, reading, (), {}, known
    )
    fields, skipped = _numbered(made, listed, n_jobs, verbose)
    if not fields:
        places = {name: told for name, told in skipped.items() if name not in chain(*listed)}  # not odd files
        why = next(iter((places or skipped).items()), ("", "there are no images."))
        raise DataError(f"No field of {', '.join(map(str, images))} is whole: {why[0]}: {why[1]}")
    _check_some(replace(made, fields=tuple(fields)))
    folder.mkdir(parents=True, exist_ok=True)
    for name in FOLDERS:
        (folder / name).mkdir(exist_ok=True)
    if layout is not None:
        shutil.copyfile(layout, folder / LAYOUT)
    made = replace(made, fields=tuple(fields), numbers={one.content: one.number for one in fields})
    made.save()
    sign_folders(made)
    return Made(made, skipped, layout_notes(made))


def _check_some(made: Project) -> None:
    """Channels or planes that no field has are told now, and not when cells are sought."""
    why = ""
    for one in made.fields[:MOST_TRIED]:
        try:
            made.read(one)
            return
        except (ValueError, OSError) as error:
            why = why or f"{one.name}: {error}"
    raise DataError(f"No field can be read: {why}")


def _numbered(
    made: Project, listed: Sequence[Sequence[str]], n_jobs: int | None, verbose: int
) -> tuple[list[Field], dict[str, str]]:
    """Fields of all folders with numbers by their place, each content once."""
    pattern = find_pattern(made.pattern, []) if made.pattern else None
    fields: list[Field] = []
    skipped: dict[str, str] = {}
    contents: dict[str, str] = {}
    places: dict[Place, int] = {}
    for number, paths in enumerate(listed):
        found = sort_files(paths, pattern, made.reading.roles)
        skipped |= found.skipped
        files = sorted({path for one in found.fields for path in one.files.values()})
        root = Path(made.image_folders[number])
        with progress_bar("Reading files", len(files), verbose) as advance:
            hashes = map_in_threads(hash_file, [root / path for path in files], n_jobs, advance)
        by_path: dict[str, Content] = dict(zip(files, hashes, strict=True))
        for place, mine in found.fields:
            place = Place(place.plate, as_well(place.well), place.site)
            problem = next((by_path[path].problem for path in mine.values() if by_path[path].problem), "")
            refs = {role: ImageFile(number, path, by_path[path].digest) for role, path in mine.items()}
            content = content_of(refs)
            if problem or content in contents or places.get(place, number) != number:
                twin = contents.get(content, "another folder's")
                skipped[str(place)] = problem or f"it is the same as {twin}; take one of them away."
                continue
            contents[content], places[place] = str(place), number
            fields.append(Field(len(fields) + 1, place, refs, content))
    return fields, skipped


def content_of(files: Mapping[str, ImageFile]) -> str:
    """The hash of a field: of its files' contents with their roles.

    Parameters
    ----------
    files : mapping
        Image file of each role.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return digest_of({role: file.sha256 for role, file in files.items()})


def layout_notes(project: Project) -> list[str]:
    """What a reader should know of the layout.

    Parameters
    ----------
    project : Project
        With or without layout.

    Returns
    -------
    list of str
        Sentences.
    """
    if project.layout is EMPTY:
        return []
    wells = dict.fromkeys((one.place.plate, one.place.well) for one in project.fields)
    unknown = [f"{plate} {well}".strip() for plate, well in wells if not project.layout.knows(plate, well)]
    if not unknown:
        return []
    own = " ".join(next(iter(project.layout.wells), ("", "nothing"))).strip()
    missing = f"the layout has no line for {counted(len(unknown), 'well')}, such as {unknown[0]}"
    return [f"{missing}; its first line is of {own}. Correct {project.folder / LAYOUT}."]


def relink(project: Project, folder: Path, *, n_jobs: int | None = None, verbose: int = 0) -> Made:
    """Find images that were moved, by their content.

    Parameters
    ----------
    project : Project
        Whose images are elsewhere now.
    folder : Path
        Where to look.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Returns
    -------
    Made
        The project with the new places, saved; and images that were not found.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import create_project, relink, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = (plate / "images").rename(plate / "moved")
    ...     found = relink(project, plate / "moved")
    ...     print(Path(found.project.image_folders[-1]).name, found.skipped)
    moved {}
    """
    paths = list_images(folder)
    with progress_bar("Reading files", len(paths), verbose) as advance:
        hashes = map_in_threads(hash_file, [folder / path for path in paths], n_jobs, advance)
    by_hash = {content.digest: path for path, content in reversed(list(zip(paths, hashes, strict=True)))}
    folders = (*project.image_folders, str(folder.resolve()))
    skipped: dict[str, str] = {}

    def found(one: Field, file: ImageFile) -> ImageFile:
        if file.sha256 in by_hash:
            return ImageFile(len(folders) - 1, by_hash[file.sha256], file.sha256)
        if hash_file(project.path_of(file)).digest != file.sha256:
            skipped[one.name] = f"{file.path} is not in {folder}, whatever its name there."
        return file

    fields = tuple(
        replace(one, files={role: found(one, file) for role, file in one.files.items()}) for one in project.fields
    )
    known = knows_folders(project)
    moved = replace(project, image_folders=folders, fields=fields)
    moved.save()
    if known or not any(file.folder < len(folders) - 1 for one in fields for file in one.files.values()):
        sign_folders(moved)  # the new folder was named here, and so were others that are still read
    return Made(moved, skipped, [])
