"""How addresses are bound to functions."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Endpoint = Callable[[Request], Response]


def get(path: str, endpoint: Endpoint) -> Route:
    """An address that is read; reading changes nothing."""
    return Route(path, endpoint, methods=["GET"])


def post(path: str, endpoint: Endpoint) -> Route:
    """An address that changes something."""
    return Route(path, endpoint, methods=["POST"])
