"""Planes of files of microscopes: axes, channels, sizes, and files that lie about them."""

import re
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image

from nearboost.base.images import ImageError
from nearboost.base.planes import read_planes

RANDOM = np.random.default_rng(0)
TWO = RANDOM.integers(0, 60000, (2, 24, 30), dtype=np.uint16)


def test_an_ome_file_says_its_channels_and_its_pixel_size(tmp_path):
    path = tmp_path / "field.ome.tif"
    metadata = {
        "axes": "CYX",
        "Channel": {"Name": ["DAPI", "GFP"]},
        "PhysicalSizeX": 650,
        "PhysicalSizeXUnit": "nm",
    }
    tifffile.imwrite(path, TWO, metadata=metadata)
    planes = read_planes(path)
    assert (planes.axes, planes.channels) == ("CYX", ("DAPI", "GFP"))
    assert planes.pixel_size == pytest.approx(0.65)
    np.testing.assert_array_equal(planes.flat(), TWO)


def test_an_imagej_stack_has_all_its_planes(tmp_path):
    stack = RANDOM.integers(0, 255, (3, 2, 24, 30), dtype=np.uint8)
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, stack, imagej=True, resolution=(2.0, 2.0), metadata={"axes": "ZCYX", "unit": "um"})
    planes = read_planes(path)
    assert planes.axes == "ZCYX"
    assert planes.pixel_size == pytest.approx(0.5)
    np.testing.assert_array_equal(planes.flat(project="max"), stack.max(axis=0))
    np.testing.assert_allclose(planes.flat(project="mean"), stack.mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(planes.flat(plane=1), stack[1])
    with pytest.raises(ImageError, match=r"3 focal planes .*--project max .*--plane N"):
        planes.flat()
    with pytest.raises(ImageError, match="3 planes and none numbered 3"):
        planes.flat(plane=3)


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_interleaved_channels_are_channels(tmp_path, planar):
    path = tmp_path / "two.tif"
    pixels = np.moveaxis(TWO, 0, -1) if planar == "contig" else TWO
    tifffile.imwrite(path, pixels, planarconfig=planar, photometric="minisblack", extrasamples=[0])
    np.testing.assert_array_equal(read_planes(path).flat(), TWO)


def test_a_plain_stack_has_pages_of_unknown_meaning(tmp_path):
    path = tmp_path / "stack.tif"
    with tifffile.TiffWriter(path) as tiff:
        for page in TWO:
            tiff.write(page, metadata=None)
    planes = read_planes(path)
    assert planes.axes == "ICYX"
    with pytest.raises(ImageError, match="2 pages"):
        planes.flat()


@pytest.mark.parametrize("ending", [".png", ".tif"])
@pytest.mark.parametrize("pixels", [TWO[0], (TWO[0] // 256).astype(np.uint8)], ids=["deep", "bytes"])
def test_one_plane_stays_as_it_is(tmp_path, pixels, ending):
    path = tmp_path / f"one{ending}"
    Image.fromarray(pixels).save(path)
    planes = read_planes(path)
    assert (planes.axes, planes.pixels.dtype, planes.pixel_size) == ("CYX", pixels.dtype, None)
    np.testing.assert_array_equal(planes.flat()[0], pixels)


def test_floats_and_colours(tmp_path):
    floats = RANDOM.normal(size=(8, 9)).astype(np.float32)
    tifffile.imwrite(tmp_path / "f.tif", floats)
    np.testing.assert_array_equal(read_planes(tmp_path / "f.tif").flat()[0], floats)
    color = RANDOM.integers(0, 255, (8, 9, 3), dtype=np.uint8)
    Image.fromarray(color).save(tmp_path / "c.png")
    np.testing.assert_array_equal(read_planes(tmp_path / "c.png").flat(), np.moveaxis(color, -1, 0))


def test_of_a_palette_the_numbers_count(tmp_path):
    labels = RANDOM.integers(0, 7, (8, 9), dtype=np.uint8)
    image = Image.fromarray(labels, mode="P")
    image.putpalette(bytes(RANDOM.integers(0, 255, 768, dtype=np.uint8)))
    image.save(tmp_path / "p.png")
    image.save(tmp_path / "p.tif")
    for name in ("p.png", "p.tif"):
        np.testing.assert_array_equal(read_planes(tmp_path / name).flat()[0], labels)


def test_a_compression_that_only_pillow_knows(tmp_path):
    path = tmp_path / "jpeg.tif"
    pixels = np.full((32, 32), 77, np.uint8)
    Image.fromarray(pixels).save(path, compression="jpeg")
    np.testing.assert_array_equal(read_planes(path).flat()[0], pixels)


def test_planes_in_other_files_are_not_followed(tmp_path):
    """A description may name any file of the machine; planes that are not here must not become zeros."""
    secret, path = tmp_path / "secret.ome.tif", tmp_path / "field.ome.tif"
    tifffile.imwrite(secret, TWO[0], metadata={"axes": "YX"})
    tifffile.imwrite(path, TWO, metadata={"axes": "CYX"})
    xml = tifffile.TiffFile(path).ome_metadata
    uuid = re.search('<UUID FileName="[^"]*">', xml) or re.search('<TiffData IFD="0" PlaneCount="2"/>', xml)
    other = '<TiffData IFD="0" FirstC="1"><UUID FileName="secret.ome.tif">urn:uuid:1</UUID></TiffData>'
    lying = xml.replace(uuid[0], '<TiffData IFD="0" FirstC="0" PlaneCount="1"/>' + other)
    tifffile.imwrite(path, TWO[0], description=lying.encode(), metadata=None)
    with pytest.raises(ImageError, match=r"field\.ome\.tif"):
        read_planes(path)


def test_sizes_are_looked_at_before_decoding(tmp_path):
    path = tmp_path / "huge.tif"
    tifffile.imwrite(path, TWO[0])
    content = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as tiff:
        for name in ("ImageWidth", "ImageLength"):
            tag = tiff.pages[0].tags[name]
            content[tag.valueoffset : tag.valueoffset + 4] = struct.pack("<I", 60_000)[
                : 4 if tag.dtype == 4 else 2
            ] + (b"" if tag.dtype == 4 else b"\0\0")
    path.write_bytes(content)
    with pytest.raises(ImageError, match="3,600,000,000 pixels"):
        read_planes(path)
    tifffile.imwrite(path, TWO)
    with pytest.raises(ImageError, match=r"1,440 pixels, more than the 1,000"):
        read_planes(path, max_pixels=1000)


@pytest.mark.parametrize("keep", [0, 1, 7, 40, 300, 700])
@pytest.mark.parametrize("kind", ["field.ome.tif", "field.png"])
def test_files_that_are_cut_short(tmp_path, keep, kind):
    whole = tmp_path / kind
    if kind.endswith("png"):
        Image.fromarray(TWO[0]).save(whole)
    else:
        tifffile.imwrite(whole, TWO, metadata={"axes": "CYX"})
    whole.write_bytes(whole.read_bytes()[:keep])
    with pytest.raises(ImageError, match=re.escape(kind)):
        read_planes(whole)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ImageError, match="does not exist"):
        read_planes(tmp_path / "no.tif")
    with pytest.raises(ImageError, match="is a folder"):
        read_planes(tmp_path)
    (tmp_path / "text.tif").write_text("II but no image")
    with pytest.raises(ImageError, match="not an image of a known kind"):
        read_planes(tmp_path / "text.tif")


def test_broken_descriptions_do_no_harm(tmp_path):
    path = tmp_path / "odd.ome.tif"
    tifffile.imwrite(path, TWO[0], description=b'<?xml version="1.0"?><OME><Image><Pixels', metadata=None)
    assert read_planes(path).flat().shape == (1, 24, 30)
