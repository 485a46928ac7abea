"""scikit-learn's classes come back from files, also where a feature is constant and where a solver keeps less."""

import json

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from models.mutations import HEADER, members, with_header, written
from nearboost.models import ModelFileError, load, save

pytestmark = pytest.mark.filterwarnings("ignore")  # of constant features

MODELS = [
    *(NearestCentroid(), NearestCentroid(shrink_threshold=0.2), KNeighborsClassifier(algorithm="ball_tree")),
    *(PowerTransformer(), PowerTransformer(standardize=False), QuantileTransformer(n_quantiles=10)),
    *(RobustScaler(), StandardScaler(with_mean=False), MinMaxScaler(), MaxAbsScaler(), Normalizer("l1")),
    *(PCA(), PCA(3, whiten=True), TruncatedSVD(3), VarianceThreshold()),
    *(LogisticRegression(), RidgeClassifier(), SGDClassifier(early_stopping=True), GaussianNB()),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    LinearDiscriminantAnalysis(solver="lsqr"),
    *(SVC(probability=True), LinearSVC()),
]


def problem():
    rng = np.random.RandomState(0)
    X = rng.rand(60, 6)
    X[:, 2], X[:, 3] = 1.0, 0.0
    return X, rng.randint(0, 3, 60)


def said(model, X):
    """All answers; what a class refuses by itself is one, too."""
    answers = {}
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, name):
            try:
                answers[name] = getattr(model, name)(X)
            except (ValueError, NotImplementedError) as error:
                answers[name] = str(error)
    return answers


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_same_answers(tmp_path, model):
    X, y = problem()
    for rows, labels in ((X, y), (X.astype(np.float32), y % 2)):
        save(model.fit(rows, labels), tmp_path / "model.nb")
        before, after = said(model, rows), said(load(tmp_path / "model.nb"), rows)
        assert before
        assert before.keys() == after.keys()
        for name, answer in before.items():
            np.testing.assert_array_equal(after[name], answer)


@pytest.mark.parametrize(
    ("model", "entry"), [(NearestCentroid(), "within_class_std_dev_"), (PowerTransformer(), "_scaler")], ids=str
)
def test_what_an_answer_needs_is_there(tmp_path, model, entry):
    save(model.fit(*problem()), tmp_path / "model.nb")
    contents = members(tmp_path / "model.nb")
    header = json.loads(contents[HEADER])
    del header["root"]["state"][entry]
    written(tmp_path / "bad.nb", with_header(contents, header))
    with pytest.raises(ModelFileError, match=r"is missing|needs its scaler"):
        load(tmp_path / "bad.nb")


def of_equal_votes(distances):
    return np.ones_like(distances)


@pytest.mark.parametrize(
    ("model", "parameter", "message"),
    [
        (KNeighborsClassifier(metric="canberra"), "metric", "must be one of 'minkowski', "),
        (KNeighborsClassifier(metric=lambda one, other: 0.0), "metric", "must be one of 'minkowski', "),
        (KNeighborsClassifier(metric_params={"w": np.arange(6)}), "metric_params", "must be None"),
        (KNeighborsClassifier(weights=of_equal_votes), "weights", "must be one of 'uniform', 'distance', None"),
        (SVC(kernel=lambda one, other: one @ other.T), "kernel", "must be one of 'linear', "),
    ],
    ids=["metric", "function", "weighted metric", "weights", "kernel"],
)
def test_settings_that_no_file_may_hold(tmp_path, model, parameter, message):
    """They are refused when saving, by the rules of loading."""
    with pytest.raises(ModelFileError, match=f"^model.{parameter} cannot be saved: it {message}"):
        save(model.fit(*problem()), tmp_path / "model.nb")


def test_steps_in_lists_and_tuples(tmp_path):
    X, y = problem()
    for steps in ([["scale", RobustScaler()], ["svm", SVC()]], (("scale", RobustScaler()), ("svm", SVC()))):
        model = Pipeline(steps).fit(X, y)
        save(model, tmp_path / "model.nb")
        np.testing.assert_array_equal(load(tmp_path / "model.nb").predict(X), model.predict(X))
