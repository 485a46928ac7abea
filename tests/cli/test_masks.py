"""Images with masks beside them: features that look inside of masks do so in every command."""

import json

import numpy as np
import pytest
from PIL import Image

from cli.calling import answer, call
from nearboost.cli.common import Exit
from nearboost.features import BioInspiredFeatures


@pytest.fixture
def cells(tmp_path):
    """Smooth or rough cells in a background of the other kind: only the inside tells them apart."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    inside = (x - 16) ** 2 + (y - 16) ** 2 < 60
    for name in ("rough", "smooth"):
        (tmp_path / "cells" / name).mkdir(parents=True)
        for i in range(8):
            noise = rng.integers(0, 200, (32, 32))
            grey = np.where(inside == (name == "rough"), noise, 100)
            Image.fromarray(grey.astype(np.uint8)).save(tmp_path / "cells" / name / f"{i}.png")
            Image.fromarray((255 * inside).astype(np.uint8)).save(tmp_path / "cells" / name / f"{i}_mask.png")
    return tmp_path / "cells"


def by_hand(folder, masks=True):
    paths = sorted(path for path in folder.rglob("*.png") if not path.stem.endswith("_mask"))
    inside = [path.with_stem(f"{path.stem}_mask") for path in paths] if masks else None
    return BioInspiredFeatures(root=True).transform(paths, masks=inside)


def test_features_look_inside(cells, tmp_path):
    assert call("features", cells, "--features", "bif", "--out", tmp_path / "rows").code == Exit.DONE
    np.testing.assert_array_equal(np.load(tmp_path / "rows" / "X.npy"), by_hand(cells))
    assert call("features", cells, "--features", "gist", "--out", tmp_path / "others").code == Exit.DONE


def test_a_changed_mask_is_another_row(cells, tmp_path):
    call("features", cells, "--features", "bif", "--out", tmp_path / "rows")
    first = np.load(tmp_path / "rows" / "X.npy")
    Image.fromarray(np.full((32, 32), 255, dtype=np.uint8)).save(cells / "rough" / "3_mask.png")
    call("features", cells, "--features", "bif", "--out", tmp_path / "rows")
    again = np.load(tmp_path / "rows" / "X.npy")
    assert np.flatnonzero((first != again).any(axis=1)).tolist() == [3]
    np.testing.assert_array_equal(again, by_hand(cells))


def test_a_mask_that_does_not_fit_is_told(cells, tmp_path):
    Image.fromarray(np.full((16, 16), 255, dtype=np.uint8)).save(cells / "rough" / "3_mask.png")
    ended = call("features", cells, "--features", "bif", "--out", tmp_path / "rows")
    assert ended.code == Exit.PARTLY
    assert (
        "Skipped rough/3.png: it cannot be described: Mask 0 has shape (16, 16) and its image (32, 32)"
        in ended.err
    )


def test_comparisons_look_inside_and_know_masks_again(cells, tmp_path, runs_here):
    def runs(features):
        words = ("--features", features, "--methods", "crc", "--threads", 1, "--out", tmp_path / "out")
        ended = call("compare", cells, *words)
        assert ended.code == Exit.DONE, ended.err
        stored = json.loads((tmp_path / "out" / "results.json").read_text())
        return "from before" in ended.err, {one["features"]: one["rows"] for one in stored["cells"]}

    assert runs("bif")[0] is False
    [table] = (tmp_path / "out" / "features").glob("split-*.npz")
    [rows] = (tmp_path / "out" / "features").glob("Bio*/rows.npy")
    assert {row.tobytes() for row in np.load(rows)} == {row.tobytes() for row in by_hand(cells)}
    assert table.exists()
    assert runs("bif")[0] is True
    runs("gist")
    Image.fromarray(np.full((32, 32), 255, dtype=np.uint8)).save(cells / "rough" / "3_mask.png")
    assert runs("gist")[0] is True, "which does not see masks"
    assert runs("bif")[0] is False


def test_models_look_inside_of_new_images_as_well(cells, tmp_path):
    call("fit", cells, "--features", "bif", "--method", "knn", "--out", tmp_path / "m.nb")
    said = answer("predict", tmp_path / "m.nb", cells)["predictions"]
    assert [one["label"] for one in said] == ["rough"] * 8 + ["smooth"] * 8
    one = answer("predict", tmp_path / "m.nb", cells / "smooth" / "2.png")["predictions"]
    assert one[0]["label"] == "smooth"
    assert not np.array_equal(by_hand(cells), by_hand(cells, masks=False))
    ended = call("predict", tmp_path / "m.nb", cells)
    assert "Left out" not in ended.err
    call("fit", cells, "--features", "gist", "--method", "knn", "--out", tmp_path / "g.nb")
    assert "Left out 16 masks" in call("predict", tmp_path / "g.nb", cells).err
