"""Fields: one picture for each channel of a place, from files by their names."""

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.base.images import ImageError
from nearboost.base.planes import Planes, read_planes
from nearboost.cells.patterns import NUCLEI, STAIN, Pattern, Place, as_unicode
from nearboost.cells.segmentation import check_picture
from nearboost.datasets import DataError
from nearboost.datasets.dataset import join_names

MICROSCOPE_ENDINGS = (".tif", ".tiff", ".png")


@dataclass(frozen=True)
class Reading:
    """How files become pictures.

    Attributes
    ----------
    roles : dict
        Channel of each role: "nuclei", "stain" and others; a number from 1 on or a name.
    project : {"max", "mean"} or None
        How several planes become one.
    plane : int or None
        The plane to take instead.
    pixel_size : float or None
        Micrometres, if they were given; else what files say counts.
    """

    roles: dict[str, str]
    project: str | None = None
    plane: int | None = None
    pixel_size: float | None = None


class FoundField(NamedTuple):
    """A place and the file of each role, all in one where the channels of a file are."""

    place: Place
    files: dict[str, str]


class Sorted(NamedTuple):
    """Fields in the order of their places; what was left out, and why."""

    fields: list[FoundField]
    skipped: dict[str, str]


def sort_files(paths: Sequence[str], pattern: Pattern | None, roles: Mapping[str, str]) -> Sorted:
    """Put files together to fields.

    Parameters
    ----------
    paths : sequence of str
        Paths below the folder of images, with slashes.
    pattern : Pattern or None
        How names are read; None makes a field of each file, which holds all channels.
    roles : mapping
        Channel of each role.

    Returns
    -------
    Sorted
        Fields, and files or places without a whole field.
    """
    if pattern is None:
        return Sorted([FoundField(_own_place(path), dict.fromkeys(roles, path)) for path in paths], {})
    by_place: dict[Place, dict[str, list[str]]] = {}
    channels: dict[Place, set[str]] = {}
    skipped: dict[str, str] = {}
    one_channel = {value: role for role, value in roles.items()}
    for path in paths:
        said = pattern.read(path)
        if said is None:
            skipped[path] = f"its name does not fit the pattern {pattern.name}; rename it or give another pattern."
            continue
        place = Place(*(as_unicode(said.get(name, "")) for name in Place._fields))
        files = by_place.setdefault(place, {})
        channels.setdefault(place, set()).add(said.get("channel", ""))
        if "channel" not in said:
            for role in roles:
                files.setdefault(role, []).append(path)
        elif said["channel"] in one_channel:
            files.setdefault(one_channel[said["channel"]], []).append(path)
    pictures = {PurePosixPath(path).stem for path in paths if path not in skipped}
    skipped = {path: why for path, why in skipped.items() if not _is_named_after(path, pictures)}
    fields = []
    for place in sorted(by_place):
        why = _incomplete(by_place[place], roles, sorted(channels[place]))
        if why:
            skipped[str(place)] = why
        else:
            fields.append(FoundField(place, {role: by_place[place][role][0] for role in roles}))
    return Sorted(fields, skipped)


def _own_place(path: str) -> Place:
    return Place("", "", as_unicode(path.rpartition(".")[0]))


def _is_named_after(path: str, pictures: Set[str]) -> bool:
    """Whether a file is named after a picture, as masks beside it are: something follows that is no letter."""
    stem = PurePosixPath(path).stem
    return any(stem[:at] in pictures for at, letter in enumerate(stem) if not letter.isalnum())


def _incomplete(files: Mapping[str, Sequence[str]], roles: Mapping[str, str], channels: Sequence[str]) -> str:
    """What keeps a place from being a field; nothing if all is there once."""
    for role, channel in roles.items():
        there = files.get(role, [])
        if not there:
            return (
                f"it has no file of channel {channel} ({role}), but of {join_names(channels)}; add it, or give "
                f"another channel for {role}."
            )
        if len(there) > 1:
            return f"{there[0]} and {there[1]} are both its channel {channel} ({role}); take one of them away."
    return ""


class Pictures(NamedTuple):
    """One picture for each role, and the width of a pixel in micrometres, if it is known."""

    by_role: dict[str, NDArray[Any]]
    pixel_size: float | None


def read_field(files: Mapping[str, str | os.PathLike[str]], reading: Reading) -> Pictures:
    """Read the pictures of a field.

    Parameters
    ----------
    files : mapping
        File of each role.
    reading : Reading
        Roles, projection and size of a pixel.

    Returns
    -------
    Pictures
        All of one size, without NaN.
    """
    opened: dict[str, Planes] = {}
    pictures: dict[str, NDArray[Any]] = {}
    sizes = []
    one_file = len(files) > 1 and len({os.fspath(one) for one in files.values()}) == 1
    for role, file in files.items():
        name = os.fspath(file)
        planes = opened.get(name) or opened.setdefault(name, _open(name, one_file, reading))
        channels = planes.flat(reading.project, reading.plane)
        whole = one_file or (len(files) == 1 and len(channels) > 1)
        pictures[role] = channels[_channel(planes, reading.roles[role]) if whole else _only(planes)]
        check_picture(pictures[role], name)
        sizes.append(planes.pixel_size)
    shapes = {picture.shape for picture in pictures.values()}
    if len(shapes) > 1:
        told = " and ".join(f"{Path(files[role]).name} {_size(pictures[role])}" for role in pictures)
        raise ImageError(f"The channels differ in size, {told} pixels; export them alike.")
    return Pictures(pictures, reading.pixel_size or next((size for size in sizes if size), None))


def _open(name: str, holds_all: bool, reading: Reading) -> Planes:
    """A file that holds all channels may have them as plain pages, where these are not told to be planes."""
    planes = read_planes(name)
    pages = holds_all and reading.project is None and reading.plane is None
    return planes.with_pages_as_channels() if pages else planes


def _size(picture: NDArray[Any]) -> str:
    return f"{picture.shape[1]} x {picture.shape[0]}"


def _only(planes: Planes) -> int:
    """A file of one channel; a grey picture saved as colours counts as one."""
    channels = planes.flat(plane=0)
    if len(channels) > 1 and any(not np.array_equal(channels[0], other) for other in channels[1:3]):
        raise ImageError(
            f"{planes.name} holds {len(channels)} channels, where one file a channel is expected; save them "
            "apart, or give only the files with all channels."
        )
    return 0


def _channel(planes: Planes, wanted: str) -> int:
    """A channel by its name in the file, or by its number from 1 on."""
    if wanted in planes.channels:
        return planes.channels.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(planes.channels):
        return int(wanted) - 1
    names = [name or str(number) for number, name in enumerate(planes.channels, start=1)]
    raise ImageError(f"{planes.name} has no channel {wanted!r}; it has {join_names(names)}.")


def list_images(folder: Path) -> list[str]:
    """The pictures of a folder and of those in it.

    Parameters
    ----------
    folder : Path
        Where to look.

    Returns
    -------
    list of str
        Paths below it, with slashes, sorted.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; give one with TIFF or PNG images.")
    found = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in MICROSCOPE_ENDINGS and path.is_file() and not path.name.startswith(".")
    ]
    if not found:
        raise DataError(f"{folder} holds no TIFF or PNG images; give the folder of the images.")
    return sorted(found)


def check_roles(roles: Mapping[str, str], pattern: Pattern | None) -> dict[str, str]:
    """Channels by role, those of the preset where none are given.

    Parameters
    ----------
    roles : mapping
        As given.
    pattern : Pattern or None
        Perhaps a preset.

    Returns
    -------
    dict
        With "nuclei", and perhaps "stain" and others.
    """
    known = dict(roles) or (dict(pattern.roles) if pattern else {})
    if NUCLEI not in known:
        raise UsageError(
            f"Which channel shows nuclei is not known; give --channel {NUCLEI}=NAME, and --channel {STAIN}=NAME "
            "for the stain of cells; NAME is as in the names of files or in the file, or a number from 1 on."
        )
    if len(set(known.values())) < len(known):
        raise UsageError(f"One channel has two roles: {', '.join(f'{r}={c}' for r, c in known.items())}.")
    for role in known:
        if not role.isidentifier():
            raise UsageError(f"{role!r} cannot be the role of a channel; use letters, digits and underscores.")
    return {role: known[role] for role in sorted(known, key=lambda role: (role != NUCLEI, role != STAIN, role))}
