"""Made-up fields of two channels whose truth is known: masks, classes, and the dose that half of the cells answer.

A cell is *diffuse* or *granular*. The ratio of stain in nucleus and outer region differs a little between the two,
so that a threshold on it is right for four of five cells at most; the grain of the stain tells them apart.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import write_text
from nearboost.base.images import needs
from nearboost.base.progress import progress_bar
from nearboost.base.tables import write_table
from nearboost.cells.bodies import expanded
from nearboost.cells.filters import blurred
from nearboost.cells.regions import Labels

CLASSES = ("diffuse", "granular")
DIAMETER = 20.0  # of a nucleus, in pixels
TOUCHING = 0.2  # of the nuclei touch another one
LOG_RATIOS, RATIO_DEVIATION = (-0.12, 0.12), 0.22  # of the stain in nucleus and outer region: Φ(0.24/0.44) = 0.71
EC50, SLOPE = 3.0, 1.5  # of the share of granular cells
DOSES = (0.3, 1.0, 2.0, 4.0, 10.0, 30.0)
SHARES = {"negative": 0.05, "positive": 0.95}
README = """Made-up fields of two channels; see `nearboost cells demo --help`.

images/     one file for each channel: demo_WELL_sSITE_nuclei.tif and demo_WELL_sSITE_stain.tif
truth/      masks of nuclei and of cells, as demo_WELL_sSITE_nuclei_mask.tif and demo_WELL_sSITE_stain_mask.tif
truth.csv   the class of each cell, and a point inside it
layout.csv  dose and control of each well; half of the cells answer to a dose of 3
"""


@dataclass(frozen=True, eq=False)
class DemoField:
    """A field with its truth.

    Attributes
    ----------
    nuclei : ndarray of uint16 of shape (height, width)
        Picture of the nuclei.
    stain : ndarray of uint16 of shape (height, width)
        Picture of the cells' stain.
    nucleus_labels : ndarray of int32 of shape (height, width)
        True nuclei, from 1 on.
    cell_labels : ndarray of int32 of shape (height, width)
        True cells, by the same numbers.
    classes : ndarray of str of shape (n_cells,)
        Class of each cell, in the order of the numbers.
    touching : ndarray of bool of shape (n_cells,)
        Whether its nucleus was put beside another one.
    """

    nuclei: NDArray[np.uint16]
    stain: NDArray[np.uint16]
    nucleus_labels: Labels
    cell_labels: Labels
    classes: NDArray[np.str_]
    touching: NDArray[np.bool_]


def demo_field(
    seed: int = 0, *, granular: float = 0.5, n_cells: int = 30, shape: tuple[int, int] = (256, 256)
) -> DemoField:
    """Make a field.

    Parameters
    ----------
    seed : int, default=0
        Equal seeds give equal fields.
    granular : float, default=0.5
        Share of the granular cells.
    n_cells : int, default=30
        Cells to place; a full field takes fewer.
    shape : tuple of int, default=(256, 256)
        Height and width.

    Returns
    -------
    DemoField
        Pictures and truth.

    Examples
    --------
    >>> from nearboost.cells import demo_field
    >>> field = demo_field(seed=1, n_cells=12)
    >>> field.stain.shape, field.cell_labels.max(), sorted(set(field.classes.tolist()))
    ((256, 256), np.int32(12), ['diffuse', 'granular'])
    """
    random = np.random.default_rng(seed)
    places, touching = _places(random, n_cells, shape)
    n = len(places)
    nuclei = _nuclei(random, places, shape)
    radius = random.uniform(0.85, 1.05, n) * DIAMETER
    y, x = np.mgrid[: shape[0], : shape[1]]
    near = np.zeros(shape, bool)
    for (a, b), reach in zip(places, radius, strict=True):
        near |= (y - a) ** 2 + (x - b) ** 2 <= reach**2
    cells = expanded(nuclei, near | (nuclei > 0), np.zeros(shape, np.float32), 1.0)
    is_granular = random.random(n) < granular
    classes = np.where(is_granular, CLASSES[1], CLASSES[0])
    return DemoField(
        _photons(random, 40 + _brightness(random, nuclei, random.uniform(700, 1300, n))),
        _photons(random, 60 + _stain(random, nuclei, cells, is_granular)),
        nuclei,
        cells,
        classes,
        touching,
    )


def write_demo(
    folder: Path, *, seed: int = 0, repeats: int = 3, size: int = 256, n_cells: int = 30, verbose: int = 0
) -> dict[str, int]:
    """Write a plate of made-up fields: controls and a row of doses.

    Parameters
    ----------
    folder : Path
        Gets images, masks, ``truth.csv`` and ``layout.csv``.
    seed : int, default=0
        Equal seeds give equal files.
    repeats : int, default=3
        Wells of each control and of each dose.
    size : int, default=256
        Height and width of a field.
    n_cells : int, default=30
        Cells of each field.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Returns
    -------
    dict
        Numbers of wells and cells.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = write_demo(Path(folder) / "plate", repeats=1, size=96, n_cells=5)
    ...     files = sorted(path.name for path in (Path(folder) / "plate").iterdir())
    >>> made, files
    ({'wells': 8, 'cells': 40}, ['README.txt', 'images', 'layout.csv', 'truth', 'truth.csv'])
    """
    tifffile = needs("tifffile")
    for name in ("images", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    layout, shares = _layout(repeats)
    truth: dict[str, list[object]] = {name: [] for name in ("plate", "well", "site", "x", "y", "class")}
    with progress_bar("Making fields", len(layout["well"]), verbose) as advance:
        for number, (well, share) in enumerate(zip(layout["well"], shares, strict=True)):
            made = demo_field(seed * 1000 + number, granular=share, n_cells=n_cells, shape=(size, size))
            for name, pixels in (("nuclei", made.nuclei), ("stain", made.stain)):
                tifffile.imwrite(folder / "images" / f"demo_{well}_s1_{name}.tif", pixels)
            for name, labels in (("nuclei", made.nucleus_labels), ("stain", made.cell_labels)):
                tifffile.imwrite(folder / "truth" / f"demo_{well}_s1_{name}_mask.tif", labels.astype(np.uint16))
            for cell, kind in enumerate(made.classes.tolist(), start=1):
                y, x = _point_inside(made.nucleus_labels == cell)
                values = ("demo", well, "1", x, y, kind)
                for column, value in zip(truth.values(), values, strict=True):
                    column.append(value)
            advance()
    write_table(folder / "layout.csv", layout)
    write_table(folder / "truth.csv", truth)
    write_text(folder / "README.txt", README)
    return {"wells": len(layout["well"]), "cells": len(truth["class"])}


def _layout(repeats: int) -> tuple[dict[str, list[object]], list[float]]:
    """Controls in the first and last columns, doses between; and the share of granular cells that follows."""
    wells: list[tuple[str, float, str, float]] = []
    for row in range(repeats):
        letter = chr(ord("A") + row % 26)
        wells.append((f"{letter}01", 0.0, "negative", SHARES["negative"]))
        for column, dose in enumerate(DOSES, start=2):
            answer = dose**SLOPE / (EC50**SLOPE + dose**SLOPE)
            share = SHARES["negative"] + (SHARES["positive"] - SHARES["negative"]) * answer
            wells.append((f"{letter}{column:02}", dose, "", share))
        wells.append((f"{letter}{len(DOSES) + 2:02}", 1000.0, "positive", SHARES["positive"]))
    names, doses, controls, shares = (list(column) for column in zip(*wells, strict=True))
    return {"plate": ["demo"] * len(wells), "well": names, "dose": doses, "control": controls}, shares


def _places(
    random: np.random.Generator, n_cells: int, shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Centres of nuclei, some in pairs that touch, the others apart."""
    places: list[tuple[float, float]] = []
    touching: list[bool] = []
    margin = 0.4 * DIAMETER
    for _ in range(60 * n_cells):
        if len(places) >= n_cells:
            break
        centre = random.uniform(margin, shape[0] - margin), random.uniform(margin, shape[1] - margin)
        angle = random.uniform(0, 2 * np.pi)
        partner = centre[0] + 0.92 * DIAMETER * np.sin(angle), centre[1] + 0.92 * DIAMETER * np.cos(angle)
        paired = sum(touching) < TOUCHING * n_cells - 1
        group = [centre, partner] if paired else [centre]
        inside = all(margin <= a <= shape[0] - margin and margin <= b <= shape[1] - margin for a, b in group)
        if inside and all(np.hypot(a - c, b - d) > 1.4 * DIAMETER for a, b in group for c, d in places):
            places += group
            touching += [paired] * len(group)
    return np.array(places).reshape(-1, 2), np.array(touching, dtype=bool)


def _nuclei(random: np.random.Generator, places: NDArray[np.float64], shape: tuple[int, int]) -> Labels:
    """Ellipses; where two overlap, a pixel belongs to the one it lies deeper in."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    depth, labels = np.full(shape, 1.0), np.zeros(shape, np.int32)
    for number, (a, b) in enumerate(places, start=1):
        angle, long = random.uniform(0, np.pi), random.uniform(1.0, 1.12)
        along = (y - a) * np.sin(angle) + (x - b) * np.cos(angle)
        across = (y - a) * np.cos(angle) - (x - b) * np.sin(angle)
        own = ((along / long) ** 2 + (across * long) ** 2) / (DIAMETER / 2) ** 2
        labels = np.where(own < depth, number, labels).astype(np.int32)
        depth = np.minimum(depth, own)
    return labels


def _brightness(random: np.random.Generator, labels: Labels, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each region at its level, with some texture, seen through a lens."""
    texture = blurred(random.normal(0, 1, labels.shape).astype(np.float32), 1.5)
    picture = np.append(0.0, levels)[labels] * (1 + 0.3 * texture)
    return blurred(picture.astype(np.float32), 1.0).astype(np.float64)


def _stain(
    random: np.random.Generator, nuclei: Labels, cells: Labels, is_granular: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Levels by cell and region; the grains of a granular cell add nothing to its mean."""
    n = len(is_granular)
    levels = random.uniform(300, 900, n)
    centre = np.where(is_granular, LOG_RATIOS[1], LOG_RATIOS[0])
    ratios = np.exp(random.normal(centre, RATIO_DEVIATION))
    outer, inner = np.append(0.0, levels), np.append(0.0, levels * ratios)
    picture = np.where(nuclei > 0, inner[nuclei], outer[cells])
    fine = blurred(random.normal(0, 1, cells.shape).astype(np.float32), 1.0)
    coarse = blurred(random.normal(0, 1, cells.shape).astype(np.float32), 5.0)
    grains = np.maximum(fine / fine.std() - 0.3, 0)
    grains /= grains.mean()
    is_grain = np.append(False, is_granular)[cells] & (nuclei == 0)
    picture = picture * np.where(is_grain, 0.55 + 0.45 * grains, 1 + 0.1 * coarse / coarse.std())
    return blurred(picture.astype(np.float32), 0.8).astype(np.float64)


def _photons(random: np.random.Generator, picture: NDArray[np.float64]) -> NDArray[np.uint16]:
    return np.minimum(random.poisson(np.maximum(picture, 0)) + 100, 65535).astype(np.uint16)


def _point_inside(mask: NDArray[np.bool_]) -> tuple[int, int]:
    """The pixel of a region that is nearest to its middle."""
    y, x = np.nonzero(mask)
    nearest = int(np.argmin((y - y.mean()) ** 2 + (x - x.mean()) ** 2))
    return int(y[nearest]), int(x[nearest])
