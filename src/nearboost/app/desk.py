"""What one run of the app has open."""

from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.door import WEEK, cookies_named
from nearboost.base.words import printable
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.jobs import Jobs
from nearboost.cells.project import Project

PERSON = "nearboost-who"


@dataclass
class Desk:
    """The open project.

    Parameters
    ----------
    project : Project
        The project.
    annotations : AnnotationStore
        Its labels.
    may_read_images : bool
        Whether somebody on this machine named the image folders, or has agreed to them.
    jobs : Jobs, default=Jobs()
        What is being trained or counted.
    """

    project: Project
    annotations: AnnotationStore
    may_read_images: bool
    jobs: Jobs = field(default_factory=Jobs)

    def reread_layout(self) -> None:
        """Take the layout that is in the folder now: it may have been corrected since the app started."""
        self.project = self.project.with_present_layout()


def desk_of(request: Request) -> Desk:
    """What is open."""
    desk: Desk = request.app.state.desk
    return desk


def person_of(request: Request) -> str:
    """The person's name, kept in a cookie; empty where it was not asked yet."""
    found = cookies_named(request.headers, PERSON)
    name = unquote(found[0]) if found else ""
    return name if printable(name) == name else ""


def remember_person(response: Response, name: str) -> Response:
    """Keep a name that the store took, so that it is asked once."""
    response.set_cookie(PERSON, quote(name, safe=""), max_age=52 * WEEK, httponly=True, samesite="strict")
    return response
