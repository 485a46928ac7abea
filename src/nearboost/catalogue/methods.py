"""The methods that can be compared and fitted by name, with the settings they run with.

All of them get the same rows. What a method must know about the data (neighbours, C, gamma, steps, rounds) is
chosen inside the training rows: by the family's own held-out folds, or by three folds for the contenders.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import isfinite
from typing import Any

from nearboost.base.device import is_device_name
from nearboost.base.errors import UsageError
from nearboost.base.words import near_names

DEFAULT = ("nearboost", "knn", "weighted-knn", "unn", "n3", "innc", "slnd", "linear-svm", "rbf-svm")

NEIGHBORS = {"n_neighbors": (1, 3, 5, 7, 11, 15)}
PENALTIES = {"C": (1, 10, 100, 1000)}
KERNELS = {"C": (1, 10, 100), "gamma": (0.25, 1, 4)}
SEE_MORE = {
    "penalty",
    "l1_ratio",
    "kernel",
    "gamma",
}  # settings by which more of a row may count than its products
STUMP_ROUNDS = 200
WRITTEN = "settings are written NAME:SETTING=VALUE:SETTING=VALUE"
WRONG_JOINT = re.compile(r"[,;\s]+(?=\w+=)")  # what people put between settings instead of a colon


@dataclass(frozen=True)
class Method:
    """A named classifier.

    Attributes
    ----------
    name : as on the command line
    title : as in tables
    home : module and class, imported when it is made
    about : what it is, in a sentence
    guide : the page of the documentation that says more
    settings : what differs from the class's defaults
    grid : values to choose from by folds of the training rows (see `Tuned`), and the units they are in
    by_products : whether it sees rows by their products alone, which makes choosing from the grid cheaper
    one_vs_rest : whether each class is learned against the rest, because the class itself knows no better way
    calibrated : whether it has scores alone, which are given a temperature
    slow : whether it is left out unless asked for
    multilabel : whether it takes a matrix of labels
    savable : whether a model file can hold it
    """

    name: str
    title: str
    home: str
    about: str
    guide: str = "compare.md"
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] | None = None
    units: Mapping[str, str] | None = None
    by_products: bool = False
    one_vs_rest: bool = False
    calibrated: bool = False
    slow: bool = False
    multilabel: bool = False
    savable: bool = True

    def kind(self) -> Any:
        """The class, imported."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(module), name)

    def make(self, seed: int = 0, n_jobs: int | None = None) -> Any:
        """The estimator, not fitted. A tuned one is saved as its ``best_estimator_``."""
        estimator = self.kind()(**self.settings)
        if self.grid is not None:
            return self.tuned(seeded(estimator, seed, n_jobs if self._is_ours else None), seed, n_jobs)
        if self.one_vs_rest:
            from sklearn.multiclass import OneVsRestClassifier

            return OneVsRestClassifier(seeded(estimator, seed, n_jobs), n_jobs=n_jobs)
        if self.calibrated:
            from nearboost.ensemble.calibrated import CalibratedScores

            return CalibratedScores(seeded(estimator, seed, n_jobs), random_state=seed)
        return seeded(estimator, seed, n_jobs)

    def tuned(self, estimator: Any, seed: int = 0, n_jobs: int | None = None) -> Any:
        """An estimator of this method whose settings of the grid are to be chosen by folds."""
        from nearboost.catalogue.tuning import Tuned

        n_folds_at_once = 1 if self._is_ours else n_jobs
        return Tuned(
            estimator,
            self.grid or {},
            units=self.units,
            by_products=self.by_products,
            calibrated=self.calibrated,
            random_state=seed,
            n_jobs=n_folds_at_once,
        )

    @property
    def _is_ours(self) -> bool:
        """Then it has threads of its own, also for queries; otherwise folds have them."""
        return self.home.startswith("nearboost")


def seeded(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """The estimator with a seed and a number of threads, as far as it takes them."""
    known = estimator.get_params(deep=False)
    given = {"random_state": seed, "n_jobs": n_jobs}
    return estimator.set_params(**{name: value for name, value in given.items() if name in known})


def default_method(*, multilabel: bool) -> str:
    """The name of the method to fit where none is asked for."""
    return "n3" if multilabel else "nearboost"


def find_methods(names: Iterable[str]) -> list[Method]:
    """The methods of these names, each once; "all" means all of them."""
    wanted = [name.strip() for name in names if name.strip()]
    if not wanted:
        raise UsageError(f"No method was given; use some of {', '.join(METHODS)}, or all.")
    if "all" in wanted:
        wanted = [*METHODS, *(name for name in wanted if name != "all")]
    return [find_method(name) for name in dict.fromkeys(wanted)]


def find_method(name: str, *, to_save: bool = False) -> Method:
    """The method of this name, as in the table or with settings of its own: ``n3:n_prototypes=0.1:loss=mat``.

    ``to_save`` refuses those that no model file can hold.
    """
    if WRONG_JOINT.search(name):
        raise UsageError(f"{name!r} is not understood; {WRITTEN}: {WRONG_JOINT.sub(':', name)}.")
    base, pairs = _base_and_pairs(name)
    if "=" in base:
        raise UsageError(f"{base!r} is a setting without a method; {WRITTEN}.")
    known = {key: one for key, one in METHODS.items() if one.savable or not to_save}
    if base not in known:
        near = "".join(f" (perhaps {one!r})" for one in near_names(base, known, 1))
        wrong = f"No model file can hold {base!r}" if base in METHODS else f"There is no method {base!r}{near}"
        raise UsageError(f"{wrong}; choose from {', '.join(known)}.")
    method = known[base]
    if not pairs:
        return method
    given = dict(_setting(pair, name) for pair in pairs)
    settable = method.kind()().get_params(deep=False)
    unknown = [setting for setting in given if setting not in settable]
    if unknown:
        raise UsageError(f"{base} has no setting {unknown[0]!r}; it has {', '.join(settable)}.")
    grid = grid_of(name)
    units = {setting: unit for setting, unit in (method.units or {}).items() if setting not in given}
    title = f"{method.title}, {', '.join(pair.replace('=', ' = ') for pair in pairs)}"
    settings = {**method.settings, **given}
    _check_values(method.kind()(**settings), name)
    return replace(
        method,
        name=name,
        title=title,
        settings=settings,
        grid=grid or None,
        units=units or None,
        by_products=method.by_products and not given.keys() & SEE_MORE,
    )


def grid_of(name: str) -> dict[str, tuple[Any, ...]]:
    """What a method chooses by folds and from what values, by its name; no class is imported.

    >>> list(grid_of("rbf-svm:C=10")), list(grid_of("n3"))
    (['gamma'], [])
    """
    base, pairs = _base_and_pairs(name)
    given = {pair.partition("=")[0] for pair in pairs}
    grid = METHODS[base].grid if base in METHODS else None
    return {setting: values for setting, values in (grid or {}).items() if setting not in given}


def _check_values(estimator: Any, name: str) -> None:
    """Wrong settings, before any data is read: ours are asked, scikit-learn's are fitted to a few made-up rows."""
    try:
        if hasattr(estimator, "check_parameters"):
            estimator.check_parameters()
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator.fit([[i] for i in range(20)], [i // 10 for i in range(20)])
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name!r} cannot be fitted: {error}") from None


def _base_and_pairs(name: str) -> tuple[str, list[str]]:
    """The method and its settings; the colon of a device belongs to its name.

    >>> _base_and_pairs("n3:search=gpu:1:loss=mat")
    ('n3', ['search=gpu:1', 'loss=mat'])
    """
    base, *parts = name.split(":")
    pairs: list[str] = []
    for part in parts:
        if pairs and is_device_name(f"{pairs[-1].partition('=')[2]}:{part}"):
            pairs[-1] += f":{part}"
        else:
            pairs.append(part)
    return base, pairs


def _setting(pair: str, name: str) -> tuple[str, Any]:
    """A setting and its value: a number, true, false, null, or else a word."""
    setting, equals, value = pair.partition("=")
    if not (setting and equals and value):
        raise UsageError(f"{name!r} is not understood; {WRITTEN}.")
    try:
        given = json.loads(value)
    except ValueError:
        return setting, value
    if isinstance(given, float) and not isfinite(given):
        raise UsageError(f"{name!r} has the value {value} for {setting}; give a finite number.")
    return setting, given


_TABLE = (
    Method(
        "nearboost",
        "NearBoost",
        "nearboost.ensemble.nearboost.NearBoostClassifier",
        "Neighbours in a learned metric and a kernel regression; scales, metric and weights by folds.",
        "nearboost.md",
    ),
    Method(
        "knn",
        "k-NN",
        "nearboost.boosting.knn.KNNClassifier",
        "The k nearest neighbours, each with one vote; k by folds.",
        grid=NEIGHBORS,
    ),
    Method(
        "weighted-knn",
        "weighted k-NN",
        "nearboost.boosting.knn.KNNClassifier",
        "The k nearest neighbours, with votes that fall with the distance; k by folds.",
        settings={"vote_weights": "gaussian"},
        grid=NEIGHBORS,
    ),
    Method(
        "unn",
        "UNN",
        "nearboost.boosting.unn.UNNClassifier",
        "Neighbours whose votes are learned by boosting.",
        "boosted-neighbours.md",
        multilabel=True,
    ),
    Method(
        "n3",
        "N3",
        "nearboost.boosting.n3.N3Classifier",
        "Neighbours whose votes are learned by Newton steps.",
        "boosted-neighbours.md",
        multilabel=True,
    ),
    Method(
        "mlnn",
        "MLNN",
        "nearboost.boosting.mlnn.MLNNClassifier",
        "Neighbours with one learned weight each, the same for all classes.",
        "one-weight.md",
    ),
    Method(
        "mapboost",
        "MAPBoost",
        "nearboost.boosting.mapboost.MAPBoostClassifier",
        "Neighbours with one learned weight each, and posteriors by the rule of Bayes.",
        "one-weight.md",
    ),
    Method(
        "innc",
        "INNC",
        "nearboost.inn.classifier.INNClassifier",
        "The weights of iterative nearest neighbours, summed by class.",
        "inn.md",
    ),
    Method(
        "src",
        "SRC",
        "nearboost.inn.src.SRCClassifier",
        "The weights of a sparse code over all training rows, summed by class.",
        "inn.md",
        slow=True,
    ),
    Method(
        "crc",
        "CRC",
        "nearboost.inn.crc.CRCClassifier",
        "The class that a ridge code over all training rows rebuilds a query from best.",
        "inn.md",
    ),
    Method(
        "slnd",
        "SLND",
        "nearboost.linear.slnd.SLNDClassifier",
        "Linear classifiers by stochastic low-rank Newton descent.",
        "linear.md",
        multilabel=True,
    ),
    Method(
        "linear-svm",
        "linear SVM",
        "sklearn.svm.LinearSVC",
        "Linear support vector machines; C by folds.",
        grid=PENALTIES,
        units={"C": "norm"},
        by_products=True,
        calibrated=True,
    ),
    Method(
        "rbf-svm",
        "RBF-SVM",
        "sklearn.svm.SVC",
        "Support vector machines with Gaussian kernels; C and gamma by folds.",
        settings={"cache_size": 500},
        grid=KERNELS,
        units={"gamma": "variance"},
        by_products=True,
        calibrated=True,
    ),
    Method(
        "sgd",
        "SGD",
        "nearboost.linear.sgd.LinearSGDClassifier",
        "Linear classifiers by plain stochastic gradients.",
        "linear.md",
        multilabel=True,
    ),
    Method(
        "lbfgs",
        "L-BFGS",
        "sklearn.linear_model.LogisticRegression",
        "Logistic regression by L-BFGS; C by folds.",
        settings={"max_iter": 1000},
        grid=PENALTIES,
        units={"C": "norm"},
        by_products=True,
    ),
    Method(
        "adaboost",
        "AdaBoost",
        "sklearn.ensemble.AdaBoostClassifier",
        "AdaBoost on decision stumps, one class against the rest.",
        settings={"n_estimators": STUMP_ROUNDS},
        one_vs_rest=True,
        slow=True,
        multilabel=True,
        savable=False,
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _TABLE}
