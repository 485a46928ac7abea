"""A running app, and programs that talk to it."""

import json
import socket
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Thread
from types import SimpleNamespace

from nearboost.app.door import Address, Keys
from nearboost.app.serving import listening, make_server
from nearboost.app.starting import open_desk


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def running(folder):
    """The app of a project, in a thread."""
    address, keys = Address("127.0.0.1", free_port()), Keys()
    with open_desk(folder) as desk, listening(address) as door:
        server = make_server(desk, address, keys)
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            yield App(address, keys, desk)
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


class App:
    """A running app, asked as its own pages do unless a test says otherwise."""

    def __init__(self, address, keys, desk):
        self.address, self.keys, self.desk = address, keys, desk
        self.cookies = {}

    @property
    def entrance(self):
        return f"{self.address.origin}/open#{self.keys.token}"

    def ask(self, method, path, body=None, **headers):
        """An answer; a header that is None is left out, one with _ has -."""
        sent = {"Host": self.address.name, "Sec-Fetch-Site": "same-origin"}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if method == "POST":
            sent |= {"Origin": self.address.origin, "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(self.address.host, self.address.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if content is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(content))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content)
        found = connection.getresponse()
        answer = SimpleNamespace(status=found.status, headers=found.headers, body=found.read())
        connection.close()
        return answer

    def enter(self):
        """Swap the token for the cookie."""
        found = self.ask("POST", "/open", {"token": self.keys.token})
        assert found.status == 200
        self._keep(found)
        return self

    def be(self, name):
        """Say who one is."""
        self._keep(self.ask("POST", "/api/who", {"name": name}))
        return self

    def _keep(self, found):
        name, _, value = found.headers["Set-Cookie"].partition(";")[0].partition("=")
        self.cookies[name] = value

    def read(self, path, **headers):
        """JSON of a GET that is answered."""
        found = self.ask("GET", path, **headers)
        assert found.status == 200, found.body
        return json.loads(found.body)

    def write(self, path, body, status=200):
        """JSON of a POST."""
        found = self.ask("POST", path, body)
        assert found.status == status, found.body
        return json.loads(found.body)

    def raw(self, content):
        """The first line of what comes back for these bytes."""
        with socket.create_connection((self.address.host, self.address.port), timeout=20) as one:
            one.sendall(content)
            return one.makefile("rb").readline().decode().strip()
