"""Models as people keep them: in one file that runs no code.

Names are imported when they are first asked for, so that looking into a file is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearboost.base.entries import ModelFileError
from nearboost.models.files import load, save

if TYPE_CHECKING:
    from nearboost.models.model import Model, load_model
    from nearboost.models.origins import Origins, origins_of
    from nearboost.models.prediction import Prediction

__all__ = ["Model", "ModelFileError", "Origins", "Prediction", "load", "load_model", "origins_of", "save"]

_HOME = {
    "Model": "nearboost.models.model",
    "Origins": "nearboost.models.origins",
    "Prediction": "nearboost.models.prediction",
    "load_model": "nearboost.models.model",
    "origins_of": "nearboost.models.origins",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nearboost.models' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
