"""A run in its process: results written whole, failures told in a sentence, trials, scaling."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from compare import strange_runs
from compare.problems import write_blobs
from nearboost.base.disk import write_arrays, write_json
from nearboost.catalogue.methods import METHODS
from nearboost.compare import processes
from nearboost.compare.processes import file_name, read_result, run_task
from nearboost.compare.records import RunIdentity, as_json, read_run
from nearboost.compare.runs import chosen_settings, prepare_rows, subsample

STRANGE = "compare.strange_runs"
TESTS = str(Path(__file__).resolve().parents[1])
IDENTITY = as_json(
    RunIdentity(
        *("blobs", "0123", ["A", "B", "C"], "vectors", "rows", False, "crc", {}, "half"),
        *(0, 0, 1, "0.1.0", {}),
    )
)


@pytest.fixture
def task(tmp_path):
    with np.load(write_blobs(tmp_path / "blobs.npz")) as blobs:
        X, y = blobs["X"], np.unique(blobs["y"], return_inverse=True)[1]
    np.save(tmp_path / "rows.npy", X)
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    names = np.array([f"row {i}" for i in range(60)])
    write_arrays(
        tmp_path / "table.npz",
        train=train,
        test=test,
        train_labels=y[train],
        test_labels=y[test],
        train_names=names[train],
        test_names=names[test],
    )
    files = {"rows": "rows.npy", "table": "table.npz", "result": "result.json"}
    paths = {key: str(tmp_path / name) for key, name in files.items()}
    return {"identity": IDENTITY, **paths, "n_train": None, "n_test": None}


@pytest.fixture
def strange(task, monkeypatch):
    """Tasks of a method that goes wrong as it is told to."""
    monkeypatch.setenv("PYTHONPATH", TESTS)  # for the process
    strange_runs.register(table := dict(METHODS))
    monkeypatch.setattr("nearboost.catalogue.methods.METHODS", table)
    return lambda does: {**task, "identity": {**IDENTITY, "method": f"strange:does={does}"}}


def test_a_result_holds_what_the_report_needs(task):
    result = run_task(task)
    assert result == read_result(Path(task["result"]))
    assert {**result, **IDENTITY} == result
    assert (result["status"], result["reason"], result["queries"], result["train"]) == ("done", None, 30, 30)
    assert result["measures"]["accuracy"] == np.mean(np.equal(result["truth"], result["predictions"]))
    assert np.trace(result["confusion"]) == 30 * result["measures"]["accuracy"]
    assert 0 < result["fit_seconds"] < 60
    assert 20 < result["peak_mib"] < 4000
    assert result["prototypes"] == 30
    assert all(mistake["truth"] != mistake["said"] for mistake in result["mistakes"])


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("kill", "Killed (SIGKILL), as the system does when memory runs out."),
        ("abort", "Killed by SIGABRT."),
        ("leave", "Ended with code 7: something deep inside broke"),
        ("raise", "These rows are not to its taste."),
        ("memory", "Ran out of memory. Unable to allocate 3 TiB"),
    ],
)
def test_what_went_wrong_is_told(strange, does, reason):
    task = strange(does)
    result = run_task(task, program=STRANGE)
    assert (result["status"], result["reason"]) == ("failed", reason)
    assert read_result(Path(task["result"])) == result


@pytest.mark.alone
def test_a_run_has_only_its_time(strange):
    started = time.monotonic()
    result = run_task(strange("sleep"), timeout=1.5, program=STRANGE)
    assert result["reason"] == "Took longer than the 1.5 seconds allowed; give --run-timeout more."
    assert time.monotonic() - started < 30


def test_a_process_ends_with_its_parent(strange):
    task = strange("sleep")
    child = subprocess.Popen(
        (sys.executable, "-m", STRANGE),
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=processes._environment(1),
    )  # fmt: skip
    child.stdin.write(json.dumps(task).encode() + b"\n")
    child.stdin.flush()
    assert child.stderr.readline() == b"asleep\n"
    assert child.poll() is None
    child.stdin.close()  # what the system does when the parent dies
    assert child.wait(20) == 1


def test_threads_are_pinned():
    assert {processes._environment(3)[name] for name in processes.THREAD_SETTINGS} == {"3"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"status": "done"})
    with pytest.raises(ValueError, match="nan"):
        write_json(path, {"status": "done", "many": list(range(10**5)), "wrong": float("nan")})
    assert read_result(path) == {"status": "done"}
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_writer_killed_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"status": "done"})
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from nearboost.base import disk\n"
        "disk.os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "disk.write_json(Path(sys.argv[1]), {'status': 'done', 'second': True})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=processes._environment(1), check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_result(path) == {"status": "done"}


@pytest.mark.parametrize("content", ["", '{"status": "do', "[]", '{"status": "dancing"}', "\xff"])
def test_other_content_is_no_result(tmp_path, content):
    path = tmp_path / "result.json"
    path.write_bytes(content.encode("latin-1"))
    assert read_result(path) is None
    assert read_result(tmp_path / "missing.json") is None


def test_names_follow_the_identity():
    assert file_name(IDENTITY) == file_name(dict(reversed(IDENTITY.items())))
    others = {file_name({**IDENTITY, key: "other"}) for key in IDENTITY}
    assert len(others | {file_name(IDENTITY)}) == len(IDENTITY) + 1


def test_scaling_looks_at_training_rows_only():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(5, 3, size=(40, 3)).astype(np.float32), rng.normal(size=(10, 3)).astype(np.float32)
    X[:, 2] = 4
    scaled, asked = prepare_rows(X, queries, scale=True)
    np.testing.assert_allclose(scaled[:, :2].std(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(asked[:, 0], (queries[:, 0] - X[:, 0].mean()) / X[:, 0].std(), rtol=1e-4)
    np.testing.assert_allclose(scaled[:, 2], 0)
    assert scaled.dtype == np.float32
    np.testing.assert_array_equal(prepare_rows(X, queries, scale=False)[0], X)


@pytest.mark.parametrize("name", ["nearboost", "n3", "slnd", "knn"])
def test_what_was_chosen_can_be_written(tmp_path, name):
    with np.load(write_blobs(tmp_path / "blobs.npz")) as blobs:
        fitted = METHODS[name].make(n_jobs=1).fit(blobs["X"], blobs["y"])
    chosen = chosen_settings(fitted)
    assert {"nearboost": "metric", "n3": "n_rounds", "slnd": "rank", "knn": "n_neighbors"}[name] in chosen
    assert json.loads(json.dumps(chosen)) == chosen


def test_a_trial_takes_rows_of_all_classes(task):
    table = dict(np.load(task["table"]))
    small = subsample(table, 9, 4)
    assert [len(small[name]) for name in ("train", "train_labels", "train_names", "test")] == [9, 9, 9, 4]
    assert set(small["train_labels"]) == {0, 1, 2}
    result = run_task({**task, "n_train": 9, "n_test": 4})
    assert (result["train"], result["queries"]) == (9, 4)
    assert "measures" not in result


@pytest.mark.parametrize("change", [{"measures": None}, {"queries": "5"}, {"truth": {}}, {"gallery": None}])
def test_an_edited_run_is_none(tmp_path, change):
    [path] = Path(__file__).parent.glob("*.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    edited = tmp_path / path.name
    edited.write_text(json.dumps({**stored, "peak_mib": 70}))
    assert read_run(edited) is not None
    edited.write_text(json.dumps({**stored, **change}))
    assert read_run(edited) is None


def test_runs_of_earlier_versions_are_read():
    """A file from the time when a run was called a cell: same name, same keys, so that comparisons go on."""
    [path] = Path(__file__).parent.glob("*.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    run = read_run(path)
    assert run.as_result() == {**stored, "held_out_accuracy": None}, "what came later is unknown"
    assert file_name(as_json(run.identity)) == path.name
    assert run.assessment.prototypes == 12
    assert {one.class_ for one in run.assessment.gallery} == {"A", "B"}
