"""Files in which every entry is of the right kind, and the whole would still crash, flood, lie or not answer."""

import hashlib
import io
import json
import zipfile
import zlib

import numpy as np
import pytest

import nearboost
from cli.calling import refused as said_by
from models.fitted import rows
from models.mutations import HEADER, HEADER_SUM, members, with_header, written
from models.test_attacks import changed, fitted, refused, with_array
from nearboost.base.validation import check_sparse
from nearboost.models import ModelFileError, load, save

NAMES = ("a", "b", "c", "d")


def array_at(path, coded):
    return np.lib.format.read_array(io.BytesIO(members(path)[f"arrays/{coded['array']}.npy"]))


def state_of(path):
    return json.loads(members(path)[HEADER])["root"]["state"]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_pointers_whose_differences_wrap_around(tmp_path, dtype):
    """From the largest number to the smallest is a step of 1 in machine numbers: scores were read anywhere."""
    path, ends = tmp_path / "m.nb", np.iinfo(dtype)
    save(fitted(nearboost.UNNClassifier(3, n_rounds=5)), path)
    shape, data, indices, pointers = state_of(path)["coefficients_"]["csr"]
    wild = np.full(shape[0] + 1, shape[1], dtype)
    wild[:4] = [0, ends.max, ends.min, -1]
    with_array(path, data["array"], np.ones(shape[1]))
    with_array(path, indices["array"], np.arange(shape[1], dtype=dtype))
    with_array(path, pointers["array"], wild)
    refused(path, "coefficients_, which must have row pointers that rise")


def test_pointers_of_sparse_queries_do_not_wrap_either():
    from scipy.sparse import csr_array

    X = csr_array(np.eye(4))
    X.indptr = np.array([0, 2**31 - 1, -(2**31), -1, 4], dtype=np.int32)
    with pytest.raises(ValueError, match="is broken"):
        check_sparse(X)


def test_a_header_that_is_larger_than_it_says(tmp_path):
    """2 MB of it became 2 GB, of which its declared length was cut off."""
    save(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb")
    contents = members(tmp_path / "m.nb")
    text, packer = contents.pop(HEADER), zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + b"".join(packer.compress(bytes(2**24)) for _ in range(4)) + packer.flush()
    entry = zipfile.ZipInfo(HEADER)
    entry.CRC, entry.file_size, entry.compress_size = zlib.crc32(text), len(text), len(packed)
    with zipfile.ZipFile(tmp_path / "m.nb", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        entry.compress_type, entry.header_offset = zipfile.ZIP_DEFLATED, archive.fp.tell()
        archive.fp.write(entry.FileHeader(False) + packed)
        archive.start_dir = archive.fp.tell()
        archive.filelist.append(entry)
        archive.NameToInfo[HEADER] = entry
    import tracemalloc

    tracemalloc.start()
    load(tmp_path / "m.nb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_a_header_of_millions_of_values(tmp_path):
    """95 KB of empty dicts became 2 GB."""
    save(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb")
    contents = members(tmp_path / "m.nb")
    text = contents[HEADER].rstrip()[:-1] + b', "more": [' + b"{}," * 1_000_000 + b"0]}"
    written(tmp_path / "m.nb", contents | {HEADER: text, HEADER_SUM: hashlib.sha256(text).hexdigest().encode()})
    refused(tmp_path / "m.nb", "a header of more than 2,000,000 values")


def test_numbers_that_a_dict_cannot_tell_apart(tmp_path):
    """Multiples of 2^61 - 1 have one hash: 40,000 of them took half a minute."""

    def change(header):
        header["root"]["parameters"]["metric"] = {"dict": [[k * (2**61 - 1), 0] for k in range(1, 100)]}

    refused(changed(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "more than 64 bits")
    with pytest.raises(ModelFileError, match="does not fit 64 bits"):
        save(fitted(nearboost.UNNClassifier(3, n_rounds=2)).set_params(n_rounds=10**30), tmp_path / "m.nb")


@pytest.mark.parametrize("kind", [str, object])
def test_texts_of_what_is_no_character(tmp_path, kind):
    """Python ends in a SystemError where it meets them."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES, dtype=kind)[y]), path)
    coded = state_of(path)["classes_"]
    with_array(path, coded.get("texts", coded)["array"], np.array([97, 98, 99, 2**32 - 1], np.uint32).view("U1"))
    refused(path, "texts that hold what is no character")


def test_texts_of_no_length(tmp_path):
    """They take no room in a file, and whatever lay in memory was read in their place."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES)[y]), path)
    head = io.BytesIO()
    np.lib.format.write_array_header_2_0(head, {"descr": "<U0", "fortran_order": False, "shape": (4,)})
    number, contents = state_of(path)["classes_"]["array"], members(path)
    contents[f"arrays/{number}.npy"] = head.getvalue()
    written(path, with_header(contents, json.loads(contents[HEADER])))
    refused(path, "of <U0, which is not allowed")


def test_texts_by_the_million(tmp_path):
    """Each is an object of its own: they took twenty times the memory of their array."""
    X, y = rows()
    path = tmp_path / "m.nb"
    save(nearboost.KNNClassifier(3).fit(X, np.array(NAMES, dtype=object)[y]), path)
    with_array(path, state_of(path)["classes_"]["texts"]["array"], np.full(1_000_001, "a"))
    refused(path, "more than 1,000,000 texts")


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "long" * 1000])
def test_errors_are_one_line_that_a_terminal_bears(tmp_path, name):
    def change(header):
        header["root"]["parameters"][name] = 1

    path = changed(fitted(nearboost.KNNClassifier()), tmp_path / "m.nb", change)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800
    assert "\x1b" not in said_by("info", tmp_path / "m.nb\x1b[31m")
