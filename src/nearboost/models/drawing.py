"""The voters on an image as a picture: thumbnails with their signed votes."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import as_color, in_unit_range, needs, read_image
from nearboost.models.model import Model
from nearboost.models.votes import Vote, Voter

COLUMNS, MOST = 6, 24
TILE, PICTURE, LINE, MARGIN = 150, 112, 16, 20
QUERY = 192
INK, PALE, PAPER, NOTHING = "#1a1a1a", "#6b6b6b", "#ffffff", "#e4e4e4"
FOR, AGAINST = "#1f6fb4", "#c2571a"  # told apart by people who see few colours
TILE_HEIGHT = PICTURE + 3 * LINE + 22


def draw_vote(model: Model, vote: Vote, pixels: NDArray[Any], name: str, most: int = MOST) -> bytes:
    """A PNG file: the image, what the model says, and its strongest voters.

    Parameters
    ----------
    model : whose origins hold the thumbnails; without them, voters are grey squares with names
    vote : on the image
    pixels : of the image
    name : what the image is called
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
    _write_head(draw, vote, name, len(shown), size[0])
    strongest = max((abs(voter.vote) for voter in shown), default=1.0) or 1.0
    for number, voter in enumerate(shown):
        left = MARGIN + number % COLUMNS * TILE
        top = 2 * MARGIN + QUERY + number // COLUMNS * (TILE_HEIGHT + MARGIN)
        _draw_voter(page, draw, model, voter, (left, top), abs(voter.vote) / strongest)
    file = io.BytesIO()
    page.save(file, "PNG")
    return file.getvalue()


def _write_head(draw: Any, vote: Vote, name: str, n_shown: int, width: int) -> None:
    left, room = 2 * MARGIN + QUERY, width - 3 * MARGIN - QUERY
    sure = "" if vote.probability is None else f", {vote.probability:.1%} sure"
    in_favour, against = vote.balance
    lines = [
        (name, 14, PALE),
        (f"{vote.said}{sure}", 28, INK),
        (f"Votes about {vote.about}", 16, INK),
        (signed(in_favour) + " for it", 16, FOR),
        (signed(against) + " against it", 16, AGAINST),
        (f"The {n_shown} strongest of {len(vote.voters)} voters", 14, PALE),
    ]
    top = MARGIN
    for text, size, color in lines:
        draw.text((left, top), fitted(draw, text, size, room), fill=color, font=font(size))
        top += size + 12


def _draw_voter(page: Any, draw: Any, model: Model, voter: Voter, corner: tuple[int, int], share: float) -> None:
    pillow = needs("PIL.Image")
    left, top = corner
    color, room = (FOR if voter.vote >= 0 else AGAINST), TILE - 14
    place = None if model.origins is None else model.origins.place(voter.row)
    found = None if model.origins is None or place is None else model.origins.picture(place)
    if found is None:
        draw.rectangle([left, top, left + PICTURE, top + PICTURE], fill=NOTHING)
    else:
        _paste(page, pillow.open(io.BytesIO(found), formats=["JPEG"]), (left, top), PICTURE)
    draw.rectangle([left, top + PICTURE + 4, left + max(2, round(share * PICTURE)), top + PICTURE + 9], fill=color)
    lines = [(signed(voter.vote), 15, color), (voter.label, 13, INK), (voter.name, 12, PALE)]
    at = top + PICTURE + 13
    for text, size, ink in lines:
        draw.text((left, at), fitted(draw, text, size, room, keep_end=ink == PALE), fill=ink, font=font(size))
        at += LINE + 1


def _paste(page: Any, picture: Any, corner: tuple[int, int], side: int) -> None:
    """As large as a square allows, in its middle."""
    scale = side / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    resized = picture.convert("RGB").resize(size)
    page.paste(resized, (corner[0] + (side - size[0]) // 2, corner[1] + (side - size[1]) // 2))


def signed(vote: float) -> str:
    return f"{vote:+.3f}"  # a hyphen: the font has no minus sign


def font(size: int) -> Any:
    return needs("PIL.ImageFont").load_default(size)


def fitted(draw: Any, text: str, size: int, room: float, *, keep_end: bool = False) -> str:
    """The text, cut to a width: of a path, the end says more."""
    if draw.textlength(text, font=font(size)) <= room:
        return text
    while text and draw.textlength(text + "…", font=font(size)) > room:
        text = text[1:] if keep_end else text[:-1]
    return "…" + text if keep_end else text + "…"


def draw_item(model: Model, vote: Vote, item: str, out: Path | None, most: int = MOST) -> Path:
    """Write the voters on an image file beside it, or where ``out`` says."""
    path = out or Path(f"{Path(item).stem}-voters.png")
    if path.suffix.lower() != ".png":
        raise ValueError(f"{path} is to hold a picture; give a name that ends in .png.")
    if path.exists() and path.samefile(item):
        raise ValueError(f"{path} is the image to be explained; give another name for the picture.")
    path.write_bytes(draw_vote(model, vote, read_image(item), Path(item).name, most))
    return path
