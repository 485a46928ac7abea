"""The classes that a model file may name, and the modules they come from. Nothing else is ever imported."""

from importlib import import_module

from nearboost.base.schema import Schema

SKLEARN = "sklearn."

_OURS = {
    "nearboost.boosting.knn": ("KNNClassifier",),
    "nearboost.boosting.mapboost": ("MAPBoostClassifier",),
    "nearboost.boosting.mlnn": ("MLNNClassifier",),
    "nearboost.boosting.n3": ("N3Classifier",),
    "nearboost.boosting.unn": ("UNNClassifier",),
    "nearboost.ensemble.calibrated": ("CalibratedScores",),
    "nearboost.ensemble.nearboost": ("NearBoostClassifier",),
    "nearboost.ensemble.split": ("SplitClassifier",),
    "nearboost.features.bags": ("BagOfFeatures",),
    "nearboost.features.bif": ("BioInspiredFeatures",),
    "nearboost.features.color": ("LocalColor",),
    "nearboost.features.embedding": ("Embedding",),
    "nearboost.features.fisher": ("FisherVector",),
    "nearboost.features.gist": ("Gist",),
    "nearboost.features.gmm": ("DiagonalGMM",),
    "nearboost.features.nimble": ("Nimble",),
    "nearboost.features.pca": ("DescriptorPCA",),
    "nearboost.features.pixels": ("SmallGrey",),
    "nearboost.features.pyramid": ("SpatialPyramid",),
    "nearboost.features.recipe": ("SIFTColorFisher",),
    "nearboost.features.sift": ("DenseSIFT",),
    "nearboost.features.whitening": ("WhitenedPCA",),
    "nearboost.inn.classifier": ("INNClassifier",),
    "nearboost.inn.coder": ("INNCoder",),
    "nearboost.inn.crc": ("CRCClassifier",),
    "nearboost.inn.naive_bayes": ("NaiveBayesNN",),
    "nearboost.inn.discriminants": ("ChosenDiscriminants",),
    "nearboost.inn.projection": ("INNProjection", "LPP", "SRLP"),
    "nearboost.inn.src": ("SRCClassifier",),
    "nearboost.linear.sgd": ("LinearSGDClassifier",),
    "nearboost.linear.slnd": ("SLNDClassifier",),
    "nearboost.metric.discriminant": ("SoftDiscriminant",),
    "nearboost.metric.itml": ("ITML",),
    "nearboost.metric.landmarks": ("LandmarkMap",),
    "nearboost.models.model": ("Model",),
    "nearboost.models.novelty": ("Novelty",),
    "nearboost.models.origins": ("Origins",),
}
_THEIRS = {
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.linear_model": ("LogisticRegression", "RidgeClassifier", "SGDClassifier"),
    "sklearn.naive_bayes": ("GaussianNB",),
    "sklearn.neighbors": ("KNeighborsClassifier", "NearestCentroid"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        *("LabelBinarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer"),
        *("PowerTransformer", "QuantileTransformer", "RobustScaler", "StandardScaler"),
    ),
    "sklearn.svm": ("SVC", "LinearSVC"),
}

MODULES: dict[str, str] = {
    **{name: module for module, names in _OURS.items() for name in names},
    **{SKLEARN + name: module for module, names in _THEIRS.items() for name in names},
}


def class_of(name: str) -> type:
    """The class of a name in the table."""
    found = getattr(import_module(MODULES[name]), name.removeprefix(SKLEARN))
    assert isinstance(found, type)
    return found


def name_of(kind: type) -> str | None:
    """The name of a class, None where it is not in the table."""
    name = SKLEARN + kind.__name__ if kind.__module__.startswith(SKLEARN) else kind.__name__
    return name if name in MODULES and class_of(name) is kind else None


def schema_of(name: str) -> Schema:
    """What the class of a name keeps: ours say it themselves, scikit-learn's are described here."""
    if name.startswith(SKLEARN):
        from nearboost.models.sklearn_schemas import SCHEMAS

        return SCHEMAS[name.removeprefix(SKLEARN)]
    schema = class_of(name).model_schema  # type: ignore[attr-defined]
    assert isinstance(schema, Schema)
    return schema
