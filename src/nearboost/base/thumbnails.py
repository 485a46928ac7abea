"""Small copies of images, for pages and model files."""

import base64
import io
import os

import numpy as np

from nearboost.base.images import as_color, in_unit_range, needs, read_image

SIDE = 64


def thumbnail(path: str | os.PathLike[str], side: int = SIDE) -> bytes:
    """A JPEG file of at most ``side`` pixels in each direction; deep and dark images are stretched to be seen."""
    pillow = needs("PIL.Image")
    pixels = read_image(path)
    scaling = "dtype" if pixels.dtype == np.uint8 else "image"
    color = np.clip(as_color(in_unit_range(pixels, scaling, str(path))), 0, 1)
    image = pillow.fromarray((255 * color + 0.5).astype(np.uint8))
    image.thumbnail((side, side))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=80)
    return file.getvalue()


def as_address(picture: bytes, kind: str = "jpeg") -> str:
    """The picture itself in the address of a page's image."""
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
