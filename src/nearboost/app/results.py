"""The page of results: counts, curves and tables, as they were written last, and whether they still hold."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, download, page
from nearboost.app.desk import desk_of
from nearboost.app.routes import get
from nearboost.cells import results as tables
from nearboost.cells.saying import active_model
from nearboost.pages.doses import dose_curve

KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def show(request: Request) -> Response:
    """The page."""
    desk = desk_of(request)
    found = tables.read_results(desk.project, desk.annotations)
    charts = [(one, dose_curve(one.doses, one.values, one.curve, one.ec50, one.title)) for one in found.curves]
    return page(
        request,
        "results.html.j2",
        title="Results",
        facts={"job": asdict(desk.jobs.state)},
        results=found,
        charts=charts,
        has_model=active_model(desk.project) is not None,
    )


def stale(request: Request) -> Response:
    """Why the tables do not hold any more, if so."""
    desk = desk_of(request)
    return answer({"stale": tables.read_results(desk.project, desk.annotations).stale})


def file(request: Request) -> Response:
    """A table, byte by byte as it was written; the labels as they are now."""
    desk, name = desk_of(request), request.path_params["name"]
    content = tables.download(desk.project, desk.annotations, name)
    return download(content, name, KINDS[name.rpartition(".")[2]])


ROUTES = [get("/results", show), get("/api/results/stale", stale), get("/results/{name}", file)]
