"""The page of the plate: wells and their fields."""

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import page
from nearboost.app.desk import desk_of
from nearboost.app.routes import get


def show(request: Request) -> Response:
    """The page."""
    desk = desk_of(request)
    fields = [{"number": one.number, "name": str(one.place)} for one in desk.project.fields]
    return page(request, "plate.html.j2", title="Plate", facts={"fields": fields})


ROUTES = [get("/plate", show)]
