"""A field's nuclei and cells, numbered alike."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.bodies import grow_cells, ring_cells, stain_floor
from nearboost.cells.nuclei import estimate_diameter, find_nuclei
from nearboost.cells.regions import Labels, at_border, between, kept, renumbered
from nearboost.cells.settings import SegmentationSettings

LARGEST_PIXEL = 1e12  # sums of squares of a picture stay within float32


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The cells of a field.

    Attributes
    ----------
    nuclei : ndarray of int32 of shape (height, width)
        Number of the cell whose nucleus a pixel belongs to, 0 outside.
    cells : ndarray of int32 of shape (height, width)
        Number of the cell that a pixel belongs to, nuclei included.
    unstained : ndarray of bool of shape (n_numbers,)
        Cells, from number 0 on, without stain around their nucleus, whose outer region is a ring.

    Examples
    --------
    >>> from nearboost.cells import demo_field, segment_field
    >>> field = demo_field()
    >>> found = segment_field(field.nuclei, field.stain)
    >>> found.nuclei.shape, len(found.numbers), bool((found.cells[found.nuclei > 0] > 0).all())
    ((256, 256), 30, True)
    """

    nuclei: Labels
    cells: Labels
    unstained: NDArray[np.bool_]

    @property
    def numbers(self) -> NDArray[np.int32]:
        """Numbers of the cells, in increasing order."""
        found = np.unique(self.cells)
        return found[found > 0]


def segment_field(
    nuclei: NDArray[np.generic],
    stain: NDArray[np.generic] | None = None,
    settings: SegmentationSettings | None = None,
    *,
    floor: float | None = None,
) -> Segmentation:
    """Find the nuclei and the cells of a field.

    The result depends on nothing but the arguments: not on the number of threads, nor on other fields.

    Parameters
    ----------
    nuclei : ndarray of shape (height, width)
        Picture of the nuclear stain.
    stain : ndarray of shape (height, width) or None, default=None
        Picture of the cells' stain; None makes each cell of its nucleus and a ring.
    settings : SegmentationSettings or None, default=None
        None means the usual ones.
    floor : float or None, default=None
        Background of the stain, the lowest of the plate (see `stain_floor`); None takes this field's.

    Returns
    -------
    Segmentation
        Nuclei and cells with the same numbers, from 1 on.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.cells import segment_field
    >>> y, x = np.mgrid[:60, :90]
    >>> spots = [(30, 25), (30, 60)]
    >>> nuclei = sum(1000.0 * ((y - a) ** 2 + (x - b) ** 2 < 8**2) for a, b in spots)
    >>> stain = sum(500.0 * ((y - a) ** 2 + (x - b) ** 2 < 14**2) for a, b in spots)
    >>> found = segment_field(nuclei, stain)
    >>> found.numbers.tolist(), found.unstained.tolist()
    ([1, 2], [False, False, False])
    """
    settings = settings or SegmentationSettings()
    for name, picture in (("nuclei", nuclei), ("stain", stain)):
        if picture is not None:
            check_picture(picture, f"The picture of the {name}")
    if stain is not None and stain.shape != nuclei.shape:
        raise ValueError(f"Nuclei of shape {nuclei.shape} and stain of shape {stain.shape} must be equal in size.")
    diameter = settings.nucleus_diameter or estimate_diameter(nuclei)
    if diameter is None:
        empty = np.zeros(nuclei.shape, np.int32)
        return Segmentation(empty, empty.copy(), np.zeros(1, bool))
    labels = find_nuclei(nuclei, replace(settings, nucleus_diameter=diameter))
    if stain is None:
        cells, unstained = ring_cells(labels, diameter), np.zeros(int(labels.max(initial=0)) + 1, bool)
    else:
        floor = stain_floor(stain, diameter) if floor is None else floor
        cells, unstained = grow_cells(stain, labels, diameter, floor, settings)
    unstained[0] = False
    found = selected(Segmentation(labels, cells, unstained), settings)
    return found if len(found.numbers) == int(labels.max(initial=0)) else _numbered_anew(found)


def selected(found: Segmentation, settings: SegmentationSettings) -> Segmentation:
    """The cells whose sizes are within the limits, and which touch no border where those are to be dropped.

    Parameters
    ----------
    found : Segmentation
        All cells.
    settings : SegmentationSettings
        Limits and border.

    Returns
    -------
    Segmentation
        The others, with the numbers that they had.
    """
    wanted = np.ones(len(found.unstained), bool)
    if settings.border == "drop":
        wanted[at_border(found.cells)] = False
    for labels, smallest, largest in (
        (found.nuclei, settings.smallest_nucleus, settings.largest_nucleus),
        (found.cells, settings.smallest_cell, settings.largest_cell),
    ):
        sizes = np.bincount(labels.ravel(), minlength=len(wanted))
        wanted &= between(sizes, smallest, largest) | (sizes == 0)  # a cell without nucleus has none too small
    return Segmentation(kept(found.nuclei, wanted), kept(found.cells, wanted), found.unstained & wanted)


def _numbered_anew(found: Segmentation) -> Segmentation:
    both = renumbered(np.stack([found.cells, found.nuclei]).reshape(2 * found.cells.shape[0], -1))
    cells, nuclei = both.reshape(2, *found.cells.shape)
    return Segmentation(nuclei, cells, found.unstained[np.append(0, found.numbers)])


def check_picture(picture: NDArray[np.generic], which: str) -> None:
    """Refuse what no segmentation can be made of.

    Parameters
    ----------
    picture : ndarray
        Pixels.
    which : str
        What the message calls it.
    """
    if picture.ndim != 2 or min(picture.shape, default=0) < 3 or picture.dtype.kind not in "buif":
        raise ValueError(
            f"{which} has shape {picture.shape} and dtype {picture.dtype}; give numbers of shape (height, width), "
            "at least 3 x 3."
        )
    if picture.dtype.kind == "f" and not np.isfinite(picture).all():
        raise ValueError(f"{which} holds NaN or infinite pixels; fill them first.")
    if max(abs(float(picture.min())), abs(float(picture.max()))) > LARGEST_PIXEL:
        raise ValueError(
            f"{which} holds pixels beyond {LARGEST_PIXEL:.0e}, which a damaged file has; export it anew."
        )
