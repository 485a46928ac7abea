"""The page of the plate: wells in the colour of a measure, and their fields."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, page
from nearboost.app.desk import Desk, desk_of
from nearboost.app.routes import get
from nearboost.cells.browsing import CELLS, view_plate


def show(request: Request) -> Response:
    """The page."""
    desk = desk_of(request)
    facts = plate_facts(desk, request.query_params.get("measure", CELLS))
    missing = [one for one in facts["fields"] if one["missing"]]
    return page(
        request,
        "plate.html.j2",
        title="Plate",
        facts=facts,
        missing=missing,
        unsegmented=sum(one["cells"] is None for one in facts["fields"]),
        folder=desk.project.folder,
    )


def values(request: Request) -> Response:
    """Wells with another measure."""
    return answer(plate_facts(desk_of(request), request.query_params.get("measure", CELLS)))


def plate_facts(desk: Desk, measure: str) -> dict[str, Any]:
    """What the page draws."""
    desk.reread_layout()
    return asdict(view_plate(desk.project, desk.annotations, measure))


ROUTES = [get("/plate", show), get("/api/plate", values)]
