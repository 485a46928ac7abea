"""The images of one command: each file is hashed once and decoded once, whoever asks for it."""

import base64
import hashlib
import io
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import ImageError, in_unit_range, needs, pixels_of
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads

PIXEL_MEMORY, THUMBNAIL_MEMORY = 2**30, 2**28  # bytes
SIDE = 64  # of thumbnails, in pixels


class Content(NamedTuple):
    """SHA-256 of a file, or "" and what keeps it from being read; and the file's state when it was hashed."""

    digest: str
    problem: str = ""
    state: tuple[int, ...] = ()


def hash_file(path: str | os.PathLike[str]) -> Content:
    """The content of a file."""
    try:
        with open(path, "rb") as file:
            state = _state(os.fstat(file.fileno()))
            return Content(hashlib.file_digest(file, "sha256").hexdigest(), state=state)
    except OSError as error:
        return Content("", f"{path} cannot be opened: {error.strerror}.")


def path_of(item: Any) -> str:
    """The path of an image that is given as a file."""
    if not isinstance(item, str | os.PathLike):
        raise TypeError(f"A store needs paths of files, not {type(item).__name__}; save images to files first.")
    return os.fspath(item)


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _together(image: Content, mask: Content) -> str:
    """Of an image and its mask; nothing where the image cannot be read, as for the image alone."""
    both = f"{image.digest} {mask.digest}".encode()
    return hashlib.sha256(both).hexdigest() if image.digest else ""


def _has_changed(path: str, content: Content) -> bool:
    try:
        return _state(os.stat(path)) != content.state
    except OSError:
        return True


class ImageSet(Sequence[Any]):
    """Images given as paths, arrays or Pillow images; their pixels are decoded when they are asked for.

    Kept pixels take at most 1 GiB, thumbnails 256 MiB. What does not fit is decoded anew each time.

    Parameters
    ----------
    items : sequence
        The images.
    decode : bool, default=True
        Whether pixels are handed out; otherwise items are, as they were given.
    thumbnails : bool, default=False
        Whether a small copy of each image is made while its pixels are at hand.
    keep_pixels : bool, default=False
        Whether pixels are kept for steps that look at images again, such as learning and then describing.
    contents : mapping or None, default=None
        `Content` of files that were hashed before, by path.
    masks : sequence of paths or None, default=None
        A mask for each image, for descriptors that look inside of masks.
    """

    def __init__(
        self,
        items: Sequence[Any],
        *,
        decode: bool = True,
        thumbnails: bool = False,
        keep_pixels: bool = False,
        contents: Mapping[str, Content] | None = None,
        masks: Sequence[str] | None = None,
    ) -> None:
        self._decode = decode
        self._shared = _Images(items, thumbnails, keep_pixels, contents or {}, masks)
        self._numbers: Sequence[int] = range(len(items))

    @classmethod
    def of(cls, images: Any, *, keep_pixels: bool = False) -> "ImageSet":
        """The set itself, or one of the images given."""
        return images if isinstance(images, ImageSet) else cls(images, keep_pixels=keep_pixels)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        """The pixels of an image; raises `ImageError` if it cannot be read."""
        return self._shared.pixels(self._numbers[index]) if self._decode else self.item(index)

    def item(self, index: int) -> Any:
        """An image as it was given."""
        return self._shared.items[self._numbers[index]]

    def take(self, indices: Iterable[int]) -> "ImageSet":
        """Some of the images; what is known of them stays known."""
        some = ImageSet((), decode=self._decode)
        some._shared, some._numbers = self._shared, [self._numbers[i] for i in indices]
        return some

    @property
    def has_masks(self) -> bool:
        return self._shared.masks is not None

    def mask(self, index: int) -> str | None:
        """The path of an image's mask."""
        masks = self._shared.masks
        return None if masks is None else masks[self._numbers[index]]

    def contents(self, n_jobs: int | None = None, verbose: int = 0) -> list[Content]:
        """The content of each file, hashed when it is first asked for."""
        return self._hashed([path_of(self.item(i)) for i in range(len(self))], n_jobs, verbose)

    def masked_contents(self, n_jobs: int | None = None, verbose: int = 0) -> list[Content]:
        """The content of each file together with that of its mask; of the file alone where there are no masks."""
        contents = self.contents(n_jobs, verbose)
        if not self.has_masks:
            return contents
        masks = self._hashed([str(self.mask(i)) for i in range(len(self))], n_jobs, verbose)
        return [one._replace(digest=_together(one, mask)) for one, mask in zip(contents, masks, strict=True)]

    def _hashed(self, paths: Sequence[str], n_jobs: int | None, verbose: int) -> list[Content]:
        known = self._shared.contents
        unknown = [path for path in dict.fromkeys(paths) if path not in known]
        with progress_bar("Reading files", len(unknown), verbose if unknown else 0) as advance:
            known.update(zip(unknown, map_in_threads(hash_file, unknown, n_jobs, advance), strict=True))
        return [known[path] for path in paths]

    def has_changed(self, index: int) -> bool:
        """Whether a file is no longer the one that was hashed."""
        path = os.fspath(self.item(index))
        return _has_changed(path, self._shared.contents[path])

    def readable(self, n_jobs: int | None = None, verbose: int = 0) -> list[int]:
        """The images that can be decoded: a step that learns would stop at a broken one."""

        def can_be_read(number: int) -> bool:
            try:
                self._shared.pixels(number)
            except ImageError:
                return False
            return True

        with progress_bar("Reading images", len(self), verbose) as advance:
            found = map_in_threads(can_be_read, self._numbers, n_jobs, advance)
        return [i for i, is_sound in enumerate(found) if is_sound]

    def thumbnail(self, index: int) -> bytes | None:
        """A small JPEG file; None for an image that cannot be read."""
        return self._shared.thumbnail(self._numbers[index])

    def release_pixels(self) -> None:
        """Forget the pixels that were kept, and keep no more."""
        self._shared.kept = _Kept(0)


class _Images:
    """What an `ImageSet` shares with the sets taken from it."""

    def __init__(
        self,
        items: Sequence[Any],
        thumbnails: bool,
        keep_pixels: bool,
        contents: Mapping[str, Content],
        masks: Sequence[str] | None,
    ) -> None:
        self.items = list(items)
        self.masks = None if masks is None else list(masks)
        self.contents = {path: known for path, known in contents.items() if not _has_changed(path, known)}
        self.kept = _Kept(PIXEL_MEMORY if keep_pixels else 0)
        self._small = _Kept(THUMBNAIL_MEMORY)
        self._thumbnails = thumbnails
        self._errors: dict[int, ImageError] = {}

    def pixels(self, number: int) -> NDArray[Any]:
        if number in self.kept:
            return self.kept[number]
        if number in self._errors:
            raise self._errors[number]
        try:
            pixels = pixels_of(self.items[number])
        except ImageError as error:
            if error.__cause__ is not None:
                error.__cause__.__traceback__ = None  # its frames hold what the decoder has made so far
            self._errors[number] = error
            raise
        self.kept.keep(number, pixels, pixels.nbytes)
        if self._thumbnails and number not in self._small:
            small = make_thumbnail(pixels)
            self._small.keep(number, small, len(small))
        return pixels

    def thumbnail(self, number: int) -> bytes | None:
        if number not in self._small:
            try:
                pixels = self.pixels(number)
            except ImageError:
                return None
            if number not in self._small:
                return make_thumbnail(pixels) or None
        return self._small[number] or None


class _Kept(dict[int, Any]):
    """Values that take so many bytes at most; others are not kept."""

    def __init__(self, n_bytes: int) -> None:
        self._free, self._lock = n_bytes, threading.Lock()

    def keep(self, key: int, value: Any, size: int) -> None:
        with self._lock:
            if size <= self._free:
                self[key] = value
                self._free -= size


def make_thumbnail(pixels: NDArray[Any]) -> bytes:
    """A JPEG file of at most 64 pixels in each direction; deep and dark images are stretched to be seen.

    Nothing for numbers that are no pixels, such as negative ones.
    """
    try:
        image = needs("PIL.Image").fromarray(_as_bytes(pixels)).convert("RGB")
    except ValueError:
        return b""
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=80)
    return file.getvalue()


def _as_bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Grey or RGB; bytes stay as they are, unless they are transparent."""
    if pixels.dtype == np.uint8 and (pixels.ndim == 2 or pixels.shape[2] == 3):
        return pixels
    scaled = in_unit_range(pixels, "auto")
    return (255 * scaled + 0.5).astype(np.uint8)


def data_address(picture: bytes) -> str:
    """The address of a page's image that holds the JPEG file itself."""
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
