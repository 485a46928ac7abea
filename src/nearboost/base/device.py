"""Devices of PyTorch, which is imported when one is asked for."""

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError

Tensor = Any  # torch.Tensor: PyTorch is an extra, and types must check without it
CPU_FOR_TESTS = "torch:cpu"
DEVICE_NAMES = r"gpu(:[0-9]{1,4})?|torch:cpu"
IDLE_STREAMS: dict[Any, list[Any]] = {}  # by device

Given = ParamSpec("Given")
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


def need_device(name: str | None) -> None:
    """Raise an error where a name is that of a device that is not there."""
    if is_device_name(name):
        open_device(str(name))


def place_tensor(X: Any, name: str | None) -> Any:
    """A tensor for work on a device of this name, which it must lie on, or an array for work on the CPU.

    Tensors on the CPU are arrays unless the work is on CPU tensors; what is no tensor is given back.
    """
    if not is_tensor(X):
        return X
    check_tensor(X)
    X, place = X.detach(), X.device
    if place.type == "cpu" and name != CPU_FOR_TESTS:
        return X.numpy()
    if name is None or not is_device_name(name):
        raise ValueError(f"A tensor lies on {place}, and {name!r} works on the CPU: use 'gpu', or tensor.cpu().")
    if place != open_device(name):
        raise ValueError(f"A tensor lies on {place}, which is not {name!r}; move it, or name its device.")
    return X


def check_tensor(X: Tensor) -> None:
    """Refuse tensors that are no rows of floating numbers, and those where there is no float64."""
    torch = import_torch()
    if X.device.type == "mps":
        raise ValueError("A tensor lies on an MPS device, which has no float64; give tensor.cpu().")
    if X.layout != torch.strided:
        raise ValueError(
            "A tensor is sparse, and distances are measured between dense rows; give tensor.to_dense()."
        )
    if X.dtype not in (torch.float16, torch.float32, torch.float64):
        raise ValueError(f"A tensor holds {X.dtype}; give float16, float32 or float64, as by tensor.float().")


def check_one_device(one: Any, other: Any) -> None:
    """Refuse tensors on two devices."""
    if one != other:
        raise ValueError(f"Tensors lie on {one} and on {other}; move them to one device.")


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


def load_ahead(load: Callable[[Piece], Loaded], pieces: Iterable[Piece], device: Any) -> Iterator[Loaded]:
    """``load`` of each piece, in order; the next is loaded while the present one is worked on.

    On a GPU a stream of its own carries what is loaded, beside the work. The memory of a piece goes to the next
    but one, and in the end to whoever gets the stream, so the work on it must be done by then.
    """
    if device.type != "cuda":
        yield from _load_ahead(load, pieces, lambda: None)
        return
    cuda = import_torch().cuda
    with own_stream(device) as stream:

        def finished(piece: Piece) -> Loaded:
            with cuda.stream(stream):
                loaded = load(piece)
                stream.synchronize()
            return loaded

        def wait() -> None:
            cuda.current_stream(device).synchronize()

        try:
            yield from _load_ahead(finished, pieces, wait)
        finally:
            wait()


def _load_ahead(
    load: Callable[[Piece], Loaded], pieces: Iterable[Piece], wait: Callable[[], None]
) -> Iterator[Loaded]:
    with ThreadPoolExecutor(1) as pool:
        coming = None
        for piece in pieces:
            wait()
            present, coming = coming, pool.submit(load, piece)
            if present is not None:
                yield present.result()
        if coming is not None:
            yield coming.result()


@contextmanager
def own_stream(device: Any) -> Iterator[Any]:
    """A stream of a GPU that no other thread works on, and of which memory is kept for the next who gets it.

    PyTorch hands out 32 of them in turn, whether they are in use or not. One where work failed is not used again.
    """
    idle = IDLE_STREAMS.setdefault(device, [])
    try:
        stream = idle.pop()
    except IndexError:
        stream = import_torch().cuda.Stream(device)
    yield stream
    idle.append(stream)


def told_when_full(work: Callable[Given, Loaded]) -> Callable[Given, Loaded]:
    """``work``, whose error on a GPU without memory says what to do."""

    @wraps(work)
    def told(*args: Given.args, **named: Given.kwargs) -> Loaded:
        try:
            return work(*args, **named)
        except import_torch().cuda.OutOfMemoryError as error:
            raise MemoryError(
                "The GPU has less memory left than this needs, perhaps as others work there. Give memory=, in "
                f"bytes, less than before. PyTorch: {str(error).partition('.')[0]}."
            ) from error

    return told


@contextmanager
def working_on(device: Any) -> Iterator[None]:
    """Make a GPU the one that is meant by whoever does not name it."""
    if device.type == "cuda":
        with import_torch().cuda.device(device):
            yield
    else:
        yield
