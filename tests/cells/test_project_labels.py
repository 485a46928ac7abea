"""The annotations of a project: older projects are taken over, exports lose nothing, new masks get the labels."""

import shutil
import subprocess
import sys

import pytest

from cells.pictures import real
from nearboost.base.errors import UsageError
from nearboost.cells.annotation_records import Cell
from nearboost.cells.creating import create_project
from nearboost.cells.labels import COLUMNS, read_label_file
from nearboost.cells.polygons import points_inside, polygons_of
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import (
    export_labels,
    import_labels,
    labels_digest,
    open_store,
    present_labels,
    read_labels,
)
from nearboost.cells.saved_masks import mask_path, read_record, read_segmentation
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings

HEADER = ",".join(COLUMNS)


@pytest.fixture
def labelled(segmented, plate):
    import_labels(open_project(segmented), plate / "truth.csv")
    return open_project(segmented)


def facts(labels):
    return {(one.image, one.object): (one.name, one.excluded) for one in labels}


def test_an_older_project_is_taken_over_whole(labelled, tmp_path):
    """The export is the same file, byte by byte, whoever said what when."""
    path = labelled.folder / "labels.csv"
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace(",import,", ",=Ada,").replace(",0", ",1")
    lines[2] = "2".join(lines[2].rsplit("6", 1))  # another year
    path.write_text("\n".join(lines) + "\n")
    before = path.read_bytes()
    (labelled.folder / "annotations.db").unlink()
    taken = read_label_file(labelled, path).labels
    with open_store(labelled) as store:
        assert present_labels(labelled, store).labels == taken
        assert taken[0].excluded
        export_labels(labelled, store)
        assert store.undo("Ada") is None
        assert store.undo("=Ada") is None  # what a file said is nobody's step
    assert path.read_bytes().replace(b"'=Ada", b"=Ada") == before


KILLED = """
import os, sys
from pathlib import Path
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import open_store
AnnotationStore.take_in = lambda *given: os._exit(9)
open_store(open_project(Path(sys.argv[1])))
"""


def test_a_kill_while_labels_are_taken_over_loses_none(labelled):
    known = facts(read_labels(labelled).labels)
    (labelled.folder / "annotations.db").unlink()
    assert subprocess.run([sys.executable, "-c", KILLED, str(labelled.folder)], check=False).returncode == 9
    assert (labelled.folder / "annotations.db").exists()
    assert facts(read_labels(labelled).labels) == known


def test_labels_without_a_cell_wait_and_lines_without_an_image_are_kept(segmented):
    project, path = open_project(segmented), segmented / "labels.csv"
    x, y = points_inside(read_segmentation(project, project.fields[0]).nuclei, [1])[1]
    mask_path(project, project.field_of(2), "record.json").rename(segmented / "record")
    lines = [
        f"1,1,{x},{y},round,Ada,2020,",
        "1,9,0,0,long,Ada,2020,",
        "2,1,10,12,long,Ben,2021,",
        "99,1,5,5,long,,,",
    ]
    path.write_text("\n".join([HEADER, *lines]))
    with pytest.warns(UserWarning, match=r"1 line of .*labels.csv fit no image.*backups/labels-"):
        found = read_labels(project)
    assert facts(found.labels) == {(1, 1): ("round", False)}
    assert list(found.skipped.values()) == [
        "no cell is at x = 0, y = 0 of image 1; place or discard it in the app."
    ]
    [kept] = (segmented / "backups").glob("labels-*.csv")
    assert kept.read_text() == path.read_text()
    (segmented / "record").rename(mask_path(project, project.field_of(2), "record.json"))
    with open_store(project) as store:  # now image 2 has masks: its label finds its cell, or waits
        there = [one for one in store.labels() if one.image == 2]
        assert len(there) + len(store.unplaced(2)) == 1
        assert store.generation(2) == read_record(project, project.field_of(2))["key"]


def test_a_changed_export_is_kept_before_it_is_written_anew(labelled):
    path = labelled.folder / "labels.csv"
    with open_store(labelled) as store:
        export_labels(labelled, store)
        assert list((labelled.folder / "backups").glob("labels-*.csv")) == []
        path.write_text("mine")
        export_labels(labelled, store)
    [kept] = (labelled.folder / "backups").glob("labels-*.csv")
    assert kept.read_text() == "mine"
    (labelled.folder / "backups" / "labels.sha256").write_bytes(b"\xff")  # damaged: it vouches for nothing
    with open_store(labelled) as store:
        export_labels(labelled, store)
    assert path.read_text().startswith(HEADER)


def test_the_digest_is_of_what_holds(labelled):
    with open_store(labelled) as store:
        before, [first, *_] = labels_digest(labelled, store), store.labels()
        store.exclude("Ada", [Cell(first.image, first.object, first.event)])
        assert labels_digest(labelled, store) != before
        store.undo("Ada")
        assert labels_digest(labelled, store) == before


def test_an_import_replaces_and_repeats_without_a_trace(labelled, plate, tmp_path):
    with open_store(labelled) as store:
        before = store.labels()
    assert import_labels(labelled, plate / "truth.csv").notes == []
    with open_store(labelled) as store:
        assert store.labels() == before
    (tmp_path / "one.csv").write_text("ImageNumber,ObjectNumber,class,excluded\n1,1,New,\n1,2,,1\n")
    told = import_labels(labelled, tmp_path / "one.csv").notes
    assert told == ["2 cells had another label until now, which the log of steps keeps."]
    found = facts(read_labels(labelled).labels)
    assert (found[1, 1], found[1, 2]) == (("New", False), ("", True))
    assert len(found) == len(before)
    (tmp_path / "bad.csv").write_text(f"ImageNumber,ObjectNumber,class\n1,1,{'x' * 200}\n")
    with pytest.raises(UsageError, match="1 to 100 letters"):
        import_labels(labelled, tmp_path / "bad.csv")


def test_new_masks_and_back(labelled):
    """Placed, to check and waiting are all; the same masks again restore what was."""
    diameter = 20.0
    segment_project(labelled, SegmentationSettings(diameter))
    with open_store(labelled) as store:
        before = facts(present_labels(labelled, store).labels)
    for wide in (1.15 * diameter, diameter / 1.15):
        segment_project(labelled, SegmentationSettings(wide))
        with open_store(labelled) as store:
            labels, waiting = store.labels(), store.unplaced()
            sure = [one for one in labels if not one.to_check]
        assert len(labels) + len(waiting) == len(before)
        assert len(sure) >= 0.9 * len(before)
        assert len(read_labels(labelled).skipped) == len(waiting)
    segment_project(labelled, SegmentationSettings(diameter))
    with open_store(labelled) as store:
        assert facts(present_labels(labelled, store).labels) == before
        assert store.unplaced() == []
        assert not any(one.to_check for one in store.labels())


def test_labels_of_cells_that_are_gone_wait_with_their_outline(labelled):
    before = len(read_labels(labelled).labels)
    segment_project(labelled, SegmentationSettings(20.0, border="drop"))
    with open_store(labelled) as store:
        waiting = store.unplaced()
        assert waiting
        assert all(one.outline.startswith("[[[") for one in waiting)
        assert len(store.labels()) + len(waiting) == before


@pytest.mark.slow
def test_labels_of_the_translocation_wells_survive_other_diameters(tmp_path):
    """All cells of all wells are labelled; diameters change by 15 % and by half, and come back."""
    folder = real("translocation")
    project = create_project(tmp_path / "project", [folder]).project
    diameter = segment_project(project, SegmentationSettings()).settings.nucleus_diameter
    rows = ((one.number, n) for one in project.fields for n in read_segmentation(project, one).numbers.tolist())
    lines = [f"{image},{n},{'ab'[n % 2]}" for image, n in rows]
    (tmp_path / "labels.csv").write_text("\n".join(["ImageNumber,ObjectNumber,class", *lines]))
    before = facts(import_labels(project, tmp_path / "labels.csv").labels)
    assert len(before) > 4000
    for factor, least in ((1.15, 0.9), (1 / 1.15, 0.9), (1.5, 0.0), (0.6, 0.0)):
        segment_project(project, SegmentationSettings(factor * diameter))
        with open_store(project) as store:
            labels, waiting = store.labels(), store.unplaced()
            carried = store.rows(
                "SELECT origin FROM label_events e WHERE generation = "
                "(SELECT generation FROM generation_events g WHERE g.image = e.image ORDER BY g.id DESC LIMIT 1)"
            )
        # two labels that agree on a cell are both its own
        assert len({one["origin"] for one in carried}) + len(waiting) == len(before)
        assert sum(not one.to_check for one in labels) >= least * len(before)
        segment_project(project, SegmentationSettings(diameter))
        with open_store(project) as store:
            assert facts(present_labels(project, store).labels) == before
            assert store.unplaced() == []
            assert not any(one.to_check for one in store.labels())


def test_masks_that_were_changed_behind_the_store(labelled, tmp_path):
    """An interrupted segmentation: the store knows newer masks than there are."""
    segment_project(labelled, SegmentationSettings(20.0))
    before = facts(read_labels(labelled).labels)
    kept = shutil.copytree(labelled.folder / "masks", tmp_path / "masks")
    segment_project(labelled, SegmentationSettings(23.0))
    shutil.rmtree(labelled.folder / "masks")
    shutil.copytree(kept, labelled.folder / "masks")
    assert facts(read_labels(labelled).labels) == before


def test_outlines_go_around_their_cells(segmented):
    project = open_project(segmented)
    cells = read_segmentation(project, project.fields[0]).cells
    outlines, points = polygons_of(cells), points_inside(cells, range(1, cells.max() + 1))
    assert set(outlines) == set(points) == set(range(1, cells.max() + 1))
    for number, pieces in outlines.items():
        for piece in pieces:
            assert all(cells[y, x] == number for x, y in piece)
        x, y = map(int, points[number])
        assert cells[y, x] == number
