"""Cells of microscopes: segmented, learned, counted.

Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "CellRows": "describing",
    "FeatureSettings": "features",
    "Field": "project",
    "GivenMasks": "segmenting",
    "Project": "project",
    "Score": "scoring",
    "Segmentation": "segmentation",
    "SegmentationSettings": "settings",
    "create_project": "creating",
    "demo_field": "demo",
    "describe_cells": "features",
    "describe_project": "describing",
    "estimate_diameter": "nuclei",
    "find_nuclei": "nuclei",
    "grow_cells": "bodies",
    "measure_cells": "measures",
    "open_project": "project",
    "pooled": "scoring",
    "read_segmentation": "saved_masks",
    "relink": "creating",
    "score_labels": "scoring",
    "segment_field": "segmentation",
    "segment_project": "segmenting",
    "stain_floor": "bodies",
    "write_demo": "demo",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nearboost.cells' has no attribute {name!r}")
    return getattr(import_module(f"nearboost.cells.{_HOME[name]}"), name)
