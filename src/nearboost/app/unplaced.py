"""Labels that the present masks have no cell for: placed or discarded by hand."""

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, label_as_json, page
from nearboost.app.desk import desk_of
from nearboost.app.given import Given
from nearboost.app.routes import get, post
from nearboost.cells.field_views import waiting_labels
from nearboost.cells.labelling import settle_label


def show(request: Request) -> Response:
    """The page."""
    desk = desk_of(request)
    names = {one.number: str(one.place) for one in desk.project.fields}
    facts = [
        label_as_json(one.label) | {"id": one.id, "field": names.get(one.label.image)}
        for one in waiting_labels(desk.annotations)
    ]
    return page(request, "unplaced.html.j2", title="Unplaced labels", facts=facts)


def settle(request: Request) -> Response:
    """Give a label to a cell, or discard it."""
    given, desk = Given(request), desk_of(request)
    cells = given.cells() if given.flag("place") else [None]
    settle_label(desk.project, desk.annotations, given.who, given.number("unplaced"), cells[0])
    return answer({})


ROUTES = [get("/unplaced", show), post("/api/unplaced", settle)]
