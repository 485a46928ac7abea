"""Kept results: each names the commands that measure anew, and those on scenes are shown and drawn."""

import json
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from papers.registry import experiments, find
from papers.results import Results, make_facts

from papers import scenes

KEPT = sorted((Path(scenes.__file__).parent / "results").glob("*.json"))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_kept_results_name_their_commands(file):
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["command"].startswith("python -m benchmarks.")
    assert kept["machine"]["cpu"]
    for command in kept["current_commands"]:
        python, dash_m, module, *rest = shlex.split(command)
        assert (python, dash_m) == ("python", "-m")
        assert import_module(module)
        if module == "papers":
            assert rest[0] in experiments()


def test_kept_rows_fill_the_experiments():
    runs = scenes.read_runs(scenes.KEPT)
    for name in (scenes.PROTOTYPES, scenes.METRICS):
        experiment = find(name)
        places = {(run["panel"], run["line"], run["points"][0]["x"]) for run in runs[name]}
        labels = [experiment.label(x) for x in experiment.xs]
        assert places == {(panel.name, line.name, x) for panel, line in experiment.pairs() for x in labels}
    facts = make_facts(find(scenes.PROTOTYPES), runs[scenes.PROTOTYPES])
    assert len(facts["claims"]) == 13
    assert all(claim["ours"] is not None for claim in facts["claims"])


def test_results_of_a_run_are_read_as_well(tmp_path):
    runs = scenes.read_runs(scenes.KEPT)[scenes.METRICS]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"facts": {"name": scenes.METRICS}, "runs": runs}))
    assert scenes.read_runs(file) == {scenes.METRICS: runs}


def test_a_picture_of_a_set(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    results = Results(find(scenes.PROTOTYPES), scenes.read_runs(scenes.KEPT)[scenes.PROTOTYPES])
    monkeypatch.setattr(scenes, "SETS", scenes.SETS[-1:])
    [path] = scenes.draw(results, tmp_path)
    assert path.name == "gtsrb-small.png"
    assert path.stat().st_size > 10_000
    prototypes, accuracies = scenes.curve(results, "k-NN, random rows", "scene15")
    assert prototypes == [225, 450, 675, 900, 1125]
    assert accuracies == sorted(accuracies)
