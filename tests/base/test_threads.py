"""Threads: how many, and what happens to errors."""

import os
import threading
import time

import pytest

from nearboost.base.threads import count_threads, map_in_threads


def test_count_threads():
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert count_threads(None) == count_threads(-1) == available
    assert count_threads(3) == 3
    assert count_threads(-2) == max(1, available - 1)
    assert count_threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs=0"):
        count_threads(0)


@pytest.mark.parametrize("wrong", ["two", 1.5, True])
def test_count_threads_wants_a_whole_number(wrong):
    with pytest.raises(ValueError, match="n_jobs"):
        count_threads(wrong)


@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_results_come_in_the_order_of_the_pieces(n_jobs):
    steps = []
    assert map_in_threads(lambda x: x * x, range(50), n_jobs, lambda: steps.append(1)) == [
        x * x for x in range(50)
    ]
    assert len(steps) == 50
    assert map_in_threads(lambda x: x, [], n_jobs) == []


@pytest.mark.alone
def test_several_threads_do_work_at_once():
    both = threading.Barrier(2, timeout=20)  # passes only when two pieces wait for each other
    assert map_in_threads(lambda x: both.wait() >= 0 and x, [1, 2], 2) == [1, 2]


@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_error_stops_the_rest(n_jobs):
    done = []

    def work(piece):
        if piece == 3:
            raise KeyError("piece 3")
        time.sleep(0.001)
        done.append(piece)
        return piece

    with pytest.raises(KeyError, match="piece 3"):
        map_in_threads(work, range(2000), n_jobs)
    assert len(done) < 2000
