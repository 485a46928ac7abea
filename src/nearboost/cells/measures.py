"""What is measured of each cell: area, shape, intensity of channels and regions, named as CellProfiler does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.patterns import STAIN
from nearboost.cells.regions import Labels, at_border
from nearboost.cells.segmentation import Segmentation

Rows = NDArray[np.float64]
SHAPES = ("Area", "Perimeter", "FormFactor", "Eccentricity", "MajorAxisLength", "MinorAxisLength", "Extent")
INTENSITIES = ("MeanIntensity", "StdIntensity", "MinIntensity", "MaxIntensity", "IntegratedIntensity")
REGIONS = ("Nuclei", "Cells", "Cytoplasm")
OBJECT, CENTER_X, CENTER_Y = "ObjectNumber", "Location_Center_X", "Location_Center_Y"
FLAGS = ("Flag_Unstained", "Flag_NoNucleus", "Flag_Border")


def measure_cells(
    pictures: Mapping[str, NDArray[Any]], found: Segmentation, floor: float | None = None
) -> dict[str, Rows]:
    """Measure all cells of a field.

    Parameters
    ----------
    pictures : mapping
        Picture of each channel, by role.
    found : Segmentation
        Cells of the field.
    floor : float or None, default=None
        Background of the stain, which is taken off before ratios; None takes off nothing.

    Returns
    -------
    dict
        Columns, with a number for each cell in the order of the numbers. What a region without pixels does not
        have is 0.

    Examples
    --------
    >>> from nearboost.cells import demo_field, measure_cells, segment_field
    >>> field = demo_field()
    >>> cells = segment_field(field.nuclei, field.stain)
    >>> columns = measure_cells({"nuclei": field.nuclei, "stain": field.stain}, cells)
    >>> columns["Nuclei_AreaShape_Area"][:3]
    array([325., 320., 322.])
    >>> columns["Math_RatioNucleiCytoplasm_stain"][:3].round(2)
    array([1.19, 0.84, 1.07])
    """
    numbers = found.numbers
    rows = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    rows[numbers] = np.arange(len(numbers))
    outer = np.where(found.nuclei > 0, 0, found.cells).astype(np.int32)
    regions = dict(zip(REGIONS, (found.nuclei, found.cells, outer), strict=True))
    shapes = {name: _shapes(labels, rows, len(numbers)) for name, labels in regions.items()}
    columns: dict[str, Rows] = {OBJECT: numbers.astype(np.float64)}
    columns[CENTER_X], columns[CENTER_Y] = shapes["Cells"]["x"], shapes["Cells"]["y"]
    border = np.isin(numbers, at_border(found.cells))
    flags = (found.unstained[numbers], shapes["Nuclei"]["Area"] == 0, border)
    columns |= {name: flag.astype(np.float64) for name, flag in zip(FLAGS, flags, strict=True)}
    for name, shape in shapes.items():
        wanted = SHAPES if name != "Cytoplasm" else SHAPES[:1]
        columns |= {f"{name}_AreaShape_{kind}": shape[kind] for kind in wanted}
    for role, picture in pictures.items():
        means = {}
        for name, labels in regions.items():
            values = _intensities(picture, labels, rows, len(numbers))
            columns |= {f"{name}_Intensity_{kind}_{role}": values[kind] for kind in INTENSITIES}
            means[name] = values["MeanIntensity"]
        lower = floor or 0.0 if role == STAIN else 0.0
        columns[ratio_name(role)] = _divided(means["Nuclei"] - lower, means["Cytoplasm"] - lower)
    return columns


def ratio_name(role: str) -> str:
    """The column of the ratio of mean intensities in nucleus and outer region.

    Parameters
    ----------
    role : str
        Of a channel.

    Returns
    -------
    str
        Name of the column.
    """
    return f"Math_RatioNucleiCytoplasm_{role}"


def _shapes(labels: Labels, rows: NDArray[np.int64], n: int) -> dict[str, Rows]:
    from nearboost.kernels.regions import add_shapes

    sums = np.zeros((n, 14))
    sums[:, [6, 8]] = np.inf
    add_shapes(np.pad(labels, 1), rows, sums)
    area, y, x, yy, xx, xy, top, bottom, left, right, across, down, falling, rising = sums.T
    there = area > 0
    y, x = _divided(y, area), _divided(x, area)
    # A pixel is a square, whose own variance is 1/12.
    vertical, horizontal = _divided(yy, area) - y * y + 1 / 12, _divided(xx, area) - x * x + 1 / 12
    mixed = _divided(xy, area) - x * y
    spread = np.sqrt(((vertical - horizontal) / 2) ** 2 + mixed**2)
    middle = (vertical + horizontal) / 2
    long, short = np.maximum(middle + spread, 0), np.maximum(middle - spread, 0)
    # Cauchy and Crofton: mean crossings of lines in four directions, diagonal ones lying closer together.
    perimeter = np.pi / 8 * (across + down + (falling + rising) / 2**0.5)
    height, width = (np.where(there, b - a + 1, 0) for a, b in ((top, bottom), (left, right)))
    return {
        "x": x,
        "y": y,
        "Area": area,
        "Perimeter": perimeter,
        "FormFactor": _divided(4 * np.pi * area, perimeter**2),
        "Eccentricity": np.where(there, np.sqrt(np.maximum(1 - _divided(short, long), 0)), 0),
        "MajorAxisLength": np.where(there, 4 * np.sqrt(long), 0),
        "MinorAxisLength": np.where(there, 4 * np.sqrt(short), 0),
        "Extent": _divided(area, height * width),
    }


def _intensities(picture: NDArray[Any], labels: Labels, rows: NDArray[np.int64], n: int) -> dict[str, Rows]:
    from nearboost.kernels.regions import add_intensities

    sums = np.zeros((n, 5))
    sums[:, 3], sums[:, 4] = np.inf, -np.inf
    add_intensities(picture, labels, rows, sums)
    area, total, squares, least, most = sums.T
    mean = _divided(total, area)
    variance = np.maximum(_divided(squares, area) - mean * mean, 0)
    there = area > 0
    return {
        "MeanIntensity": mean,
        "StdIntensity": np.sqrt(variance),
        "MinIntensity": np.where(there, least, 0),
        "MaxIntensity": np.where(there, most, 0),
        "IntegratedIntensity": total,
    }


def _divided(above: Rows, below: Rows) -> Rows:
    """Quotients, 0 where there is nothing to divide by."""
    sound = below > 0
    return np.where(sound, above / np.where(sound, below, 1), 0)
