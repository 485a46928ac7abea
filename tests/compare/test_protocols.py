"""Protocols: every split is what its name says, drawn alike each time, and impossible ones are explained."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearboost.base.errors import UsageError
from nearboost.compare.protocols import make_splits, parse_protocol, protocol_notes
from nearboost.datasets import DataError, Dataset

SIZES = {"a": 12, "b": 7, "c": 20}


def toy(sizes=SIZES, *, part=False, groups=None, several=False):
    """Classes shuffled among one another, as metadata tables have them."""
    names = np.repeat(list(sizes), list(sizes.values()))
    names = np.random.default_rng(3).permutation(names)
    n = len(names)
    return Dataset(
        name="toy",
        kind="vectors",
        items=np.arange(2.0 * n).reshape(n, 2),
        labels=np.array([[i % 2, i % 3 == 0] for i in range(n)], dtype=np.int8) if several else names,
        classes=("even", "third") if several else tuple(sorted(sizes)),
        names=[f"row {i}" for i in range(n)],
        part=np.where(np.arange(n) % 3 == 0, "test", "train") if part else None,
        groups=groups,
    )


def count(data, indices):
    return {name: int((data.labels[indices] == name).sum()) for name in data.classes}


def check_split(data, split):
    assert not set(split.train) & set(split.test)
    for side in (split.train, split.test):
        assert np.all(np.diff(side) > 0)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize(
    ("protocol", "train", "test"),
    [
        ("half", {"a": 6, "b": 3, "c": 10}, {"a": 6, "b": 4, "c": 10}),
        ("5-per-class", {"a": 5, "b": 5, "c": 5}, {"a": 7, "b": 2, "c": 15}),
        ("5-per-class/4", {"a": 5, "b": 5, "c": 5}, {"a": 4, "b": 2, "c": 4}),
    ],
)
def test_so_many_of_each_class(protocol, train, test, part):
    data = toy(part=part)  # parts are pooled: the numbers are the same with them
    for split in make_splits(data, protocol, repeats=3):
        check_split(data, split)
        assert count(data, split.train) == train
        assert count(data, split.test) == test


@pytest.mark.parametrize("part", [False, True])
def test_folds_are_stratified_and_cover_all(part):
    data = toy(part=part)
    splits = make_splits(data, "5-fold", repeats=2, seed=4)
    assert [split.seed for split in splits] == [4] * 5 + [5] * 5
    for repeat in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([split.test for split in repeat])) == list(range(len(data)))
        for split in repeat:
            check_split(data, split)
            assert len(split.train) + len(split.test) == len(data)
            for name, n in count(data, split.test).items():
                assert SIZES[name] // 5 <= n <= -(-SIZES[name] // 5)
    assert not np.array_equal(splits[0].test, splits[5].test)


def test_the_set_s_own_split():
    data = toy(part=True)
    [split] = make_splits(data, "fixed", seed=9)
    np.testing.assert_array_equal(split.train, np.flatnonzero(data.part == "train"))
    np.testing.assert_array_equal(split.test, np.flatnonzero(data.part == "test"))
    assert split.seed == 9


@pytest.mark.parametrize("protocol", ["half", "5-per-class", "5-fold", "grouped-half", "grouped-3-fold"])
def test_a_seed_draws_the_same_splits_again_and_alone(protocol):
    data = toy(groups=np.array([f"g{i % 13}" for i in range(39)]))
    splits = make_splits(data, protocol, repeats=3, seed=7)
    for split in splits:
        again = [
            one for one in make_splits(data, protocol, seed=split.seed) if np.array_equal(one.test, split.test)
        ]
        assert len(again) == 1
        np.testing.assert_array_equal(again[0].train, split.train)
    assert len({tuple(split.test) for split in splits}) == len(splits)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("protocol", "n"), [("grouped-half", 1), ("grouped-4-fold", 4)])
def test_groups_stay_together(protocol, n, several):
    data = toy(groups=np.array([f"plate {i // 3}" for i in range(39)]), several=several)
    splits = make_splits(data, protocol, repeats=2)
    assert len(splits) == 2 * n
    for split in splits:
        check_split(data, split)
        assert len(split.train) + len(split.test) == 39
        assert not set(data.groups[split.train]) & set(data.groups[split.test])
    if n == 1:
        assert all(15 <= len(split.train) <= 24 for split in splits)


def test_groups_of_one_class_are_shared_out_evenly():
    """Tracks: 6 of each class, and each fold of 3 tests on two of each."""
    labels = np.repeat(list("abcd"), 12)
    tracks = np.array([f"{label}{i // 2}" for label in "abcd" for i in range(12)])
    rows = [f"row {i}" for i in range(48)]
    data = Dataset("tracks", "vectors", np.zeros((48, 1)), labels, tuple("abcd"), rows, groups=tracks)
    splits = make_splits(data, "grouped-3-fold", repeats=5)
    for split in splits:
        assert count(data, split.test) == dict.fromkeys("abcd", 4)
    assert len({tuple(split.test) for split in splits}) == 15


@pytest.mark.parametrize(("protocol", "sizes"), [("half", [(19, 20)]), ("3-fold", [(26, 13)] * 3)])
def test_several_labels(protocol, sizes):
    data = toy(several=True)
    assert [(len(split.train), len(split.test)) for split in make_splits(data, protocol)] == sizes
    with pytest.raises(DataError, match="several labels, so 5-per-class is not defined; use half"):
        make_splits(data, "5-per-class")


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(2, 9), min_size=2, max_size=5),
    st.sampled_from(["half", "1-per-class", "1-per-class/1", "2-fold"]),
    st.integers(0, 50),
)
def test_every_class_trains_and_tests(sizes, protocol, seed):
    data = toy({f"class {i}": n for i, n in enumerate(sizes)})
    for split in make_splits(data, protocol, seed=seed):
        check_split(data, split)
        assert set(data.labels[split.train]) == set(data.labels[split.test]) == set(data.classes)


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (
            "7-per-class",
            "toy has 7 of class 'b'; protocol='7-per-class' needs 8 of each class: use 6-per-class or",
        ),
        ("7-per-class", r"or fewer, or leave out such classes \(1 of 3\)\."),
        ("12-per-class/3", "needs 13 of each class: use 6-per-class or fewer"),
        ("10-fold", "toy has 7 of class 'b'; protocol='10-fold' needs 10 of each class: use 7-fold or fewer"),
        ("fixed", "toy has no train and test parts for protocol='fixed'; use half or 5-fold"),
        ("grouped-half", r"toy has no groups \(tracks, plates\) for protocol='grouped-half'; use half"),
    ],
)
def test_impossible_protocols_say_what_would_do(protocol, message):
    with pytest.raises(DataError, match=message):
        make_splits(toy(), protocol)


def test_other_impossible_protocols():
    with pytest.raises(
        DataError, match="has 1 of class 'x'; protocol='half' needs 2 of each class: leave out such"
    ):
        make_splits(toy({"x": 1, "y": 5}), "half")
    with pytest.raises(
        DataError, match="has 1 of class 'x'; protocol='1-per-class' needs 2 of each class: leave out"
    ):
        make_splits(toy({"x": 1, "y": 5}), "1-per-class")
    with pytest.raises(DataError, match="protocol='fixed' has one split, so repeats=3 would repeat it"):
        make_splits(toy(part=True), "fixed", repeats=3)
    few = toy(groups=np.array(["p", "q", "r"] * 13))
    with pytest.raises(DataError, match="toy has 3 groups; protocol='grouped-5-fold' needs 5"):
        make_splits(few, "grouped-5-fold")
    apart = toy(groups=np.where(toy().labels == "b", "p", few.groups))
    with pytest.raises(
        DataError, match="toy has class 'b' in one group only, which protocol='grouped-half' cannot"
    ):
        make_splits(apart, "grouped-half")
    data = toy()
    alone = Dataset(**{**vars(data), "part": np.where(data.labels == "b", "test", "train")})
    with pytest.raises(DataError, match="leaves no items of class 'b' to train with protocol='fixed'"):
        make_splits(alone, "fixed")
    whole = Dataset(**{**vars(data), "part": np.full(39, "train")})
    with pytest.raises(DataError, match="has no items to test with protocol='fixed'"):
        make_splits(whole, "fixed")


@pytest.mark.parametrize(
    "text",
    ["", "1-fold", "0-per-class", "5-per-class/0", "grouped-fixed", "grouped-5-per-class", "halves", "-3-fold"],
)
def test_unknown_protocols(text):
    with pytest.raises(UsageError, match="is not known; use one of fixed, half, N-per-class"):
        parse_protocol(text)


def test_numbers_are_checked():
    with pytest.raises(ValueError, match="repeats=0 must be a whole number of at least 1"):
        make_splits(toy(), "half", repeats=0)
    with pytest.raises(ValueError, match="seed=-1 must be"):
        make_splits(toy(), "half", seed=-1)


def test_groups_on_both_sides_are_told():
    data = toy(groups=np.array([f"g{i % 13}" for i in range(39)]), part=True)
    [note] = protocol_notes(data, "half")
    assert "on both sides of half" in note
    assert "grouped-half keeps" in note
    assert "grouped-5-fold keeps" in protocol_notes(data, "5-fold")[0]
    assert (
        protocol_notes(data, "grouped-half")
        == protocol_notes(data, "fixed")
        == protocol_notes(toy(), "half")
        == ()
    )
