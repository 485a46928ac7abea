"""Which folders a project may read images from: those that somebody on this machine named for it.

A project is a folder that may come from anywhere, and its list of image folders with it. Where a project is made,
or its images are found again, the list is signed with a key that only this user has; an app asks before it reads
folders of a list that is not signed.
"""

import hmac
import json
import os
import sys
from pathlib import Path
from secrets import token_bytes

from nearboost.base.disk import write_text
from nearboost.base.errors import UsageError
from nearboost.cells.project import Field, Project

FILE = "folders.signed"
KEY_BYTES = 32


def sign_folders(project: Project) -> None:
    """Note that somebody on this machine named the image folders of a project.

    Parameters
    ----------
    project : Project
        The project.
    """
    key = _key()
    if key is not None:
        write_text(project.folder / FILE, _signature(project, key) + "\n")


def knows_folders(project: Project) -> bool:
    """Whether somebody on this machine named the image folders of a project.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    bool
        Whether the list is signed by this user.
    """
    key, path = _key(), project.folder / FILE
    if key is None or not path.is_file():
        return False
    said = path.read_text(encoding="utf-8", errors="replace").strip()
    return hmac.compare_digest(said.encode(), _signature(project, key).encode())


def check_images(project: Project, one: Field) -> None:
    """Refuse images that a link leads to out of the folders of a project.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.
    """
    for file in one.files.values():
        check_inside(project.folder / project.image_folders[file.folder], project.path_of(file))


def check_inside(folder: Path, path: Path) -> None:
    """Refuse a file that lies, or that a link leads to, outside of a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    path : Path
        The file.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path.name} is a link that leads out of its folder; put the file itself there.")


def _signature(project: Project, key: bytes) -> str:
    folders = [str((project.folder / one).resolve()) for one in project.image_folders]
    return hmac.new(key, json.dumps(folders).encode(), "sha256").hexdigest()


def _key() -> bytes | None:
    """The key of this user, made when it is first needed; None where it cannot be kept."""
    path = _state_folder() / "nearboost" / "projects.key"
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "wb") as made:
                made.write(token_bytes(KEY_BYTES))
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == KEY_BYTES else None


def _state_folder() -> Path:
    """Where programs keep what is theirs."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
