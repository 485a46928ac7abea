"""The losses that boosting minimises, one object each."""

from nearboost.losses.family import LOSSES, ExponentialLoss, Loss, get_loss

__all__ = ["LOSSES", "ExponentialLoss", "Loss", "get_loss"]
