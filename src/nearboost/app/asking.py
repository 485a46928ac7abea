"""A project from elsewhere: before its image folders are read, the person is asked."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nearboost.app.answers import answer, page, refusal
from nearboost.app.desk import Desk, desk_of
from nearboost.app.door import ENTRANCE
from nearboost.app.routes import get, post
from nearboost.cells.trust import sign_folders

PAGE, CONSENT = "/ask", "/api/ask"
ALLOWED = (PAGE, CONSENT, ENTRANCE, "/api/classes", "/api/who")


class Asking:
    """Leads every page to the question until it is answered.

    Parameters
    ----------
    app : ASGI application
        All pages.
    desk : Desk
        Knows whether images may be read.
    """

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        inside: ASGIApp = self._app
        if not self._desk.may_read_images and path not in ALLOWED and not path.startswith("/static/"):
            inside = RedirectResponse(PAGE, 303)
            if scope["method"] != "GET" or path.startswith("/api/"):
                inside = refusal(403, "Say first whether the images of this project may be read.")
        await inside(scope, receive, send)


def show(request: Request) -> Response:
    """The question."""
    project = desk_of(request).project
    folders = [str((project.folder / one).resolve()) for one in project.image_folders]
    return page(request, "ask.html.j2", title="A project from elsewhere", folders=folders)


def consent(request: Request) -> Response:
    """Read these folders, and do not ask again."""
    desk = desk_of(request)
    sign_folders(desk.project)
    desk.may_read_images = True
    return answer({})


ROUTES = [get(PAGE, show), post(CONSENT, consent)]
