"""The pictures of ``docs/cells.md``: ``python -m benchmarks.cells_pictures`` writes them to ``docs/figures``."""

import io
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image

from benchmarks.machine import read_results
from nearboost.cells.demo import demo_field
from nearboost.cells.outlines import as_shown, draw_outlines
from nearboost.cells.responses import DoseFit
from nearboost.cells.segmentation import segment_field

matplotlib.use("Agg")
from matplotlib import pyplot

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
GAP = 6  # pixels between pictures


def outlines() -> None:
    """A made-up field: nuclei, stain, and what was found."""
    field = demo_field(0)
    drawn = np.asarray(
        Image.open(io.BytesIO(draw_outlines(field.stain, segment_field(field.nuclei, field.stain))))
    )
    grey = [np.repeat(as_shown(one)[..., np.newaxis], 3, axis=2) for one in (field.nuclei, field.stain)]
    gap = np.full((drawn.shape[0], GAP, 3), 255, np.uint8)
    joined = Image.fromarray(np.hstack([grey[0], gap, grey[1], gap, drawn]))
    joined.resize((joined.width * 4 // 3, joined.height * 4 // 3)).save(FIGURES / "cells-outlines.png")


def doses() -> None:
    """The share of cells called positive in each well, and the curve through them."""
    found = read_results("cells")["dose"]
    fit = DoseFit(**found["fit"])
    figure, axis = pyplot.subplots(figsize=(5.2, 3.4), layout="constrained")
    tested = np.array(found["doses"])
    shares = 100 * np.array(found["shares"])
    lowest = tested[tested > 0].min()
    shown = np.where(tested > 0, tested, lowest / 3)
    axis.plot(shown, shares, "o", color="#1f6fb4")
    axis.annotate("no dose", (shown.min(), shares[tested == 0][0]), (4, 8), textcoords="offset points", fontsize=8)
    if fit.ec50 is not None:
        across = np.geomspace(lowest / 2, tested.max() * 1.2, 200)
        axis.plot(across, 100 * fit.at(across), color="#b4530f")
        axis.axvspan(fit.ec50_low, fit.ec50_high, color="#b4530f", alpha=0.15, lw=0)
        axis.axvline(fit.ec50, color="#b4530f", lw=1, ls="--")
        axis.set_title(f"EC50 {fit.ec50:.2g} µM ({fit.ec50_low:.2g} to {fit.ec50_high:.2g})", fontsize=10)
    axis.set(xscale="log", xlabel="dose, µM", ylabel="cells called positive, %", ylim=(0, 100))
    figure.savefig(FIGURES / "cells-dose.png", dpi=130)


if __name__ == "__main__":
    outlines()
    doses()
