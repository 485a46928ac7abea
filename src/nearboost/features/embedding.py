"""Embedding: images through a network that the user has as an ONNX file."""

import hashlib
import os
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from nearboost.base.entries import Array, Coded, Fields, Misfit, Reader, Sizes, Spec, Text, Writer
from nearboost.base.images import as_color, as_grey, as_images, in_unit_range, pixels_of
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.threads import map_in_threads
from nearboost.base.validation import check_positive, check_whole
from nearboost.features.base import FixedDescriptor, resized_to

USUAL_SIZE = 224  # of networks that take any
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
LARGEST_SIZE = 2048
LEAST_CROP = 0.1
# How an ONNX file says that a tensor lies elsewhere: the text "location" in field 1, however numbers are spelt.
ELSEWHERE = re.compile(rb"(\x0a|\x8a\x80*\x00)(\x08|\x88\x80*\x00)location")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Input(NamedTuple):
    """What the network takes: its name, size in pixels, channels, where these stand, and the type of numbers."""

    name: str
    height: int
    width: int
    channels: int
    channels_first: bool
    dtype: Any


@dataclass(frozen=True)
class Network:
    """A network held in memory, as in a model file; `Embedding` takes it in place of a path.

    Attributes
    ----------
    name : str
        Name of the file it was read from.
    content : bytes
        The file's bytes.
    sha256 : str
        Their hash.
    """

    name: str
    content: bytes
    sha256: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a network from a file, which must hold its weights itself.

        Parameters
        ----------
        path : str or path
            An ONNX file.

        Returns
        -------
        Network
            The network.
        """
        content = Path(path).read_bytes()
        network = cls(Path(path).name, content, hashlib.sha256(content).hexdigest())
        network.check()
        return network

    def check(self) -> None:
        """Refuse bytes that do not fit their hash, and weights that lie in other files."""
        if hashlib.sha256(self.content).hexdigest() != self.sha256:
            raise ValueError(f"The network {self.name} does not fit its hash; fetch the model file again.")
        if ELSEWHERE.search(self.content):
            raise ValueError(
                f"The network {self.name} keeps weights in files of their own, which a model file cannot hold; "
                "save the network as one file."
            )

    def __repr__(self) -> str:
        return f"Network({self.name!r}, sha256={self.sha256!r})"


class NetworkEntry(Spec):
    """A network in a model file: its bytes in place of its path, and the name that it had."""

    fields = Fields({"name": Text(1000), "content": Array("uint8", (None,))})

    def kept(self, value: Any) -> Network:
        return value if isinstance(value, Network) else Network.read(value)

    def check(self, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, Network):
            raise Misfit("must be a network")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        content = np.frombuffer(value.content, np.uint8)
        return self.fields.encode({"name": value.name, "content": content}, where, writer)

    def decode(self, coded: Coded, where: str, reader: Reader) -> Network:
        found = self.fields.decode(coded, where, reader)
        self.fields.check(found, {})
        content = found["content"].tobytes()
        return Network(found["name"], content, hashlib.sha256(content).hexdigest())


class Embedding(TransformerMixin, FixedDescriptor):
    """One row per image from any image network in ONNX format, run by onnxruntime.

    An image in [0, 1] is resized, its middle cut out, and each channel standardised by ``mean`` and ``std``.
    Outputs with more than two axes (maps, tokens) are averaged over all positions.

    Parameters
    ----------
    path_to_onnx : str, path or Network
        The network. It must have one input, of shape (1 or any, channels, height, width) or with channels last.
    size : int or None, default=None
        Height and width in pixels, at most 2048. None takes the network's own, or 224 if it takes any.
    crop : float, default=0.875
        Fraction of the resized image's shorter side that is kept, from 0.1 to 1.
    mean : tuple of float or float, default=(0.485, 0.456, 0.406)
        Mean of each channel of pixels in [0, 1], or one for all; the default is ImageNet's.
    std : tuple of float or float, default=(0.229, 0.224, 0.225)
        Standard deviation of each channel, or one for all; the default is ImageNet's.
    output : str or None, default=None
        Name of the output to take; None means the first.
    n_jobs : int or None, default=None
        Number of threads, each with one image; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Notes
    -----
    Needs ``pip install "nearboost[onnx,images]"``. Only whoever trained a network knows how it wants its images:
    check size, crop, mean and deviation. Images go through it one at a time, so that a row does not depend on the
    others. A network whose weights lie in separate files is told from another by its main file alone.

    A model file holds the network itself, weights included, and no path. A network is a program: what is promised
    of model files does not extend to it. Loading one neither reads other files nor imports anything, but how
    long the network takes, how much memory it fills and whether onnxruntime bears its content is up to whoever
    made it, so load networks from people you trust.

    Examples
    --------
    >>> from nearboost.features import Embedding
    >>> rows = Embedding("resnet50.onnx", output="features").transform(["cat.jpg", "dog.jpg"])  # doctest: +SKIP
    >>> rows.shape  # doctest: +SKIP
    (2, 2048)
    """

    model_schema: ClassVar[Schema] = Schema({}, parameters={"path_to_onnx": NetworkEntry()})

    def __init__(
        self,
        path_to_onnx: str | os.PathLike[str] | Network,
        *,
        size: int | None = None,
        crop: float = 0.875,
        mean: tuple[float, ...] | float = IMAGENET_MEAN,
        std: tuple[float, ...] | float = IMAGENET_STD,
        output: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.path_to_onnx = path_to_onnx
        self.size = size
        self.crop = crop
        self.mean = mean
        self.std = std
        self.output = output
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid or the network cannot be loaded."""
        self._prepare()

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The network's output for each image.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.

        Returns
        -------
        ndarray of shape (n_images, n_features), float32
            One row per image.
        """
        takes, output = self._prepare()
        images, session = as_images(X), self._session

        def embed(i: int) -> NDArray[np.float32]:
            pixels = in_unit_range(pixels_of(images[i], f"Image {i}"), which=f"Image {i}")
            [found] = session.run([output], {takes.name: self._preprocess(pixels, takes, f"Image {i}")})
            return as_row(np.asarray(found), takes.channels_first)

        with progress_bar("Embedding", len(images), self.verbose) as advance:
            rows = map_in_threads(embed, range(len(images)), self.n_jobs, advance)
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    def more_for_fingerprint(self) -> str:
        """The content of the file, wherever it lies."""
        if isinstance(self.path_to_onnx, Network):
            return self.path_to_onnx.sha256
        with open(self.path_to_onnx, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _preprocess(self, pixels: NDArray[np.float32], takes: Input, which: str) -> NDArray[Any]:
        colored = as_color(pixels) if takes.channels == 3 else as_grey(pixels)[..., np.newaxis]
        cut = cut_out(colored, takes.height, takes.width, self.crop, which)
        scaled = (cut - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        ordered = scaled.transpose(2, 0, 1) if takes.channels_first else scaled
        return np.ascontiguousarray(ordered[np.newaxis], dtype=takes.dtype)

    def _prepare(self) -> tuple[Input, str]:
        """What the network takes, and the name of the output."""
        check_whole("size", self.size, most=LARGEST_SIZE, optional=True)
        check_positive("crop", self.crop, most=1.0)
        if self.crop < LEAST_CROP:
            raise ValueError(f"crop={self.crop:g} keeps too little of an image; use {LEAST_CROP:g} or more.")
        inputs, outputs = self._session.get_inputs(), [one.name for one in self._session.get_outputs()]
        if len(inputs) != 1:
            raise ValueError(f"{self.path_to_onnx} has {len(inputs)} inputs; give a network that has one, images.")
        if self.output is not None and self.output not in outputs:
            known = ", ".join(map(repr, outputs))
            raise ValueError(f"output={self.output!r} is not one of the network's outputs, {known}.")
        takes = self._read_input(inputs[0])
        for name, values in (("mean", self.mean), ("std", self.std)):
            array = np.asarray(values, dtype=np.float64)
            fits = array.shape in ((), (1,), (takes.channels,)) and np.isfinite(array).all()
            if not fits or (name == "std" and not (array > 0).all()):
                raise ValueError(f"{name}={values!r} must be {takes.channels} numbers, one for each channel.")
        return takes, self.output or outputs[0]

    def _read_input(self, one: Any) -> Input:
        shape = [side if isinstance(side, int) else None for side in one.shape]
        first = len(shape) == 4 and shape[1] in (1, 3)
        fits = len(shape) == 4 and (first or shape[3] in (1, 3)) and shape[0] in (1, None)
        if not fits or one.type not in TYPES:
            raise ValueError(
                f"{self.path_to_onnx} takes {one.type} of shape {one.shape}; give a network for floats of shape "
                "(1 or any, channels, height, width) or (1 or any, height, width, channels), channels 1 or 3."
            )
        channels, *sides = (shape[1], shape[2], shape[3]) if first else (shape[3], shape[1], shape[2])
        if self.size is not None and any(side not in (None, self.size) for side in sides):
            raise ValueError(f"size={self.size} is not the network's {sides}; use size=None.")
        height, width = (side or self.size or USUAL_SIZE for side in sides)
        return Input(one.name, height, width, channels or 3, first, TYPES[one.type])

    @property
    def _session(self) -> Any:
        """The network, loaded when it is first needed or has changed."""
        source = self._source()
        if isinstance(source, Network):
            key: tuple[Any, ...] = (source.sha256,)
        else:
            key = (str(source), source.stat().st_mtime_ns, source.stat().st_size)
        if self.__dict__.get("_loaded", (None,))[0] != key:
            self._loaded = (key, load_network(source))
        return self._loaded[1]

    def _source(self) -> Path | Network:
        if isinstance(self.path_to_onnx, Network):
            return self.path_to_onnx
        path = Path(self.path_to_onnx)
        if not path.is_file():
            raise ValueError(f"path_to_onnx={str(path)!r} is not a file; give that of a network.")
        return path

    def __getstate__(self) -> Any:
        """Everything but the loaded network."""
        return {name: value for name, value in super().__getstate__().items() if name != "_loaded"}


def load_network(network: Path | Network) -> Any:
    """Of one thread, because several images go through at once."""
    try:
        onnxruntime = import_module("onnxruntime")
    except ImportError as error:
        raise ImportError('Networks need onnxruntime: pip install "nearboost[onnx]"') from error
    if isinstance(network, Network):
        network.check()
    source = network.content if isinstance(network, Network) else str(network)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.load_model_format", "ONNX")  # whatever the content says of itself
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no base of their own
        said = str(error).partition("\n")[0]
        raise ValueError(f"{network} could not be loaded as a network ({said}).") from error


def cut_out(
    pixels: NDArray[np.float32], height: int, width: int, crop: float, which: str = "The image"
) -> NDArray[np.float32]:
    """The middle of an image, resized so that it fills height and width with the share ``crop`` of a side."""
    factor = max(height / pixels.shape[0], width / pixels.shape[1]) / crop
    rows, columns = max(height, round(pixels.shape[0] * factor)), max(width, round(pixels.shape[1] * factor))
    resized = resized_to(pixels, rows, columns, which)
    top, left = (rows - height) // 2, (columns - width) // 2
    return np.asarray(resized[top : top + height, left : left + width])


def as_row(found: NDArray[Any], channels_first: bool) -> NDArray[np.float32]:
    """An output for one image as one row: maps are averaged over places, sequences over tokens."""
    one = found[0].astype(np.float32)
    if one.ndim == 2:
        return np.asarray(one.mean(axis=0))
    if one.ndim == 3:
        return np.asarray(one.mean(axis=(1, 2) if channels_first else (0, 1)))
    return one.ravel()
