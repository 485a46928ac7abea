"""Folders of images are those that somebody on this machine named, and links do not lead out of them."""

import json
import shutil
import sys

import pytest

from nearboost.base.errors import UsageError
from nearboost.cells.creating import create_project, relink
from nearboost.cells.project import open_project
from nearboost.cells.trust import check_images, check_inside, knows_folders


@pytest.fixture
def made(plate, tmp_path):
    images = shutil.copytree(plate / "images", tmp_path / "images")
    return create_project(tmp_path / "project", [images]).project


def changed(project, **values):
    path = project.folder / "project.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return open_project(project.folder)


def test_a_project_made_here_is_known(made):
    assert knows_folders(open_project(made.folder))


def test_other_folders_are_not(made):
    assert not knows_folders(changed(made, image_folders=["/etc"]))


def test_another_user_does_not_know_them(made, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert not knows_folders(made)
    (made.folder / "folders.signed").unlink()
    assert not knows_folders(made)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps rights otherwise")
def test_the_key_is_the_users_alone(made, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert not knows_folders(made)
    key = tmp_path / "state" / "nearboost" / "projects.key"
    assert key.stat().st_mode & 0o077 == 0


def test_images_found_again_are_known(made, tmp_path):
    (tmp_path / "images").rename(tmp_path / "moved")
    relink(made, tmp_path / "moved")
    assert knows_folders(open_project(made.folder))


def test_a_folder_that_was_named_does_not_vouch_for_others(made, tmp_path):
    """A project from elsewhere of which only some images are found again here."""
    foreign = changed(made, image_folders=[str(tmp_path / "images"), "/etc"])
    assert not knows_folders(foreign)
    copy = tmp_path / "some"
    copy.mkdir()
    first = next(iter(foreign.fields[0].files.values()))
    shutil.copy(foreign.path_of(first), copy)
    relink(foreign, copy)
    assert not knows_folders(open_project(made.folder))


@pytest.mark.skipif(sys.platform == "win32", reason="links take rights there")
def test_links_that_lead_out_are_refused(made, tmp_path):
    check_images(made, made.fields[0])
    path = made.path_of(next(iter(made.fields[0].files.values())))
    shutil.move(path, tmp_path / "elsewhere.tif")
    path.symlink_to(tmp_path / "elsewhere.tif")
    with pytest.raises(UsageError, match="leads out of its folder"):
        check_images(made, made.fields[0])
    with pytest.raises(UsageError, match="leads out"):
        check_inside(tmp_path / "images", tmp_path / "images" / ".." / "elsewhere.tif")


def test_a_newer_project_says_so(made):
    with pytest.raises(UsageError, match="newer version"):
        changed(made, format=99)
