"""The page of training: what is labelled, a model from it, how well it does, which labels to look at again."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, label_as_json, page
from nearboost.app.desk import Desk, desk_of
from nearboost.app.routes import get
from nearboost.cells.doubts import suspects_of
from nearboost.cells.kept_models import kept_models
from nearboost.cells.learning import label_table
from nearboost.pages.matrix import confusion_matrix


def show(request: Request) -> Response:
    """The page."""
    desk = desk_of(request)
    models = kept_models(desk.project)
    active = next((one for one in models if one.active), None)
    figures = None if active is None else active.figures
    return page(
        request,
        "train.html.j2",
        title="Train",
        facts={"suspects": suspects_as_json(desk), "job": asdict(desk.jobs.state)},
        labels=label_table(desk.project, desk.annotations),
        models=models,
        active=active,
        figures=figures,
        matrix=None if figures is None else confusion_matrix(figures.classes, figures.counts),
    )


def suspects(request: Request) -> Response:
    """Labels to look at again, as they are now."""
    return answer(suspects_as_json(desk_of(request)))


def suspects_as_json(desk: Desk) -> dict[str, Any]:
    """Suspects for scripts, with what holds of each cell now."""
    found = suspects_of(desk.project, desk.annotations)
    present = {(one.image, one.object): label_as_json(one) for one in desk.annotations.labels()}
    cells = [asdict(one) | {"now": present[one.image, one.object]} for one in found.cells]
    return {"lead": found.lead, "cells": cells}


ROUTES = [get("/train", show), get("/api/suspects", suspects)]
