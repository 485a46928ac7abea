"""Rows and labels from MATLAB files, as face data sets come."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LAYOUTS = "fea and gnd, or structs TrainSet and TestSet with X (or x) and y"
HDF5 = b"MATLAB 7.3"


@dataclass(frozen=True)
class MatRows:
    """Rows and their labels; with a second set where the file says which rows are for testing."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any] | None = None
    y_test: NDArray[Any] | None = None


def read_mat(path: str | PathLike[str]) -> MatRows:
    """Rows and labels of a .mat file.

    Two layouts are known. ``fea`` and ``gnd``: rows and labels, as Extended Yale B and ORL are handed around.
    ``TrainSet`` and ``TestSet``: structs with labels in ``y`` and, in ``X`` or ``x``, either a matrix with one row
    (or one column) for each label, or a stack of images, whose pixels become rows.

    Parameters
    ----------
    path : a file of MATLAB 7.2 or older; newer ones are written so by ``save(..., '-v7')``

    Examples
    --------
    >>> import numpy as np, scipy.io, tempfile
    >>> from nearboost.datasets import read_mat
    >>> faces = {"X": np.zeros((4, 3, 6)), "y": [1, 1, 2, 2, 3, 3]}
    >>> with tempfile.NamedTemporaryFile(suffix=".mat") as file:
    ...     scipy.io.savemat(file.name, {"TrainSet": faces, "TestSet": faces})
    ...     rows = read_mat(file.name)
    >>> rows.X.shape, rows.y
    ((6, 12), array([1, 1, 2, 2, 3, 3]))
    """
    found = _open(Path(path))
    if "fea" in found and "gnd" in found:
        return MatRows(*_as_rows(path, "fea", found["fea"], found["gnd"]))
    if "TrainSet" in found and "TestSet" in found:
        train, test = (_read_struct(path, name, found[name]) for name in ("TrainSet", "TestSet"))
        if train[0].shape[1] != test[0].shape[1]:
            raise ValueError(
                f"{path}: rows of TrainSet have {train[0].shape[1]} numbers and those of TestSet "
                f"{test[0].shape[1]}; they must have as many."
            )
        return MatRows(*train, *test)
    names = ", ".join(sorted(name for name in found if not name.startswith("__"))) or "nothing"
    raise ValueError(f"{path} holds {names}; expected {LAYOUTS}.")


def _open(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; give the path of a .mat file.")
    with path.open("rb") as file:
        if file.read(len(HDF5)) == HDF5:
            raise ValueError(f"{path} is of MATLAB 7.3; write it again with save(..., '-v7').")
    try:
        return loadmat(path, squeeze_me=False, struct_as_record=True)
    except Exception as error:  # a damaged file makes SciPy raise almost anything
        raise ValueError(f"{path} is no readable .mat file ({error}); it may be cut off.") from error


def _read_struct(path: Any, name: str, struct: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    fields = struct.dtype.names or ()
    rows = next((field for field in ("X", "x") if field in fields), None)
    if rows is None or "y" not in fields or struct.size != 1:
        raise ValueError(
            f"{path}: {name} has the fields {', '.join(fields) or 'none'}; expected X (or x) with images or rows, "
            "and y with their labels."
        )
    return _as_rows(path, f"{name}.{rows}", struct[rows].item(), struct["y"].item())


def _as_rows(
    path: Any, name: str, values: NDArray[Any], labels: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """One row for each label, whichever axis of the values counts them; the first for matrices, else the last."""
    values, y = np.asarray(values), np.asarray(labels).ravel()
    axes = [0, 1] if values.ndim == 2 else [2, 0] if values.ndim == 3 else []
    axis = next((axis for axis in axes if values.shape[axis] == len(y)), None)
    if axis is None or not len(y):
        raise ValueError(
            f"{path}: {name} has shape {values.shape} for {len(y)} labels; expected a matrix with as many rows or "
            "columns, or as many images height x width x number."
        )
    if values.dtype.kind not in "uif" or not np.isfinite(values).all():
        raise ValueError(f"{path}: {name} holds something else than finite numbers.")
    rows = np.moveaxis(values, axis, 0).reshape(len(y), -1)
    return np.ascontiguousarray(rows), y
