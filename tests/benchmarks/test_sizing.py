"""The sizing model says what is written of it, and foretells the benchmarks that were kept."""

import pytest
from benchmarks.machine import read_results
from benchmarks.sizing_model import (
    Size,
    gpu_seconds,
    readings,
    search_bytes,
    search_seconds,
    steps_of,
    unn_longer_up_to,
)

from benchmarks import sizing, sizing_compared

KNOWN = read_results("sizing")["constants"]


@pytest.mark.parametrize(
    ("rows", "features", "seconds"),
    [(1.2e6, 4_096, 11.6), (4e6, 768, 37.9), (1e7, 768, 237), (1e8, 768, 23_700), (1e9, 768, 2.37e6)],
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


def test_a_file_is_read_once_for_each_part_of_the_queries_that_there_is_room_for():
    in_memory, in_file = Size(1e6, 4_096), Size(1e6, 4_096, memory=1e9)
    assert readings(1e6, in_memory) == 1
    assert readings(1e6, in_file) == 99  # 4,096 x 12 bytes a query, in half of the memory
    more = search_seconds(KNOWN, 1e6, in_file) - search_seconds(KNOWN, 1e6, in_memory)
    assert more == pytest.approx(4.096e9 * (99 * KNOWN["file number"] - KNOWN["l2 number"]))
    assert (search_bytes(in_memory), search_bytes(in_file)) == (4 * 4.096e9, 1.5e9)
    assert search_bytes(Size(1e3, 4_096, memory=1e9)) == 4 * 4.096e6  # it fits


def test_kept_results_stand_beside_what_is_foretold_of_them(tmp_path, monkeypatch):
    found = sizing_compared.comparisons(KNOWN)
    assert {name.partition(":")[0] for name, *_ in found} >= {"search", "fitting", "distributed"}
    said = sizing_compared.compared([("search: a", "processor s", 2.0, 1.0), ("search: b", "peak GB", 2.0, 2.2)])
    assert " 0.50 |" in said
    assert " 1.10 |" in said
    assert said.endswith("1 of 2 within 30%.")
    monkeypatch.setattr(sizing_compared, "RESULTS", tmp_path)
    assert sizing_compared.comparisons(KNOWN) == []


def test_kept_results_of_a_gpu_are_compared_when_there_are_some():
    graph = {"rows": 4_000_000, "features": 768, "graph": {"seconds": 80.0}}
    results = {"4000000 x 768": graph | {"device": "a GPU"}, "20000 x 256": graph | {"device": "CPU tensors"}}
    [(name, unit, measured, foretold)] = sizing_compared.of_gpu(KNOWN, results)
    assert (name, unit, measured) == ("graph, 4000000 x 768", "GPU s", 80.0)
    assert foretold == gpu_seconds(4e6, Size(4e6, 768))


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
    assert "3.9 min" in next(line for line in said.splitlines() if line.startswith("| graph"))
    assert said.count("longest") == 1


def test_other_sizes_than_those_of_the_constants_are_foretold():
    for name, measured, foretold in read_results("sizing")["checks"]:
        assert 0.7 < foretold / measured < 1.3, name
