"""The zip around a model: a JSON header and npy arrays, each with size and checksum declared before it is read."""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_target, whole_file
from nearboost.base.entries import ModelFileError
from nearboost.base.errors import UsageError
from nearboost.base.validation import check_map
from nearboost.base.words import printable

KINDS = "biufU"  # of arrays: numbers and texts
HEADER, HEADER_SUM = "model.json", "model.json.sha256"
MOST_HEADER = 64 * 2**20  # bytes
MOST_VALUES = 2_000_000  # in the header, each of which takes hundreds of bytes in memory
MOST_DIGITS = 20  # of a whole number in the header: 64 bits, and few that a dict would mix up
MOST_SAID = 500  # characters of an error
LAST_CHARACTER = 0x10FFFF
MOST_ARRAYS = 100_000
MOST_BYTES = 64 * 2**30  # of all arrays together, in memory
MOST_RATIO = 1100  # of one member; deflate cannot do better
ALWAYS_ALLOWED, MOST_GROWTH = 2**30, 20  # of all together: most arrays are stored as they are
AT_ONCE = 2**22  # bytes
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # one date for all, so that the same model gives the same bytes
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
MISFITS = (LookupError, TypeError, ValueError, AttributeError, RecursionError, ArithmeticError)


def array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def write_archive(path: Path, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    """Write a file that replaces another one only when it is complete."""
    with whole_file(path) as made, zipfile.ZipFile(made, "w", allowZip64=True) as archive:
        entries = [_write_array(archive, number, array) for number, array in enumerate(arrays)]
        text = _as_text(header | {"arrays": entries})
        if len(text) > MOST_HEADER or count_values(text) > MOST_VALUES:
            raise ModelFileError(
                f"The model's header has {len(text):,} bytes and {count_values(text):,} values, more than "
                f"{MOST_HEADER:,} or {MOST_VALUES:,}."
            )
        archive.writestr(_entry(HEADER), text)
        archive.writestr(_entry(HEADER_SUM), hashlib.sha256(text).hexdigest())


def _as_text(header: dict[str, Any]) -> bytes:
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")  # names of files may hold any bytes


def count_values(text: bytes) -> int:
    """At most so many values stand in a JSON text."""
    return sum(text.count(mark) for mark in (b",", b"[", b"{"))


def _entry(name: str, *, packed: bool = True) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    entry.external_attr = 0o644 << 16
    return entry


def _write_array(archive: zipfile.ZipFile, number: int, array: NDArray[Any]) -> dict[str, Any]:
    """Numbers with fractions do not get smaller by packing, and are stored as they are."""
    whole = array if array.flags.forc else array.copy(order="K")  # the layout decides about last bits
    in_columns = whole.flags.fnc
    rows = whole.T if in_columns else np.ascontiguousarray(whole).reshape(array.shape)
    settings = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": in_columns,
        "shape": array.shape,
    }
    entry = _entry(array_name(number), packed=array.dtype.kind not in "fc")
    with archive.open(entry, "w", force_zip64=array.nbytes > 2**31) as file:
        summed = _Summed(file)
        np.lib.format.write_array_header_2_0(summed, settings)
        content = rows.reshape(-1).view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
        for start in range(0, len(content), AT_ONCE):
            check_map(array)
            summed.write(content[start : start + AT_ONCE])
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": summed.digest.hexdigest()}


class _Summed:
    """A file that hashes whatever is read or written."""

    def __init__(self, file: Any) -> None:
        self._file, self.digest, self.n_bytes = file, hashlib.sha256(), 0

    def write(self, data: Any) -> None:
        self._file.write(data)
        self.digest.update(data)

    def read(self, n_bytes: int) -> bytes:
        data: bytes = self._file.read(n_bytes)
        self.digest.update(data)
        self.n_bytes += len(data)
        return data


class Archive:
    """A model file opened for reading; what it declares has been checked."""

    def __init__(self, file: zipfile.ZipFile, max_bytes: int, file_bytes: int) -> None:
        self._file = file
        self._entries = {entry.filename: entry for entry in file.infolist()}
        self._check_entries(min(max_bytes, ALWAYS_ALLOWED + MOST_GROWTH * file_bytes))
        self.header = self._read_header()

    @property
    def n_bytes(self) -> int:
        """Of all members, unpacked."""
        return sum(entry.file_size for entry in self._entries.values())

    def _check_entries(self, max_bytes: int) -> None:
        listed, entries = self._file.infolist(), self._entries
        if HEADER not in entries:
            raise ModelFileError("is a zip file but not a model of nearboost: it has no header.")
        if len(listed) != len(entries) or len(listed) > MOST_ARRAYS + 2:
            raise ModelFileError(f"holds {len(listed):,} members, some twice or more than {MOST_ARRAYS:,}.")
        arrays = [array_name(i) for i in range(len(entries))]
        strange = sorted(set(entries) - {HEADER, HEADER_SUM, *arrays})
        if strange:
            raise ModelFileError(f"holds the member {strange[0]!r}, unlike a model file.")
        lacking = sorted({HEADER_SUM, *arrays[:-2]} - set(entries))
        if lacking:
            raise ModelFileError(f"lacks the member {lacking[0]!r}, unlike a model file.")
        for entry in listed:
            packed_well = entry.file_size > MOST_RATIO * max(entry.compress_size, 1)
            if packed_well or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ModelFileError(f"declares an impossible {entry.file_size:,} bytes for {entry.filename}.")
        if entries[HEADER].file_size > MOST_HEADER or entries[HEADER_SUM].file_size != 64:
            raise ModelFileError(f"declares a header of {entries[HEADER].file_size:,} bytes, which is too large.")
        if self.n_bytes > max_bytes:
            raise ModelFileError(
                f"declares {self.n_bytes:,} bytes when unpacked, more than the {max_bytes:,} allowed for it; load "
                "it with a larger max_bytes where that is the limit, or ask whoever made it."
            )

    def _read(self, name: str) -> bytes:
        """A member, of which no more is unpacked than it declares."""
        with self._file.open(name) as file:
            return file.read(self._entries[name].file_size)

    def _read_header(self) -> dict[str, Any]:
        text = self._read(HEADER)
        if hashlib.sha256(text).hexdigest().encode() != self._read(HEADER_SUM):
            raise ModelFileError("has a header that does not fit its checksum: it was changed or damaged.")
        if count_values(text) > MOST_VALUES:
            raise ModelFileError(f"has a header of more than {MOST_VALUES:,} values.")
        try:
            header = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole_number)
        except RecursionError:
            raise ModelFileError("has a header that is nested too deeply.") from None
        except ModelFileError:
            raise
        except ValueError:
            raise ModelFileError("has a header that is not JSON.") from None
        if not isinstance(header, dict) or not isinstance(header.get("format"), int):
            raise ModelFileError("has a header that does not state its format.")
        return header

    def array(self, number: Any) -> NDArray[Any]:
        """An array by its number, read and compared with its checksum."""
        entries = self.header["arrays"]
        if type(number) is not int or not 0 <= number < min(len(entries), len(self._entries) - 2):
            raise ModelFileError(f"asks for the array {number!r}, which it does not hold.")
        entry = self._entries[array_name(number)]
        with self._file.open(entry) as file:
            summed = _Summed(file)
            array = _read_array(summed, entry)
        if summed.digest.hexdigest() != entries[number]["sha256"]:
            raise ModelFileError(f"has an array, {entry.filename}, that does not fit its checksum.")
        return array


def _refuse_constant(name: str) -> Any:
    raise ModelFileError(f"has a header with {name}, which is not JSON.")


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ModelFileError("has a header with a number of more than 64 bits, which is not JSON of a model.")
    return int(digits)


def _read_array(file: _Summed, entry: zipfile.ZipInfo) -> NDArray[Any]:
    stream: BinaryIO = file  # type: ignore[assignment]
    try:
        if np.lib.format.read_magic(stream) != (2, 0):
            raise ValueError
        shape, in_columns, dtype = np.lib.format.read_array_header_2_0(stream)
    except Exception:  # NumPy lets Python's parser of literals raise what it likes
        raise ModelFileError(f"has a member, {entry.filename}, that is not a plain npy array.") from None
    if dtype.hasobject or dtype.kind not in KINDS or not dtype.itemsize:
        raise ModelFileError(f"has an array, {entry.filename}, of {dtype}, which is not allowed in model files.")
    if any(side < 0 for side in shape) or prod(shape) * dtype.itemsize != entry.file_size - file.n_bytes:
        raise ModelFileError(f"has an array, {entry.filename}, whose shape {shape} does not fit its size.")
    array = np.empty(prod(shape), dtype)
    place = array.view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
    for start in range(0, len(place), AT_ONCE):
        piece = file.read(min(AT_ONCE, len(place) - start))
        place[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
    if dtype.kind == "U" and (array.view(dtype.byteorder + "u4") > LAST_CHARACTER).any():
        raise ModelFileError(f"has an array, {entry.filename}, of texts that hold what is no character.")
    return array.reshape(shape, order="F" if in_columns else "C")


def one_line(text: str) -> str:
    """What is said of a file, which may have had a say in it: one line that does not fill the screen."""
    line = printable(text[:MOST_SAID]).replace("\n", " ")
    return line if len(text) <= MOST_SAID else f"{line}..."


def misfit(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """One sentence for whatever a strange header makes its readers raise."""
    said = str(error).partition("\n")[0].rstrip(".") if isinstance(error, ValueError) else type(error).__name__
    return ModelFileError(
        f"{path} holds what does not fit together ({one_line(said)}); it was changed or damaged."
    )


@contextmanager
def open_archive(path: Path, max_bytes: int) -> Iterator[Archive]:
    """The archive; whatever is wrong with the file is one sentence that begins with its name."""
    try:
        with open(path, "rb") as opened, zipfile.ZipFile(opened) as file:
            yield Archive(file, max_bytes, os.fstat(opened.fileno()).st_size)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist; give a file that `nearboost fit` wrote.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder; give a file that `nearboost fit` wrote.") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path} {one_line(str(error))}") from None
    except BROKEN as error:
        message = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise ModelFileError(
            f"{path} is not a model file, or it is cut short or damaged ({one_line(message)}); fetch it again."
        ) from None
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is; load it on a larger machine.") from None
    except MISFITS as error:
        raise misfit(path, error) from None


def check_model_target(path: Path, *, force: bool = True) -> None:
    """Refuse at once a place where no model can be written, or where something else would be lost."""
    check_target(path)
    if path.exists() and not is_model_file(path):
        raise UsageError(f"{path} exists and is not a model file; give another name with --out.")
    check_target(path, force=force)


def is_model_file(path: Path) -> bool:
    """Whether there is a model file, as far as its header tells."""
    try:
        if path.is_file():  # a pipe would wait for somebody to write
            with open_archive(path, MOST_BYTES):
                return True
    except ModelFileError:
        pass
    return False
