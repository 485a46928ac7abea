"""``nearboost prune``: fewer prototypes, from the file or from the data."""

import numpy as np
import pytest

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit
from nearboost.models import load_model


def test_prune(images, tmp_path):
    out = tmp_path / "small.nb"
    found = answer("prune", images.model, "--keep", 20, "--out", out)
    assert found["before"]["prototypes"] == 36
    assert found["after"]["prototypes"] == 20
    assert out.stat().st_size < 0.8 * images.model.stat().st_size
    small = load_model(out)
    assert len(small.origins.rows) == 20
    assert answer("evaluate", out, images.data)["measures"]["accuracy"] > 0.7
    assert refused("prune", out, "--keep", 4).endswith("give them with --data.")
    again = answer("prune", out, "--keep", 18, "--data", images.data, "--out", tmp_path / "again.nb")
    assert again["after"]["prototypes"] == 18
    assert list(again["skipped"]) == ["train/dots/broken.png"]
    assert load_model(tmp_path / "again.nb").origins.picture(0)
    assert "neither a share below 1 nor" in refused("prune", images.model, "--keep", 2.5, code=Exit.USAGE)


@pytest.mark.parametrize(("keep", "asked"), [(500, 500), (36, 36), (0.99, 36)])
def test_nothing_to_prune(images, tmp_path, keep, asked):
    said = refused("prune", images.model, "--keep", keep, "--out", tmp_path / "same.nb", code=Exit.USAGE)
    share = " of the 36 training items" if keep < 1 else ""
    assert f"has 36 prototypes, and --keep {keep} asks for {asked}{share}, so there is nothing to prune" in said
    assert not (tmp_path / "same.nb").exists()


def test_prune_is_the_fit_with_so_many(images, tmp_path):
    """Pruning the rows of the file and fitting them anew with --data end alike."""
    call("prune", images.model, "--keep", 0.5, "--out", tmp_path / "a.nb")
    call("prune", images.model, "--keep", 0.5, "--data", images.data, "--out", tmp_path / "b.nb")
    found = [answer("predict", tmp_path / name, images.data / "test") for name in ("a.nb", "b.nb")]
    assert found[0] == found[1]


def test_data_without_a_class_of_the_model(vectors, tmp_path):
    """Else the probabilities of the other classes would stand under wrong names."""
    X, y = np.load(vectors.data / "X.npy"), np.load(vectors.data / "y.npy")
    np.save(tmp_path / "X.npy", X[y != y[0]])
    np.save(tmp_path / "y.npy", y[y != y[0]])
    said = refused("prune", vectors.model, "--keep", 8, "--data", tmp_path, "--out", tmp_path / "small.nb")
    assert f"no items of class '{y[0]}', which the model knows" in said
