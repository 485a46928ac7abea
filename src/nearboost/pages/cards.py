"""Pictures with a few words each: prototypes, mistakes, suspects."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

# Formats that hold pixels only; SVG could hold anything.
PICTURES = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "webp", "gif"))
LONGEST_NAME = 60


@dataclass(frozen=True)
class Card:
    """One item of a gallery.

    Parameters
    ----------
    name : what the item is called, such as its file
    lines : pairs of label and text shown below the picture
    thumbnail : PNG, JPEG, WebP or GIF as a ``data:`` address, or None; anything else is not shown
    share : length of the bar below, 0 to 1, or None for no bar
    """

    name: str
    lines: Sequence[tuple[str, str]] = ()
    thumbnail: str | None = None
    share: float | None = None

    @property
    def picture(self) -> str | None:
        """The thumbnail where it is one."""
        return self.thumbnail if self.thumbnail and self.thumbnail.startswith(PICTURES) else None

    @property
    def short_name(self) -> Markup:
        """The end of a long name, as files in one folder differ there; it may break after a slash."""
        short = self.name if len(self.name) <= LONGEST_NAME else "…" + self.name[-LONGEST_NAME + 1 :]
        return Markup("/<wbr>").join(short.split("/"))
