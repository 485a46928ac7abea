"""The pictures of the user guide: ``python -m benchmarks.guide_pictures`` draws them by scripts of the gallery."""

import runpy
from pathlib import Path

import matplotlib
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.tutorials import keep

ROOT = Path(__file__).resolve().parent.parent
FIGURES, GALLERY = ROOT / "docs" / "figures", ROOT / "examples" / "gallery"
SCRIPTS = (
    "cells/plot_grain.py",
    "votes/plot_boosted_votes.py",
    "votes/plot_custom_kernel.py",
    "methods/plot_fisher_vectors.py",
    "methods/plot_inn_path.py",
    "methods/plot_metrics.py",
    "methods/plot_naive_bayes.py",
    "methods/plot_projection.py",
    "methods/plot_slnd_sgd.py",
    "methods/plot_soft_metric.py",
)


def main() -> None:
    """Draw all pictures."""
    for script in SCRIPTS:
        runpy.run_path(str(GALLERY / script), run_name="__main__")
        target = FIGURES / f"guide-{Path(script).stem.removeprefix('plot_').replace('_', '-')}.png"
        plt.savefig(target, dpi=100)
        plt.close("all")
        keep(Image.open(target), target)


if __name__ == "__main__":
    main()
