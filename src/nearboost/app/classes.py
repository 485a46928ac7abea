"""The page of classes: add, rename, recolour, reorder, merge, delete, restore."""

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response

from nearboost.app.answers import answer, class_as_json, page
from nearboost.app.desk import desk_of
from nearboost.app.given import Given
from nearboost.app.routes import get, post
from nearboost.cells.annotation_classes import COLOURS


def show(request: Request) -> Response:
    """The page."""
    store = desk_of(request).annotations
    labels = Counter(one.class_id for one in store.labels())
    aside = Counter(one.class_id for one in store.aside())
    deleted = [class_as_json(one) | {"labels": aside[one.id]} for one in store.classes(deleted=True)]
    present = [class_as_json(one) | {"labels": labels[one.id]} for one in store.classes()]
    facts = {"present": present, "deleted": deleted, "colours": COLOURS}
    return page(request, "classes.html.j2", title="Classes", facts=facts)


def add(request: Request) -> Response:
    """A new class."""
    given = Given(request)
    made = desk_of(request).annotations.add_class(given.who, given.text("name"), given.text_or_none("colour"))
    return answer({"class": class_as_json(made)})


def change(request: Request) -> Response:
    """Another name or colour."""
    given = Given(request)
    desk_of(request).annotations.change_class(
        given.who, given.number("class"), name=given.text_or_none("name"), colour=given.text_or_none("colour")
    )
    return answer({})


def order(request: Request) -> Response:
    """All classes in an order."""
    given = Given(request)
    desk_of(request).annotations.order_classes(given.who, given.numbers("classes"))
    return answer({})


def merge(request: Request) -> Response:
    """All labels of a class to another one."""
    given = Given(request)
    desk_of(request).annotations.merge_classes(given.who, given.number("class"), given.number("into"))
    return answer({})


def delete(request: Request) -> Response:
    """Out of use; the labels are kept aside."""
    given = Given(request)
    desk_of(request).annotations.delete_class(given.who, given.number("class"))
    return answer({})


def restore(request: Request) -> Response:
    """Into use again, with its labels."""
    given = Given(request)
    desk_of(request).annotations.restore_class(given.who, given.number("class"))
    return answer({})


ROUTES = [
    get("/classes", show),
    *(
        post(f"/api/classes/{name}", function)
        for name, function in {
            "add": add,
            "change": change,
            "order": order,
            "merge": merge,
            "delete": delete,
            "restore": restore,
        }.items()
    ),
]
