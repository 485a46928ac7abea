"""From pixels to rows: describe, encode, store."""

from nearboost.features.bags import BagOfFeatures
from nearboost.features.bif import BioInspiredFeatures
from nearboost.features.color import LocalColor
from nearboost.features.embedding import Embedding
from nearboost.features.extraction import extract
from nearboost.features.fisher import FisherVector
from nearboost.features.gist import Gist
from nearboost.features.gmm import DiagonalGMM
from nearboost.features.nimble import Nimble
from nearboost.features.pca import DescriptorPCA
from nearboost.features.pixels import SmallGrey
from nearboost.features.pyramid import SpatialPyramid
from nearboost.features.recipe import SIFTColorFisher
from nearboost.features.sift import DenseSIFT
from nearboost.features.store import FeatureStore
from nearboost.features.whitening import WhitenedPCA

__all__ = [
    "BagOfFeatures",
    "BioInspiredFeatures",
    "DenseSIFT",
    "DescriptorPCA",
    "DiagonalGMM",
    "Embedding",
    "FeatureStore",
    "FisherVector",
    "Gist",
    "LocalColor",
    "Nimble",
    "SIFTColorFisher",
    "SmallGrey",
    "SpatialPyramid",
    "WhitenedPCA",
    "extract",
]
