"""How fast the app answers on the 26 wells of BBBC013: ``python -m benchmarks.cells_app``.

A page is what its address and what its script asks for first take together, as the server answers them, without
the time of a browser: the first time after a start, and the median of five more. Pictures of the gallery are 48
crops of cells. A label is one POST, from sending it to its acknowledgement, which comes once it is on the disk.
Training is the whole job on a hundred labels of the control wells, as the page sees it. Prints a Markdown table
and writes ``benchmarks/results/cells_app.json``; ``--show`` prints what was written last.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks.cell_wells import controls, segmented
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.app.door import Address, Keys
from nearboost.app.serving import listening, make_server
from nearboost.app.starting import open_desk
from nearboost.cells.describing import describe_project
from nearboost.cells.project import Project
from nearboost.cells.project_labels import import_labels
from nearboost.cells.results import count_again
from nearboost.cells.training import keys_of, train_cells

OF_EACH, N_LABELS, N_TRAININGS, N_AGAIN, PORT = 50, 100, 5, 5, 8799
NAMES = {"1": "nuclear", "0": "cytoplasmic"}


class Client:
    """A page of the app, as far as the server sees it."""

    def __init__(self, address: Address, keys: Keys) -> None:
        self.address = address
        self.cookies: dict[str, str] = {}
        self.ask("/open", {"token": keys.token})
        self.ask("/api/who", {"name": "Ada"})

    def ask(self, path: str, body: Any = None) -> bytes:
        """What the app answers; all but 200 is an error."""
        headers = {
            "Sec-Fetch-Site": "same-origin",
            "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()),
        }
        if body is not None:
            headers |= {"Origin": self.address.origin, "Content-Type": "application/json"}
        connection = HTTPConnection(self.address.host, self.address.port, timeout=60)
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, headers)
        found = connection.getresponse()
        content = found.read()
        if found.status != 200:
            raise ValueError(f"{path}: {found.status} {content[:200]!r}")
        name, _, value = (found.headers["Set-Cookie"] or "").partition(";")[0].partition("=")
        self.cookies |= {name: value} if name else {}
        connection.close()
        return content


@contextmanager
def served(folder: Path) -> Iterator[Client]:
    """The app of a project, in a thread."""
    address, keys = Address("127.0.0.1", PORT), Keys()
    with open_desk(folder) as desk, listening(address) as door:
        server = make_server(desk, address, keys)
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            yield Client(address, keys)
        finally:
            server.should_exit = True
            thread.join()


def prepare(folder: Path) -> Project:
    """All wells, a hundred labels, a model and counts."""
    project = segmented(folder)
    rows = describe_project(project).rows
    kinds, _ = controls()
    wells = {one.number: one.place.well for one in project.fields}
    random, lines = np.random.default_rng(0), ["ImageNumber,ObjectNumber,class"]
    for kind, name in NAMES.items():
        known = [key for key in keys_of(rows) if kinds[wells[key[0]]] == kind]
        chosen = random.choice(len(known), OF_EACH, replace=False).tolist()
        lines += [f"{known[i][0]},{known[i][1]},{name}" for i in chosen]
    (folder / "given.csv").write_text("\n".join(lines))
    import_labels(project, folder / "given.csv")
    train_cells(project)
    count_again(project)
    return project


def seconds(work: Callable[[], Any]) -> float:
    """How long something takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def pages(client: Client) -> dict[str, list[float]]:
    """Seconds of each page, the first time and again."""
    cells = json.loads(client.ask("/api/gallery?kind=doubtful&n=48"))["cells"]
    crops = [f"/api/cells/{one['image']}/{one['object']}/crop" for one in cells]
    asked = {
        "Plate": ["/plate"],
        "Field": ["/fields/14", "/api/fields/14"],
        "Gallery": ["/gallery", "/api/gallery?kind=doubtful&n=48"],
        "Gallery, its 48 pictures": crops,
        "Train": ["/train"],
        "Results": ["/results"],
        "Who voted on a cell": ["/api/cells/14/3/votes"],
    }
    return {
        name: [seconds(lambda paths=paths: [client.ask(path) for path in paths]) for _ in range(1 + N_AGAIN)]
        for name, paths in asked.items()
    }


def labels(client: Client) -> list[float]:
    """Seconds of each label."""
    cells = json.loads(client.ask(f"/api/gallery?kind=random&n={N_LABELS}"))["cells"]
    taken = []
    for one in cells:
        cell = {"image": one["image"], "object": one["object"], "event": one["event"]}
        taken.append(seconds(lambda cell=cell: client.ask("/api/label", {"cells": [cell], "class": 1})))
    for _ in cells:
        client.ask("/api/undo", {})
    return taken


def training(client: Client) -> float:
    """Seconds of a job, until a page that asks every 20 ms knows that it is done."""
    started = perf_counter()
    state = json.loads(client.ask("/api/job/train", {}))
    while state["state"] == "running":
        sleep(0.02)
        state = json.loads(client.ask("/api/job"))
    if state["state"] != "done":
        raise ValueError(state["told"])
    return perf_counter() - started


def run() -> dict[str, Any]:
    """All that is measured."""
    with tempfile.TemporaryDirectory() as folder:
        project = prepare(Path(folder) / "p")
        with served(project.folder) as client:
            found = pages(client)
            taken = labels(client)
            trained = [training(client) for _ in range(N_TRAININGS)]
    return {"pages": found, "labels": taken, "training": trained}


def show(results: dict[str, Any]) -> str:
    """What was measured, as a table."""
    rows = [
        [name, f"{times[0]:.3f}", f"{median(times[1:]):.3f}", f"{max(times[1:]):.3f}", "0.5"]
        for name, times in results["pages"].items()
    ]
    for name, aim in (("labels", "0.05"), ("training", "2")):
        times = results[name]
        title = {"labels": "A label", "training": "Training on 100 labels"}[name]
        rows.append([title, f"{times[0]:.3f}", f"{median(times):.3f}", f"{max(times[1:]):.3f}", aim])
    return markdown(["seconds", "first", "median", "largest of the others", "aim"], rows)


def main() -> None:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what was written last")
    if parser.parse_args().show:
        print(show(read_results("cells_app")))
        return
    results = run()
    print(show(results))
    write_results("cells_app", results)


if __name__ == "__main__":
    main()
