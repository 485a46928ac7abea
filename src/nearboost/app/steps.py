"""What people do on several pages: say who they are, label cells, step back and forth."""

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, class_as_json, label_as_json
from nearboost.app.desk import desk_of, person_of, remember_person
from nearboost.app.given import Given
from nearboost.app.routes import get, post
from nearboost.cells.annotation_log import checked_name
from nearboost.cells.labelling import exclude_cells, label_cells


def say_who(request: Request) -> Response:
    """Keep the person's name."""
    name = checked_name("A person's name", Given(request).text("name"))
    return remember_person(answer({"who": name}), name)


def label(request: Request) -> Response:
    """Give cells a class, or none."""
    given, desk = Given(request), desk_of(request)
    made = label_cells(desk.project, desk.annotations, given.who, given.cells(), given.number_or_none("class"))
    return answer({"labels": [label_as_json(one) for one in made]})


def exclude(request: Request) -> Response:
    """Say that outlines are wrong, or right again."""
    given, desk = Given(request), desk_of(request)
    made = exclude_cells(desk.project, desk.annotations, given.who, given.cells(), given.flag("excluded"))
    return answer({"labels": [label_as_json(one) for one in made]})


def undo(request: Request) -> Response:
    """Take back the person's last step."""
    return answer({"done": desk_of(request).annotations.undo(Given(request).who)})


def redo(request: Request) -> Response:
    """Do the step again that was taken back last."""
    return answer({"done": desk_of(request).annotations.redo(Given(request).who)})


def classes(request: Request) -> Response:
    """The classes in their order."""
    known = desk_of(request).annotations.classes()
    return answer({"classes": [class_as_json(one) for one in known], "who": person_of(request)})


ROUTES = [
    post("/api/who", say_who),
    post("/api/label", label),
    post("/api/exclude", exclude),
    post("/api/undo", undo),
    post("/api/redo", redo),
    get("/api/classes", classes),
]
