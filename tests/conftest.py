"""How the tests run: grids by pairs, and one core for each process of several."""

import os
from collections import defaultdict

import pytest

from pairs import cover_pairs

pytest_plugins = ["pytester"]


def pytest_configure() -> None:
    """Of several processes that run tests at once, each keeps to a core, and so does what it starts."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


@pytest.hookimpl(tryfirst=True)  # before cases are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``pairs``, the cases that add no new pair of values are slow."""
    grids = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairs") and not item.get_closest_marker("slow"):
            grids[item.parent, item.originalname].append(item)
    for cases in grids.values():
        values = [[id(value) for value in case.callspec.params.values()] for case in cases]
        for place in set(range(len(cases))).difference(cover_pairs(values)):
            cases[place].add_marker("slow")
