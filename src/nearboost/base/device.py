"""Devices of PyTorch, which is imported when one is asked for."""

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError

Tensor = Any  # torch.Tensor: PyTorch is an extra, and types must check without it
CPU_FOR_TESTS = "torch:cpu"
DEVICE_NAMES = r"gpu(:[0-9]{1,4})?|torch:cpu"

Piece = TypeVar("Piece")
Loaded = TypeVar("Loaded")


def is_device_name(name: object) -> bool:
    """Whether a name is a GPU's, "gpu" or "gpu:1", or that of CPU tensors."""
    return isinstance(name, str) and re.fullmatch(DEVICE_NAMES, name) is not None


def is_tensor(X: object) -> bool:
    """Whether X is a tensor of PyTorch; does not import it."""
    return type(X).__module__.partition(".")[0] == "torch" and hasattr(X, "device")


def import_torch() -> Any:
    """PyTorch."""
    try:
        import torch
    except ImportError as error:
        raise ImportError('GPUs need PyTorch: pip install "nearboost[gpu]"') from error
    return torch


def open_device(name: str) -> Any:
    """The device of a name that `is_device_name` knows; "gpu" is the one that PyTorch uses now."""
    torch = import_torch()
    if name == CPU_FOR_TESTS:
        return torch.device("cpu")
    if not torch.cuda.is_available():  # ROCm answers to the same name
        if torch.backends.mps.is_available():
            raise UsageError(f"{name!r} would be an MPS device, which has no float64; use the CPU.")
        raise UsageError(f"{name!r} is not there: PyTorch {torch.__version__} sees no GPU; use the CPU.")
    number = int(name.partition(":")[2] or torch.cuda.current_device())
    if number >= torch.cuda.device_count():
        raise UsageError(f"{name!r} is not there: PyTorch sees {torch.cuda.device_count()}, counted from 0.")
    return torch.device("cuda", number)


def device_of(tensors: Iterable[Tensor], name: str | None = None) -> Any:
    """The one device that tensors lie on, which must be the one of a name that gives its number."""
    device = None
    for tensor in tensors:
        if tensor.device.type == "mps":
            raise ValueError("A tensor lies on an MPS device, which has no float64; give tensor.cpu().")
        if device is not None and tensor.device != device:
            raise ValueError(f"Tensors lie on {device} and on {tensor.device}; move them to one device.")
        device = tensor.device
    if name is not None and (":" in name or device is None):
        named = open_device(name)
        if device is not None and device != named:
            raise ValueError(f"A tensor lies on {device} and {name!r} is {named}; move it, or name its device.")
        device = named
    return device


def device_memory(device: Any) -> float:
    """Bytes to work in unless given: half of what is free."""
    if device.type == "cuda":
        return import_torch().cuda.mem_get_info(device)[0] / 2
    from nearboost.base.memory import free_memory

    return free_memory() / 2


def to_device(block: NDArray[Any] | Tensor, device: Any) -> Tensor:
    """An array or a tensor as a tensor on the device; arrays travel through pinned memory to a GPU."""
    torch = import_torch()
    if isinstance(block, np.ndarray):
        writeable = np.ascontiguousarray(block)
        block = torch.from_numpy(writeable if writeable.flags.writeable else writeable.copy())
        if device.type == "cuda":
            return block.pin_memory().to(device, non_blocking=True)
    return block.to(device)


def load_ahead(load: Callable[[Piece], Loaded], pieces: Iterable[Piece]) -> Iterator[Loaded]:
    """``load`` of each piece, in order; the next is loaded while the present one is worked on."""
    with ThreadPoolExecutor(1) as pool:
        coming = None
        for piece in pieces:
            present, coming = coming, pool.submit(load, piece)
            if present is not None:
                yield present.result()
        if coming is not None:
            yield coming.result()
