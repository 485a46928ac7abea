"""Cells of microscopes: segmented, learned, counted.

Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Score": "scoring",
    "Segmentation": "segmentation",
    "SegmentationSettings": "settings",
    "estimate_diameter": "nuclei",
    "find_nuclei": "nuclei",
    "grow_cells": "bodies",
    "pooled": "scoring",
    "score_labels": "scoring",
    "segment_field": "segmentation",
    "stain_floor": "bodies",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nearboost.cells' has no attribute {name!r}")
    return getattr(import_module(f"nearboost.cells.{_HOME[name]}"), name)
