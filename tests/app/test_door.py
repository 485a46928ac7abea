"""Who is not let in: other sites, other names, no or wrong tokens, other kinds and amounts of data."""

import json
import time

import pytest

from app.talking import App, running
from nearboost.app.door import MOST_BYTES, Address, Keys, is_loopback

PRIVATE = ["/", "/plate", "/classes", "/api/classes", "/api/label", "/nothing"]


@pytest.fixture(scope="module")
def one_app(screen_once):
    with running(screen_once) as app:
        yield app


@pytest.fixture
def app(one_app):
    """As after a start: with a new token."""
    one_app.keys.__init__()
    return App(one_app.address, one_app.keys, one_app.desk)


def test_without_the_cookie_nothing_is_shown(app):
    for path in PRIVATE:
        found = app.ask("GET", path)
        assert found.status == 401
        assert b"screen" not in found.body
    assert app.ask("POST", "/api/label", {}).status == 401


def test_a_token_is_swapped_once(app):
    token = app.keys.token
    assert app.ask("POST", "/open", {"token": "wrong"}).status == 403
    found = app.ask("POST", "/open", {"token": token})
    cookie = found.headers["Set-Cookie"]
    assert cookie.startswith(f"nearboost-{app.address.port}=")
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.split(";")}
    assert token not in cookie
    assert app.ask("POST", "/open", {"token": token}).status == 403, "it works once"
    assert app.ask("GET", "/plate", Cookie=cookie.partition(";")[0]).status == 200


@pytest.mark.parametrize("token", ["", "é", "x" * 1000, None, 7, ["a"], {"a": 1}])
def test_wrong_tokens(app, token):
    assert app.ask("POST", "/open", {"token": token}).status in (400, 403)
    assert app.keys.token is not None, "the right one still works"


@pytest.mark.parametrize("cookie", ["wrong", "", "é", '"', "a;b", "x" * 5000])
def test_wrong_cookies(app, cookie):
    header = f"nearboost-{app.address.port}={cookie}".encode("latin-1", "replace").decode("latin-1")
    assert app.ask("GET", "/plate", Cookie=header).status == 401


@pytest.mark.parametrize("other", ['theme={"dark": 1, "size": [2]}', "a b=c", "list[0]=x", "=", "empty"])
def test_cookies_of_other_programs_lock_nobody_out(inside, other):
    own = "; ".join(f"{name}={value}" for name, value in inside.cookies.items())
    assert inside.ask("GET", "/plate", Cookie=f"{other}; {own}").status == 200
    assert inside.ask("GET", "/plate", Cookie=f"{own}; {other}").status == 200
    assert inside.ask("GET", "/plate", Cookie=other).status == 401


def test_a_cookie_of_another_port_is_none(inside):
    [(name, value)] = [one for one in inside.cookies.items() if one[0] != "nearboost-who"]
    assert inside.ask("GET", "/plate", Cookie=f"nearboost-1={value}").status == 401
    assert inside.ask("GET", "/plate", Cookie=f"{name}={value}").status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost:{port}", "127.0.0.1", "127.0.0.1:1", "", None])
def test_other_hosts(inside, host):
    host = host and host.format(port=inside.address.port)
    for method, path in (("GET", "/plate"), ("GET", "/open"), ("GET", "/static/app.js"), ("POST", "/api/undo")):
        body = {} if method == "POST" else None
        assert inside.ask(method, path, body, Host=host).status in (400, 421)


def test_two_hosts(inside):
    name = inside.address.name
    said = inside.raw(f"GET /static/app.js HTTP/1.1\r\nHost: {name}\r\nHost: evil.example\r\n\r\n".encode())
    assert said.split()[1] in ("400", "421")


@pytest.mark.parametrize("second", ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"])
def test_two_origins(inside, second):
    own = "; ".join(f"{name}={value}" for name, value in inside.cookies.items())
    first = f"Host: {inside.address.name}\r\nCookie: {own}\r\nOrigin: {inside.address.origin}\r\n"
    first += "Sec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    for more, status in (("", "200"), (f"{second}\r\n", "403")):
        said = inside.raw(f"POST /api/undo HTTP/1.1\r\n{first}{more}\r\n{{}}".encode())
        assert said.split()[1] == status


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{name}", "http://{name}.evil.example", ""]
)
def test_other_origins(inside, origin):
    origin = origin.format(name=inside.address.name)
    assert inside.ask("POST", "/api/undo", {}, Origin=origin).status == 403
    assert inside.ask("GET", "/api/classes", Origin=origin).status == 403
    assert inside.ask("POST", "/open", {"token": "a"}, Origin=origin).status == 403


def test_a_write_without_origin(inside):
    assert inside.ask("POST", "/api/undo", {}, Origin=None).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_reads_from_other_sites(inside, site):
    for path in ("/plate", "/api/classes", "/static/app.js"):
        assert inside.ask("GET", path, Sec_Fetch_Site=site).status == 403
        visit = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        assert inside.ask("GET", path, Sec_Fetch_Site=site, **visit).status == 403
    assert inside.ask("GET", "/open", Sec_Fetch_Site=site, **visit).status == 200, "from a link in a file"
    frame = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    assert inside.ask("GET", "/open", Sec_Fetch_Site=site, **frame).status == 403
    assert inside.ask("POST", "/api/undo", {}, Sec_Fetch_Site=site).status == 403


OTHER_KINDS = [
    *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None),
    *("application/json; charset=latin-1", "text/plain; application/json"),
]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_kinds_of_writes(inside, kind):
    assert inside.ask("POST", "/api/undo", {}, Content_Type=kind).status == 415


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"1", b'{"a": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"a": 1e999}x']
)
def test_what_is_no_json_object(inside, body):
    assert inside.ask("POST", "/api/undo", body).status == 400


def test_large_bodies_are_not_read(inside):
    started = time.monotonic()
    assert inside.ask("POST", "/api/undo", None, Content_Length=str(100 * 2**20)).status == 413
    exact = json.dumps({"a": "x" * (MOST_BYTES - 9)}).encode()
    assert len(exact) == MOST_BYTES
    assert inside.ask("POST", "/api/undo", exact).status == 200
    assert inside.ask("POST", "/api/undo", exact + b" ").status == 413
    assert time.monotonic() - started < 5


def test_large_bodies_in_pieces(inside):
    cookie = "; ".join(f"{name}={value}" for name, value in inside.cookies.items())
    head = (
        f"POST /api/undo HTTP/1.1\r\nHost: {inside.address.name}\r\nOrigin: {inside.address.origin}\r\n"
        f"Cookie: {cookie}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    pieces = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    assert inside.raw(head.encode() + 17 * pieces).split()[1] == "413"


@pytest.mark.parametrize("length", ["-1", "1e3", "x"])
def test_odd_lengths(inside, length):
    assert inside.ask("POST", "/api/undo", None, Content_Length=length).status == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GETS"])
def test_other_methods(inside, method):
    found = inside.ask(method, "/api/undo")
    assert found.status == 405
    assert not [name for name in found.headers if name.lower().startswith("access-control")], "no CORS"


def test_reading_changes_nothing(inside):
    for path in ("/api/undo", "/api/label", "/api/classes/add", "/api/who", "/open/"):
        assert inside.ask("GET", path).status in (404, 405)


PATHS = [
    *("/static/../door.py", "/static/..%2f..%2fdoor.py", "/static/%2e%2e/door.py", "/static/", "//etc/passwd"),
    *("/static/app.js%00", "/fields/../../etc/passwd", "/fields/-1", "/fields/1e3", "/static/" + "a" * 8000),
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(inside, path):
    found = inside.ask("GET", path)
    assert found.status == 404
    assert b"root:" not in found.body


def test_every_answer_has_the_headers(inside):
    for found in (inside.ask("GET", "/plate"), inside.ask("GET", "/api/classes"), inside.ask("GET", "/nothing"),
                  inside.ask("GET", "/static/app.js"), inside.ask("PUT", "/"), inside.ask("POST", "/api/undo", {}),
                  inside.ask("GET", "/open")):  # fmt: skip
        policy = found.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["X-Frame-Options"] == "DENY"
        assert found.headers["Cache-Control"] == "no-store"
        assert found.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert found.headers["Server"] is None


def test_pages_have_no_script_inside(inside):
    for path in ("/plate", "/classes", "/open"):
        page = inside.ask("GET", path).body.decode()
        for piece in page.split("<script")[1:]:
            assert piece.startswith((' src="/static/', ' type="application/json"'))
        assert " style=" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")


def test_web_sockets_are_not_answered(inside):
    said = inside.raw(
        f"GET /plate HTTP/1.1\r\nHost: {inside.address.name}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert said.split()[1] == "401"


def test_names_of_addresses():
    assert Address("127.0.0.1", 8765).name == "127.0.0.1:8765"
    assert Address("::1", 80).origin == "http://[::1]"
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "192.168.0.7", "lab")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_two_starts_share_nothing():
    one, other = Keys(), Keys()
    assert one.token != other.token
    assert not other.fits(one.swap(one.token))
