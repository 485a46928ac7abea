"""
A plate from images to counts
=============================

What the commands and the app do, in Python: a project of a folder of images, outlines, labels, a model, counts by
well. The plate is made up, and both its rows of wells are alike: controls at both ends, rising doses between them.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from nearboost.cells import (
    SegmentationSettings,
    count_project,
    create_project,
    describe_project,
    import_labels,
    open_project,
    predict_project,
    read_segmentation,
    segment_project,
    train_cells,
    write_cells,
    write_demo,
)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write_demo(folder / "plate", repeats=2, size=160, n_cells=12)
    create_project(folder / "screen", [folder / "plate/images"], layout=folder / "plate/layout.csv")
    project = open_project(folder / "screen")
    segment_project(project, SegmentationSettings())
    some = (folder / "plate/truth.csv").read_text().splitlines()
    (folder / "labels.csv").write_text("\n".join([some[0], *some[1::4]]))  # stands for yours, of one cell in four
    import_labels(project, folder / "labels.csv")
    write_cells(project, describe_project(project).rows)
    accuracy = train_cells(project).model.held_out_accuracy
    counts = count_project(project, predict_project(project)).counts
    first = read_segmentation(project, project.fields[0])

shares = np.full((2, 8), np.nan)
for level, kind, well, share in zip(*(counts[one] for one in ("level", "class", "well", "share")), strict=True):
    if level == "well" and kind == "granular":
        shares["AB".index(well[0]), int(well[1:]) - 1] = 100 * share
figure, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
ax.imshow(shares, cmap="cividis", vmin=0, vmax=100)
for (row, column), share in np.ndenumerate(shares):
    ax.text(column, row, f"{share:.0f}", ha="center", va="center", color="white" if share < 60 else "black")
ax.set_xticks(range(8), ["negative", "0.3", "1", "2", "4", "10", "30", "positive"])
ax.set_yticks(range(2), ["A", "B"])
ax.set_title(f"Granular cells, % of about {len(first.numbers)} in each well; held-out accuracy {accuracy:.0%}")
plt.show()
