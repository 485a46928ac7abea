"""What segmentation can be told. One length decides, the nucleus; all others follow from it."""

from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

from nearboost.base.errors import UsageError

LEAST_DIAMETER, LARGEST_DIAMETER = 4.0, 1000.0  # pixels of a nucleus
BORDERS = ("keep", "drop")


@dataclass(frozen=True)
class SegmentationSettings:
    """How nuclei and cells are found.

    Parameters
    ----------
    nucleus_diameter : float or None, default=None
        Of a typical nucleus, in pixels; None estimates it.
    border : {"keep", "drop"}, default="keep"
        What becomes of cells that touch the border of the field.
    smallest_nucleus : float or None, default=None
        Smaller nuclei are left out: the diameter of a disc of their area, in pixels; None means 0.32 of
        ``nucleus_diameter`` where nuclei are found, and no limit for masks of another program.
    largest_nucleus : float or None, default=None
        Larger ones are left out, likewise; None means 4 of ``nucleus_diameter``.
    smallest_cell : float or None, default=None
        Cells with a smaller area, nucleus included, are left out, likewise; None sets no limit.
    largest_cell : float or None, default=None
        Larger ones are left out, likewise.
    reach : float, default=0.8
        How far a cell goes from its nucleus at most, as a share of ``nucleus_diameter``.
    stain_share : float, default=0.45
        What is darker is outside: a share of the stain's level around nuclei, over the background.
    illumination : bool, default=False
        Whether fields are divided by what is common to all fields of their plate; takes 20 fields.

    Examples
    --------
    >>> from nearboost.cells import SegmentationSettings, demo_field, segment_field
    >>> field = demo_field()
    >>> whole = segment_field(field.nuclei, field.stain, SegmentationSettings(border="drop"))
    >>> len(whole.numbers) < len(segment_field(field.nuclei, field.stain).numbers)
    True
    """

    nucleus_diameter: float | None = None
    border: str = "keep"
    smallest_nucleus: float | None = None
    largest_nucleus: float | None = None
    smallest_cell: float | None = None
    largest_cell: float | None = None
    reach: float = 0.8
    stain_share: float = 0.45
    illumination: bool = False

    def __post_init__(self) -> None:
        given = self.nucleus_diameter
        if given is not None and not (_is_number(given) and LEAST_DIAMETER <= given <= LARGEST_DIAMETER):
            raise UsageError(
                f"nucleus_diameter={given!r} must be between {LEAST_DIAMETER:g} and {LARGEST_DIAMETER:g} pixels; "
                "leave it out to have it estimated."
            )
        if self.border not in BORDERS:
            raise UsageError(f"border={self.border!r} must be {' or '.join(BORDERS)}.")
        limits = ("smallest_nucleus", "largest_nucleus", "smallest_cell", "largest_cell")
        for name in (*limits, "reach", "stain_share"):
            value = getattr(self, name)
            if not (_is_number(value) and value >= 0) and not (name in limits and value is None):
                raise UsageError(f"{name}={value!r} must be a number of 0 or more.")
        for small, large in (limits[:2], limits[2:]):
            low, high = getattr(self, small), getattr(self, large)
            if low is not None and high is not None and low >= high:
                raise UsageError(f"{small}={low:g} must be below {large}={high:g}.")
        if not isinstance(self.illumination, bool):
            raise UsageError(f"illumination={self.illumination!r} must be True or False.")

    def as_json(self) -> dict[str, Any]:
        """The settings by name.

        Returns
        -------
        dict
            Plain values.
        """
        return asdict(self)

    @classmethod
    def of_json(cls, given: Any, where: str) -> "SegmentationSettings":
        """Settings from a file.

        Parameters
        ----------
        given : dict
            Values by name; those that are not there are the usual ones.
        where : str
            What messages call the file.

        Returns
        -------
        SegmentationSettings
            Checked settings.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(given, dict) or not set(given) <= set(known):
            raise UsageError(f"{where} has settings of segmentation that are not known; use {', '.join(known)}.")
        try:
            return cls(**given)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def in_pixels(
    diameter: str | float | None, pixel_size: float | None, name: str = "nucleus_diameter"
) -> float | None:
    """A diameter that was given in pixels, or in micrometres as in "12um"; ``name`` is what messages call it.

    >>> in_pixels("13um", 0.65), in_pixels("28", None)
    (20.0, 28.0)
    """
    if diameter is None:
        return None
    text = str(diameter).strip().lower()
    number = text.removesuffix("px").removesuffix("um").removesuffix("µm").removesuffix("μm").strip()
    try:
        value = float(number)
    except ValueError:
        raise UsageError(f"{name}={diameter!r} is not understood; give pixels, 28, or 12um.") from None
    if text.endswith(("um", "µm", "μm")):
        if pixel_size is None:
            raise UsageError(
                f"{name}={diameter} is in micrometres, and the images do not say how large a pixel is; "
                "give --pixel-size in micrometres, or the diameter in pixels."
            )
        value /= pixel_size
    return value
