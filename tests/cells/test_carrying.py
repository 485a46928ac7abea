"""Labels find their cells in a new segmentation, or wait to be placed; none is lost."""

import numpy as np
import pytest

from nearboost.base.errors import UsageError
from nearboost.cells.annotation_records import Cell
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.carrying import Placement, overlapping, place_labels


def squares(*corners, size=10, shape=(60, 60)):
    """Objects 1, 2, … with their upper left corners."""
    labels = np.zeros(shape, dtype=np.int32)
    for number, (y, x) in enumerate(corners, 1):
        labels[y : y + size, x : x + size] = number
    return labels


def centres(*corners, size=10):
    return {number: (x + size / 2, y + size / 2) for number, (y, x) in enumerate(corners, 1)}


def test_by_overlap_by_centre_or_not_at_all():
    corners = [(0, 0), (0, 20), (0, 40), (30, 0)]
    old = squares(*corners)
    new = np.zeros_like(old)
    new[1:11, 1:11] = 8  # moved by a pixel
    new[0:30, 15:32] = 5  # three times as large
    new[30:35, 0:10] = 6  # an exact half
    placement = place_labels(old, new, {1: "a", 2: "b", 3: "a", 4: "b"}, centres(*corners))
    assert placement == Placement({1: 8, 4: 6}, {2: 5}, (3,))


def test_labels_that_disagree_on_a_cell_wait():
    corners = [(0, 0), (0, 10), (30, 0), (30, 10)]
    old, merged = squares(*corners), np.zeros((60, 60), dtype=np.int32)
    merged[0:10, 0:20], merged[30:40, 0:20] = 1, 2
    found = place_labels(old, merged, {1: "a", 2: "b", 3: "a", 4: "a"}, centres(*corners))
    assert found.unplaced == (1, 2)
    assert found.placed | found.to_check == {3: 2, 4: 2}


def test_a_label_does_not_go_to_the_cell_of_an_unlabelled_one():
    old, new = squares((0, 0), (0, 10)), np.zeros((60, 60), dtype=np.int32)
    new[0:10, 0:16] = 1  # the first, grown over the second's centre
    assert place_labels(old, new, {2: "b"}, centres((0, 0), (0, 10))).unplaced == (2,)


def test_overlaps_against_a_plain_count():
    rng = np.random.default_rng(0)
    corners = [(y, x) for y in range(0, 50, 12) for x in range(0, 50, 12)]
    old = squares(*corners, size=9)
    new = squares(*[(y + rng.integers(4), x + rng.integers(4)) for y, x in corners], size=8)
    expected = {}
    for one in range(1, old.max() + 1):
        for other in range(1, new.max() + 1):
            both, either = (old == one) & (new == other), (old == one) | (new == other)
            if both.sum() / either.sum() >= 0.5:
                expected[one] = other
    assert overlapping(old, new) == expected
    assert len(expected) > 5


@pytest.fixture
def store(tmp_path):
    with AnnotationStore(tmp_path / "annotations.db") as opened:
        opened.add_class("Ada", "round")
        opened.add_class("Ada", "long")
        opened.label("Ada", [Cell(1, 1), Cell(1, 2)], 1)
        opened.label("Ada", [Cell(1, 3)], 2)
        opened.exclude("Ada", [Cell(1, 4)])
        yield opened


def state(store):
    return {one.object: (one.class_id, one.excluded, one.to_check) for one in store.labels(1)}


def test_there_and_back_again(store):
    before = state(store)
    assert store.to_carry(1) == {1: (1, False), 2: (1, False), 3: (2, False), 4: (None, True)}
    store.carry_over("Ada", 1, "wide", Placement({1: 11, 4: 14}, {2: 12}, (3,)), {3: "[[0, 0]]"})
    assert state(store) == {11: (1, False, False), 12: (1, False, True), 14: (None, True, False)}
    [waiting] = store.unplaced()
    assert (waiting.label.class_id, waiting.outline) == (2, "[[0, 0]]")
    store.carry_over("Ada", 1, "", Placement({11: 1, 14: 4}, {12: 2}), {})
    assert state(store) == before
    assert store.unplaced() == []


def test_what_was_decided_since_goes_along(store):
    store.carry_over("Ada", 1, "wide", Placement({1: 11, 2: 12, 4: 14}, {}, (3,)), {3: "[]"})
    events = {one.object: one.event for one in store.labels(1)}
    store.label("Ben", [Cell(1, 11, events[11])], 2)
    store.label("Ben", [Cell(1, 12, events[12])], None)
    store.carry_over("Ben", 1, "wider", Placement({11: 21, 12: 22, 14: 24}), {})
    assert [one.label.object for one in store.unplaced()] == [3]  # still waiting
    store.carry_over("Ben", 1, "", Placement({21: 1, 22: 2, 24: 4}), {})
    assert state(store) == {1: (2, False, False), 3: (2, False, False), 4: (None, True, False)}


def test_waiting_labels_are_placed_or_discarded_and_that_is_undone(store):
    store.carry_over("Ada", 1, "wide", Placement({}, {}, (1, 2, 3, 4)), dict.fromkeys((1, 2, 3, 4), "[]"))
    assert state(store) == {}
    one, two, three, four = store.unplaced()
    store.settle("Ada", one, Cell(1, 50))
    store.settle("Ada", two, None)
    store.settle("Ada", four, Cell(1, 51))
    assert state(store) == {50: (1, False, False), 51: (None, True, False)}
    assert store.unplaced() == [three]
    with pytest.raises(UsageError, match="placed or discarded in the meantime"):
        store.settle("Ben", one, Cell(1, 60))
    assert store.undo("Ada") == "place"
    assert store.undo("Ada") == "discard"
    assert sorted(waiting.label.object for waiting in store.unplaced()) == [2, 3, 4]
    assert state(store) == {50: (1, False, False)}


def test_steps_of_an_earlier_segmentation_are_not_undone(store):
    store.carry_over("Ada", 1, "wide", Placement({1: 11, 2: 12, 3: 13, 4: 14}), {})
    before = state(store)
    with pytest.raises(UsageError, match="earlier segmentation"):
        store.undo("Ada")
    assert state(store) == before
