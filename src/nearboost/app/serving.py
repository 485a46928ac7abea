"""The app is started, opened in a browser and stopped."""

import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path
from threading import Timer

import uvicorn

from nearboost.app.desk import Desk
from nearboost.app.door import ENTRANCE, Address, Keys, is_loopback
from nearboost.app.site import build_site
from nearboost.base.errors import UsageError

Tell = Callable[[str], None]
BACKLOG = 64  # connections that wait
AT_ONCE = 64  # requests
PATIENCE = 1  # seconds for answers under way when the app ends


def run_app(desk: Desk, address: Address, *, browser: bool, tell: Tell, warn: Tell) -> None:
    """Serve a project until somebody ends the program.

    Parameters
    ----------
    desk : Desk
        What is open.
    address : Address
        Where the app is found.
    browser : bool
        Whether the page is opened in the user's browser.
    tell : callable
        Prints the address.
    warn : callable
        Prints what the user should know.
    """
    with listening(address) as door:
        keys = Keys()
        if not is_loopback(address.host):
            warn(
                f"Warning: other machines can reach {address.origin}, and whoever is in between can read along; "
                "do this in networks that you trust only."
            )
        tell(f"{address.origin}{ENTRANCE}#{keys.token}")
        warn("The address works once. End the app with Ctrl-C; every label is on the disk already.")
        opened = opened_in_browser(address, keys) if browser else nullcontext()
        with opened, suppress(KeyboardInterrupt):  # which the server raises again once it has ended
            make_server(desk, address, keys).run(sockets=[door])


def make_server(desk: Desk, address: Address, keys: Keys) -> uvicorn.Server:
    """The server of a project, which writes nothing into logs.

    Parameters
    ----------
    desk : Desk
        What is open.
    address : Address
        Where the app is found.
    keys : Keys
        Token and secret.

    Returns
    -------
    uvicorn.Server
        Not running yet.
    """
    config = uvicorn.Config(
        build_site(desk, address, keys),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=AT_ONCE,
        timeout_graceful_shutdown=PATIENCE,
    )
    return uvicorn.Server(config)


@contextmanager
def listening(address: Address) -> Iterator[socket.socket]:
    """The socket of an address, or a sentence why there is none."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    with door:
        if os.name == "posix":  # a port that was left a moment ago; elsewhere the option shares ports
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((address.host, address.port))
            door.listen(BACKLOG)
        except OSError as error:
            raise UsageError(
                f"Port {address.port} of {address.host} cannot be used ({error.strerror}); another app may have "
                "it: give another one with --port N."
            ) from None
        yield door


@contextmanager
def opened_in_browser(address: Address, keys: Keys) -> Iterator[None]:
    """Open the app by a file of the user's own: the arguments of a browser's process can be read by others."""
    with tempfile.TemporaryDirectory(prefix="nearboost-") as folder:
        file = Path(folder) / "open.html"
        goal = escape(f"{address.origin}{ENTRANCE}#{keys.token}", quote=True)
        file.touch(mode=0o600)
        file.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={goal}">'
            f'<title>nearboost</title><a href="{goal}">Open the app</a>',
            encoding="utf-8",
        )
        timer = Timer(0.3, webbrowser.open, [file.as_uri()])
        timer.daemon = True
        timer.start()
        yield
        timer.cancel()
