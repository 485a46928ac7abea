"""Images: the one reader of files, what counts as one image and what as several, and the scale of pixels.

Pillow reads most files, tifffile the TIFF files of microscopes, OpenCV what both leave out. They are imported when
a file is read, so arrays need none of them.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearboost.base.validation import check_choice, check_whole

MAX_PIXELS = 2**30 // 12  # 89 million: a quarter of a gigabyte in colour, also where Pillow begins to warn
SCALINGS = ("dtype", "image", "auto")
IMAGE_ENDINGS = (  # of files that are looked for in folders
    *(".avif", ".bmp", ".gif", ".j2k", ".jp2", ".jpe", ".jpeg", ".jpg", ".pbm", ".pcx"),
    *(".pgm", ".png", ".pnm", ".ppm", ".tga", ".tif", ".tiff", ".webp"),
)
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "TGA", "TIFF", "WEBP")
COLOR_MODES = ("L", "RGB", "RGBA")
WITH_ALPHA = ("LA", "La", "PA", "RGBa")
DEEP_MODES = {"I;16": np.uint16, "I;16L": np.uint16, "I;16B": np.uint16, "I": np.uint16, "F": np.float32}
TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
PLAIN_TIFFS = ("MINISBLACK", "RGB")  # of the photometric interpretations; Pillow converts the others
ORIENTATION = 274  # the tag of EXIF and TIFF
GREY_WEIGHTS = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R 601, as in Pillow and OpenCV
OUTSIDE = 1e-3  # how far float pixels may leave [0, 1] before they are taken for a mistake


class ImageError(ValueError):
    """A file that gives no image; the message names it and says why in one sentence."""


def read_image(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS, page: int = 0) -> NDArray[Any]:
    """The pixels of a file, as they are stored and upright.

    Parameters
    ----------
    path : a JPEG, PNG, TIFF or other common file; its content decides what it is, not its name
    max_pixels : a larger image is refused before it is decoded
    page : which image of a file that holds several

    Returns
    -------
    array of shape (height, width), (height, width, 3) or, with transparency, (height, width, 4); uint8, uint16 or
    what a TIFF file holds. Palettes and CMYK become RGB, and the turn that EXIF asks for is made.

    Raises
    ------
    ImageError : where the file is missing, empty, broken, cut short, too large or no image
    """
    check_whole("max_pixels", max_pixels)
    check_whole("page", page, least=0)
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            pixels, orientation = _decoded(file, name, max_pixels, page)
    except (ImageError, ImportError):
        raise
    except Exception as error:  # broken bytes make decoders raise almost anything
        raise error_of(name, error) from error
    if not _is_image(pixels):
        raise ImageError(f"{name} holds pixels of shape {pixels.shape}; save one, three or four channels.")
    pixels = upright(_without_last_axis(pixels), orientation)
    return np.ascontiguousarray(pixels, dtype=pixels.dtype.newbyteorder("="))


def _decoded(file: BinaryIO, name: str, max_pixels: int, page: int) -> tuple[NDArray[Any], int]:
    """Pixels, and the number from 1 to 8 that says how they are turned."""
    start = file.read(26)
    file.seek(0)
    if not start:
        raise ImageError(f"{name} is empty: it has 0 bytes.")
    if start.startswith(TIFF_STARTS):
        found = _from_tiff(file, name, max_pixels, page)
        if found is not None:
            return found
        file.seek(0)
    is_png = start.startswith(b"\x89PNG")
    if is_png:
        _check_sums(file)
    return _from_common(file, name, max_pixels, page, is_deep=is_png and start[24:25] == b"\x10")  # 16 bits


def _check_sums(file: BinaryIO) -> None:
    """PNG files carry sums of their bytes, which decoding does not look at."""
    with needs("PIL.Image").open(file, formats=["PNG"]) as image:
        image.verify()
    file.seek(0)


def _from_common(file: BinaryIO, name: str, max_pixels: int, page: int, is_deep: bool) -> tuple[NDArray[Any], int]:
    pillow = needs("PIL.Image")
    pillow.init()  # all formats, or `open` knows the most common ones only
    with pillow.open(file, formats=[kind for kind in FORMATS if kind in pillow.OPEN]) as image:
        check_size(name, image.width * image.height, max_pixels)
        if page >= getattr(image, "n_frames", 1):
            raise ImageError(f"{name} holds {getattr(image, 'n_frames', 1)} images and none numbered {page}.")
        image.seek(page)
        image.load()  # raises where the file is cut short
        orientation = image.getexif().get(ORIENTATION, 1)  # after loading, which turns TIFF files
        if is_deep and image.mode in ("RGB", "RGBA", "LA"):  # Pillow keeps 8 of the 16 bits
            return _from_opencv(file, name), orientation
        return _from_pillow(image), orientation


def _from_pillow(image: Any) -> NDArray[Any]:
    """Grey, RGB or RGBA from an image of any mode."""
    if image.mode in DEEP_MODES:
        return np.asarray(image).astype(DEEP_MODES[image.mode])
    if image.mode in COLOR_MODES:
        return np.asarray(image)
    if image.mode == "1":
        return np.asarray(image.convert("L"))
    has_alpha = image.mode in WITH_ALPHA or "transparency" in image.info
    return np.asarray(image.convert("RGBA" if has_alpha else "RGB"))


def _from_tiff(file: BinaryIO, name: str, max_pixels: int, page: int) -> tuple[NDArray[Any], int] | None:
    """None where Pillow is to read the file: colours to convert, or a compression that tifffile lacks."""
    with needs("tifffile").TiffFile(file) as tiff:
        if not len(tiff.pages):
            raise ValueError("its directory of pages is missing")
        if page >= len(tiff.pages):
            raise ImageError(f"{name} holds {len(tiff.pages)} images and none numbered {page}.")
        one = tiff.pages[page]
        check_size(name, one.imagewidth * one.imagelength, max_pixels)
        if one.photometric.name not in PLAIN_TIFFS or one.bitspersample not in (8, 16, 32, 64):
            return None
        orientation = one.tags[ORIENTATION].value if ORIENTATION in one.tags else 1
        try:
            pixels, axes = one.asarray(), one.axes
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            if one.bitspersample == 8 or one.samplesperpixel == 1:
                return None  # Pillow knows more compressions
            pixels, axes = _from_opencv(file, name), "YXS"  # and OpenCV deep colours as well
        return np.moveaxis(pixels, 0, -1) if axes == "SYX" else pixels, int(orientation)


def _from_opencv(file: BinaryIO, name: str) -> NDArray[Any]:
    cv2 = needs("cv2")
    file.seek(0)
    pixels = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ImageError(f"{name} is broken or of a kind that OpenCV cannot read; save it as PNG or plain TIFF.")
    return pixels if pixels.ndim == 2 else pixels[..., [2, 1, 0, 3][: pixels.shape[2]]]  # it says blue first


def check_size(name: str, n_pixels: int, max_pixels: int) -> None:
    """Refuse an image of too many pixels, before it is decoded."""
    if n_pixels > max_pixels:
        raise ImageError(
            f"{name} has {n_pixels:,} pixels, more than the {max_pixels:,} allowed; make it smaller, or cut it."
        )


def error_of(name: str, error: Exception) -> ImageError:
    """What a decoder or the system raised, as a sentence that names the file."""
    return ImageError(_why(name, error))


def _why(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{name} does not exist."
    if isinstance(error, IsADirectoryError):
        return (
            f"{name} is a folder; give a list of its images, as in sorted(Path({name!r}).glob('*.png')), "
            "or describe all of them with `nearboost features`."
        )
    kind, message = type(error).__name__, str(error).partition("\n")[0]
    if kind == "UnidentifiedImageError":
        return f"{name} is not an image of a known kind, whatever its name says; leave it out or convert it."
    if kind == "DecompressionBombError":
        size = message.partition(",")[0]
        return f"{name} is too large for Pillow ({size}); make it smaller, or cut it."
    if isinstance(error, OSError) and error.errno is not None:
        return f"{name} cannot be opened: {error.strerror}."
    return f"{name} is broken or cut short ({message or kind}); replace it by a sound copy."


def upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """EXIF's numbers: 2 and 4 mirror, 3 turns half round, 5 to 8 swap rows and columns first."""
    if orientation in (5, 6, 7, 8):
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def needs(module: str) -> Any:
    """A module of the extra for images, or a sentence that names the cure."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError('Reading images needs more packages: pip install "nearboost[images]"') from error


def as_images(given: Any) -> Sequence[Any]:
    """Several images from what a user gives, none of them read yet.

    One path, one array of shape (height, width) or (height, width, 1, 3 or 4) or one image of Pillow is one image.
    Several come as a
    list or another sequence of such, which may be lazy; never as one stacked array, because a stack of three
    images cannot be told from one image of three channels.
    """
    if isinstance(given, str | os.PathLike):
        return [given]
    if hasattr(given, "getexif"):  # of Pillow
        return [given]
    if hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        array = np.asarray(given)
        if array.ndim == 1 and array.dtype.kind in "OUT":
            return list(array)
        if not _is_image(array):
            raise ValueError(
                f"Got an array of shape {array.shape}; give one image of shape (height, width) or (height, width, "
                "1, 3 or 4), and several as a list, for example list(stack)."
            )
        return [given]
    if not hasattr(given, "__len__") or not hasattr(given, "__getitem__") or isinstance(given, Mapping):
        raise ValueError(
            f"Got {type(given).__name__} where images are expected; give a list of arrays or of paths, or a "
            "sequence with a length."
        )
    return given


def pixels_of(given: Any, which: str = "The image") -> NDArray[Any]:
    """One image as an array: read where it is a path, converted where it is Pillow's, and checked."""
    if isinstance(given, str | os.PathLike):
        return read_image(given)
    if hasattr(given, "getexif"):  # of Pillow, whose arrays may be numbers of a palette, or inks
        array = _from_pillow(given)
        array = upright(array, given.getexif().get(ORIENTATION, 1))
    else:
        array = np.asarray(given)
    if not _is_image(array) or array.size == 0 or array.dtype.kind not in "buif":
        raise ValueError(
            f"{which} has shape {array.shape} and dtype {array.dtype}; give numbers of shape (height, width) or "
            "(height, width, 1, 3 or 4)."
        )
    return _without_last_axis(array)


def _without_last_axis(array: NDArray[Any]) -> NDArray[Any]:
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _is_image(array: NDArray[Any]) -> bool:
    return array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4))


def in_unit_range(pixels: NDArray[Any], scaling: str = "dtype", which: str = "The image") -> NDArray[np.float32]:
    """Pixels from 0 to 1 in float32; what is transparent is laid on white.

    Parameters
    ----------
    pixels : array of shape (height, width) or (height, width, 3 or 4)
    scaling : {"dtype", "image", "auto"}
        What becomes 1: the largest number of the pixels' type, 255 for uint8 (floats are taken to lie in [0, 1]
        already), or the largest pixel of this image. "auto" is "dtype" for uint8 and "image" for others, which
        hardly ever use all of their range.
    which : what a message calls the image
    """
    check_choice("scaling", scaling, SCALINGS)
    if scaling == "auto":
        scaling = "dtype" if pixels.dtype == np.uint8 else "image"
    if pixels.dtype.kind in "uif":
        _check_values(pixels, scaling, which)
    color = pixels[..., :3] if pixels.ndim == 3 else pixels
    whole = _whole(pixels.dtype)
    one = max(float(color.max()), float(np.finfo(np.float32).tiny)) if scaling == "image" else whole
    scaled = np.multiply(color, np.float32(1 / one), dtype=np.float32)
    if pixels.dtype.kind == "f":
        np.clip(scaled, 0, 1, out=scaled)
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        cover = np.clip(pixels[..., 3:].astype(np.float32) / np.float32(whole), 0, 1)
        scaled = 1 - cover * (1 - scaled)
    return scaled


def _whole(dtype: np.dtype[Any]) -> float:
    return 1.0 if dtype.kind in "fb" else float(np.iinfo(dtype).max)


def _check_values(pixels: NDArray[Any], scaling: str, which: str) -> None:
    if scaling == "dtype" and pixels.dtype.kind in "ui" and pixels.dtype.itemsize > 2:
        raise ValueError(
            f"{which} is of dtype {pixels.dtype}, which does not imply a largest value; convert it to uint8 or "
            'uint16 or use scaling="image".'
        )
    if pixels.dtype.kind == "u":
        return
    if not np.isfinite(pixels).all():
        raise ValueError(f"{which} holds NaN or infinite pixels; fill them first.")
    least, most = float(pixels.min()), float(pixels.max())
    if least < (-OUTSIDE if pixels.dtype.kind == "f" else 0):
        raise ValueError(f"{which} holds negative pixels, down to {least:g}; shift them to 0 and above.")
    if scaling == "dtype" and pixels.dtype.kind == "f" and most > 1 + OUTSIDE:
        raise ValueError(
            f"{which} holds floats up to {most:g}, and floats are taken to lie in [0, 1]; divide them by the "
            'largest possible value or use scaling="image".'
        )


def is_grey(pixels: NDArray[np.float32], tolerance: float = 0.02) -> bool:
    """Whether all channels are nearly the same everywhere."""
    return pixels.ndim == 2 or float(np.ptp(pixels, axis=2).max()) <= tolerance


def as_grey(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """One channel, the weighted mean of red, green and blue."""
    return pixels if pixels.ndim == 2 else pixels @ GREY_WEIGHTS


def as_color(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Three channels, equal ones where there is one only."""
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., np.newaxis], 3, axis=2)
