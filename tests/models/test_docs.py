"""The commands of docs/models.md, as they stand there, on generated data."""

import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from cli.calling import call
from cli.made import KINDS, image_folder, texture
from nearboost.cli.common import Exit
from nearboost.models.names import MODULES, SKLEARN

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8")


def test_commands(tmp_path, monkeypatch):
    image_folder(tmp_path / "pictures", broken=False)
    (tmp_path / "new-pictures").mkdir()
    for kind in KINDS:
        (tmp_path / "more-pictures" / kind).mkdir(parents=True)
        Image.fromarray(texture(kind, 98)).save(tmp_path / "more-pictures" / kind / "new.png")
        Image.fromarray(texture(kind, 99)).save(tmp_path / "new-pictures" / f"{kind}.png")
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    lines = [shlex.split(line) for line in block.splitlines()]
    assert {line[1] for line in lines} == {
        *("fit", "info", "evaluate", "predict", "explain"),
        *("prune", "suspects", "add", "forget", "features"),
    }
    for program, *words in lines:
        assert program == "nearboost"
        ended = call(*words)
        assert ended.code == Exit.DONE, (words, ended.err)
    pages = ("voters.png", "suspects.html", "suspects.csv", "predictions.csv")
    for made in ("scenes.nb", "small.nb", "grown.nb", "corrected.nb", "rows.nb", *pages):
        assert (tmp_path / made).stat().st_size > 0


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith(SKLEARN)])
def test_table_is_told(name):
    assert f"`{name.removeprefix(SKLEARN)}`" in PAGE
