"""The page of a field: its picture in tiles, its cells, and how a project is shown."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, label_as_json, page, picture
from nearboost.app.desk import Desk, desk_of
from nearboost.app.given import Given
from nearboost.app.routes import get, post
from nearboost.base.errors import UsageError
from nearboost.cells.display import read_display, save_display
from nearboost.cells.field_views import CellView, FieldView, cell_views, view_field, waiting_labels
from nearboost.cells.project import Field
from nearboost.cells.tiles import TILE, tile_png
from nearboost.cells.trust import check_images

NOTHING_SAID = {"class": None, "excluded": False, "check": False, "who": "", "at": "", "event": 0}


def show(request: Request) -> Response:
    """The page; its script asks for the cells."""
    desk, one = desk_of(request), field_of(request)
    numbers = [other.number for other in desk.project.fields]
    at = numbers.index(one.number)
    facts = {
        "number": one.number,
        "before": numbers[at - 1] if at else None,
        "after": numbers[at + 1] if at + 1 < len(numbers) else None,
        "display": read_display(desk.project).as_json(),
        "tile": TILE,
    }
    layout = desk.project.layout.of(one.place.plate, one.place.well)
    told = ", ".join(f"{name} {value}" for name, value in layout.items() if value)
    return page(
        request,
        "field.html.j2",
        title=str(one.place),
        facts=facts,
        told=told,
        folder=desk.project.folder,
        n_fields=len(numbers),
        place=at + 1,
    )


def cells(request: Request) -> Response:
    """Size, channels and cells with outlines."""
    desk, one = desk_of(request), field_of(request)
    return answer(view_as_json(view_field(desk.project, desk.annotations, one.number)))


def labels(request: Request) -> Response:
    """What was said of the cells by now, without outlines."""
    desk, number = desk_of(request), request.path_params["number"]
    views = cell_views(desk.project, desk.annotations, number)
    return answer({"cells": [said_as_json(one, number) for one in views], "waiting": waiting(desk, number)})


def tile(request: Request) -> Response:
    """A part of a channel."""
    at = request.path_params
    low, high = (_real(request, name) for name in ("low", "high"))
    made = tile_png(
        desk_of(request).project, field_of(request), at["role"], at["level"], at["row"], at["column"], low, high
    )
    return picture(made)


def change_display(request: Request) -> Response:
    """How all fields of the project are shown from now on."""
    return answer(save_display(desk_of(request).project, Given(request).object("display")).as_json())


def field_of(request: Request) -> Field:
    """The field of an address; its images lie where they were named."""
    project = desk_of(request).project
    one = project.field_of(request.path_params["number"])
    check_images(project, one)
    return one


def view_as_json(view: FieldView) -> dict[str, Any]:
    """A field for scripts."""
    number = view.facts.number
    return {
        "width": view.width,
        "height": view.height,
        "pixel_size": view.pixel_size,
        "levels": view.levels,
        "roles": view.roles,
        "missing": view.facts.missing,
        "segmented": view.facts.cells is not None,
        "cells": [
            said_as_json(one, number) | {"x": one.x, "y": one.y, "polygons": one.polygons} for one in view.cells
        ],
        "waiting": [asdict(one) | {"label": label_as_json(one.label)} for one in view.waiting],
    }


def said_as_json(one: CellView, number: int) -> dict[str, Any]:
    """What people and the model say of a cell."""
    label = label_as_json(one.label) if one.label is not None else NOTHING_SAID
    own = {"image": number, "object": one.object}
    return label | own | {"said": one.said, "probability": one.probability, "flags": one.flags}


def waiting(desk: Desk, number: int) -> list[dict[str, Any]]:
    """Labels of a field that have no cell."""
    return [asdict(one) | {"label": label_as_json(one.label)} for one in waiting_labels(desk.annotations, number)]


def _real(request: Request, name: str) -> float:
    """A number behind the question mark."""
    try:
        return float(request.query_params.get(name, ""))
    except ValueError:
        raise UsageError(f"{name} must be a number.") from None


ROUTES = [
    get("/fields/{number:int}", show),
    get("/api/fields/{number:int}", cells),
    get("/api/fields/{number:int}/labels", labels),
    get("/api/fields/{number:int}/tiles/{role}/{level:int}/{row:int}/{column:int}", tile),
    post("/api/display", change_display),
]
