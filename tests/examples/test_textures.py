"""The images of the tutorial and of the demonstration."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def textures(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module("textures")


def test_textures_are_the_same_each_time(textures):
    first, second = (textures.draw("clouds", np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (64, 64, 3)


def test_known_images_lie_in_folders_of_their_kind_and_new_ones_do_not(textures, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["textures.py", str(tmp_path)])
    textures.main()
    known = sorted(path.relative_to(tmp_path / "known") for path in (tmp_path / "known").rglob("*.png"))
    assert len(known) == 300
    assert {path.parts[0] for path in known} == set(textures.KINDS)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [f"image-{i:02d}.png" for i in range(50)]
    assert "300 images in" in capsys.readouterr().out
