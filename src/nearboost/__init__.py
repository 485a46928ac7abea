"""Nearest neighbours that learn.

Estimators are imported when they are first asked for, so that ``import nearboost`` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearboost.base.local_sets import LocalSet, LocalSets
    from nearboost.boosting.knn import KNNClassifier
    from nearboost.boosting.mapboost import MAPBoostClassifier
    from nearboost.boosting.mlnn import MLNNClassifier
    from nearboost.boosting.n3 import N3Classifier
    from nearboost.boosting.unn import UNNClassifier
    from nearboost.ensemble.nearboost import NearBoostClassifier
    from nearboost.ensemble.split import SplitClassifier
    from nearboost.inn.classifier import INNClassifier
    from nearboost.inn.coder import INNCoder
    from nearboost.inn.crc import CRCClassifier
    from nearboost.inn.naive_bayes import NaiveBayesNN
    from nearboost.inn.projection import LPP, SRLP, INNProjection
    from nearboost.inn.recipes import eigenfaces, regularized_lda
    from nearboost.inn.src import SRCClassifier
    from nearboost.linear.sgd import LinearSGDClassifier
    from nearboost.linear.slnd import SLNDClassifier
    from nearboost.losses import get_loss
    from nearboost.metric.discriminant import SoftDiscriminant
    from nearboost.metric.itml import ITML
    from nearboost.metric.landmarks import LandmarkMap
    from nearboost.models import Model, load, save
    from nearboost.neighbors import Neighbors, NeighborSearch

__version__ = "0.1.0"
__all__ = [
    "ITML",
    "LPP",
    "SRLP",
    "CRCClassifier",
    "INNClassifier",
    "INNCoder",
    "INNProjection",
    "KNNClassifier",
    "LandmarkMap",
    "LinearSGDClassifier",
    "LocalSet",
    "LocalSets",
    "MAPBoostClassifier",
    "MLNNClassifier",
    "Model",
    "N3Classifier",
    "NaiveBayesNN",
    "NearBoostClassifier",
    "NeighborSearch",
    "Neighbors",
    "SLNDClassifier",
    "SRCClassifier",
    "SoftDiscriminant",
    "SplitClassifier",
    "UNNClassifier",
    "eigenfaces",
    "get_loss",
    "load",
    "regularized_lda",
    "save",
]

_HOME = {
    "Model": "nearboost.models",
    "load": "nearboost.models",
    "save": "nearboost.models",
    "NearBoostClassifier": "nearboost.ensemble.nearboost",
    "SplitClassifier": "nearboost.ensemble.split",
    "LinearSGDClassifier": "nearboost.linear.sgd",
    "SLNDClassifier": "nearboost.linear.slnd",
    "LocalSet": "nearboost.base.local_sets",
    "regularized_lda": "nearboost.inn.recipes",
    "eigenfaces": "nearboost.inn.recipes",
    "LocalSets": "nearboost.base.local_sets",
    "NaiveBayesNN": "nearboost.inn.naive_bayes",
    "SRLP": "nearboost.inn.projection",
    "LPP": "nearboost.inn.projection",
    "INNProjection": "nearboost.inn.projection",
    "SRCClassifier": "nearboost.inn.src",
    "CRCClassifier": "nearboost.inn.crc",
    "ITML": "nearboost.metric.itml",
    "LandmarkMap": "nearboost.metric.landmarks",
    "SoftDiscriminant": "nearboost.metric.discriminant",
    "INNClassifier": "nearboost.inn.classifier",
    "INNCoder": "nearboost.inn.coder",
    "KNNClassifier": "nearboost.boosting.knn",
    "MAPBoostClassifier": "nearboost.boosting.mapboost",
    "MLNNClassifier": "nearboost.boosting.mlnn",
    "N3Classifier": "nearboost.boosting.n3",
    "UNNClassifier": "nearboost.boosting.unn",
    "NeighborSearch": "nearboost.neighbors",
    "Neighbors": "nearboost.neighbors",
    "get_loss": "nearboost.losses",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nearboost' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
