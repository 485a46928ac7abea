"""Workers that die, that come late, and tasks that end whoever takes them."""

import os
import re
import signal
import sys
from time import sleep

import numpy as np
import pytest

pytest.importorskip("distributed")

import cloudpickle
from dask import array as dask_array
from dask import delayed

from clusters.local import cluster, full_of_ties, saved
from distributed import wait
from nearboost import NeighborSearch, distributed
from nearboost.base.progress import progress_told_to
from nearboost.distributed import spreading
from neighbors.brute_force import assert_same

pytestmark = pytest.mark.alone

X = full_of_ties(900)


@pytest.fixture(scope="module")
def expected():
    found = NeighborSearch(X).graph(6)
    return found.indices, found.distances


@pytest.fixture(autouse=True)
def sent_by_value():
    """Workers cannot import this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def process_ids(client):
    return set(client.run(os.getpid).values())


def slow_block(start, stop, **settings):
    sleep(0.05)  # so that a worker is killed in the middle of one
    return distributed.graph_block(start, stop, **settings)


def end_this_process(start, stop, **settings):
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_same_bits_after_a_worker_was_killed(expected, tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "graph_block", slow_block)
    killed = []

    def kill_one(title, done, total):
        if done == 5 and not killed:
            killed.append(before.pop())
            os.kill(killed[0], signal.SIGKILL)

    with cluster() as client:
        before = process_ids(client)
        with progress_told_to(kill_one):
            found = distributed.graph(saved(tmp_path, X), 6, client, block=20, groups=None)
        client.wait_for_workers(2)
        assert killed
        assert killed[0] not in process_ids(client)
    assert_same(found, expected)


def test_files_sent_to_workers_reach_those_that_come_later(tmp_path, monkeypatch):
    groups = np.arange(len(X)) // 3
    graph = NeighborSearch(X).graph(6, groups)
    monkeypatch.setattr(spreading, "graph_block", slow_block)
    with cluster(1) as client:

        def add_one(title, done, total):
            if done == 2:
                client.cluster.scale(2)
                client.wait_for_workers(2)

        with progress_told_to(add_one):
            found = distributed.graph(saved(tmp_path, X), 6, client, groups=groups, block=20)
        looked = client.run(lambda: len(sys.modules["nearboost.distributed.running"]._looked))
        assert list(looked.values()) == [1, 1]  # both have had tasks of this run
    assert_same(found, (graph.indices, graph.distances))


@pytest.mark.slow
def test_a_task_that_ends_three_workers_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(spreading, "graph_block", end_this_process)
    with (
        cluster(1, failures=2) as client,
        pytest.raises(
            RuntimeError,
            match=r"Rows \d+ to \d+ ended 3 workers, .* could take 1,000,000,000 bytes of memory; look",
        ),
    ):
        distributed.graph(saved(tmp_path, X), 6, client)


@pytest.mark.slow
def test_lost_chunks_of_a_dask_array_are_made_again(expected, tmp_path):
    made = tmp_path / "made.txt"

    def chunk(start):
        with open(made, "a") as file:
            file.write(f"{start}\n")
        return X[start : start + 90]

    with cluster() as client:
        chunks = [dask_array.from_delayed(delayed(chunk)(start), (90, 5), X.dtype) for start in range(0, 900, 90)]
        array = dask_array.concatenate(chunks).persist()
        wait(array)
        n_made = len(made.read_text().split())

        def kill_one(title, done, total):
            if title == "Writing rows" and done == 0:
                os.kill(process_ids(client).pop(), signal.SIGKILL)

        with progress_told_to(kill_one):
            found = distributed.graph(array, 6, client, folder=tmp_path / "shared")
    assert n_made == 10
    assert len(re.findall(r"\d+", made.read_text())) > 10
    assert_same(found, expected)
