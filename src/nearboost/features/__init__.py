"""From pixels to vectors: local descriptors, what encodes them, and whole-image descriptors."""

from nearboost.features.bags import BagOfFeatures
from nearboost.features.color import LocalColor
from nearboost.features.fisher import FisherVector
from nearboost.features.gist import Gist
from nearboost.features.gmm import DiagonalGMM
from nearboost.features.pca import DescriptorPCA
from nearboost.features.recipe import SIFTColorFisher
from nearboost.features.sift import DenseSIFT
from nearboost.features.whitening import WhitenedPCA

__all__ = [
    "BagOfFeatures",
    "DenseSIFT",
    "DescriptorPCA",
    "DiagonalGMM",
    "FisherVector",
    "Gist",
    "LocalColor",
    "SIFTColorFisher",
    "WhitenedPCA",
]
