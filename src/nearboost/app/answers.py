"""What the app answers: pages, JSON, pictures, files, and errors as one sentence."""

from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from nearboost.base.words import printable
from nearboost.cells.annotation_records import CellClass, CellLabel, ConflictError
from nearboost.pages.rendering import environment

PACKAGE = "nearboost.app"


@cache
def templates() -> Environment:
    """The templates of the app and of other pages."""
    return environment(PACKAGE)


def page(request: Request, template: str, *, title: str, facts: Any = None, **values: Any) -> Response:
    """A page of a template.

    Parameters
    ----------
    request : Request
        What is answered.
    template : str
        Its name.
    title : str
        Of the page.
    facts : object, default=None
        What the page's script reads, as JSON can hold it.
    **values : object
        What the template reads.

    Returns
    -------
    Response
        HTML.
    """
    from nearboost.app.desk import desk_of, person_of

    desk = desk_of(request)
    common = {
        "project": desk.project.folder.resolve().name,
        "pages": request.app.state.bar,
        "path": request.url.path,
        "n_unplaced": len(desk.annotations.unplaced()),
        "common": {
            "who": person_of(request),
            "classes": [class_as_json(one) for one in desk.annotations.classes()],
        },
    }
    return HTMLResponse(templates().get_template(template).render(title=title, facts=facts, **common, **values))


def answer(content: Any, status: int = 200) -> Response:
    """JSON."""
    return JSONResponse(content, status)


def picture(png: bytes) -> Response:
    """A PNG picture."""
    return Response(png, media_type="image/png")


def small_picture(jpeg: bytes) -> Response:
    """A JPEG picture."""
    return Response(jpeg, media_type="image/jpeg")


def download(content: str | bytes, name: str, kind: str = "text/csv; charset=utf-8") -> Response:
    """A file to keep; the name is quoted, whatever is in it."""
    attached = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(content, media_type=kind, headers={"content-disposition": attached})


def refusal(status: int, sentence: str, *, as_page: bool = False, inside: bool = False) -> Response:
    """Why not, as JSON or, to people who look, as a page; ``inside`` with the way to the other pages."""
    if as_page:
        return HTMLResponse(
            templates().get_template("refused.html.j2").render(sentence=sentence, inside=inside), status
        )
    return JSONResponse({"error": sentence}, status)


def on_conflict(request: Request, error: Exception) -> Response:
    """What holds of cells that somebody changed since they were looked at."""
    present = error.present if isinstance(error, ConflictError) else ()
    return answer({"error": str(error), "present": [label_as_json(one) for one in present]}, 409)


def on_error(request: Request, error: Exception) -> Response:
    """The library's errors are sentences already."""
    sentence = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        sentence = f"{error.filename} cannot be read or written: {error.strerror}."
    as_page = request.method == "GET" and not request.url.path.startswith("/api/")
    return refusal(400, printable(sentence or type(error).__name__), as_page=as_page, inside=True)


def on_missing(request: Request, error: Exception) -> Response:
    """There is no such page."""
    as_page = request.method == "GET" and not request.url.path.startswith("/api/")
    status = getattr(error, "status_code", 404)
    return refusal(status, "There is no such page in the app.", as_page=as_page, inside=True)


def label_as_json(one: CellLabel) -> dict[str, Any]:
    """A label for scripts."""
    return {
        "image": one.image,
        "object": one.object,
        "class": one.class_id,
        "excluded": one.excluded,
        "check": one.to_check,
        "who": one.who,
        "at": one.at,
        "event": one.event,
    }


def class_as_json(one: CellClass) -> dict[str, Any]:
    """A class for scripts."""
    return {"id": one.id, "name": one.name, "colour": one.colour}
