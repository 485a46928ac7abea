"""The devices that tests of tensors run on: CPU tensors everywhere, and a GPU where there is one."""

import importlib.util
from typing import Any

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None


def have_gpu() -> bool:
    if not HAVE_TORCH:
        return False
    import torch

    return bool(torch.cuda.is_available())


needs_torch = pytest.mark.skipif(not HAVE_TORCH, reason="PyTorch is not installed: nearboost[gpu]")
on_gpu: Any = [pytest.mark.gpu, pytest.mark.skipif(not have_gpu(), reason="no GPU that PyTorch can use")]
DEVICES = [pytest.param("torch:cpu"), pytest.param("gpu", marks=on_gpu)]
on_devices = pytest.mark.parametrize("device", DEVICES)
