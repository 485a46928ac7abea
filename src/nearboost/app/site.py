"""All pages of the app behind its door."""

from functools import cache
from importlib import import_module
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from nearboost.app import answers
from nearboost.app.asking import Asking
from nearboost.app.desk import Desk
from nearboost.app.door import Address, Door, Keys
from nearboost.app.routes import get
from nearboost.cells.annotation_records import ConflictError
from nearboost.pages.rendering import common_script, style_sheet

# Modules with ROUTES, and what the bar calls their page; those without a name have none.
PAGES = {
    **{"entrance": "", "asking": "", "steps": "", "working": ""},
    **{"plate": "Plate", "field": "", "gallery": "Gallery", "train": "Train", "results": "Results"},
    **{"classes": "Classes", "unplaced": ""},
}
FIRST = "/plate"
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def build_site(desk: Desk, address: Address, keys: Keys) -> ASGIApp:
    """The app for one project.

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
    ASGI application
        To be served.
    """
    modules = [import_module(f"nearboost.app.{name}") for name in PAGES]
    routes = [
        get("/", start),
        get("/static/{name}", static),
        *(one for module in modules for one in module.ROUTES),
    ]
    handlers = {
        ConflictError: answers.on_conflict,
        ValueError: answers.on_error,
        OSError: answers.on_error,
        HTTPException: answers.on_missing,
    }
    site = Starlette(routes=routes, exception_handlers=handlers)
    site.router.redirect_slashes = False
    site.state.desk, site.state.keys, site.state.address = desk, keys, address
    site.state.bar = [(f"/{name}", title) for name, title in PAGES.items() if title]
    return Door(Asking(site, desk), address, keys)


def start(request: Request) -> Response:
    """The first page."""
    return RedirectResponse(FIRST, 303)


def static(request: Request) -> Response:
    """A style sheet or script, from memory: no name leads to a file."""
    name = request.path_params["name"]
    known = static_files()
    if name not in known:
        raise HTTPException(404)
    return Response(known[name], media_type=KINDS[name.rpartition(".")[2]])


@cache
def static_files() -> dict[str, str]:
    """Style sheet and scripts by name."""
    folder = files("nearboost.app") / "static"
    own = {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}
    own["app.css"] = style_sheet() + own["app.css"]
    return own | {"page.js": common_script()}
