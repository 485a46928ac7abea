"""Checks of what users give, each with one sentence that says what was wrong and what to do."""

import mmap
import os
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from nearboost.base.errors import UsageError
from nearboost.base.threads import map_parts

FLOATS = (np.float16, np.float32, np.float64)
FEW_NUMBERS = 2**14  # looked at one by one; of more, a sum tells sooner
INFINITE_HALF, INFINITE_BELOW = 0x7C00, 0xFC00  # the bits of half infinities, and beyond them those of what is NaN
_ROWS_AT_ONCE = 4096


def plain(value: object) -> str:
    """How messages write a value: numbers and texts of NumPy as those of Python."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 where it holds all numbers of a type exactly, else float64."""
    return np.float32 if np.can_cast(dtype, np.float32) else np.float64


# Touching a page that a mapped file no longer has ends the process (SIGBUS). So the file's size is compared with
# the map before each block that is read, and most blocks are read from the file itself (`base.maps`).
def find_map(X: Any) -> np.memmap | None:
    """The memory map that an array is, or is a view of."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None:
            return X
        X = X.base
    return None


def is_mapped(X: Any) -> bool:
    """Whether an array is a view of a file."""
    return find_map(X) is not None


def check_map(X: Any) -> None:
    """Refuse a mapped file that is shorter than its map; arrays in memory pass."""
    found = find_map(X)
    if found is None:
        return
    opened: mmap.mmap = found._mmap  # type: ignore[attr-defined]
    size = opened.size()  # of the open file, which may by now have another name, or none
    if size < map_offset(found) + len(opened):
        refuse_cut_short(found, size)


def map_offset(found: Any) -> int:
    """Where in the file a map begins."""
    return int(found.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY)


def refuse_cut_short(found: Any, size: int) -> None:
    """Say that the file of a map has fewer bytes than the map."""
    raise ValueError(
        f"{found.filename or 'The mapped file'} was cut short after it was opened, to {size:,} of "
        f"{map_offset(found) + len(found._mmap):,} bytes; restore it and open it again."
    )


def follow_one_another(rows: np.ndarray) -> bool:
    """Whether numbers of rows are those of a slice."""
    if len(rows) < 2:
        return len(rows) == 1
    return int(rows[-1]) - int(rows[0]) + 1 == len(rows) and bool((np.diff(rows) == 1).all())


def validate_rows(estimator: Any, X: Any, *y: Any, keep: bool = False, **checks: Any) -> Any:
    """What scikit-learn's `validate_data` returns, for rows that may lie in a mapped file.

    Rows to ``keep`` become the estimator's own: they are copied unless the checks have done so, but a mapped file
    stays where it is.
    """
    from sklearn.utils.validation import validate_data  # takes most of a second: not for a wrong option

    refuse_path(X)
    check_map(X)
    check_columns(X)
    for matrix in (X, *y):
        check_sparse(matrix)
    for labels in y:
        check_labels(labels)
    if _stays_as_it_is(X, checks.get("dtype", ())):
        X, keep = finite_rows(X, keep, checks.get("order") or "K", getattr(estimator, "n_jobs", None)), False
        checks["ensure_all_finite"] = False
    try:
        return validate_data(estimator, X, *y, copy=keep and not is_mapped(X), **checks)
    except ValueError as error:
        if str(error).startswith("Input X contains") and not hasattr(X, "toarray"):
            check_finite(X.to_numpy(float, na_value=np.nan) if hasattr(X, "iloc") else np.asarray(X))
        if "string" in str(error):
            refuse_texts(X)
        if "sample(s)" in str(error):
            raise ValueError(f"{str(error).rstrip('.')}; give more rows.") from None
        if "should be a 1d array" in str(error):
            cure = "give one label a row, such as np.asarray(y).argmax(axis=1) of columns of 0 and 1"
            raise ValueError(f"{str(error).rstrip('.')}; {cure}.") from None
        raise


def _stays_as_it_is(X: Any, wanted: Any) -> bool:
    """Whether X is a matrix in memory of floats that are wanted as they are: `finite_rows` looks at these."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS or is_mapped(X):
        return False
    return X.dtype in (wanted if isinstance(wanted, list | tuple) else [wanted])


def finite_rows(X: np.ndarray, keep: bool, order: Any, n_jobs: int | None) -> np.ndarray:
    """X, or a copy in this order if it is to be kept; all of it must be finite, and is looked at in threads."""
    taken = np.empty_like(X, order=order) if keep else X

    def take(part: slice) -> None:
        if keep:
            taken[part] = X[part]
        if first_not_finite(taken[part]) is not None:
            check_finite(X)

    map_parts(take, X.shape, n_jobs)
    return taken


def first_not_finite(block: np.ndarray) -> int | None:
    """The first of some dense rows that holds NaN or infinity; None if none does."""
    if block.size > FEW_NUMBERS and _surely_finite(block):
        return None
    finite = np.isfinite(block).all(axis=1)
    return None if finite.all() else int(np.argmin(finite))


def _surely_finite(block: np.ndarray) -> bool:
    """Whether many numbers are finite, without an array of flags; may be False where large ones add up to more."""
    if block.dtype == np.float16:  # which processors do not add up
        largest, largest_below = block.view(np.int16).max(), block.view(np.uint16).max()
        return bool(largest < INFINITE_HALF and largest_below < INFINITE_BELOW)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(block.sum()))


def check_finite(X: np.ndarray) -> None:
    """Refuse NaN and infinity, and tell where the first of them is."""
    for start in range(0, len(X), _ROWS_AT_ONCE):
        block = np.asarray(X[start : start + _ROWS_AT_ONCE], dtype=np.float64)
        bad = np.argwhere(~np.isfinite(block))
        if len(bad):
            row, feature = bad[0]
            kind = "NaN" if np.isnan(block[row, feature]) else "infinity"
            raise ValueError(
                f"X contains {kind} in row {start + row:,}, feature {feature:,}; fill in what is missing, or "
                "leave such rows out."
            ) from None


def refuse_path(X: Any) -> None:
    """Refuse the name of a file in place of its rows."""
    if isinstance(X, str | os.PathLike):
        raise ValueError(
            f"X is {str(X)!r}, where rows of numbers are needed; open a file of them with "
            "nearboost.datasets.open_rows."
        )


def refuse_texts(X: Any) -> None:
    """Refuse rows with a text that is no number, and tell where the first of them is."""
    for place, value in np.ndenumerate(np.asarray(X, dtype=object)):
        try:
            float(value)
        except TypeError:
            continue  # no text
        except ValueError:
            if len(place) < 2:
                raise ValueError(
                    "X holds texts, where rows of numbers are needed; make a row of each text first, with "
                    "TfidfVectorizer for example."
                ) from None
            row, feature = place
            raise ValueError(
                f"X holds {plain(value)} in row {row:,}, feature {feature:,}, where numbers are needed; encode "
                "such a feature first, with OneHotEncoder for example, or leave it out."
            ) from None


def check_sparse(matrix: Any) -> None:
    """Refuse a sparse matrix with indices outside of it: SciPy's products would follow them anywhere in memory."""
    kind, shape = getattr(matrix, "format", None), getattr(matrix, "shape", ())
    try:
        if kind in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
            if (matrix.indptr[1:] < matrix.indptr[:-1]).any():  # SciPy looks at differences, which wrap around
                raise ValueError("indptr falls")
        elif kind == "coo":
            np.ravel_multi_index(matrix.coords, shape)
    except ValueError as error:
        raise ValueError(f"The sparse matrix of shape {shape} is broken ({error}); make it anew.") from error


def check_columns(X: Any) -> None:
    """Refuse a table of pandas with a column of categories, texts or times: distances need numbers."""
    for place, name in enumerate(X.columns if hasattr(X, "iloc") else ()):
        column = X.iloc[:, place]
        if column.dtype.kind in "biufc" or (column.dtype.kind == "O" and _are_numbers(column)):
            continue
        raise ValueError(
            f"Column {plain(name)} is of the kind {column.dtype} and holds {plain(column.iloc[0])}, where numbers "
            "are needed; encode it first, with OneHotEncoder for example, or leave it out."
        )


def _are_numbers(column: Any) -> bool:
    try:
        column.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def check_labels(y: Any) -> None:
    """Refuse labels that are missing, and texts among labels of other kinds: these have no order."""
    try:
        labels = np.asarray(y) if hasattr(y, "dtype") or isinstance(y, list | tuple) else np.empty(0)
    except ValueError:
        raise ValueError(
            "y holds lists of different lengths; give one label a row, or a column of 0 and 1 for each label, as "
            "MultiLabelBinarizer makes them."
        ) from None
    if labels.ndim == 1 and labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.argmax(np.isnan(labels)))
        raise ValueError(f"Input y contains NaN: row {row} has no label; give it one, or leave the row out.")
    if labels.dtype != object or labels.ndim != 1:
        return
    is_text = np.array([isinstance(one, str) for one in labels])
    missing = np.array([_is_missing(one) for one in labels])
    if missing.any():
        raise ValueError(f"Row {int(np.argmax(missing))} of y has no label; give it one, or leave the row out.")
    if is_text.any() and not is_text.all():
        text, other = labels[np.argmax(is_text)], labels[np.argmin(is_text)]
        raise ValueError(f"y holds texts and others ({text!r} and {plain(other)}); give labels of one kind.")


def _is_missing(label: Any) -> bool:
    """None, NaN, which is not equal to itself, or pandas' NA, which does not say whether it is."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def check_choice(name: str, value: object, choices: Collection[str | None]) -> None:
    """``value`` must be one of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        known = ", ".join(repr(choice) for choice in choices)
        raise UsageError(f"{name}={plain(value)} is not known; use one of {known}.")


def check_flag(name: str, value: object) -> None:
    """``value`` must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={plain(value)} must be True or False.")


def check_whole(
    name: str,
    value: object,
    least: int = 1,
    *,
    most: int | None = None,
    optional: bool = False,
    hint: str | None = None,
) -> None:
    """``value`` must be a whole number of at least ``least`` (or None, or what the ``hint`` names)."""
    if optional and value is None:
        return
    is_whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not is_whole or value < least or (most is not None and value > most):  # type: ignore[operator]
        limit = "" if most is None else f" and at most {most:,}"
        other = (f" or {hint}" if hint else "") + (" or None" if optional else "")
        raise ValueError(f"{name}={plain(value)} must be a whole number of at least {least}{limit}{other}.")


def is_share(value: object) -> bool:
    """Whether a number of rows is given as a share of them."""
    return isinstance(value, Real) and not isinstance(value, Integral)


def check_count_or_share(name: str, value: object) -> None:
    """``value`` must be a whole number of at least 2, a share of 1, or None."""
    if is_share(value):
        check_positive(name, value, most=1.0, optional=True)
    else:
        check_whole(name, value, least=2, optional=True, hint="a share such as 0.1")


def check_wholes(name: str, values: Any, most: int, *, n_most: int, such_as: tuple[int, ...]) -> None:
    """``values`` must be a tuple (or list, or array) of 1 to ``n_most`` whole numbers from 1 to ``most``."""
    listed = isinstance(values, tuple | list | np.ndarray) and np.ndim(values) == 1
    if not listed or not 0 < len(values) <= n_most:
        raise ValueError(
            f"{name}={values!r} must be a tuple of whole numbers, such as {such_as}, and of {n_most} at most."
        )
    for one in values:
        check_whole(name, one, most=most, hint="a tuple of such")


def check_positive(name: str, value: object, *, most: float = np.inf, optional: bool = False) -> None:
    """``value`` must be a finite number above 0 (or None, where that has a meaning)."""
    if optional and value is None:
        return
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not is_number or not 0 < float(value) <= most or not np.isfinite(float(value)):  # type: ignore[arg-type]
        limit = "" if np.isinf(most) else f" and at most {most:g}"
        other = " (or None)" if optional else ""
        raise ValueError(f"{name}={plain(value)} must be a number above 0{limit}{other}.")


def check_not_negative(name: str, value: object, zero: str | None = None, *, most: float = np.inf) -> None:
    """``value`` must be a finite number of at least 0; ``zero`` says what 0 means, where that needs saying."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not is_number or not 0 <= float(value) <= most or not np.isfinite(float(value)):  # type: ignore[arg-type]
        meant = "a number of at least 0" if zero is None else f"0, {zero}, or a number above 0"
        limit = "" if np.isinf(most) else f" and at most {most:g}"
        raise ValueError(f"{name}={plain(value)} must be {meant}{limit}.")
