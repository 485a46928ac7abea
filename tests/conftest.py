"""How the tests run: grids by pairs, and of several processes each on one core."""

import gc
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairs import cover_pairs

HERE = Path(__file__).parent
PROMISES = HERE / "promises" / "test_promises.py"
FEW_KERNELS = {"base", "benchmarks", "compare", "datasets", "docs"}
pytest_plugins = ["pytester"]
pytest.register_assert_rewrite("promises.checks")  # so that its assertions say what they compared


def pytest_configure() -> None:
    """Of several processes that run tests at once, each keeps to a core, and so does what it starts."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a user's programs keep is kept apart from that of who runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; where it is missing tests skip, or fail with ``NEARBOOST_REQUIRE_BROWSER`` set."""
    path = shutil.which("chromium")
    if path is None:
        lacking = "chromium is not installed (Debian: apt-get install chromium)"
        (pytest.fail if os.environ.get("NEARBOOST_REQUIRE_BROWSER") else pytest.skip)(lacking)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons make their runs in this process, which saves the start of others."""
    from compare.problems import make_runs_here

    make_runs_here(monkeypatch)


@pytest.hookimpl(tryfirst=True)  # before cases are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and let one process compile what both need."""
    mark_rest_of_grids(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=order_of_file)


def pytest_collection_finish() -> None:
    """Look for garbage less often: among thousands of tests and what compiles kernels, it takes many seconds."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def mark_rest_of_grids(items: list[pytest.Item]) -> None:
    """Of a test marked ``pairs``, the cases that add no new pair of values are slow."""
    grids = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairs") and not item.get_closest_marker("slow"):
            grids[item.parent, item.originalname].append(item)
    for cases in grids.values():
        values = [[id(value) for value in case.callspec.params.values()] for case in cases]
        for place in set(range(len(cases))).difference(cover_pairs(values)):
            cases[place].add_marker("slow")


def order_of_file(item: pytest.Item) -> int:
    """The promises first: one process compiles nearly all kernels with them, which two would otherwise both do.

    Meanwhile the other is busy with folders that need few. Doctests, which are short, come at the end.
    """
    if item.path == PROMISES:
        return 0
    if not item.path.is_relative_to(HERE):
        return 3
    return 1 if item.path.relative_to(HERE).parts[0] in FEW_KERNELS else 2
