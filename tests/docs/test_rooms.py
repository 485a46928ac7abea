"""The map of the rooms is that of the import contract and of the folders, and pages name modules that exist."""

import re
from importlib import import_module
from importlib.util import find_spec

import pytest

from docs.building import ROOT, script

rooms = script("design/rooms.py")
PAGE = (ROOT / "docs" / "design" / "rooms.md").read_text(encoding="utf-8")
FOLDERS = sorted(path.parent.name for path in (ROOT / "src" / "nearboost").glob("*/__init__.py"))
NAMED = sorted(room for floor in rooms.read_floors() for room in floor)


def test_rooms_are_the_folders():
    assert NAMED == FOLDERS


def test_drawing_is_up_to_date():
    drawn = rooms.DRAWING.read_text(encoding="utf-8")
    assert drawn == rooms.draw(), "run: python docs/design/rooms.py"
    assert sorted(re.findall(r'class="name"[^>]*>(\w+)<', drawn)) == FOLDERS


def test_purposes_fit_into_their_rooms():
    assert [room for room in FOLDERS if not 20 < len(rooms.read_purpose(room)) < 80] == []
    narrow = [room for room in FOLDERS if room not in rooms.WIDE]
    assert [room for room in narrow if len(rooms.lines_of(room)) > 2] == []


def test_table_has_every_room_once():
    assert sorted(re.findall(r"^\| [^|]+ \| `(\w+)` \|$", PAGE, re.MULTILINE)) == FOLDERS


@pytest.mark.parametrize(("walk", "title"), [("row", "A row to a label"), ("picture", "A picture to a report")])
def test_walks_stop_where_they_are_drawn(walk, title):
    assert rooms.LABELS[walk] == title
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    assert re.findall(r"^\d\. \*\*(\w+)\*\*", section, re.MULTILINE) == list(rooms.WALKS[walk][1])


@pytest.mark.parametrize("walk", ["row", "picture"])
def test_calls_go_down(walk):
    floor_of = {room: number for number, floor in enumerate(rooms.read_floors()) for room in floor}
    caller, calls = rooms.WALKS[walk]
    assert all(floor_of[callee] > floor_of[caller] for callee in calls)


def named_modules():
    """Dotted names and paths in backquotes that begin with a room, in all pages."""
    known = "|".join(FOLDERS)
    for page in sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(rf"`(?:src/)?(?:nearboost[./])?((?:{known})(?:[./]\w+)+)`", text):
            yield page.relative_to(ROOT).as_posix(), name


@pytest.mark.parametrize(("page", "name"), sorted(set(named_modules())))
def test_pages_name_what_exists(page, name):
    if name.endswith(".py"):
        assert (ROOT / "src" / "nearboost" / name).exists()
        return
    *modules, last = ["nearboost", *re.split(r"[./]", name)]
    while len(modules) > 1 and find_spec(".".join(modules)) is None:  # a method of a class
        modules, last = modules[:-1], modules[-1]
    inside = import_module(".".join(modules))
    assert hasattr(inside, last) or find_spec(".".join([*modules, last]))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "design").glob("*.md")), ids=lambda page: page.stem)
def test_design_names_files_that_exist(page):
    files = {
        path.name for folder in ("src", "papers", "benchmarks", "tests") for path in (ROOT / folder).rglob("*.py")
    }
    named = set(re.findall(r"`(\w+\.py)`", page.read_text(encoding="utf-8")))
    assert named <= files
