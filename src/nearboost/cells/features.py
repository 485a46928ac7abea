"""Descriptors of cells: bio-inspired features of nucleus and outer region, a whole field in one filtering."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.base.validation import check_flag, check_whole, check_wholes
from nearboost.cells.segmentation import Segmentation
from nearboost.features.base import check_length
from nearboost.features.bif import LARGEST_SCALE, MOST_SCALES, region_histograms


@dataclass(frozen=True)
class FeatureSettings:
    """How cells are described.

    Parameters
    ----------
    scales : tuple of int, default=(1, 2, 3, 4, 5)
        One histogram per scale and region; 1 is the finest, 10 the coarsest.
    bins : int, default=32
        Bins of a histogram.
    regions : int, default=2
        2 for nucleus and outer region, 1 for the whole cell.
    root : bool, default=True
        Whether bins are square roots of shares.

    Examples
    --------
    >>> from nearboost.cells import FeatureSettings, demo_field, describe_cells, segment_field
    >>> field = demo_field()
    >>> cells = segment_field(field.nuclei, field.stain)
    >>> describe_cells(field.stain, cells, FeatureSettings(scales=(1, 2), bins=16)).shape
    (30, 64)
    """

    scales: tuple[int, ...] = (1, 2, 3, 4, 5)
    bins: int = 32
    regions: int = 2
    root: bool = True

    def __post_init__(self) -> None:
        check_wholes("scales", self.scales, LARGEST_SCALE, n_most=MOST_SCALES, such_as=(1, 2, 3, 4, 5))
        check_whole("bins", self.bins)
        if self.regions not in (1, 2):
            raise UsageError(f"regions={self.regions!r} must be 2, for nucleus and outer region, or 1.")
        check_flag("root", self.root)
        check_length(self.n_numbers, "use fewer scales or bins")

    @property
    def n_numbers(self) -> int:
        """Numbers that describe a cell."""
        return len(self.scales) * self.regions * self.bins

    def as_json(self) -> dict[str, Any]:
        """The settings by name.

        Returns
        -------
        dict
            Plain values.
        """
        return asdict(self) | {"scales": list(self.scales)}

    @classmethod
    def of_json(cls, given: Any, where: str) -> "FeatureSettings":
        """Settings from a file.

        Parameters
        ----------
        given : dict
            Values by name.
        where : str
            What messages call the file.

        Returns
        -------
        FeatureSettings
            Checked settings.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(given, dict) or not set(given) <= set(known):
            raise UsageError(f"{where} has settings of features that are not known; use {', '.join(known)}.")
        try:
            scales = given.get("scales", cls.scales)
            return cls(**given | {"scales": tuple(scales) if isinstance(scales, list) else scales})
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None

    def names(self) -> list[str]:
        """A name for each number.

        Returns
        -------
        list of str
            By scale, region and bin.
        """
        regions = ("Nuclei", "Cytoplasm") if self.regions == 2 else ("Cells",)
        return [
            f"{region}_BIF_Scale{scale}_Bin{place:03}"
            for scale in self.scales
            for region in regions
            for place in range(self.bins)
        ]


PRESETS = {
    "localisation": FeatureSettings(),
    "thesis-thyroid": FeatureSettings(scales=(5,)),
    "hep2": FeatureSettings(scales=(1, 2, 3, 4), bins=256, regions=1),
}


def find_preset(name: str) -> FeatureSettings:
    """The settings of a preset.

    Parameters
    ----------
    name : str
        One of `PRESETS`.

    Returns
    -------
    FeatureSettings
        Its settings.
    """
    if name not in PRESETS:
        raise UsageError(f"Unknown features {name!r}; use {', '.join(PRESETS)}.")
    return PRESETS[name]


def describe_cells(
    picture: NDArray[Any], found: Segmentation, settings: FeatureSettings | None = None
) -> NDArray[np.float32]:
    """Describe all cells of a field; each is scaled by its own brightest pixel.

    Parameters
    ----------
    picture : ndarray of shape (height, width)
        The stain to describe.
    found : Segmentation
        Cells of the field.
    settings : FeatureSettings or None, default=None
        None means the preset "localisation".

    Returns
    -------
    ndarray of float32 of shape (n_cells, n_numbers)
        A row for each cell in the order of the numbers.

    Notes
    -----
    Filters are linear, so that the field is filtered once at each scale and cells are scaled afterwards. At its
    border a cell sees its neighbours, where a crop would see its own edge again.

    Examples
    --------
    >>> from nearboost.cells import demo_field, describe_cells, segment_field
    >>> field = demo_field()
    >>> cells = segment_field(field.nuclei, field.stain)
    >>> describe_cells(field.stain, cells).shape
    (30, 320)
    """
    settings = settings or FeatureSettings()
    numbers = found.numbers
    n = len(numbers)
    places = np.zeros(int(numbers.max(initial=0)) + 1, np.int32)
    places[numbers] = np.arange(1, n + 1)
    cells = places[found.cells]
    pixels = np.asarray(picture, dtype=np.float32)
    brightest = np.full(n + 1, -np.inf)
    np.maximum.at(brightest, cells.ravel(), pixels.ravel())
    gains = 1 / np.maximum(brightest[1:], np.finfo(np.float32).tiny)
    if settings.regions == 2:
        cells = np.where(cells > 0, 2 * cells - (found.nuclei > 0), 0).astype(np.int32)
        gains = np.repeat(gains, 2)
    shares = region_histograms(pixels, cells, gains, settings.scales, settings.bins)
    by_cell = shares.reshape(len(settings.scales), n, settings.regions * settings.bins).transpose(1, 0, 2)
    rows = by_cell.reshape(n, settings.n_numbers)
    return np.sqrt(rows) if settings.root else np.ascontiguousarray(rows)
