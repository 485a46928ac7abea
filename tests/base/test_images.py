"""The reader of image files, what counts as one image, and the scale of pixels."""

import os
import sys
import zlib

import numpy as np
import pytest

from nearboost.base.images import (
    ImageError,
    as_color,
    as_grey,
    as_images,
    in_unit_range,
    is_grey,
    pixels_of,
    read_image,
)

Image = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
cv2 = pytest.importorskip("cv2", reason="OpenCV is in the extra for images")
tifffile = pytest.importorskip("tifffile", reason="tifffile is in the extra for images")

rng = np.random.default_rng(0)
RGB = np.kron(rng.integers(0, 256, (4, 6, 3)), np.ones((8, 8, 1))).astype(np.uint8)
GREY = RGB[..., 0]
RGB16, GREY16 = RGB.astype(np.uint16) * 200, GREY.astype(np.uint16) * 200
ALPHA = np.dstack([RGB, GREY])


def saved(folder, name, pixels, mode=None, **options):
    image = Image.fromarray(pixels)
    image.convert(mode or image.mode).save(folder / name, **options)
    return folder / name


@pytest.mark.parametrize(
    ("name", "pixels"), [("a.png", RGB), ("a.png", GREY), ("a.png", GREY16), ("a.png", ALPHA), ("a.tif", ALPHA)]
)
def test_pixels_come_back_as_they_were_saved(tmp_path, name, pixels):
    read = read_image(saved(tmp_path, name, pixels))
    assert read.dtype == pixels.dtype
    np.testing.assert_array_equal(read, pixels)
    np.testing.assert_array_equal(read_image(str(tmp_path / name)), pixels)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
@pytest.mark.parametrize("alpha", [False, True])
def test_deep_colour(tmp_path, name, alpha):
    pixels = np.dstack([RGB16, GREY16]) if alpha else RGB16
    order = [2, 1, 0, 3] if alpha else [2, 1, 0]  # OpenCV writes blue first, and TIFF compressed
    assert cv2.imwrite(str(tmp_path / name), pixels[..., order])
    np.testing.assert_array_equal(read_image(tmp_path / name), pixels)


@pytest.mark.parametrize(
    ("pixels", "options"),
    [
        (GREY16, {}),
        (GREY16, {"byteorder": ">"}),
        (RGB16, {"photometric": "rgb"}),
        (RGB, {"photometric": "rgb"}),
        ((GREY / 255).astype(np.float32), {}),
        (GREY16[..., np.newaxis], {}),
    ],
)
def test_tiff_of_microscopes(tmp_path, pixels, options):
    tifffile.imwrite(tmp_path / "a.tif", pixels, **options)
    read = read_image(tmp_path / "a.tif")
    assert read.dtype == pixels.dtype
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, pixels.reshape(read.shape))


def test_planes_and_pages(tmp_path):
    tifffile.imwrite(
        tmp_path / "planes.tif", np.moveaxis(RGB16, -1, 0), photometric="rgb", planarconfig="separate"
    )
    np.testing.assert_array_equal(read_image(tmp_path / "planes.tif"), RGB16)
    tifffile.imwrite(tmp_path / "pages.tif", np.stack([GREY16, GREY16 + 1]), photometric="minisblack")
    np.testing.assert_array_equal(read_image(tmp_path / "pages.tif"), GREY16)
    np.testing.assert_array_equal(read_image(tmp_path / "pages.tif", page=1), GREY16 + 1)
    with pytest.raises(ImageError, match=r"pages.tif holds 2 images and none numbered 2"):
        read_image(tmp_path / "pages.tif", page=2)
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(read_image(tmp_path / "a.gif", page=1)[..., 0], 255 - GREY)
    with pytest.raises(ImageError, match=r"a.gif holds 2 images and none numbered 7"):
        read_image(tmp_path / "a.gif", page=7)
    tifffile.imwrite(tmp_path / "five.tif", np.dstack([RGB16, RGB16]), photometric="minisblack", planarconfig=1)
    with pytest.raises(ImageError, match=r"five.tif holds pixels of shape \(32, 48, 6\)"):
        read_image(tmp_path / "five.tif")


@pytest.mark.parametrize("name", ["a.jpg", "a.tif"])
def test_cmyk_becomes_rgb(tmp_path, name):
    read = read_image(saved(tmp_path, name, RGB, "CMYK", **({"quality": 100} if name == "a.jpg" else {})))
    assert read.shape == RGB.shape
    assert np.abs(read.astype(int) - RGB).mean() < 4


@pytest.mark.parametrize("name", ["a.png", "a.gif", "a.tif"])
def test_palettes_become_colours(tmp_path, name):
    few = np.array([[250, 10, 10], [20, 20, 240]], dtype=np.uint8)[(GREY > 100).astype(int)]
    image = Image.fromarray(few).quantize(2)
    image.save(tmp_path / name)
    np.testing.assert_array_equal(read_image(tmp_path / name), few)
    if name == "a.png":
        clear = int(np.asarray(image)[0, 0])
        image.save(tmp_path / name, transparency=clear)
        np.testing.assert_array_equal(read_image(tmp_path / name)[..., 3] == 0, np.asarray(image) == clear)


def test_other_kinds(tmp_path):
    np.testing.assert_array_equal(read_image(saved(tmp_path, "a.tif", RGB, compression="tiff_lzw")), RGB)
    np.testing.assert_array_equal(read_image(saved(tmp_path, "g.tif", GREY16, compression="tiff_lzw")), GREY16)
    ink = 255 * (GREY > 99).astype(np.uint8)
    np.testing.assert_array_equal(read_image(saved(tmp_path, "b.png", ink, "1")), ink)
    assert read_image(saved(tmp_path, "c.png", ALPHA, "LA")).shape == (32, 48, 4)
    assert cv2.imwrite(str(tmp_path / "d.pgm"), GREY16)
    np.testing.assert_array_equal(read_image(tmp_path / "d.pgm"), GREY16)
    np.testing.assert_array_equal(read_image(saved(tmp_path, "e.bmp", RGB)), RGB)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif", "deep.png"])
def test_the_turn_of_exif_is_made(tmp_path, name, orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[274] = orientation
    path = saved(tmp_path, name, GREY16 if name == "deep.png" else RGB, exif=exif)
    with Image.open(path) as image:
        np.testing.assert_array_equal(read_image(path), np.asarray(ImageOps.exif_transpose(image)))


def test_the_name_of_a_file_does_not_matter(tmp_path):
    path = saved(tmp_path, "a.png", RGB)
    np.testing.assert_array_equal(read_image(path.rename(tmp_path / "a.jpg")), RGB)


def cut(path, keep):
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    return path


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "deep.png", "a.gif", "a.webp", "a.tif", "lzw.tif", "a.bmp"])
@pytest.mark.parametrize("keep", [0.02, 0.5, 0.9])
def test_cut_files(tmp_path, name, keep):
    noise = rng.integers(0, 256, (90, 90, 3), dtype=np.uint8)
    if name == "deep.png":
        cv2.imwrite(str(tmp_path / name), noise.astype(np.uint16) * 250)
    else:
        saved(tmp_path, name, noise, **({"compression": "tiff_lzw"} if name == "lzw.tif" else {}))
    with pytest.raises(ImageError, match=rf"{name} (is broken or cut short|is not an image)") as caught:
        read_image(cut(tmp_path / name, keep))
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("name", ["a.png", "deep.png"])
def test_broken_bytes(tmp_path, name):
    dtype = np.uint16 if name == "deep.png" else np.uint8
    path = saved(tmp_path, name, rng.integers(0, 256, (90, 90)).astype(dtype))
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 30] = bytes(30)
    path.write_bytes(content)
    with pytest.raises(ImageError, match=f"{name} is broken or cut short"):
        read_image(path)


def test_files_that_are_no_images(tmp_path):
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.png").write_text("not an image " * 50)
    (tmp_path / "script.jpg").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    for name, message in [
        ("empty.jpg", "empty.jpg is empty: it has 0 bytes"),
        ("text.png", "text.png is not an image of a known kind, whatever its name says"),
        ("script.jpg", "script.jpg is not an image"),
        ("none.jpg", "none.jpg does not exist"),
        ("", "is a folder; give a list of its images, as in sorted"),
    ]:
        with pytest.raises(ImageError, match=message):
            read_image(tmp_path / name)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.jpg"])
def test_large_images_are_refused_before_they_are_decoded(tmp_path, name, monkeypatch):
    path = saved(tmp_path, name, np.zeros((200, 300), dtype=np.uint8))
    assert read_image(path, max_pixels=60_000).shape == (200, 300)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("decoded"))
    monkeypatch.setattr("tifffile.TiffPage.asarray", lambda self: pytest.fail("decoded"))
    said = rf"{name} has 60,000 pixels, more than the 59,999 allowed; make it smaller, or cut it\.$"
    with pytest.raises(ImageError, match=said):
        read_image(path, max_pixels=59_999)


def test_a_promise_of_many_pixels_is_refused(tmp_path):
    """A file of a few hundred bytes that says it is 60,000 pixels wide and high."""
    path = saved(tmp_path, "a.png", GREY)
    content = bytearray(path.read_bytes())
    content[16:24] = (60_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(
        ImageError, match=r"a.png (has 3,600,000,000 pixels|is too large).*; make it smaller, or cut it\.$"
    ):
        read_image(path)


def test_a_missing_extra_names_its_cure(tmp_path, monkeypatch):
    path, tiff = saved(tmp_path, "a.png", GREY), saved(tmp_path, "a.tif", GREY)
    for missing, file in (("PIL.Image", path), ("tifffile", tiff)):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ImportError, match=r'pip install "nearboost\[images\]"'):
            read_image(file)
    np.testing.assert_array_equal(pixels_of(GREY), GREY)


def test_one_image_or_several():
    assert len(as_images("a.png")) == 1
    assert (
        len(as_images(GREY)) == len(as_images(RGB)) == len(as_images(ALPHA)) == len(as_images(RGB[..., :1])) == 1
    )
    assert len(as_images(Image.fromarray(RGB))) == 1
    assert len(as_images([GREY, RGB])) == 2
    assert as_images(np.array(["a.png", "b.png"])) == ["a.png", "b.png"]

    class Lazy:
        asked = 0

        def __len__(self):
            return 3

        def __getitem__(self, i):
            self.asked += 1
            return GREY

    lazy = Lazy()
    assert as_images(lazy) is lazy
    assert lazy.asked == 0


@pytest.mark.parametrize("shape", [(5, 8, 9), (2, 5, 8, 3), (7,), (4, 4, 2)])
def test_stacks_are_refused(shape):
    with pytest.raises(ValueError, match=r"Got an array of shape .* several as a list, for example list\(stack\)"):
        as_images(np.zeros(shape))


def test_what_is_no_image():
    with pytest.raises(ValueError, match="Got generator where images are expected; give a list"):
        as_images(GREY for _ in range(2))
    for wrong in (np.zeros((3, 4, 5)), np.zeros((0, 4)), np.array([["a"]]), np.zeros((4, 4), complex), [1, 2]):
        with pytest.raises(ValueError, match=r"Image 7 has shape .* and dtype .*; give numbers of shape"):
            pixels_of(wrong, "Image 7")
    assert pixels_of(RGB[..., :1]).shape == GREY.shape


@pytest.mark.parametrize(("dtype", "whole"), [(np.uint8, 255), (np.uint16, 65535), (bool, 1), (np.int16, 32767)])
def test_whole_numbers_are_scaled_by_their_type_or_by_the_image(dtype, whole):
    pixels = GREY.astype(dtype)
    scaled = in_unit_range(pixels)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, pixels.astype(float) / whole, rtol=1e-6)
    np.testing.assert_allclose(in_unit_range(pixels, "image"), pixels / pixels.max(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_lie_in_the_unit_range(dtype):
    pixels = (GREY / 255).astype(dtype)
    np.testing.assert_array_equal(in_unit_range(pixels), pixels.astype(np.float32))
    np.testing.assert_allclose(in_unit_range(5 * pixels, "image"), pixels / pixels.max(), rtol=1e-3)
    with pytest.raises(ValueError, match=r'holds floats up to 255, .* or use scaling="image"'):
        in_unit_range(GREY.astype(dtype) * 0 + 255)


def test_a_black_image_stays_black():
    for scaling in ("dtype", "image", "auto"):
        assert not in_unit_range(np.zeros((5, 6), np.uint8), scaling).any()


def test_scaling_by_the_type_of_bytes_and_by_the_image_otherwise():
    dark = np.arange(30).reshape(5, 6)
    for dtype, scaling in ((np.uint8, "dtype"), (np.uint16, "image"), (np.float32, "image")):
        pixels = (dark / 40).astype(dtype) if dtype is np.float32 else dark.astype(dtype)
        np.testing.assert_array_equal(in_unit_range(pixels, "auto"), in_unit_range(pixels, scaling))


def test_transparent_pixels_are_white():
    pixels = np.dstack([RGB, np.where(GREY > 100, 255, 0).astype(np.uint8)])
    scaled = in_unit_range(pixels)
    np.testing.assert_allclose(scaled[GREY <= 100], 1)
    np.testing.assert_allclose(scaled[GREY > 100], RGB[GREY > 100] / 255, atol=1e-6)
    half = in_unit_range(np.dstack([RGB, np.full_like(GREY, 51)]))
    np.testing.assert_allclose(half, 0.2 * (RGB / 255) + 0.8, atol=1e-6)


def test_pixels_without_meaning():
    for wrong, message in [
        (np.full((3, 3), np.nan), "NaN or infinite"),
        (np.full((3, 3), -0.5), "negative pixels, down to -0.5"),
        (np.full((3, 3), -3, dtype=np.int16), "negative pixels, down to -3"),
        (np.full((3, 3), 3), "dtype int64, which does not imply a largest value"),
        (np.full((3, 3), 4000, dtype=np.uint32), "dtype uint32, which does not imply a largest value"),
    ]:
        with pytest.raises(ValueError, match=message):
            in_unit_range(wrong)
    np.testing.assert_array_equal(in_unit_range(np.full((3, 3), 3), "image"), 1)
    with pytest.raises(ValueError, match="scaling='max' is not known; use one of 'dtype', 'image', 'auto'"):
        in_unit_range(GREY, "max")


def test_colour_and_grey():
    scaled = in_unit_range(RGB)
    with_pillow = np.asarray(Image.fromarray(RGB).convert("L")) / 255
    np.testing.assert_allclose(as_grey(scaled), with_pillow, atol=0.003)
    grey = as_grey(scaled)
    assert as_grey(grey) is grey
    assert as_color(scaled) is scaled
    np.testing.assert_array_equal(as_color(grey)[..., 2], grey)
    assert is_grey(grey)
    assert is_grey(as_color(grey))
    assert not is_grey(scaled)


def test_a_file_nobody_may_read(tmp_path):
    path = saved(tmp_path, "a.png", GREY)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(ImageError, match=r"a.png cannot be opened: Permission denied"):
        read_image(path)


@pytest.mark.parametrize("mode", ["P", "CMYK", "RGB", "L"])
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_tiff_files_are_turned_once(tmp_path, mode, compression):
    """Whoever decodes them: tifffile and OpenCV do not turn them, Pillow does."""
    image = Image.fromarray(RGB).convert(mode)
    image.save(tmp_path / "plain.tif", compression=compression)
    plain = read_image(tmp_path / "plain.tif")
    for orientation, turned in [(3, plain[::-1, ::-1]), (6, np.rot90(plain, -1)), (8, np.rot90(plain))]:
        tags = Image.Exif()
        tags[274] = orientation
        image.save(tmp_path / "turned.tif", compression=compression, exif=tags)
        np.testing.assert_array_equal(read_image(tmp_path / "turned.tif"), turned)


@pytest.mark.parametrize("mode", ["RGB", "P", "CMYK", "YCbCr", "HSV", "LA", "I;16"])
def test_images_of_pillow_are_what_they_show(mode):
    """Their arrays may be numbers of a palette, inks or other colours."""
    image = Image.fromarray(GREY16 if mode == "I;16" else RGB)
    shown = as_grey(in_unit_range(pixels_of(image)))
    [given] = as_images(image if mode == "I;16" else image.convert(mode))
    found = as_grey(in_unit_range(pixels_of(given)))
    assert found.shape == GREY.shape
    assert np.abs(found - shown).mean() < 0.05


def test_images_of_pillow_are_turned(tmp_path):
    tags = Image.Exif()
    tags[274] = 6
    Image.fromarray(RGB).save(tmp_path / "a.png", exif=tags)
    with Image.open(tmp_path / "a.png") as image:
        np.testing.assert_array_equal(pixels_of(image), read_image(tmp_path / "a.png"))


def test_a_mapping_is_no_list_of_images():
    with pytest.raises(ValueError, match="Got dict where images are expected; give a list"):
        as_images({"a": GREY})
