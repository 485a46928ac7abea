"""One fitted object of every kind that a model file may hold, made when asked for."""

from functools import cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    LabelBinarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import nearboost as nb
from features.pictures import picture
from nearboost import features as nf
from nearboost.ensemble.calibrated import CalibratedScores
from nearboost.features.pixels import SmallGrey

WORDS = np.array(["nought", "one", "two", "three"])


@cache
def rows():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:240] / 16, y[:240]


@cache
def queries():
    X, _ = load_digits(n_class=4, return_X_y=True)
    return X[300:360] / 16


@cache
def pictures():
    return [picture(48, 48, seed, channels=3) for seed in range(10)]


@cache
def patches():
    return nf.DenseSIFT(step=8).fit_transform(pictures())


def two_labels():
    y = rows()[1]
    return np.column_stack([y % 2 == 0, y < 2]).astype(int)


CLASSIFIERS = {
    "nearboost": lambda: nb.NearBoostClassifier(),
    "nearboost of few": lambda: nb.NearBoostClassifier(0.2, class_weight="balanced"),
    "knn": lambda: nb.KNNClassifier(5),
    "knn by distance": lambda: nb.KNNClassifier(5, vote_weights="gaussian"),
    "unn": lambda: nb.UNNClassifier(),
    "unn soft": lambda: nb.UNNClassifier(5, soft_lambda=0.3, n_rounds=9),
    "unn of few": lambda: nb.UNNClassifier(5, n_prototypes=30),
    "n3 of centroids": lambda: nb.N3Classifier(5, n_prototypes=30, prototypes="centroids"),
    "unn l1": lambda: nb.UNNClassifier(3, metric="l1", loss="mat", class_weight="balanced"),
    "n3": lambda: nb.N3Classifier(5, n_rounds=20),
    "n3 by codes, hnsw": lambda: nb.N3Classifier(15, vote_weights="inn", search="hnsw"),
    "n3 cosine": lambda: nb.N3Classifier(7, metric="cosine", calibration=None, n_rounds=9),
    "mlnn": lambda: nb.MLNNClassifier(),
    "mlnn one-vs-all": lambda: nb.MLNNClassifier(one_vs_all=True),
    "mapboost": lambda: nb.MAPBoostClassifier(),
    "innc": lambda: nb.INNClassifier(),
    "innc residual": lambda: nb.INNClassifier(decision="residual", normalize=True),
    "innc local": lambda: nb.INNClassifier(neighborhood=20),
    "innc l1": lambda: nb.INNClassifier(metric="l1", max_terms=5),
    "innc local l1": lambda: nb.INNClassifier(metric="l1", neighborhood=20, max_terms=5),
    "crc": lambda: nb.CRCClassifier(),
    "crc weights": lambda: nb.CRCClassifier(decision="weights"),
    "src": lambda: nb.SRCClassifier(),
    "src residual local": lambda: nb.SRCClassifier(decision="residual", neighborhood=30),
    "slnd": lambda: nb.SLNDClassifier(),
    "sgd of ours": lambda: nb.LinearSGDClassifier(),
    "split": lambda: nb.SplitClassifier(nb.N3Classifier(5, n_rounds=9), 4),
    "split pipelines": lambda: nb.SplitClassifier(
        make_pipeline(StandardScaler(), nb.KNNClassifier(5)), 2, posterior="predict_proba"
    ),
    "calibrated svc": lambda: CalibratedScores(SVC()),
    "sklearn knn": lambda: KNeighborsClassifier(algorithm="brute"),
    "centroid": lambda: NearestCentroid(),
    "logistic": lambda: LogisticRegression(),
    "ridge": lambda: RidgeClassifier(),
    "sgd": lambda: SGDClassifier(random_state=0),
    "svc": lambda: SVC(),
    "linear svc": lambda: LinearSVC(),
    "gaussian": lambda: GaussianNB(),
    "lda": lambda: LinearDiscriminantAnalysis(),
    "regularised lda": lambda: make_pipeline(nb.regularized_lda(), nb.INNClassifier()),
    "eigenfaces": lambda: make_pipeline(nb.eigenfaces(), nb.KNNClassifier(3)),
    "pipeline": lambda: make_pipeline(StandardScaler(), PCA(8), nb.UNNClassifier(5, n_rounds=9)),
}
TRANSFORMERS = {
    "itml": lambda: nb.ITML(),
    "soft discriminant": lambda: nb.SoftDiscriminant(),
    "landmarks": lambda: nb.LandmarkMap(30),
    "lpp": lambda: nb.LPP(),
    "srlp": lambda: nb.SRLP(),
    "inn projection": lambda: nb.INNProjection(),
    "inn codes": lambda: nb.INNCoder(),
    "whitened": lambda: nf.WhitenedPCA(),
    "pca": lambda: PCA(5),
    "svd": lambda: TruncatedSVD(5),
    "standard": lambda: StandardScaler(),
    "robust": lambda: RobustScaler(),
    "min-max": lambda: MinMaxScaler(),
    "max-abs": lambda: MaxAbsScaler(),
    "unit": lambda: Normalizer(),
    "power": lambda: PowerTransformer(),
    "quantiles": lambda: QuantileTransformer(n_quantiles=50),
    "variance": lambda: VarianceThreshold(),
    "union": lambda: FeatureUnion([("few", PCA(3)), ("all", MinMaxScaler())]),
    "gmm": lambda: nf.DiagonalGMM(3),
}
OF_IMAGES = {
    "gist": lambda: nf.Gist(side=64),
    "bif": lambda: nf.BioInspiredFeatures((1, 2), 8),
    "small grey": lambda: SmallGrey(),
    "recipe": lambda: nf.SIFTColorFisher(2, step=8, n_dimensions=8, random_state=0),
    "nimble": lambda: make_pipeline(
        nf.Nimble(n_components=20, n_filters=8, n_patches=500, random_state=0), nf.BagOfFeatures(8, random_state=0)
    ),
    "bag": lambda: make_pipeline(nf.DenseSIFT(step=8), nf.BagOfFeatures(8, random_state=0)),
    "pyramid": lambda: make_pipeline(nf.DenseSIFT(step=8), nf.SpatialPyramid(n_words=8, random_state=0)),
    "sparse pyramid": lambda: make_pipeline(
        nf.DenseSIFT(step=8), nf.SpatialPyramid("sparse", n_words=8, random_state=0)
    ),
    "llc pyramid": lambda: make_pipeline(
        nf.DenseSIFT(step=8), nf.SpatialPyramid("llc", n_words=8, random_state=0)
    ),
    "color": lambda: make_pipeline(nf.LocalColor(step=8), nf.DescriptorPCA(8), nf.FisherVector(2)),
}
OF_PATCHES = {
    "nbinn": lambda: nb.NaiveBayesNN(),
    "nbinn of all": lambda: nb.NaiveBayesNN(neighborhood=None),
    "nbnn": lambda: nb.NaiveBayesNN("nn"),
    "nbnn of all": lambda: nb.NaiveBayesNN("nn", neighborhood=None),
    "nbsr": lambda: nb.NaiveBayesNN("l1", neighborhood=20),
}


def answers(model, X):
    """Everything a model says of some rows."""
    said = {}
    for name in ("predict", "predict_proba", "decision_function", "transform", "leave_one_out"):
        if hasattr(model, name):
            found = getattr(model, name)(*([] if name == "leave_one_out" else [X]))
            said[name] = found.toarray() if hasattr(found, "toarray") else found
    return said


def binarizer():
    return LabelBinarizer().fit(WORDS)
