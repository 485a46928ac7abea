"""Cells of microscopes: segmented, learned, counted.

Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "CellRows": "describing",
    "DoseFit": "responses",
    "FeatureSettings": "features",
    "Field": "project",
    "GivenMasks": "segmenting",
    "Label": "labels",
    "Project": "project",
    "Score": "scoring",
    "Segmentation": "segmentation",
    "SegmentationSettings": "settings",
    "count_project": "tables",
    "create_project": "creating",
    "demo_field": "demo",
    "describe_cells": "features",
    "describe_project": "describing",
    "estimate_diameter": "nuclei",
    "find_nuclei": "nuclei",
    "fit_dose": "responses",
    "grow_cells": "bodies",
    "import_labels": "project_labels",
    "measure_cells": "measures",
    "open_project": "project",
    "pooled": "scoring",
    "predict_project": "tables",
    "read_segmentation": "saved_masks",
    "relink": "creating",
    "score_labels": "scoring",
    "segment_field": "segmentation",
    "segment_project": "segmenting",
    "stain_floor": "bodies",
    "train_cells": "training",
    "write_cells": "tables",
    "write_demo": "demo",
    "z_prime": "responses",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nearboost.cells' has no attribute {name!r}")
    return getattr(import_module(f"nearboost.cells.{_HOME[name]}"), name)
