"""Models as people keep them: features, classifier and class names in one file that cannot run code."""

from nearboost.base.model_files import ModelFileError
from nearboost.base.model_files import load_object as load
from nearboost.base.model_files import save_object as save
from nearboost.models.model import Model, Prediction, load_model
from nearboost.models.origins import Origins, origins_of

__all__ = ["Model", "ModelFileError", "Origins", "Prediction", "load", "load_model", "origins_of", "save"]
