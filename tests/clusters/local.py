"""Small clusters of processes of this machine, and rows to spread over them."""

import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("dask.distributed")


@contextmanager
def cluster(n_workers=2, failures=3):
    """A client of some processes; a task may end so many of them."""
    quiet = {"distributed.scheduler.allowed-failures": failures, "distributed.admin.log-format": "%(message)s"}
    limits = {"memory_limit": "1GB", "dashboard_address": ":0", "silence_logs": "CRITICAL"}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, **limits) as processes,
        distributed.Client(processes) as client,
    ):
        client.wait_for_workers(n_workers, timeout=60)
        yield client


@contextmanager
def worker_with(client, environment):
    """One more worker, in a process that starts in another environment."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-dashboard"]
    limits = ["--nthreads", "1", "--memory-limit", "1GB"]
    n_workers, quiet = len(client.nthreads()), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, *limits], env=os.environ | environment, **quiet) as process:
        try:
            client.wait_for_workers(n_workers + 1, timeout=60)
            yield
        finally:
            process.terminate()


def full_of_ties(n_rows=700, n_features=5, seed=0):
    """A grid of steps of 0.1 whose rows come sorted, many of them several times."""
    X = np.random.default_rng(seed).integers(1, 4, (n_rows, n_features)) / 10
    return X[np.lexsort(X.T)]


def saved(folder, X, name="X.npy"):
    np.save(folder / name, X)
    return folder / name
