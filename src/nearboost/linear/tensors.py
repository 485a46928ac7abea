"""The three places of SLND that have a form for tensors: second moments, projections, and steps.

All else is the same code for a device as for the CPU: what is chosen, when steps are halved, what is measured.
"""

from collections.abc import Callable
from threading import Lock
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base import loss_formulas as formulas
from nearboost.base.device import (
    Tensor,
    import_torch,
    is_tensor,
    load_ahead,
    own_stream,
    to_device,
    told_when_full,
)
from nearboost.base.rows import RowSource
from nearboost.linear.objectives import Objective

if TYPE_CHECKING:  # it imports second moments, which import this module
    from nearboost.linear.coordinates import Eigenvectors

WORTH_RECORDING = 32  # steps
RECORDING = Lock()


class Memberships:
    """The classes of rows in the order of some steps: as many for each, filled up with one that is no class."""

    def __init__(
        self,
        starts: NDArray[np.integer],
        classes: NDArray[np.integer],
        rows: NDArray[np.int64],
        none: int,
        device: Any,
    ) -> None:
        counts = np.diff(starts)[rows]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(starts[rows] - (ends - counts), counts)
        columns = np.full((len(rows), max(1, counts.max())), none, dtype=np.int64)
        columns[np.arange(columns.shape[1]) < counts[:, np.newaxis]] = classes[places]
        self._columns = to_device(columns, device)

    def matrix(self, lines: Tensor, scores: Tensor) -> Tensor:
        """1 for these rows and their classes, 0 for all others; one column for each of the scores."""
        matrix = scores.new_zeros(len(scores), scores.shape[1] + 1)
        return matrix.scatter_(1, self._columns[lines], 1.0)[:, :-1]


@told_when_full
def descend(
    Z: Tensor,
    places: NDArray[np.int64],
    members: Memberships,
    chosen: Memberships | None,
    weights: NDArray[np.floating],
    objective: Objective,
    V: NDArray[Any],
    metric: NDArray[np.floating],
    steps: NDArray[np.floating],
    size: int,
    every: int,
    total: NDArray[np.float64],
) -> tuple[float, float]:
    """`kernels.linear.descend` on the device of Z: the same steps in the same order; V and total move in place."""
    torch, device = import_torch(), Z.device
    order, weight = to_device(places, device), to_device(weights.astype(V.dtype), device)[:, None]
    moved, rates = to_device(V.copy(), device), to_device(np.ascontiguousarray(metric), device)
    summed, lengths = to_device(total.copy(), device), to_device(np.ascontiguousarray(steps), device)
    loss = torch.zeros((), dtype=torch.float64, device=device)
    counted, number = torch.zeros_like(loss), torch.zeros(1, dtype=torch.int64, device=device)
    batch = torch.arange(size, device=device)

    def step(lines: Tensor) -> None:
        """One step; where it stands is told by tensors, so that it is the same work each time."""
        block, share = Z[order[lines], : len(V)], weight[lines]
        scores = block @ moved
        wanted = None if chosen is None else chosen.matrix(lines, scores)
        slopes, losses = slopes_and_losses(objective, scores, members.matrix(lines, scores), wanted)
        measured = (number % every == 0).double()
        loss.add_((share * losses).sum(dtype=torch.float64) * measured[0])
        counted.add_(share.sum(dtype=torch.float64) * measured[0])
        moved.add_(lengths.index_select(0, number) * rates * (block.T @ (share * slopes)))
        if len(total):
            summed.add_(moved)
        number.add_(1)
        lines.add_(size)

    n_whole, rest = divmod(len(places), size)
    repeat(lambda: step(batch), n_whole, device)
    if rest:
        step(batch[:rest])
    V[:], total[:] = moved.cpu().numpy(), summed.cpu().numpy()
    return float(loss), float(counted)


def repeat(work: Callable[[], None], times: int, device: Any) -> None:
    """Work that is the same each time. A GPU, whose kernels take longer to start than to run, records it once."""
    if device.type != "cuda" or times < WORTH_RECORDING:
        for _ in range(times):
            work()
        return
    cuda = import_torch().cuda
    graph, before = cuda.CUDAGraph(), cuda.current_stream(device)
    with own_stream(device) as stream, cuda.stream(stream):
        stream.wait_stream(before)
        work()  # libraries open what they need
        with RECORDING:  # of other threads' work nothing is recorded, but one records at a time
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()  # also where memory is full: the next one could not record otherwise
        for _ in range(times - 1):
            graph.replay()
        stream.synchronize()


def slopes_and_losses(
    objective: Objective, scores: Tensor, own: Tensor, wanted: Tensor | None
) -> tuple[Tensor, Tensor]:
    """y p with p = −F', and the loss of each row: of all classes at once, or of those that learn from it."""
    if objective.softmax:
        logarithms = scores.log_softmax(1)
        return own - logarithms.exp(), -(logarithms * own).sum(1, keepdim=True)
    signs = 2 * own - 1
    value, slope = (_on_tensors(f"{objective.loss.name}_{kind}") for kind in ("value", "slope"))
    slopes, losses = signs * slope(signs * scores), value(signs * scores)
    if wanted is not None:
        slopes, losses = slopes * wanted, losses * wanted
    return slopes, losses.sum(1, keepdim=True)


def _on_tensors(name: str) -> Callable[[Tensor], Tensor]:
    """A formula of a loss, which stands once: PyTorch's functions in the place of NumPy's."""
    torch = import_torch()
    ufuncs = SimpleNamespace(
        **{one: getattr(torch, one) for one in ("abs", "exp", "log", "log1p", "sqrt")},
        hypot=lambda a, b: torch.hypot(torch.full_like(b, a), b),
        maximum=lambda a, b: a.clamp(min=b),
        minimum=lambda a, b: a.clamp(max=min(b, torch.finfo(a.dtype).max)),
    )
    formula = getattr(formulas, name)
    return FunctionType(formula.__code__, {**vars(formulas), "np": ufuncs})


@told_when_full
def second_moment(
    rows: RowSource,
    pieces: list[NDArray[np.integer]],
    shares: list[NDArray[np.float64]],
    dtype: np.dtype[Any],
    scale: float,
    intercept: bool,
    device: Any,
) -> NDArray[np.float64]:
    """Σ s² (f x, 1)(f x, 1)ᵀ over rows x in pieces, for shares s and a scale f.

    Products are made in ``dtype``, and added up in float64.
    """
    torch = import_torch()
    width = rows.n_features + intercept
    total = torch.zeros((width, width), dtype=torch.float64, device=device)
    loaded = load_ahead(lambda piece: as_type(rows.on(device, piece), dtype), pieces, device)
    for block, share in zip(loaded, shares, strict=True):
        factors = to_device(share.astype(dtype), device)[:, None]
        weighted = block * (factors * scale)
        if intercept:
            weighted = torch.cat([weighted, factors], 1)
        total += weighted.T @ weighted
    return np.asarray(total.cpu().numpy())


@told_when_full
def project(
    rows: RowSource, coordinates: "Eigenvectors", ids: NDArray[np.int64], at_once: int, device: Any
) -> Tensor:
    """Coordinates of some rows, given in rising order, on the device; rows in memory come in pieces."""
    torch = import_torch()
    vectors = to_device(coordinates.vectors.astype(rows.dtype), device)
    Z = torch.empty((len(ids), vectors.shape[1]), dtype=vectors.dtype, device=device)
    starts = range(0, len(ids), at_once)
    loaded = load_ahead(lambda start: rows.on(device, ids[start : start + at_once]), starts, device)
    for start, block in zip(starts, loaded, strict=True):
        own = Z[start : start + at_once]
        torch.mm(block, vectors[: block.shape[1]], out=own)
        if coordinates.intercept:
            own += vectors[-1]
    return Z


def as_type(X: Any, dtype: np.dtype[Any]) -> Any:
    """An array or a tensor in a type, without a copy where it has it."""
    if is_tensor(X):
        return X.to(getattr(import_torch(), dtype.name))
    return X.astype(dtype, copy=False)
