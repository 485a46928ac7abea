"""The cache goes by content, settings and versions: never by names or paths."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from papers.cache import Cache, ContentHasher
from papers.plan import RunOptions
from tests.papers.miniature import picture, save, scene15

from nearboost.datasets import Dataset
from papers import cache, features, run

NAME, N_RUNS = "thesis-figure-A.2", 2


@pytest.fixture
def sets(tmp_path):
    """Scenes that a test may change."""
    scene15(tmp_path / "sets")
    return tmp_path / "sets"


@pytest.fixture
def described(monkeypatch):
    """The images that were described, call by call."""
    calls = []
    real = features.describe

    def describe(images, *args, **kwargs):
        calls.append(images)
        return real(images, *args, **kwargs)

    monkeypatch.setattr(features, "describe", describe)
    return calls


def quickly(data, out, **options):
    fresh = options.pop("fresh", False)
    return run.reproduce(NAME, RunOptions(data, quick=True, **{"threads": 1, **options}), out, fresh=fresh)


def test_a_moved_folder_is_found_again(sets, tmp_path, here, described):
    first = quickly(sets, tmp_path / "out")
    assert (len(here), len(described)) == (N_RUNS, 1)
    moved = shutil.move(sets, tmp_path / "elsewhere" / "deep")
    second = quickly(moved, tmp_path / "out")
    assert (len(here), len(described)) == (N_RUNS, 1)
    assert second.facts["rows"] == first.facts["rows"]
    shutil.move(tmp_path / "out", tmp_path / "out2")  # the cache itself may move as well
    third = quickly(moved, tmp_path / "out2", threads=2)
    assert (len(here), len(described)) == (2 * N_RUNS, 1)
    assert third.is_complete


def test_renamed_files_are_found_again(sets, tmp_path, here, described):
    quickly(sets, tmp_path / "out")
    for file in sets.rglob("*.jpg"):
        file.rename(file.with_name(f"scene_{file.name}"))
    quickly(sets, tmp_path / "out")
    assert (len(here), len(described)) == (N_RUNS, 1)


def test_a_changed_image_is_described_and_run_again(sets, tmp_path, here, described):
    quickly(sets, tmp_path / "out")
    save(Path(described[0][0]), picture(7, 99))
    quickly(sets, tmp_path / "out")
    assert (len(here), len(described)) == (2 * N_RUNS, 2)
    contents = [task["identity"]["content"] for task in here]
    assert len(set(contents)) == 2
    [store] = (tmp_path / "out" / "cache" / "stores").rglob("done.jsonl")
    n_described = len(store.read_text().splitlines())
    assert n_described == len(described[0]) + 1  # the other images were not described again


def test_other_settings_are_other_results(sets, tmp_path, here, described):
    quickly(sets, tmp_path / "out")
    quickly(sets, tmp_path / "out", threads=2)
    assert (len(here), len(described)) == (2 * N_RUNS, 1)  # of the same features
    quickly(sets, tmp_path / "out", classes=3)
    assert (len(here), len(described)) == (3 * N_RUNS, 2)


def test_another_version_is_another_result(sets, tmp_path, here, described, monkeypatch):
    quickly(sets, tmp_path / "out")
    monkeypatch.setattr("papers.plan.library_versions", lambda: {**cache.library_versions(), "numpy": "99"})
    quickly(sets, tmp_path / "out")
    assert (len(here), len(described)) == (2 * N_RUNS, 2)


def test_fresh_makes_features_anew_as_well(sets, tmp_path, here, described):
    first = quickly(sets, tmp_path / "out")
    stores = list((tmp_path / "out" / "cache" / "stores").rglob("rows.npy"))
    for store in stores:  # rows that a fresh run must not take
        rows = np.load(store)
        np.save(store, np.zeros_like(rows))
    again = quickly(sets, tmp_path / "out", fresh=True)
    assert (len(here), len(described)) == (2 * N_RUNS, 2)
    assert len(stores) == 1
    assert np.load(stores[0]).any()
    means = [
        [cell["ours"]["mean"] for row in one.facts["rows"] for cell in row["cells"]] for one in (first, again)
    ]
    assert means[0] == means[1]


def test_fresh_leaves_others_alone(sets, tmp_path, here):
    run.reproduce("thesis-figure-A.3", RunOptions(sets, quick=True, threads=1), tmp_path / "out")
    n_others = len(here)
    quickly(sets, tmp_path / "out", fresh=True)
    run.reproduce("thesis-figure-A.3", RunOptions(sets, quick=True, threads=1), tmp_path / "out")
    assert len(here) == n_others + N_RUNS


def test_groups_count_by_who_belongs_together():
    def content(groups):
        dataset = Dataset("d", "vectors", np.eye(4), np.array(list("aabb")), ("a", "b"), list("wxyz"))
        return ContentHasher().hash(dataset if groups is None else dataset.__class__(
            **{**vars(dataset), "groups": np.array(groups)}
        ))  # fmt: skip

    assert content(["p", "p", "q", "r"]) == content(["z", "z", "b", "a"])
    assert content(["p", "p", "q", "r"]) != content(["p", "q", "q", "r"])
    assert content(None) != content(["p", "p", "q", "r"])


def test_rows_of_learned_features_belong_to_their_split(tmp_path):
    made = {"transformer": "Bag()", "kind": "rows"}
    key = {"content": "c", "protocol": "half", "seed": 0, "versions": {}, "features": {**made, "learned": False}}
    kept = Cache(tmp_path)
    assert kept.features(key) == kept.features({**key, "seed": 1})
    learned = {**key, "features": {**made, "learned": True}}
    assert kept.features(learned) != kept.features({**learned, "seed": 1})
    assert kept.rows(key, "PCA(4)") != kept.rows(key, "PCA(5)")
