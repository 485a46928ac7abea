"""Work that takes a while, begun from several pages: describe, train, use another model, count."""

from collections.abc import Callable
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer
from nearboost.app.desk import Desk, desk_of
from nearboost.app.given import Given
from nearboost.app.routes import get, post
from nearboost.cells.describing import describe_cells_of
from nearboost.cells.kept_models import activate_model, train_next
from nearboost.cells.results import count_again
from nearboost.cells.trust import check_images


def state(request: Request) -> Response:
    """How far the job is, or how the last one ended."""
    return answer(asdict(desk_of(request).jobs.state))


def describe(request: Request) -> Response:
    """Measure and describe all cells."""
    desk = desk_of(request)
    return begin(desk, "describe", lambda: describe_cells_of(desk.project))


def train(request: Request) -> Response:
    """Train a model on the labels there are."""
    desk = desk_of(request)
    return begin(desk, "train", lambda: train_next(desk.project))


def activate(request: Request) -> Response:
    """Predict with another of the kept models."""
    desk, name = desk_of(request), Given(request).text("name")
    return begin(desk, "activate", lambda: activate_model(desk.project, name))


def count(request: Request) -> Response:
    """Write all tables anew."""
    desk = desk_of(request)
    return begin(desk, "count", lambda: count_again(desk.project))


def begin(desk: Desk, kind: str, work: Callable[[], str]) -> Response:
    """Start a job, which may read the layout and all images: none of them is a link to elsewhere."""
    desk.reread_layout()
    for one in desk.project.fields:
        check_images(desk.project, one)
    return answer(asdict(desk.jobs.start(kind, work)))


def cancel(request: Request) -> Response:
    """End the job that is running."""
    return answer(asdict(desk_of(request).jobs.cancel()))


ROUTES = [
    get("/api/job", state),
    *(
        post(f"/api/job/{name}", function)
        for name, function in {
            "describe": describe,
            "train": train,
            "activate": activate,
            "count": count,
            "cancel": cancel,
        }.items()
    ),
]
