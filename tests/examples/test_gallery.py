"""Scripts of the gallery: the documentation runs those called ``plot_…``; these keep to its rules."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from devices import needs_torch
from nearboost.base.device import CPU_FOR_TESTS

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.rglob("*.py"))


def test_gallery_has_all_that_is_promised():
    assert len([script for script in SCRIPTS if script.name.startswith("plot_")]) >= 16


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_are_short_and_say_what_they_show(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    title, line, empty, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    assert line == "=" * len(title)
    assert empty == ""
    assert 15 < len(" ".join(rest).split()) < 100
    if script.name.startswith("plot_"):
        assert text.endswith("plt.show()\n")
        assert "set_title" in text or "suptitle" in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_need_no_download(script):
    text = script.read_text(encoding="utf-8")
    assert "fetch_" not in text
    assert "http" not in text


@needs_torch
def test_search_on_a_gpu_is_that_of_the_processor(capsys):
    text = (GALLERY / "scale" / "gpu_search.py").read_text(encoding="utf-8")
    small = text.replace('"gpu"  #', f'"{CPU_FOR_TESTS}"  #').replace("50_000", "500")
    assert small.count(CPU_FOR_TESTS) == small.count("500") == 1
    exec(compile(small, "gpu_search.py", "exec"), {})
    assert "expected on new rows" in capsys.readouterr().out


@pytest.mark.slow
def test_a_graph_from_a_cluster_is_that_of_one_machine(tmp_path):
    pytest.importorskip("distributed")
    text = (GALLERY / "scale" / "dask_graph.py").read_text(encoding="utf-8")
    script = tmp_path / "dask_graph.py"
    script.write_text(text.replace("20_000", "2_000"), encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "expected on new rows" in done.stdout
