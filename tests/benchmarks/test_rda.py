"""R's tables: a file written here by hand, object by object, is read as it was meant."""

import bz2
import gzip
import lzma
import struct

import numpy as np
import pytest
from benchmarks.rda import read_table

NOTHING, ATTRIBUTES, TAG = struct.pack(">i", 254), 1 << 9, 1 << 10


def whole(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def text(value: str) -> bytes:
    return whole(9, len(value)) + value.encode()


def texts(*values: str) -> bytes:
    return whole(16, len(values)) + b"".join(map(text, values))


def pairs(**objects: bytes) -> bytes:
    return b"".join(whole(2 | TAG) + whole(1) + text(name) + value for name, value in objects.items()) + NOTHING


def reals(*values: float) -> bytes:
    return whole(14, len(values)) + struct.pack(f">{len(values)}d", *values)


def integers(*values: int) -> bytes:
    return whole(13, len(values)) + whole(*values)


def factor(levels: tuple[str, ...], *codes: int) -> bytes:
    return whole(13 | ATTRIBUTES, len(codes)) + whole(*codes) + pairs(levels=texts(*levels))


def file(version: int = 2) -> bytes:
    columns = [reals(0.5, np.nan, -3.25), integers(7, -(2**31), 9), factor(("ant", "bee"), 2, 1, 2)]
    frame = whole(19 | ATTRIBUTES, 3) + b"".join(columns) + pairs(names=texts("weight", "legs", "kind"))
    head = b"RDX%d\nX\n" % version + whole(version, 0, 0)
    encoding = whole(5) + b"UTF-8" if version == 3 else b""
    return head + encoding + pairs(insects=frame)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("version", [2, 3])
def test_columns_are_read_as_numbers_and_factors_as_names(compress, version):
    table = read_table(compress(file(version)))
    assert list(table) == ["weight", "legs", "kind"]
    np.testing.assert_array_equal(table["weight"], [0.5, np.nan, -3.25])
    np.testing.assert_array_equal(table["legs"], [7, np.nan, 9])
    assert table["kind"].tolist() == ["bee", "ant", "bee"]


def test_other_files_are_refused():
    with pytest.raises(ValueError, match=r"no \.rda file"):
        read_table(b"weight,legs\n0.5,7\n")
