"""Sets of local descriptors: packed, lazy, cut, changed, sampled."""

import pickle
from collections.abc import Sequence

import numpy as np
import pytest

from nearboost.base.local_sets import LocalSet, LocalSets

VALUES = np.arange(24.0, dtype=np.float32).reshape(8, 3)
OFFSETS = np.array([0, 3, 3, 8])


def test_packed_sets_are_cut_at_the_offsets():
    places = np.linspace(0, 1, 16).reshape(8, 2)
    sets = LocalSets.packed(VALUES, OFFSETS, places, np.arange(8), [(4, 5), (6, 7), (8, 9)])
    assert [len(one) for one in sets] == [3, 0, 5]
    np.testing.assert_array_equal(sets[2].values, VALUES[3:])
    np.testing.assert_array_equal(sets[-1].positions, places[3:].astype(np.float32))
    np.testing.assert_array_equal(sets[0].scales, [0, 1, 2])
    assert sets[1].image_size == (6, 7)
    with pytest.raises(IndexError):
        sets[3]


def test_some_of_some_sets():
    some = LocalSets.packed(VALUES, OFFSETS).take([2, 0])
    assert [len(one) for one in some] == [5, 3]
    assert [len(one) for one in some.take([1, 1, 0])] == [3, 3, 5]


def test_sets_are_made_when_asked_for_and_only_then():
    asked = []

    def make(i):
        asked.append(i)
        return LocalSet(np.full((2, 1), float(i)))

    sets = LocalSets(100, make)
    later = sets[10:20:3].map(lambda one: one.values + 1)
    assert asked == []
    assert len(later) == 4
    np.testing.assert_array_equal(later[1].values, [[14], [14]])
    assert asked == [13]


def test_a_list_of_matrices_is_a_list_of_sets():
    sets = LocalSets.of([VALUES[:2], VALUES[2:].tolist(), LocalSet(VALUES)])
    assert [len(one) for one in sets] == [2, 6, 8]
    assert LocalSets.of(sets) is sets


def test_what_is_made_may_be_a_matrix():
    sets = LocalSets(3, lambda i: VALUES[: i + 1].tolist())
    assert [len(one) for one in sets] == [1, 2, 3]
    np.testing.assert_array_equal(sets[2].values, VALUES[:3])
    with pytest.raises(ValueError, match="n_sets=-1 must be a whole number of at least 0"):
        LocalSets(-1, lambda i: VALUES)


def test_a_sample_draws_as_many_from_each_image_and_repeats():
    sets = LocalSets.of([VALUES + 100 * i for i in range(50)])
    sample = sets.sample(120, 3)
    assert len(sample) == 100
    np.testing.assert_array_equal(np.bincount((sample[:, 0] // 100).astype(int)), 2)
    assert len(np.unique(sample, axis=0)) == 100
    np.testing.assert_array_equal(sample, sets.sample(120, 3))
    assert not np.array_equal(sample, sets.sample(120, 4))
    np.testing.assert_array_equal(sample, sets.sample(120, 3, n_jobs=3))
    assert len(sets.sample(7)) == 7
    assert len(sets.sample(10**6)) == 400


def test_drawing_shows_progress_when_asked_for(capsys):
    sets = LocalSets.of([VALUES] * 4)
    sets.sample(10)
    assert capsys.readouterr().err == ""
    sets.sample(10, verbose=1)
    assert "Drawing descriptors" in capsys.readouterr().err


@pytest.mark.parametrize(
    "offsets", [np.array([0, 5, 3, 8], dtype=np.uint64), [0, 3], [1, 8], [0, 5, 3, 8], [[0, 8]], [0.0, 8.0], []]
)
def test_offsets_that_do_not_fit_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must be whole numbers that rise from 0 to the 8 descriptors"):
        LocalSets.packed(VALUES, offsets)


def test_other_mistakes_are_named():
    with pytest.raises(ValueError, match="values has shape"):
        LocalSets.packed(VALUES[0], [0, 3])
    with pytest.raises(ValueError, match=r"positions has shape \(8, 3\)"):
        LocalSets.packed(VALUES, OFFSETS, VALUES)
    with pytest.raises(ValueError, match="2 entries for 3 images"):
        LocalSets.packed(VALUES, OFFSETS, image_sizes=[(1, 1), (2, 2)])
    for wrong in (VALUES, None, LocalSet(VALUES), "folder"):
        with pytest.raises(ValueError, match="list with one matrix"):
            LocalSets.of(wrong)
    with pytest.raises(ValueError, match="n_descriptors=0 must be"):
        LocalSets.of([VALUES]).sample(0)
    with pytest.raises(ValueError, match="no images"):
        LocalSets.of([]).sample(5)


def test_sets_can_be_pickled():
    places = np.linspace(0, 1, 16).reshape(8, 2)
    for sets in (LocalSets.packed(VALUES, OFFSETS, places), LocalSets.of([VALUES, VALUES[:2]])[::-1]):
        again = pickle.loads(pickle.dumps(sets))
        assert [one.values.tolist() for one in again] == [one.values.tolist() for one in sets]


def test_a_lazy_list_stays_lazy():
    class Lazy(Sequence):
        asked = 0

        def __len__(self):
            return 4

        def __getitem__(self, i):
            self.asked += 1
            return ([VALUES] * 4)[i]

    given = Lazy()
    sets = LocalSets.of(given)
    assert given.asked == 0
    assert len(sets[3]) == len(VALUES)
    assert given.asked == 1


def test_an_error_while_making_is_no_end():
    def make(i):
        return [VALUES][i]

    with pytest.raises(IndexError):
        list(LocalSets(3, make))


def test_descriptors_of_different_lengths_are_named():
    with pytest.raises(
        ValueError, match=r"descriptors of shapes such as \(4, 2\) and \(4, 3\); give each a matrix"
    ):
        LocalSets.of([VALUES[:4], VALUES[:4, :2]]).sample(8)
    with pytest.raises(ValueError, match="give each a matrix with as many columns"):
        LocalSets.of([VALUES, []]).sample(8)
