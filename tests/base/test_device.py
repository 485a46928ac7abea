"""Devices by name, and the sentence for each that is not there."""

import subprocess
import sys

import numpy as np
import pytest

from devices import needs_torch, on_devices
from nearboost.base.device import (
    check_one_device,
    is_device_name,
    is_tensor,
    load_ahead,
    open_device,
    own_stream,
    place_tensor,
    to_device,
)
from nearboost.base.errors import UsageError


@pytest.mark.parametrize("name", ["gpu", "gpu:0", "gpu:12", "torch:cpu"])
def test_names(name):
    assert is_device_name(name)


@pytest.mark.parametrize("name", ["GPU", "gpu:", "gpu:x", "gpu:-1", "gpu:12345", "cuda", "torch:cpu\n", None, 1])
def test_no_names(name):
    assert not is_device_name(name)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'GPUs need PyTorch: pip install "nearboost\[gpu\]"'):
        open_device("gpu")


def with_devices(monkeypatch, n_gpus, mps=False):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@needs_torch
def test_without_a_gpu(monkeypatch):
    with_devices(monkeypatch, 0)
    with pytest.raises(UsageError, match=r"'gpu:1' is not there: PyTorch [\d.]+.* sees no GPU; use the CPU\."):
        open_device("gpu:1")


@needs_torch
def test_a_device_without_float64(monkeypatch):
    with_devices(monkeypatch, 0, mps=True)
    with pytest.raises(UsageError, match="'gpu' would be an MPS device, which has no float64; use the CPU"):
        open_device("gpu")


class Elsewhere:
    """A tensor as it looks where there are other devices."""

    __module__ = "torch"

    def __init__(self, device, dtype="float32"):
        import torch

        self.device, self.dtype, self.layout = torch.device(device), getattr(torch, dtype), torch.strided

    def detach(self):
        return self


@needs_torch
def test_which_gpu(monkeypatch):
    with_devices(monkeypatch, 2)
    assert [str(open_device(name)) for name in ("gpu", "gpu:1", "torch:cpu")] == ["cuda:0", "cuda:1", "cpu"]
    with pytest.raises(UsageError, match="'gpu:2' is not there: PyTorch sees 2, counted from 0"):
        open_device("gpu:2")


@needs_torch
def test_tensors_stay_where_work_is_done(monkeypatch):
    import torch

    with_devices(monkeypatch, 2)
    here, second = torch.zeros(2, 3), Elsewhere("cuda:1")
    assert isinstance(place_tensor(here, "exact"), np.ndarray)
    assert isinstance(place_tensor(here, "gpu"), np.ndarray)
    assert is_tensor(place_tensor(here, "torch:cpu"))
    assert place_tensor(second, "gpu:1") is second
    rows = [[1.0]]
    assert place_tensor(rows, "exact") is rows


@needs_torch
@pytest.mark.parametrize(
    ("tensor", "name", "message"),
    [
        (("cuda:1",), "exact", "A tensor lies on cuda:1, and 'exact' works on the CPU: use 'gpu', or"),
        (("cuda:1",), None, "A tensor lies on cuda:1, and None works on the CPU"),
        (("cuda:1",), "gpu", "A tensor lies on cuda:1, which is not 'gpu'; move it, or name its device"),
        (("cuda:1",), "gpu:0", "A tensor lies on cuda:1, which is not 'gpu:0'; move it, or name its device"),
        (("cuda:1",), "torch:cpu", "lies on cuda:1, which is not 'torch:cpu'"),
        (("mps",), "gpu", "A tensor lies on an MPS device, which has no float64; give tensor.cpu()"),
        (("cpu", "bfloat16"), "gpu", "A tensor holds torch.bfloat16; give float16, float32 or float64"),
        (("cpu", "int64"), "exact", "A tensor holds torch.int64"),
    ],
)
def test_tensors_that_are_refused(tensor, name, message, monkeypatch):
    with_devices(monkeypatch, 2)
    with pytest.raises(ValueError, match=message):
        place_tensor(Elsewhere(*tensor), name)


@needs_torch
def test_tensors_lie_on_one_device():
    import torch

    check_one_device(torch.device("cpu"), torch.device("cpu"))
    with pytest.raises(ValueError, match="Tensors lie on cpu and on cuda:1; move them to one device"):
        check_one_device(torch.device("cpu"), torch.device("cuda:1"))


@needs_torch
def test_arrays_travel_as_they_are():
    import torch

    mapped = np.arange(6.0).reshape(2, 3)
    mapped.flags.writeable = False
    tensor = to_device(mapped, torch.device("cpu"))
    assert tensor.tolist() == mapped.tolist()
    tensor += 1  # not the array's own memory
    assert mapped[0, 0] == 0
    assert to_device(tensor, torch.device("cpu")) is tensor
    assert is_tensor(tensor)
    assert not is_tensor(mapped)


@on_devices
def test_loading_ahead_keeps_the_order_and_tells_errors(device):
    loaded, device = [], open_device(device)

    def load(piece):
        loaded.append(piece)
        if piece == 3:
            raise ValueError("no third")
        return 10 * piece

    assert list(load_ahead(load, [], device)) == []
    ahead = load_ahead(load, range(5), device)
    assert [next(ahead) for _ in range(3)] == [0, 10, 20]
    with pytest.raises(ValueError, match="no third"):
        next(ahead)
    assert loaded == [0, 1, 2, 3, 4]


@on_devices
def test_pieces_that_are_worked_on_late_are_not_written_over(device):
    """On a GPU the work on a piece is only queued when the next but one takes its memory."""
    device, rows = open_device(device), np.arange(40 * 250_000, dtype=np.float64).reshape(40, -1)
    totals = []
    for piece in load_ahead(lambda number: to_device(rows[number], device), range(40), device):
        late = piece
        for _ in range(50):
            late = late + 0.0
        totals.append(late.sum())
    np.testing.assert_array_equal([float(total) for total in totals], rows.sum(axis=1))


@needs_torch
def test_no_two_have_the_same_stream(monkeypatch):
    """PyTorch has 32, and hands them out in turn."""
    import torch

    counted = iter(range(10_000))
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: next(counted) % 32)
    device = torch.device("cuda", 77)
    with own_stream(device) as one:
        for _ in range(40):
            with own_stream(device) as other:
                assert other != one
    with pytest.raises(MemoryError), own_stream(device) as failed:
        raise MemoryError
    with own_stream(device) as one, own_stream(device) as other:
        assert failed not in (one, other)


def test_torch_is_imported_only_when_asked_for():
    code = """
import sys
import numpy as np
import nearboost as nb
X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
nb.KNNClassifier(search="exact").fit(X, y).predict(X)
nb.SLNDClassifier(step=0.01, rank=2, damping=0.1).fit(X, y).predict(X)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
