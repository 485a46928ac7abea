"""Pictures of fields: tiles, and files that are not what they should be."""

import hashlib
import shutil
import struct
import zlib

import pytest

from app.talking import running
from nearboost.cells.creating import relink
from nearboost.cells.project import open_project

TILE = "/api/fields/1/tiles/stain/0/0/0?low=0&high=1000"


def first_image(folder, role="stain"):
    project = open_project(folder)
    return project.path_of(project.fields[0].files[role])


@pytest.fixture
def own_images(screen, tmp_path):
    """The project reads a copy of its images, below the folder that was named."""
    folder = shutil.copytree(open_project(screen).image_folders[0], tmp_path / "images")
    relink(open_project(screen), folder)
    return folder


@pytest.fixture
def app(own_images, screen):
    with running(screen) as one:
        yield one


def test_tiles_are_pictures(inside):
    found = inside.ask("GET", TILE)
    assert found.headers["Content-Type"] == "image/png"
    assert found.body.startswith(b"\x89PNG")


ODD = [
    "/api/fields/1/tiles/stain/0/0/0", "/api/fields/1/tiles/stain/0/0/0?low=a&high=1",
    "/api/fields/1/tiles/stain/0/0/0?low=nan&high=1", "/api/fields/1/tiles/stain/0/0/0?low=2&high=1",
    "/api/fields/1/tiles/other/0/0/0?low=0&high=1", "/api/fields/1/tiles/stain/99/0/0?low=0&high=1",
    "/api/fields/1/tiles/stain/0/9/0?low=0&high=1", "/api/fields/77/tiles/stain/0/0/0?low=0&high=1",
    "/api/fields/1/tiles/stain/0/0/99999999999999999999?low=0&high=1", "/api/plate?measure=nothing",
]  # fmt: skip


def test_odd_questions_get_a_sentence(inside):
    for path in ODD:
        found = inside.ask("GET", path)
        assert found.status == 400, path
        assert found.body.decode().endswith('."}'), path


def test_a_link_out_of_the_folder_is_not_followed(inside, own_images, tmp_path):
    path = first_image(inside.desk.project.folder)
    shutil.move(path, tmp_path / "secret.tif")
    path.symlink_to(tmp_path / "secret.tif")
    for asked in (TILE, "/api/fields/1", "/fields/1"):
        found = inside.ask("GET", asked)
        assert found.status == 400
        assert b"leads out of its folder" in found.body


def test_a_bomb_is_refused_before_it_is_decoded(screen, own_images):
    """A small PNG that says that it is 100,000 pixels wide and high, in a project that says so."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    path = first_image(screen)
    said = screen / "project.json"
    hashes = [hashlib.sha256(content).hexdigest() for content in (path.read_bytes(), bomb)]
    path.write_bytes(bomb)
    said.write_text(said.read_text().replace(*hashes))
    with running(screen) as app:
        found = app.enter().ask("GET", TILE)
        assert found.status == 400
        assert "pixels" in found.body.decode()
        assert app.ask("GET", "/plate").status == 200


def test_images_that_are_gone_are_listed(inside, own_images):
    path = first_image(inside.desk.project.folder)
    path.unlink()
    page = inside.ask("GET", "/plate").body.decode()
    assert path.name in page
    assert "nearboost cells relink" in page
    assert inside.read("/api/fields/1")["missing"] == [path.name]
    assert inside.ask("GET", TILE).status == 400


def test_how_a_project_is_shown_is_checked(inside):
    for odd in ({"channels": {"stain": {"colour": "red"}}}, {"channels": 3}, {"other": 1}, {"line_width": 99},
                {"channels": {"stain": {"low": 5, "high": 1}}}, {"outlines": "yes"}):  # fmt: skip
        assert inside.write("/api/display", {"display": odd}, status=400)["error"].endswith(".")
    assert inside.write("/api/display", {"display": {"line_width": 3}})["line_width"] == 3


def test_labels_as_a_table(inside):
    hostile = '=cmd|" /C calc"!A0'
    kind = inside.write("/api/classes/add", {"name": hostile})["class"]["id"]
    inside.write("/api/label", {"cells": [{"image": 1, "object": 2, "event": 0}], "class": kind})
    found = inside.ask("GET", "/results/labels.csv")
    assert found.headers["Content-Type"].startswith("text/csv")
    assert "labels.csv" in found.headers["Content-Disposition"]
    table = found.body.decode()
    assert table.splitlines()[0] == "ImageNumber,ObjectNumber,x,y,class,who,when,excluded"
    assert ",=cmd" not in table
    assert ',"=cmd' not in table


def test_a_table_that_is_a_link_is_not_sent(inside, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (inside.desk.project.folder / "tables" / "counts.csv").symlink_to(tmp_path / "secret")
    found = inside.ask("GET", "/results/counts.csv")
    assert found.status == 400
    assert b"leads out of its folder" in found.body
    assert inside.ask("GET", "/results/..%2fproject.json").status == 404
    assert inside.ask("GET", "/results/project.json").status == 400


def test_no_job_reads_a_link(inside, own_images, tmp_path):
    path = first_image(inside.desk.project.folder)
    shutil.move(path, tmp_path / "secret.tif")
    path.symlink_to(tmp_path / "secret.tif")
    for kind in ("describe", "train", "count"):
        assert "leads out" in inside.write(f"/api/job/{kind}", {}, status=400)["error"]
