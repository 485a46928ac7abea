"""The voters on an image as a picture: thumbnails with their signed votes."""

import io
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_target
from nearboost.base.errors import UsageError
from nearboost.base.images import as_color, in_unit_range, needs
from nearboost.models.explanation import Vote, Voter
from nearboost.models.model import Model

COLUMNS, MOST = 6, 24
TILE, PICTURE, LINE, MARGIN = 150, 112, 16, 20
QUERY = 192
LARGEST_THUMBNAIL = 1024
INK, PALE, PAPER, NOTHING = "#1a1a1a", "#6b6b6b", "#ffffff", "#e4e4e4"
FOR, AGAINST = "#1f6fb4", "#c2571a"  # told apart by people who see few colours
# Of many systems; Pillow looks for them where each system keeps its fonts.
FONTS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "Arial Unicode.ttf", "segoeui.ttf"),
    *("NotoSansCJK-Regular.ttc", "wqy-microhei.ttc", "msyh.ttc", "YuGothM.ttc", "malgun.ttf", "PingFang.ttc"),
    *("NotoSansArabic-Regular.ttf", "NotoSansHebrew-Regular.ttf", "NotoSansDevanagari-Regular.ttf", "Nirmala.ttc"),
)
NO_LETTER = "\U0010ffff"
TILE_HEIGHT = PICTURE + 3 * LINE + 22


def draw_vote(model: Model, vote: Vote, pixels: NDArray[Any], most: int = MOST) -> bytes:
    """A PNG file: the image, what the model says, and its strongest voters.

    Parameters
    ----------
    model : whose origins hold the thumbnails; without them, voters are grey squares with names
    vote : on the image
    pixels : of the image
    most : so many voters are shown
    """
    pillow, drawing = needs("PIL.Image"), needs("PIL.ImageDraw")
    shown = vote.voters[:most]
    n_lines = -(-max(len(shown), 1) // COLUMNS)
    size = (2 * MARGIN + COLUMNS * TILE, 3 * MARGIN + QUERY + n_lines * (TILE_HEIGHT + MARGIN))
    page = pillow.new("RGB", size, PAPER)
    draw = drawing.Draw(page)
    query = pillow.fromarray((as_color(in_unit_range(pixels)) * 255).round().astype(np.uint8))
    _paste(page, query, (MARGIN, MARGIN), QUERY)
    _write_head(draw, vote, len(shown), size[0])
    strongest = max((abs(voter.vote) for voter in shown), default=1.0) or 1.0
    for number, voter in enumerate(shown):
        left = MARGIN + number % COLUMNS * TILE
        top = 2 * MARGIN + QUERY + number // COLUMNS * (TILE_HEIGHT + MARGIN)
        _draw_voter(page, draw, model, voter, (left, top), abs(voter.vote) / strongest)
    file = io.BytesIO()
    page.save(file, "PNG")
    return file.getvalue()


def _write_head(draw: Any, vote: Vote, n_shown: int, width: int) -> None:
    left, room = 2 * MARGIN + QUERY, width - 3 * MARGIN - QUERY
    sure = "" if vote.probability is None else f", {vote.probability:.1%} sure"
    in_favour, against = vote.balance
    lines = [
        (Path(vote.name).name, 14, PALE),
        (f"{vote.said}{sure}", 28, INK),
        *([(vote.note, 16, AGAINST)] if vote.note else []),
        (f"Votes about {vote.about}", 16, INK),
        (signed(in_favour) + " for it", 16, FOR),
        (signed(against) + " against it", 16, AGAINST),
        *([(signed(vote.linear[vote.about]) + " by the linear head", 16, PALE)] if vote.linear else []),
        (vote.summary(n_shown), 14, PALE),
    ]
    top = MARGIN
    for text, size, color in lines:
        _write(draw, (left, top), text, size, color, room)
        top += size + 12


def _draw_voter(page: Any, draw: Any, model: Model, voter: Voter, corner: tuple[int, int], share: float) -> None:
    left, top = corner
    color, room = (FOR if voter.vote >= 0 else AGAINST), TILE - 14
    place = None if model.origins is None else model.origins.place(voter.row)
    found = None if model.origins is None or place is None else model.origins.picture(place)
    picture = None if found is None else opened(found)
    if picture is None:
        draw.rectangle([left, top, left + PICTURE, top + PICTURE], fill=NOTHING)
    else:
        _paste(page, picture, (left, top), PICTURE)
    draw.rectangle([left, top + PICTURE + 4, left + max(2, round(share * PICTURE)), top + PICTURE + 9], fill=color)
    lines = [(signed(voter.vote), 15, color), (voter.label, 13, INK), (voter.name, 12, PALE)]
    at = top + PICTURE + 13
    for text, size, ink in lines:
        _write(draw, (left, at), text, size, ink, room, keep_end=ink == PALE)
        at += LINE + 1


def opened(thumbnail: bytes) -> Any:
    """The picture in a model file; None if it is no JPEG file, or far larger than thumbnails are."""
    try:
        picture = needs("PIL.Image").open(io.BytesIO(thumbnail), formats=["JPEG"])
        return picture.convert("RGB") if max(picture.size) <= LARGEST_THUMBNAIL else None
    except Exception:  # Pillow's errors have no base of their own
        return None


def _paste(page: Any, picture: Any, corner: tuple[int, int], side: int) -> None:
    """As large as a square allows, in its middle."""
    scale = side / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    resized = picture.convert("RGB").resize(size)
    page.paste(resized, (corner[0] + (side - size[0]) // 2, corner[1] + (side - size[1]) // 2))


def signed(vote: float) -> str:
    return f"{vote:+.3f}"  # a hyphen: the font has no minus sign


def _write(
    draw: Any, at: tuple[int, int], text: str, size: int, color: str, room: float, *, keep_end: bool = False
) -> None:
    """A line of text in a font that has its letters, cut to a width."""
    text, font = legible(text, size)
    draw.text(at, fitted(draw, text, font, room, keep_end=keep_end), fill=color, font=font)


def legible(text: str, size: int) -> tuple[str, Any]:
    """The text and the first font that lacks the fewest of its letters; those that it lacks as \\u4e2d."""
    text = normalize("NFC", text)  # accents are a letter of their own in names of some systems
    fonts = [font for name in (None, *FONTS) if (font := find_font(name, size)) is not None]
    missing = [{letter for letter in set(text) if lacks(font, letter)} for font in fonts]
    best = min(range(len(fonts)), key=lambda place: len(missing[place]))
    shown = (letter.encode("unicode_escape").decode() if letter in missing[best] else letter for letter in text)
    return "".join(shown), fonts[best]


@cache
def find_font(name: str | None, size: int) -> Any:
    """Pillow's own font, or one of the system; None if there is none."""
    fonts = needs("PIL.ImageFont")
    try:
        return fonts.load_default(size) if name is None else fonts.truetype(name, size)
    except OSError:
        return None


def lacks(font: Any, letter: str) -> bool:
    """Whether a letter is drawn as the box that stands for all letters that a font has not, or ends a line."""
    if category(letter) in ("Cc", "Cs", "Zl", "Zp"):  # Pillow fails at some of them
        return True
    drawn, box = font.getmask(letter), font.getmask(NO_LETTER)
    return not letter.isspace() and drawn.size == box.size and bytes(drawn) == bytes(box)


def fitted(draw: Any, text: str, font: Any, room: float, *, keep_end: bool = False) -> str:
    """The text, cut to a width: of a path, the end says more."""
    if draw.textlength(text, font=font) <= room:
        return text
    while text and draw.textlength(text + "…", font=font) > room:
        text = text[1:] if keep_end else text[:-1]
    return "…" + text if keep_end else text + "…"


def check_picture(item: str, out: Path | None, *, force: bool = True) -> Path:
    """Where the picture of an item's voters goes: where ``out`` says, or into the present folder."""
    path = out or Path(f"{Path(item).stem}-voters.png")
    if path.suffix.lower() != ".png":
        raise UsageError(f"{path} must be a picture; give a name that ends in .png.")
    check_target(path)
    if path.exists() and Path(item).exists() and path.samefile(item):
        raise UsageError(f"{path} is the image to be explained; give another name for the picture.")
    check_target(path, force=force)
    return path
