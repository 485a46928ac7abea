"""What is kept of scikit-learn's classes, by the same kind of schema as ours.

Nothing that names a place, a callable or a machine is kept. An object that can be made from its rows is; of the
support vector machine private arrays are kept, which scikit-learn may change from one version to the next.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearboost.base import schema
from nearboost.base.entries import (
    Array,
    Choice,
    Constant,
    Either,
    Flag,
    Integer,
    ListOf,
    Misfit,
    Nullable,
    Number,
    Part,
    Size,
    Spec,
    Step,
    Text,
)
from nearboost.base.schema import CLASSES, Schema

LEAST_SCALE = 1e-300  # common numbers divided by less are infinite
MACHINE = ("n_jobs", "verbose")  # suit one machine or one terminal only


def per_feature(**bounds: Any) -> Array:
    """One number for each feature."""
    return Array("float", ("n_features",), **bounds)


def per_class(**bounds: Any) -> Array:
    """One number for each class."""
    return Array("float", ("n_classes",), **bounds)


def of_rows(entries: Mapping[str, Spec], optional: tuple[str, ...] = (), **more: Any) -> Schema:
    """A schema of something fitted on rows with features."""
    return schema.of_rows(entries, optional, dropped=(*MACHINE, *more.pop("dropped", ())), **more)


def linear(**more: Spec) -> Schema:
    """One row of coefficients for each class, or a single one for two classes."""
    entries = {
        **CLASSES,
        "coef_": Either(Array("float", ("n_columns", "n_features")), Array("float", ("n_features",))),
        "intercept_": Either(Number(), Array("float", ("n_columns",))),
        **more,
    }
    optional = tuple(name for name, spec in more.items() if not isinstance(spec, Part))
    return of_rows(entries, optional, check=_check_columns)


def _check_columns(state: Mapping[str, Any]) -> None:
    n_classes, n_columns = len(state["classes_"]), len(np.atleast_2d(state["coef_"]))
    if n_classes < 2 or not n_columns == np.size(state["intercept_"]) == (1 if n_classes == 2 else n_classes):
        raise Misfit("must have a row of coefficients for each class, or one for two classes")


def _check_support_vectors(state: Mapping[str, Any]) -> None:
    n_classes, n_vectors = len(state["classes_"]), len(state["support_"])
    n_pairs = n_classes * (n_classes - 1) // 2
    shapes = {
        "dual_coef_": (n_classes - 1, n_vectors),
        "_dual_coef_": (n_classes - 1, n_vectors),
        "intercept_": (n_pairs,),
        "_intercept_": (n_pairs,),
    }
    if any(state[name].shape != shape for name, shape in shapes.items()):
        raise Misfit("must have coefficients for each pair of classes")
    if state["_n_support"].sum() != n_vectors or (state["support_"] >= state["shape_fit_"][0]).any():
        raise Misfit("must count its support vectors rightly")
    if not all(state[name].size in (0, n_pairs) for name in ("_probA", "_probB")):
        raise Misfit("must have one pair of calibration numbers for each pair of classes")


def _neighbors_state(model: Any) -> dict[str, Any]:
    codes = np.asarray(model._y)
    rows = {"rows": np.ascontiguousarray(model._fit_X), "codes": codes.astype(np.int64)}
    return {**vars(model), **rows}


def _restore_power(model: Any, state: Mapping[str, Any]) -> None:
    if model.standardize and "_scaler" not in state:
        raise ValueError("PowerTransformer(standardize=True) needs its scaler.")
    vars(model).update(state)


def _restore_discriminant(model: Any, state: Mapping[str, Any]) -> None:
    needed = {"svd": ("xbar_", "scalings_"), "eigen": ("scalings_",)}.get(model.solver, ())
    if not set(needed) <= set(state):
        raise ValueError(f"LinearDiscriminantAnalysis(solver={model.solver!r}) needs {' and '.join(needed)}.")
    vars(model).update(state)


def _fit_neighbors(model: Any, state: Mapping[str, Any]) -> None:
    model.fit(state["rows"], state["classes_"][state["codes"]])
    if "feature_names_in_" in state:
        model.feature_names_in_ = state["feature_names_in_"]


N_ITER = Either(Integer(), Array("int32", (None,), low=0))
SEEN = Either(Integer(), Number(low=0), Array("int64", ("n_features",), low=0))

SCHEMAS: dict[str, Schema] = {
    "GaussianNB": of_rows(
        {
            **CLASSES,
            "epsilon_": Number(low=0),
            "theta_": Array("float", ("n_classes", "n_features")),
            "var_": Array("float", ("n_classes", "n_features"), above=0),
            "class_count_": per_class(low=0),
            "class_prior_": per_class(low=0),
        }
    ),
    "KNeighborsClassifier": of_rows(
        {
            **CLASSES,
            "rows": Array("float", ("n_rows", "n_features")),
            "codes": Array("int64", ("n_rows",), low=0, below="n_classes", every=True),
        },
        parameters={
            "n_neighbors": Integer(1),
            "weights": Choice("uniform", "distance", None),
            "algorithm": Choice("auto", "ball_tree", "kd_tree", "brute"),
            "leaf_size": Integer(1, 100_000),
            "p": Either(Number(above=0), Integer(1)),
            "metric": Choice(
                "minkowski", "euclidean", "manhattan", "cosine", "chebyshev", "l1", "l2", "cityblock"
            ),
            "metric_params": Constant(None),
        },
        collect=_neighbors_state,
        restore=_fit_neighbors,
    ),
    "LabelBinarizer": Schema(
        {
            **CLASSES,
            "y_type_": Choice("binary", "multiclass", "multilabel-indicator"),
            "sparse_input_": Flag(),
        }
    ),
    "LinearDiscriminantAnalysis": of_rows(
        {
            **CLASSES,
            "priors_": per_class(low=0),
            "_max_components": Integer(1),
            "means_": Array("float", ("n_classes", "n_features")),
            "xbar_": per_feature(),
            "covariance_": Array("float", ("n_features", "n_features")),
            "explained_variance_ratio_": Array("float", (None,), finite=False),
            "scalings_": Array("float", ("n_features", "n_directions")),
            "coef_": Array("float", ("n_columns", "n_features")),
            "intercept_": Array("float", ("n_columns",)),
            "_n_features_out": Integer(),
        },
        ("xbar_", "covariance_", "explained_variance_ratio_", "scalings_", "_n_features_out"),
        dropped=("covariance_estimator",),
        check=_check_columns,
        restore=_restore_discriminant,
    ),
    "LinearSVC": linear(n_iter_=N_ITER),
    "LogisticRegression": linear(n_iter_=N_ITER),
    "MaxAbsScaler": of_rows(
        {
            "n_samples_seen_": SEEN,
            "max_abs_": per_feature(low=0),
            "scale_": per_feature(low=LEAST_SCALE),
        }
    ),
    "MinMaxScaler": of_rows(
        {
            "n_samples_seen_": SEEN,
            **{name: per_feature() for name in ("scale_", "min_", "data_min_", "data_max_", "data_range_")},
        }
    ),
    "NearestCentroid": of_rows(
        {
            **CLASSES,
            "class_prior_": per_class(low=0),
            "centroids_": Array("float", ("n_classes", "n_features")),
            "within_class_std_dev_": per_feature(low=0),
            "deviations_": Array("float", ("n_classes", "n_features"), finite=False),
            "true_classes_": Array("index", (None,)),
        },
        ("deviations_", "true_classes_"),
        parameters={"metric": Choice("euclidean", "manhattan")},
    ),
    "Normalizer": of_rows({}),
    "PCA": of_rows(
        {
            "components_": Array("float", ("n_components", "n_features")),
            "n_components_": Size(0, name="n_components"),
            "n_samples_": Integer(1),
            "mean_": per_feature(),
            "noise_variance_": Number(low=0),
            "explained_variance_": Array("float", ("n_components",), low=0),
            "explained_variance_ratio_": Array("float", ("n_components",), finite=False),
            "singular_values_": Array("float", ("n_components",), low=0),
            "_fit_svd_solver": Choice("full", "covariance_eigh", "arpack", "randomized"),
        },
        ("_fit_svd_solver",),
    ),
    "PowerTransformer": of_rows(
        {
            "lambdas_": per_feature(low=-1000, high=1000, finite=False),
            "_scaler": Part(("sklearn.StandardScaler",)),
        },
        ("_scaler",),
        restore=_restore_power,
    ),
    "QuantileTransformer": of_rows(
        {
            "n_quantiles_": Size(1, name="n_quantiles"),
            "references_": Array("float", ("n_quantiles",), low=0, high=1),
            "quantiles_": Array("float", ("n_quantiles", "n_features")),
        }
    ),
    "RidgeClassifier": linear(
        _label_binarizer=Part(("sklearn.LabelBinarizer",)),
        n_iter_=Nullable(N_ITER),
        solver_=Text(100),
    ),
    "RobustScaler": of_rows(
        {"center_": Nullable(per_feature()), "scale_": Nullable(per_feature(low=LEAST_SCALE))}
    ),
    "SGDClassifier": linear(t_=Number(low=0), n_iter_=Integer(), _expanded_class_weight=per_class(low=0)),
    "StandardScaler": of_rows(
        {
            "n_samples_seen_": SEEN,
            "mean_": Nullable(per_feature()),
            "var_": Nullable(per_feature(low=0)),
            "scale_": Nullable(per_feature(low=LEAST_SCALE)),
        }
    ),
    "SVC": of_rows(
        {
            **CLASSES,
            "class_weight_": per_class(low=0),
            "support_": Array("int32", ("n_vectors",), low=0),
            "support_vectors_": Array("float64", ("n_vectors", "n_features"), by_rows=True),
            "_n_support": Array("int32", ("n_classes",), low=0),
            "dual_coef_": Array("float64", (None, "n_vectors"), by_rows=True),
            "_dual_coef_": Array("float64", (None, "n_vectors"), by_rows=True),
            **{name: Array("float64", (None,)) for name in ("intercept_", "_intercept_", "_probA", "_probB")},
            "shape_fit_": ListOf(Integer(1), 2, as_tuple=True),
            "fit_status_": Integer(0, 1),
            "_gamma": Number(low=0),
            "_num_iter": Array("int32", (None,)),
            "n_iter_": Array("int32", (None,)),
            "_sparse": Constant(False),
            "_effective_probability": Flag(),
        },
        ("_num_iter", "n_iter_", "_effective_probability"),
        parameters={
            "kernel": Choice("linear", "poly", "rbf", "sigmoid"),
            "degree": Integer(0, 100),
            "cache_size": Either(Number(above=0, high=10_000), Integer(1, 10_000)),
        },
        check=_check_support_vectors,
    ),
    "TruncatedSVD": of_rows(
        {
            "components_": Array("float", ("n_components", "n_features")),
            **{
                name: Array("float", ("n_components",), finite=False)
                for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_")
            },
        }
    ),
    "VarianceThreshold": of_rows({"variances_": per_feature(low=0)}),
    "FeatureUnion": Schema(
        {},
        parameters={"transformer_list": ListOf(Step(("drop",)))},
        dropped=MACHINE,
    ),
    "Pipeline": Schema(
        {},
        parameters={"steps": ListOf(Step(("passthrough",)))},
        dropped=("memory", "verbose", "transform_input"),
    ),
}
