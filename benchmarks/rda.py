"""Tables in R's .rda files: ``read_table(bytes)``, for data sets that R packages bring.

Reads what `save` writes in its portable binary form (XDR, version 2 or 3), as far as data frames need it.
"""

import bz2
import gzip
import lzma
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNATURES = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}
# Kinds of objects, as R numbers them.
SYMBOL, PAIRS, TEXT, LOGICALS, INTEGERS, REALS, TEXTS, ITEMS = 1, 2, 9, 10, 13, 14, 16, 19
REFERENCE, NOTHING = 255, 254
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10


def read_table(content: bytes) -> dict[str, NDArray]:
    """The columns of the first data frame in a file; factors as text, missing integers as NaN."""
    for signature, decompress in SIGNATURES.items():
        if content.startswith(signature):
            content = decompress(content)
    if not content.startswith((b"RDX2\nX\n", b"RDX3\nX\n")):
        raise ValueError("This is no .rda file in R's portable binary form.")
    reader = Reader(content, 7)
    version, *_ = reader.integers(3)
    if version == 3:  # the encoding of the writer
        reader.take(reader.integer())
    (_, (columns, attributes)), *_ = reader.item()[0]
    return {name: as_column(*column) for name, column in zip(attributes["names"][0], columns, strict=True)}


def as_column(values: Any, attributes: dict[str, Any]) -> NDArray:
    """A column of a data frame as numbers, or a factor as the names of its levels."""
    if "levels" not in attributes:
        return np.asarray(values)
    levels = np.array([*attributes["levels"][0], ""])
    return levels[np.where(np.isnan(values), len(levels), values).astype(int) - 1]


class Reader:
    """Objects one after the other; each is its value and its attributes."""

    def __init__(self, content: bytes, start: int) -> None:
        self.content, self.at = content, start
        self.symbols: list[str] = []

    def take(self, n_bytes: int) -> bytes:
        self.at += n_bytes
        return self.content[self.at - n_bytes : self.at]

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}i", self.take(4 * count))

    def integer(self) -> int:
        return self.integers(1)[0]

    def item(self) -> tuple[Any, dict[str, Any]]:
        """The next object."""
        flags = self.integer()
        kind = flags & 255
        if kind == NOTHING:
            return [], {}
        if kind == REFERENCE:
            return self.symbols[(flags >> 8) - 1], {}
        if kind == SYMBOL:
            self.symbols.append(self.item()[0])
            return self.symbols[-1], {}
        if kind == PAIRS:
            return self.pairs(flags), {}
        if kind == TEXT:
            length = self.integer()
            return self.take(max(length, 0)).decode("latin-1"), {}
        values = self.vector(kind)
        attributes = dict(self.item()[0]) if flags & HAS_ATTRIBUTES else {}
        return values, attributes

    def pairs(self, flags: int) -> list[tuple[str, Any]]:
        """A chain of names with objects."""
        found = []
        while flags & 255 == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item()
            name = self.item()[0] if flags & HAS_TAG else ""
            found.append((name, self.item()))
            flags = self.integer()
        return found

    def vector(self, kind: int) -> Any:
        count = self.integer()
        if kind in (ITEMS, TEXTS):
            found = [self.item() for _ in range(count)]
            return [text for text, _ in found] if kind == TEXTS else found
        if kind == REALS:
            return np.frombuffer(self.take(8 * count), ">f8").astype(float)
        if kind in (INTEGERS, LOGICALS):
            values = np.frombuffer(self.take(4 * count), ">i4").astype(float)
            return np.where(values == -(2**31), np.nan, values)
        raise ValueError(f"Objects of R's kind {kind} are not read here.")
