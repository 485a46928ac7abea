"""What a request gives, checked value by value."""

from typing import Any

from starlette.requests import Request

from nearboost.app.desk import person_of
from nearboost.base.errors import UsageError
from nearboost.cells.annotation_records import Cell

LARGEST = 2**53 - 1  # whole numbers that JSON of browsers holds
MOST_ITEMS = 20_000  # of a list


class Given:
    """The JSON object of a POST.

    Parameters
    ----------
    request : Request
        Its body was read at the door.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._body: dict[str, Any] = request.state.body

    @property
    def who(self) -> str:
        """The person who sends it."""
        who = person_of(self._request)
        if not who:
            raise UsageError("Say who you are first; labels are kept with the name of who gave them.")
        return who

    def number(self, name: str) -> int:
        """A whole number of 0 or more."""
        return whole(self._body.get(name), name)

    def number_or_none(self, name: str) -> int | None:
        """A whole number of 0 or more, or null."""
        return None if self._body.get(name) is None else self.number(name)

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers."""
        return [whole(one, name) for one in self._list(name)]

    def text(self, name: str) -> str:
        """A text."""
        value = self._body.get(name)
        if not isinstance(value, str):
            raise UsageError(f"{name} must be a text.")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A text, or null."""
        return None if self._body.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._body.get(name)
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false.")
        return value

    def object(self, name: str) -> dict[str, Any]:
        """An object, which `cells` checks."""
        value = self._body.get(name)
        if not isinstance(value, dict):
            raise UsageError(f"{name} must be an object.")
        return value

    def cells(self, name: str = "cells") -> list[Cell]:
        """Cells, each with the event last seen of it."""
        found = []
        for one in self._list(name):
            if not isinstance(one, dict):
                raise UsageError(f"{name} must be a list of objects with image, object and event.")
            found.append(Cell(*(whole(one.get(key), key) for key in ("image", "object", "event"))))
        if not found:
            raise UsageError("No cell was given; choose one.")
        return found

    def _list(self, name: str) -> list[Any]:
        value = self._body.get(name)
        if not isinstance(value, list) or len(value) > MOST_ITEMS:
            raise UsageError(f"{name} must be a list of at most {MOST_ITEMS:,}.")
        return value


def whole(value: Any, name: str) -> int:
    """A whole number of 0 or more."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise UsageError(f"{name} must be a whole number of 0 or more.")
    return value


def asked_number(request: Request, name: str, otherwise: int) -> int:
    """A whole number behind the question mark of an address; without it, what it is otherwise."""
    text = request.query_params.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise UsageError(f"{name} must be a whole number of 0 or more.")
    return int(text)
