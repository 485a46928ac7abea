"""The sizing model says what is written of it, and foretells the benchmarks that were kept."""

import pytest
from benchmarks.machine import read_results
from benchmarks.sizing import Size, gpu_seconds, steps_of, unn_longer_up_to

from benchmarks import sizing

KNOWN = read_results("sizing")["constants"]


@pytest.mark.parametrize(
    ("rows", "features", "seconds"),
    [(1.2e6, 4_096, 14.8), (4e6, 768, 80.3), (1e7, 768, 502), (1e8, 768, 50_200), (1e9, 768, 5.02e6)],
)
def test_seconds_of_a_gpu(rows, features, seconds):
    assert gpu_seconds(rows, Size(rows, features)) == pytest.approx(seconds, rel=0.005)


def test_work_is_divided_and_paid_for_once():
    graph, *_ = steps_of(KNOWN, Size(1e6, 128))
    assert graph.time(8, 0) == pytest.approx(graph.time(2, 0) / 4)
    assert graph.money(0.1, 3.0) == pytest.approx(graph.seconds / 36_000)
    on_gpu, *_ = steps_of(KNOWN, Size(1e6, 128), gpus=4)
    assert on_gpu.time(8, 4) == pytest.approx(on_gpu.seconds / 4)
    l1, *_ = steps_of(KNOWN, Size(1e6, 128, metric="l1"), gpus=4)
    assert l1.runs_on == "cores"


def test_rows_up_to_which_unn_takes_longer_than_its_graph():
    size = Size(1e5, 64, classes=1_000, rounds=200)
    edge = unn_longer_up_to(KNOWN, size)
    at_edge = Size(edge, 64, classes=1_000, rounds=200)
    seconds = {step.name: step.seconds for step in steps_of(KNOWN, at_edge)}
    plain = {step.name: step.seconds for step in steps_of(KNOWN, Size(edge, 64, classes=1_000, rounds=0))}
    assert seconds["UNN on the graph"] - plain["UNN on the graph"] == pytest.approx(seconds["graph"], rel=0.05)


def test_prints_a_table_and_which_step_takes_longest(capsys, monkeypatch):
    asked = {"rows": "1e7", "features": "768", "cores": "64", "gpus": "1", "queries": "1e6"}
    monkeypatch.setattr("sys.argv", ["sizing", *(f"--{name}={value}" for name, value in asked.items())])
    sizing.main()
    said = capsys.readouterr().out
    assert "rows of 30.7 GB on 64 cores" in said
    assert "8.4 min" in next(line for line in said.splitlines() if line.startswith("| graph"))
    assert said.count("longest") == 1


def test_other_sizes_than_those_of_the_constants_are_foretold():
    for name, measured, foretold in read_results("sizing")["checks"]:
        assert 0.7 < foretold / measured < 1.3, name
