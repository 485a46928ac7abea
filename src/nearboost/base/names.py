"""The classes that a model file may name, and the modules they come from. Nothing else is ever imported."""

from importlib import import_module

SKLEARN = "sklearn."

# What users make.
_ESTIMATORS = {
    "nearboost.boosting.knn": ("KNNClassifier",),
    "nearboost.boosting.mapboost": ("MAPBoostClassifier",),
    "nearboost.boosting.mlnn": ("MLNNClassifier",),
    "nearboost.boosting.n3": ("N3Classifier",),
    "nearboost.boosting.unn": ("UNNClassifier",),
    "nearboost.ensemble.split": ("SplitClassifier",),
    "nearboost.features.bags": ("BagOfFeatures",),
    "nearboost.features.bif": ("BioInspiredFeatures",),
    "nearboost.features.color": ("LocalColor",),
    "nearboost.features.embedding": ("Embedding", "Network"),
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
    "nearboost.inn.projection": ("INNProjection", "LPP", "SRLP"),
    "nearboost.inn.src": ("SRCClassifier",),
    "nearboost.linear.sgd": ("LinearSGDClassifier",),
    "nearboost.linear.slnd": ("SLNDClassifier",),
    "nearboost.metric.discriminant": ("SoftDiscriminant",),
    "nearboost.metric.itml": ("ITML",),
    "nearboost.models.model": ("Model",),
    "nearboost.models.origins": ("Origins",),
}

# What they hold once they are fitted.
_RECORDS = {
    "nearboost.boosting.engine": ("Leverage",),
    "nearboost.boosting.mapboost": ("MapPosterior",),
    "nearboost.boosting.newton": ("NewtonRule",),
    "nearboost.boosting.one_weight": ("Diagnostics", "EdgeRule"),
    "nearboost.boosting.training": ("Recipe",),
    "nearboost.boosting.universal": ("UniversalRule",),
    "nearboost.codes.dictionary": ("Dictionary", "PartwiseTerms", "SearchedTerms"),
    "nearboost.codes.l1": ("GrowingLists", "L1Dictionary", "LeastSquares", "NearLists"),
    "nearboost.codes.local": ("LocalSearchedTerms", "LocalTerms", "NearestSamples"),
    "nearboost.codes.products": ("ProductTerms",),
    "nearboost.codes.series": ("Series",),
    "nearboost.features.codings": ("NearWords",),
    "nearboost.features.clustering": ("Mixture", "Scale"),
    "nearboost.features.ica": ("GeneralizedGaussians",),
    "nearboost.inn.crc": ("RidgeCodes", "RidgeResiduals", "RidgeSums"),
    "nearboost.inn.decisions": (
        *("ClassSums", "NearestNearby", "NearestOfClasses", "OwnResiduals", "SharedResiduals"),
    ),
    "nearboost.inn.naive_bayes": ("QuietCodes",),
    "nearboost.inn.src": ("LassoCoder",),
    "nearboost.linear.coordinates": ("Eigenvectors", "Features"),
    "nearboost.linear.descent": ("FixedMetric", "PassOptions", "Schedule", "State"),
    "nearboost.linear.objectives": ("Objective",),
    "nearboost.losses.family": ("ExponentialLoss", "Loss"),
    "nearboost.neighbors": ("MeasuredRows", "Neighbors", "NeighborSearch"),
    "nearboost.problem.held_out": ("Calibration",),
    "nearboost.problem.targets": ("Coding", "ExampleWeights", "Labels", "TrainingSet"),
    "nearboost.votes.rules": ("CodeVotes", "KernelVotes", "PlainVotes"),
}

# Those of scikit-learn whose fitted state is made of numbers, texts and arrays.
_FROM_SKLEARN = {
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
    **{name: module for part in (_ESTIMATORS, _RECORDS) for module, names in part.items() for name in names},
    **{SKLEARN + name: module for module, names in _FROM_SKLEARN.items() for name in names},
}

# What classes were called in older files.
RENAMED = {"Rows": "MeasuredRows", "Way": "PassOptions"}
# What their fields were called: each class with the former names and those of today.
RENAMED_FIELDS = {"ExampleWeights": {"judge": "held_out"}, "State": {"way": "options"}}

# Compiled objects that fits make for themselves and nothing else needs.
NOT_KEPT = {"sklearn.SGDClassifier": ("_loss_function_",)}

# Methods that a record may hold, bound to their object.
METHODS = ("Dictionary.codes", "INNCoder.transform", "L1Dictionary.codes", "NearWords.codes")


def class_of(name: str) -> type:
    """The class of a name in the table."""
    found = getattr(import_module(MODULES[name]), name.removeprefix(SKLEARN))
    assert isinstance(found, type)
    return found


def name_of(kind: type) -> str | None:
    """The name of a class, None where it is not in the table."""
    name = SKLEARN + kind.__name__ if kind.__module__.startswith(SKLEARN) else kind.__name__
    return name if name in MODULES and class_of(name) is kind else None
