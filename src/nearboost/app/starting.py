"""A project is opened for the app, or refused in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

from nearboost.app.desk import Desk
from nearboost.app.door import Address
from nearboost.app.serving import Tell, run_app
from nearboost.base.errors import UsageError
from nearboost.cells.browsing import view_plate
from nearboost.cells.project_labels import export_labels, open_store
from nearboost.cells.trust import knows_folders
from nearboost.cells.writing import opened_for_writing


def start_app(folder: Path, *, host: str, port: int, browser: bool, tell: Tell, warn: Tell) -> None:
    """Open a project and serve it until somebody ends the program.

    Parameters
    ----------
    folder : Path
        The project.
    host : str
        The address to listen at.
    port : int
        Its port.
    browser : bool
        Whether the page is opened in the user's browser.
    tell : callable
        Prints the address.
    warn : callable
        Prints what the user should know.
    """
    address = Address(checked_host(host), port)
    with open_desk(folder) as desk:
        Thread(target=warm_up, args=(desk,), daemon=True).start()
        run_app(desk, address, browser=browser, tell=tell, warn=warn)


def warm_up(desk: Desk) -> None:
    """Read while the browser starts what the first page shows; what is wrong with it, the page will say."""
    with suppress(Exception):
        if desk.may_read_images:
            view_plate(desk.project, desk.annotations)


@contextmanager
def open_desk(folder: Path) -> Iterator[Desk]:
    """Open a project and its labels, for this process alone.

    Parameters
    ----------
    folder : Path
        The project.

    Yields
    ------
    Desk
        What is open.
    """
    with opened_for_writing(folder) as project, open_store(project) as store:
        desk = Desk(project, store, may_read_images=knows_folders(project))
        try:
            yield desk
        finally:
            desk.jobs.close()
            export_labels(project, store)


def checked_host(host: str) -> str:
    """An address that names one place: requests are compared with it letter by letter."""
    try:
        if ip_address(host).is_unspecified:
            raise UsageError(
                f"--host {host} names no single place; give the address that others use, as 192.168.0.7."
            )
        return str(ip_address(host))
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        return host.lower()
