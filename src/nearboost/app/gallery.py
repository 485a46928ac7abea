"""The gallery: pictures of cells that a question finds, to be labelled by keys or by dragging."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, label_as_json, page, picture, small_picture
from nearboost.app.desk import desk_of
from nearboost.app.field import NOTHING_SAID
from nearboost.app.given import Given, asked_number
from nearboost.app.routes import get, post
from nearboost.cells.display import read_display
from nearboost.cells.labelling import confirm_cells
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.queries import KINDS, FoundCell, Query, find_cells
from nearboost.cells.saying import rows_of, said_of
from nearboost.cells.tiles import crop_png, crop_side
from nearboost.cells.trust import check_images
from nearboost.cells.voting import training_picture, vote_on


def show(request: Request) -> Response:
    """The page; its script asks for cells."""
    desk = desk_of(request)
    said = said_of(desk.project)
    wells = dict.fromkeys((one.place.plate, one.place.well) for one in desk.project.fields if one.place.well)
    facts = {
        "kinds": KINDS,
        "wells": [{"plate": plate, "well": well} for plate, well in wells],
        "model": None if said is None else list(said.model.classes),
        "described": rows_of(desk.project) is not None,
    }
    return page(request, "gallery.html.j2", title="Gallery", facts=facts)


def cells(request: Request) -> Response:
    """What a question finds."""
    desk, asked = desk_of(request), request.query_params
    query = Query(
        kind=asked.get("kind", KINDS[0]),
        well=(asked.get("plate", ""), asked["well"]) if asked.get("well") else None,
        class_name=asked.get("class"),
        cell=(asked_number(request, "image", 0), asked_number(request, "object", 0)),
        n=asked_number(request, "n", 60),
        seed=asked_number(request, "seed", 0),
        also_labelled=asked.get("labelled") == "1",
    )
    found = find_cells(desk.project, desk.annotations, query)
    return answer({"cells": [found_as_json(one) for one in found.cells], "total": found.total})


def crop(request: Request) -> Response:
    """A cell and what is around it, as the project is shown."""
    desk, at = desk_of(request), request.path_params
    check_images(desk.project, desk.project.field_of(at["image"]))
    diameter = read_pipeline(desk.project.folder).get("segmentation", {}).get("nucleus_diameter")
    shown = read_display(desk.project)
    return picture(crop_png(desk.project, at["image"], at["object"], shown, crop_side(diameter)))


def votes(request: Request) -> Response:
    """The training cells that voted on a cell."""
    at = request.path_params
    return answer(asdict(vote_on(desk_of(request).project, at["image"], at["object"])))


def trained_on(request: Request) -> Response:
    """The small picture of a training cell."""
    return small_picture(training_picture(desk_of(request).project, request.path_params["row"]))


def confirm(request: Request) -> Response:
    """Give cells the classes that the model says."""
    desk, given = desk_of(request), Given(request)
    made = confirm_cells(desk.project, desk.annotations, given.who, given.cells())
    return answer({"labels": [label_as_json(one) for one in made]})


def found_as_json(one: FoundCell) -> dict[str, Any]:
    """A found cell for scripts."""
    label = label_as_json(one.label) if one.label is not None else NOTHING_SAID
    own = {"image": one.image, "object": one.object, "plate": one.plate, "well": one.well}
    return label | own | {"said": one.said, "probability": one.probability}


ROUTES = [
    get("/gallery", show),
    get("/api/gallery", cells),
    get("/api/cells/{image:int}/{object:int}/crop", crop),
    get("/api/cells/{image:int}/{object:int}/votes", votes),
    get("/api/trained-on/{row:int}", trained_on),
    post("/api/gallery/confirm", confirm),
]
