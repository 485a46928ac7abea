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
    """Rows and labels of a MATLAB file, with a second set if the file says which rows are for testing.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows, all of them or those for training.
    y : ndarray of shape (n_rows,)
        Their labels.
    X_test : ndarray of shape (n_test_rows, n_features) or None
        Rows for testing.
    y_test : ndarray of shape (n_test_rows,) or None
        Their labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from nearboost.datasets import read_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     savemat(Path(folder) / "rows.mat", {"fea": np.eye(4), "gnd": np.array([[1], [2], [1], [2]])})
    ...     rows = read_mat(Path(folder) / "rows.mat")
    >>> rows.X.shape, rows.y.tolist(), rows.X_test
    ((4, 4), [1, 2, 1, 2], None)
    """

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any] | None = None
    y_test: NDArray[Any] | None = None


def read_mat(path: str | PathLike[str]) -> MatRows:
    """Read rows and labels from a .mat file.

    Two layouts are known. ``fea`` and ``gnd``: rows and labels, the usual form of Extended Yale B and ORL.
    ``TrainSet`` and ``TestSet``: structs with labels in ``y`` and, in ``X`` or ``x``, either a matrix with one row
    (or one column) per label, or a stack of images, numbered by the last axis (or the first), whose pixels become
    rows. If both would do, rows of matrices and the last axis of stacks are taken, alike in both.

    Parameters
    ----------
    path : str or path
        A file of MATLAB 7.2 or older; newer versions write one with ``save(..., '-v7')``.

    Returns
    -------
    MatRows
        Rows and labels.

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
        one = _Counted(path, "fea", found["fea"], found["gnd"])
        return MatRows(one.rows(one.axes[0]), one.labels)
    if "TrainSet" in found and "TestSet" in found:
        train, test = (_read_struct(path, name, found[name]) for name in ("TrainSet", "TestSet"))
        for axis in train.axes:
            if axis in test.axes and train.rows(axis).shape[1] == test.rows(axis).shape[1]:
                return MatRows(train.rows(axis), train.labels, test.rows(axis), test.labels)
        raise ValueError(
            f"{path}: TrainSet has values of shape {train.values.shape} for {len(train.labels)} labels and "
            f"TestSet {test.values.shape} for {len(test.labels)}, which make no rows of one length; "
            "arrange both alike."
        )
    names = ", ".join(sorted(name for name in found if not name.startswith("__"))) or "nothing"
    raise ValueError(f"{path} holds {names}; expected {LAYOUTS}.")


def _open(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; give the path of a .mat file.")
    with path.open("rb") as file:
        if file.read(len(HDF5)) == HDF5:
            raise ValueError(f"{path} is a MATLAB 7.3 file; write it again with save(..., '-v7').")
    try:
        return loadmat(path, squeeze_me=False, struct_as_record=True)
    except Exception as error:  # a damaged file makes SciPy raise almost anything
        raise ValueError(f"{path} is not a readable .mat file ({error}); it may be cut off.") from error


def _read_struct(path: Any, name: str, struct: NDArray[Any]) -> "_Counted":
    fields = struct.dtype.names or ()
    rows = next((field for field in ("X", "x") if field in fields), None)
    if rows is None or "y" not in fields or struct.size != 1:
        raise ValueError(
            f"{path}: {name} has the fields {', '.join(fields) or 'none'}; expected X (or x) with images or rows, "
            "and y with their labels."
        )
    return _Counted(path, f"{name}.{rows}", struct[rows].item(), struct["y"].item())


class _Counted:
    """Values and as many labels; ``axes`` are those of the values that may count them, the likeliest first."""

    def __init__(self, path: Any, name: str, values: NDArray[Any], labels: NDArray[Any]) -> None:
        self.values, self.labels = np.asarray(values), np.asarray(labels).ravel()
        likely = [0, 1] if self.values.ndim == 2 else [2, 0] if self.values.ndim == 3 else []
        self.axes = [axis for axis in likely if self.values.shape[axis] == len(self.labels) > 0]
        if not self.axes:
            raise ValueError(
                f"{path}: {name} has shape {self.values.shape} for {len(self.labels)} labels; expected a matrix "
                "with as many rows or columns, or as many images height x width x number."
            )
        for what, numbers in ((name, self.values), (f"the labels of {name}", self.labels)):
            if numbers.dtype.kind not in "uif" or not np.isfinite(numbers).all():
                raise ValueError(f"{path}: {what} holds something other than finite numbers.")

    def rows(self, axis: int) -> NDArray[Any]:
        """One row for each label."""
        return np.ascontiguousarray(np.moveaxis(self.values, axis, 0).reshape(len(self.labels), -1))
