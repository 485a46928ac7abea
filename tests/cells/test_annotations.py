"""Annotations: what holds, steps back and forth, conflicts, classes, hostile files and kills."""

import random
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from contextlib import closing
from threading import Thread

import pytest

from nearboost.base.errors import UsageError
from nearboost.cells import annotation_file
from nearboost.cells.annotation_log import UNDOABLE
from nearboost.cells.annotation_records import Cell, CellLabel, ConflictError
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.carrying import Placement
from nearboost.datasets import DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "annotations.db"


@pytest.fixture
def store(path):
    with AnnotationStore(path) as opened:
        opened.add_class("Ada", "round")
        opened.add_class("Ada", "long")
        yield opened


def present(store):
    return {(one.image, one.object): one.class_id for one in store.labels()}


def test_labels_are_there_after_a_restart(store, path):
    [label] = store.label("Ada", [Cell(3, 7)], 1, {(3, 7): (10.5, 20.0)})
    assert (label.class_id, label.x, label.y, label.who) == (1, 10.5, 20.0, "Ada")
    [moved] = store.label("Ben", [Cell(3, 7, seen=label.event)], 2)
    assert (moved.class_id, moved.x, moved.who) == (2, 10.5, "Ben")
    with AnnotationStore(path) as again:
        assert again.labels() == [moved]
        assert [(one.class_id, one.who) for one in again.history(3, 7)] == [(1, "Ada"), (2, "Ben")]


def test_undo_and_redo_also_after_a_reload(store, path):
    [first] = store.label("Ada", [Cell(1, 1)], 1)
    store.label("Ada", [Cell(1, 1, first.event), Cell(1, 2)], 2)
    store.exclude("Ada", [Cell(1, 9)])
    with AnnotationStore(path) as again:
        assert again.undo("Ada") == "exclude"
        assert again.undo("Ada") == "label"
        assert present(again) == {(1, 1): 1}
        assert again.redo("Ada") == "label"
        assert present(again) == {(1, 1): 2, (1, 2): 2}
        assert again.undo("Ada") == "label"
        assert again.redo("Ada") == "label"
        assert again.redo("Ada") == "exclude"
        assert again.redo("Ada") is None
        assert [one.excluded for one in again.labels()] == [False, False, True]
        again.undo("Ada")
        again.label("Ada", [Cell(5, 5)], 1)
        assert again.redo("Ada") is None  # a new step: what was undone stays so


def test_a_person_undoes_own_steps_only(store):
    store.label("Ada", [Cell(1, 1)], 1)
    store.label("Ben", [Cell(1, 2)], 2)
    assert store.undo("Ada") == "label"
    assert present(store) == {(1, 2): 2}
    assert store.undo("Cleo") is None


def test_what_somebody_has_gone_on_from_is_not_undone(store):
    [label] = store.label("Ada", [Cell(1, 1)], 1)
    store.label("Ben", [Cell(1, 1, label.event)], 2)
    with pytest.raises(UsageError, match="gone on"):
        store.undo("Ada")
    assert present(store) == {(1, 1): 2}


def test_a_hundred_steps_can_be_undone(store):
    for number in range(UNDOABLE + 20):
        store.label("Ada", [Cell(1, number)], 1)
    taken_back = 0
    while store.undo("Ada"):
        taken_back += 1
    assert taken_back == UNDOABLE
    assert len(store.labels()) == 20


def test_two_tabs_that_disagree_get_a_conflict_and_nothing_is_written(store):
    store.label("Ada", [Cell(1, 1)], 1)
    with pytest.raises(ConflictError, match="Cell 1 of image 1 was changed by Ada") as raised:
        store.label("Ada", [Cell(1, 2), Cell(1, 1)], 2)
    assert [one.class_id for one in raised.value.present] == [1]
    assert present(store) == {(1, 1): 1}
    [label] = store.label("Ada", [Cell(1, 1)], 1)  # the same answer is no conflict, and no event
    assert label.event == raised.value.present[0].event
    store.label("Ada", [Cell(1, 1, raised.value.present[0].event)], 2)
    assert present(store) == {(1, 1): 2}


def test_classes(store):
    store.label("Ada", [Cell(1, 1), Cell(1, 2)], 1)
    store.label("Ada", [Cell(1, 3)], 2)
    store.change_class("Ada", 1, name="  flat ", colour="#ABCDEF")
    store.order_classes("Ada", [2, 1])
    assert [(one.name, one.colour) for one in store.classes()] == [("long", "#56b4e9"), ("flat", "#abcdef")]
    store.delete_class("Ada", 1)
    assert present(store) == {(1, 3): 2}
    assert [one.object for one in store.aside()] == [1, 2]
    store.restore_class("Ada", 1)
    assert len(store.labels()) == 3
    store.merge_classes("Ada", 1, into=2)
    assert set(present(store).values()) == {2}
    assert [one.name for one in store.classes()] == ["long"]
    assert store.undo("Ada") == "merge classes"
    assert present(store) == {(1, 1): 1, (1, 2): 1, (1, 3): 2}


def test_a_wrong_outline_is_left_out_also_when_its_class_is_deleted(store):
    [label] = store.label("Ada", [Cell(1, 1)], 1)
    store.exclude("Ada", [Cell(1, 1, label.event)])
    store.delete_class("Ada", 1)
    [left] = store.labels()
    assert (left.class_id, left.excluded) == (None, True)
    store.restore_class("Ada", 1)
    assert present(store) == {(1, 1): 1}


def test_undoing_gives_no_name_to_two_classes(store):
    store.change_class("Ada", 1, name="flat")
    new = store.add_class("Ben", "Round")
    with pytest.raises(UsageError, match="There is another class 'round' by now; rename it"):
        store.undo("Ada")
    assert [one.name for one in store.classes()] == ["flat", "long", "Round"]
    store.change_class("Ben", new.id, name="other")
    assert store.undo("Ada") == "change class"
    assert [one.name for one in store.classes()] == ["round", "long", "other"]


def test_classes_of_labels_without_a_cell(store):
    """Such a label never comes back as one of a class that is gone."""
    store.keep_aside("Ada", "2020", CellLabel(1, -1, 1, x=5.0, y=5.0))
    store.carry_over("Ada", 1, "masks", Placement(unplaced=(-1,)), {-1: ""})
    [waiting] = store.unplaced()
    with pytest.raises(UsageError, match="1 label of class 'round' without a cell would keep it; place"):
        store.merge_classes("Ada", 1, into=2)
    store.delete_class("Ada", 1)
    with pytest.raises(UsageError, match="There is no class 1"):
        store.settle("Ada", waiting, Cell(1, 4))
    store.restore_class("Ada", 1)
    store.settle("Ada", waiting, Cell(1, 4))
    store.merge_classes("Ada", 1, into=2)
    assert present(store) == {(1, 4): 2}


def test_a_step_is_undone_and_done_again_as_often_as_wanted(store):
    store.label("Ada", [Cell(1, 1)], 1)
    for _ in range(sys.getrecursionlimit() // 2):
        assert (store.undo("Ada"), store.redo("Ada")) == ("label", "label")
    assert present(store) == {(1, 1): 1}


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.annotation_records import Cell
from nearboost.datasets import DataError
path = Path(sys.argv[1])
store = AnnotationStore(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store.label("Ada", [Cell(1, 1)], 1)
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("annotations.db-wal").stat().st_size, most))
for _ in range(2):
    try:
        store.label("Ada", [Cell(1, 2)], 1)
    except DataError as error:
        print("nothing of this step was kept" in str(error), [one.object for one in store.labels()])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
print(len(store.label("Ada", [Cell(1, 3)], 1)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sizes of files have no limit there")
def test_a_full_disk_is_told_and_leaves_the_store_usable(store, path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True [1]", "True [1]", "1"]
    assert present(store) == {(1, 1): 1, (1, 3): 1}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda store: store.add_class("Ada", " Round"), "There is a class 'Round' already"),
        (lambda store: store.add_class("Ada", ""), "A class's name has 1 to 100 letters"),
        (lambda store: store.add_class("Ada", "a\nb"), "A class's name has 1 to 100 letters"),
        (lambda store: store.add_class("Ada", "new", "red;}"), "is no colour"),
        (lambda store: store.add_class("  ", "new"), "A person's name"),
        (lambda store: store.label("Ada", [Cell(1, 1)], 9), "There is no class 9"),
        (lambda store: store.merge_classes("Ada", 1, 1), "into itself"),
        (lambda store: store.order_classes("Ada", [1]), "names each of them once"),
    ],
)
def test_wrong_steps_write_nothing(store, step, message):
    before = store.rows("SELECT count(*) AS n FROM steps")[0]["n"]
    with pytest.raises(UsageError, match=message):
        step(store)
    assert store.rows("SELECT count(*) AS n FROM steps")[0]["n"] == before


def test_hostile_names_are_texts(store):
    made = store.add_class("Robert'); DROP TABLE steps;--", "=cmd|'<script>")
    assert store.classes()[-1].name == made.name == "=cmd|'<script>"


def test_the_log_cannot_be_rewritten(store, path):
    store.label("Ada", [Cell(1, 1)], 1)
    for statement in ("DELETE FROM label_events", "UPDATE steps SET who = 'Eve'"):
        with closing(sqlite3.connect(path)) as rows, pytest.raises(sqlite3.IntegrityError, match="append-only"):
            rows.execute(statement)


def test_threads_share_a_store(store):
    def work(image):
        for number in range(20):
            store.label(f"person {image}", [Cell(image, number)], 1)

    threads = [Thread(target=work, args=(image,)) for image in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.labels()) == 80


def edited(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_files_that_are_something_else_are_refused(path):
    AnnotationStore(path).close()
    edited(path, "CREATE VIEW extra AS SELECT 1")
    with pytest.raises(DataError, match="not a file of annotations that nearboost has written"):
        AnnotationStore(path)
    edited(path, "DROP VIEW extra", "DROP TRIGGER steps_delete")
    with pytest.raises(DataError, match="not a file of annotations"):
        AnnotationStore(path)


@pytest.mark.parametrize("name", ["sqlitextra", "extra"])
def test_no_trigger_answers_for_a_label(path, name):
    AnnotationStore(path).close()
    edited(path, f"CREATE TRIGGER {name} AFTER INSERT ON label_events BEGIN SELECT 1; END")
    with pytest.raises(DataError, match="not a file of annotations"):
        AnnotationStore(path)


def test_a_journal_cannot_have_another_file_deleted(path, tmp_path):
    AnnotationStore(path).close()
    edited(path, "PRAGMA journal_mode = DELETE")
    other = tmp_path / "other.txt"
    other.write_text("dear diary\0")
    name, end = str(other).encode(), bytes.fromhex("d9d505f920a163d7")
    head = end + struct.pack(">5I", 0, 1, path.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">2I", len(name), sum(name)) + end
    path.with_name("annotations.db-journal").write_bytes(head.ljust(512, b"\0") + tail)
    with pytest.raises(DataError, match=r"annotations\.db-journal is not of nearboost"):
        AnnotationStore(path)
    assert other.exists()


def test_newer_and_damaged_files(path, tmp_path):
    AnnotationStore(path).close()
    edited(path, "PRAGMA user_version = 2")
    with pytest.raises(UsageError, match="newer version of nearboost; update"):
        AnnotationStore(path)
    other = tmp_path / "other.db"
    other.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    with pytest.raises(DataError, match=r"other.db is damaged \(.*\); put one of the copies in .*backups there"):
        AnnotationStore(other)


def test_damage_that_is_found_later_is_one_sentence(store, path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET rootpage = 999 WHERE name = 'class_events'")
    with pytest.raises(DataError, match=r"damaged \(.*\); put one of the copies in .*backups there\.$") as told:
        AnnotationStore(path)
    assert "\n" not in str(told.value)


def test_network_drives_are_refused(path, monkeypatch):
    monkeypatch.setattr(annotation_file, "is_on_network", lambda folder: True)
    with pytest.raises(UsageError, match="network drive"):
        AnnotationStore(path)


def test_ten_copies_are_kept_one_a_day(store, path):
    store.label("Ada", [Cell(1, 1)], 1)
    for day in range(1, 15):
        copy = annotation_file.back_up(store._connection, path, f"2031-01-{day:02}")
    kept = sorted(copy.parent.iterdir())
    assert [one.name for one in kept] == [f"annotations-2031-01-{day:02}.db" for day in range(5, 15)]
    with AnnotationStore(copy) as opened:
        assert present(opened) == {(1, 1): 1}


LABELLER = """
import sys
from pathlib import Path
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.annotation_records import Cell
store = AnnotationStore(Path(sys.argv[1]))
first = int(sys.argv[2])
for number in range(first, first + 100_000):
    store.label("Ada", [Cell(1, number)], 1)
    print(number, flush=True)
"""


def kill_while_labelling(path, n_kills):
    """The labels that were acknowledged before processes were killed at random moments."""
    generator, acknowledged = random.Random(0), []
    for kill in range(n_kills):
        command = [sys.executable, "-c", LABELLER, str(path), str(kill * 100_000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            acknowledged.append(int(process.stdout.readline()))
            time.sleep(generator.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            acknowledged += map(
                int, (line for line in process.stdout.read().splitlines(keepends=True) if "\n" in line)
            )
    return acknowledged


@pytest.mark.alone
@pytest.mark.parametrize("n_kills", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_acknowledged_labels_survive_kills(store, path, n_kills):
    acknowledged = kill_while_labelling(path, n_kills)
    with AnnotationStore(path) as again:
        assert again.rows("PRAGMA integrity_check")[0][0] == "ok"
        there = {one.object for one in again.labels()}
    assert len(acknowledged) > 2 * n_kills
    assert set(acknowledged) <= there
