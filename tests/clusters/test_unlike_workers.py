"""Workers that are not alike: one sees other files, has other versions, no GPU, or another kind of processor."""

import importlib
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed")

import cloudpickle

from clusters.local import cluster, full_of_ties, saved, worker_with
from devices import have_gpu, needs_torch, on_devices
from nearboost import KNNClassifier, NeighborSearch, SLNDClassifier, distributed
from nearboost.base.device import open_device
from nearboost.base.memory import free_memory
from nearboost.distributed import spreading
from neighbors.brute_force import assert_same

X = full_of_ties(60)
METRICS = ("l2", "cosine", "l1")
ANOTHER_PROCESSOR = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NUMBA_CPU_NAME": "generic",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
}


@pytest.fixture(scope="module")
def client():
    with cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def sent_by_value():
    """Workers cannot import this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def replace(module, name, other):
    """On a worker: what a module calls by this name, and what it called before."""
    place = importlib.import_module(module)
    before = getattr(place, name)
    setattr(place, name, other)
    return before


@pytest.mark.parametrize(
    ("name", "other", "sentence"),
    [
        (
            "Path",
            lambda path: SimpleNamespace(is_file=lambda: False),
            "finds no .*X.npy; give a path that all workers can open",
        ),
        (
            "describe_versions",
            lambda names: dict.fromkeys(names, "9.9"),
            "has another version of nearboost than the client, 9.9 instead of",
        ),
    ],
    ids=["path", "versions"],
)
def test_the_worker_that_differs_is_named(client, name, other, sentence, tmp_path):
    module, [odd, _] = "nearboost.distributed.running", client.nthreads()
    before = client.run(replace, module, name, other, workers=[odd])[odd]
    try:
        with pytest.raises(ValueError, match=f"Worker {odd} on .* {sentence}"):
            distributed.graph(saved(tmp_path, X), 3, client, block=5)
    finally:
        client.run(replace, module, name, before, workers=[odd])


def free_for_each_row(start, stop, **settings):
    return (np.full(stop - start, free_memory()),)


def test_models_take_half_of_what_a_worker_leaves_them(client, tmp_path, monkeypatch):
    """Not half of what is free on its machine: its nanny would end it."""
    monkeypatch.setattr(spreading, "predict_block", free_for_each_row)
    model = KNNClassifier(3).fit(X, 1e9 * (np.arange(len(X)) % 2))  # its answers are float64
    found = distributed.predict(model, saved(tmp_path, X), client, block=20)
    np.testing.assert_array_equal(found, 1e9 / 2)


@needs_torch
@on_devices
def test_workers_search_on_their_devices(client, device, tmp_path):
    rows = full_of_ties(300)
    for metric in METRICS:
        found = distributed.graph(saved(tmp_path, rows), 5, client, metric=metric, search=device, block=70)
        expected = NeighborSearch(rows, metric).graph(5)
        assert_same(found, (expected.indices, expected.distances))


@needs_torch
@pytest.mark.skipif(have_gpu(), reason="workers have the GPU of this machine")
def test_a_worker_without_a_gpu_is_named(client, tmp_path):
    with pytest.raises(ValueError, match=r"Worker tcp://.*'gpu' is not there: PyTorch .* sees no GPU"):
        distributed.graph(saved(tmp_path, X), 3, client, search="gpu")


def test_workers_of_one_machine_take_different_gpus():
    """Dask-CUDA gives each worker all devices, its own first: "gpu" is that one, whoever names it."""

    def stand_in():
        """PyTorch, which counts the devices that a process may see, from 0."""
        seen = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
        functions = {"is_available": lambda: True, "current_device": lambda: 0, "device_count": lambda: len(seen)}
        return SimpleNamespace(cuda=SimpleNamespace(**functions), device=lambda kind, number: seen[number])

    with (
        cluster(1) as client,
        worker_with(client, {"CUDA_VISIBLE_DEVICES": "0,1"}),
        worker_with(client, {"CUDA_VISIBLE_DEVICES": "1,0"}),
    ):
        told = client.run(os.getenv, "CUDA_VISIBLE_DEVICES").items()
        workers = [worker for worker, seen in told if seen in ("0,1", "1,0")]
        client.run(replace, "nearboost.base.device", "import_torch", stand_in, workers=workers)
        assert sorted(client.run(open_device, "gpu", workers=workers).values()) == ["0", "1"]


def kind_of_processor():
    from threadpoolctl import threadpool_info

    return {one["internal_api"]: one.get("architecture") for one in threadpool_info()}["openblas"]


@pytest.mark.slow
def test_unlike_processors_learn_nearly_the_same_weights_and_find_the_same_neighbours(tmp_path):
    """One of two workers has kernels of another processor, in the matrix library, NumPy and numba."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=40_000)
    rows = rng.standard_normal((len(y), 200)) + 0.5 * rng.standard_normal((8, 200))[y]
    some, model = saved(tmp_path, rows[:3_000], "some.npy"), SLNDClassifier(max_passes=2)
    with cluster(1) as client, worker_with(client, ANOTHER_PROCESSOR):
        if len(set(client.run(kind_of_processor).values())) < 2:
            pytest.skip("this matrix library has one kind of kernel here")
        for dtype, bound in ((np.float32, 1e-6), (np.float64, 1e-14)):
            path = saved(tmp_path, rows.astype(dtype), f"{np.dtype(dtype)}.npy")
            expected = model.fit(np.load(path, mmap_mode="r"), y).coef_
            found = model.fit(distributed.spread_rows(path, client, folder=tmp_path), y).coef_
            assert 0 < np.abs(found - expected).max() < bound * np.abs(expected).max()
        graphs = {metric: distributed.graph(some, 7, client, metric=metric, block=300) for metric in METRICS}
    for metric, graph in graphs.items():
        alone = NeighborSearch(rows[:3_000], metric).graph(7)
        assert_same(graph, (alone.indices, alone.distances))
