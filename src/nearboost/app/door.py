"""Who may speak to the app: checked of every request, before any route sees it.

The app listens on this machine, where every web page that is open in a browser can send requests too. So a request
must name this app as its host, must not come from another site, and must show the cookie that the printed address
was swapped for. What changes something is a POST of a little JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from secrets import token_urlsafe
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearboost.app.answers import refusal

MOST_BYTES = 2**20  # of a request's body
PATIENCE = 10.0  # seconds that a body may take
ENTRANCE = "/open"
OPEN_TO_ALL = ("/static/",)  # the look of the entrance; nothing of the project
WEEK = 7 * 24 * 3600

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True)
class Address:
    """Where the app is found."""

    host: str
    port: int

    @property
    def name(self) -> str:
        """What a browser sends as host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """What a browser sends as origin of the app's own pages."""
        return f"http://{self.name}"

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies do not know ports, and two apps may run."""
        return f"nearboost-{self.port}"


class Keys:
    """The token of the printed address, good for one swap, and the secret of the cookie it is swapped for."""

    def __init__(self) -> None:
        self.token: str | None = token_urlsafe(32)
        self._secret = token_urlsafe(32)
        self._lock = Lock()

    def swap(self, token: str) -> str | None:
        """The cookie's secret for the token; None where it is wrong or was used."""
        with self._lock:
            if self.token is None or not compare_digest(self.token.encode(), token.encode()):
                return None
            self.token = None
            return self._secret

    def fits(self, secret: str) -> bool:
        """Whether a cookie holds the secret."""
        return compare_digest(self._secret.encode(), secret.encode())


class Door:
    """Lets in what may come in, and gives every answer its headers.

    Parameters
    ----------
    app : ASGI application
        What is behind the door.
    address : Address
        Where the app is found.
    keys : Keys
        Token and secret.
    """

    def __init__(self, app: ASGIApp, address: Address, keys: Keys) -> None:
        self._app, self._address, self._keys = app, address, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the start and the end of the server; there are no web sockets
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        scope.setdefault("state", {})
        why = self.refuses(scope["method"], scope["path"], Headers(scope=scope))
        if why is None and scope["method"] == "POST":
            body = await read_json(scope, receive)
            if isinstance(body, tuple):
                why = body
            else:
                scope["state"]["body"] = body
        inside = self._app if why is None else refusal(*why, as_page=scope["method"] == "GET")
        await inside(scope, receive, send_with_headers)

    def refuses(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """Why a request is not let in, as a status and a sentence; None where it is."""
        if method not in ("GET", "HEAD", "POST"):
            return 405, "The app answers GET and POST only."
        if headers.getlist("host") != [self._address.name]:
            return 421, f"This app is found at {self._address.origin} and under no other name."
        origins = headers.getlist("origin")
        if origins not in ([self._address.origin], []) or (method == "POST" and not origins):
            return 403, "Only pages of the app itself may send this."
        entering = method == "GET" and path == ENTRANCE
        allowed = ("same-origin", "none") if method != "POST" else ("same-origin",)
        sites = headers.getlist("sec-fetch-site")
        if not set(sites) <= set(allowed) and not (entering and is_visit(headers)):
            return 403, "Only pages of the app itself may ask for this."
        if path != ENTRANCE and not path.startswith(OPEN_TO_ALL) and not self._has_key(headers):
            return 401, "Open the address that the program printed when it started; it works once."
        return None

    def _has_key(self, headers: Headers) -> bool:
        return any(self._keys.fits(secret) for secret in cookies_named(headers, self._address.cookie))


def is_visit(headers: Headers) -> bool:
    """Whether somebody goes to a page, as from a link in a file or a mail."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def cookies_named(headers: Mapping[str, str], name: str) -> list[str]:
    """What cookies of a name hold; those of other programs on this machine come along and may be anything."""
    cookies = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
    return [value for found, _, value in cookies if found == name]


async def read_json(scope: Scope, receive: Receive) -> dict[str, Any] | tuple[int, str]:
    """The object that a request sends, or why it is refused."""
    from anyio import fail_after

    request = Request(scope, receive)
    kind = request.headers.get("content-type", "").replace(" ", "").lower()
    if kind not in ("application/json", "application/json;charset=utf-8"):
        return 415, "Send application/json."
    if not request.headers.get("content-length", "0").isdecimal():
        return 400, "The length of what is sent is no number."
    if int(request.headers.get("content-length", "0")) > MOST_BYTES:
        return 413, f"Send at most {MOST_BYTES:,} bytes."
    pieces = bytearray()
    try:
        with fail_after(PATIENCE):
            async for piece in request.stream():
                pieces += piece
                if len(pieces) > MOST_BYTES:
                    return 413, f"Send at most {MOST_BYTES:,} bytes."
    except (TimeoutError, ClientDisconnect):
        return 408, "What was sent did not arrive as a whole."
    try:
        body = json.loads(pieces.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return 400, "What was sent is no JSON."
    return body if isinstance(body, dict) else (400, "Send a JSON object.")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON.")


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own, which no other one reaches."""
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return urlsplit(f"//{host}").hostname == "localhost"
