"""Pictures of models, as scikit-learn's displays."""

from nearboost.plotting.codes import CodeDisplay
from nearboost.plotting.prototypes import PrototypeDisplay
from nearboost.plotting.reliability import ReliabilityDisplay
from nearboost.plotting.voters import VotersDisplay

__all__ = ["CodeDisplay", "PrototypeDisplay", "ReliabilityDisplay", "VotersDisplay"]
