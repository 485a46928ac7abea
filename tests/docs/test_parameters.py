"""Docstrings say what signatures say, and name what a fit leaves behind."""

import ast
import inspect
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module

import numpy as np
import pyarrow
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.base import BaseEstimator

from docs.building import PUBLIC, entries_of, public_methods, summary_of
from nearboost import LocalSets, N3Classifier
from nearboost.boosting.one_weight import Diagnostics
from nearboost.boosting.queries import Explanation
from nearboost.features.base import FixedDescriptor
from nearboost.features.embedding import Network
from nearboost.features.store import Entry
from nearboost.inn.code_classifier import CodeExplanation
from nearboost.neighbors import SearchMethod

# What public methods return or take, and what a back end of search implements.
BESIDES = [Explanation, CodeExplanation, Diagnostics, Entry, Network, SearchMethod]


NAMED = {
    f"{name}.{one}": getattr(module, one)
    for name, module in ((name, import_module(name)) for name in PUBLIC)
    for one in module.__all__
    if callable(getattr(module, one))
}


def public_things():
    unique = {id(thing): thing for thing in [*NAMED.values(), *BESIDES]}.values()
    return [thing for thing in unique if not (inspect.isclass(thing) and issubclass(thing, Exception))]


def functions_of(thing):
    """A function, or a class and its methods, by name."""
    methods = public_methods(thing) if inspect.isclass(thing) else []
    return {thing.__name__: thing} | {f"{thing.__name__}.{name}": method for name, method in methods}


THINGS = public_things()
ESTIMATORS = [thing for thing in THINGS if inspect.isclass(thing) and issubclass(thing, BaseEstimator)]


def fields_of(thing):
    return fields(thing) if is_dataclass(thing) else ()


def parameters_of(function):
    """Names, with their stars, and defaults."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    made = {one.name: one.default_factory() for one in fields_of(function) if one.default_factory is not MISSING}
    return {
        stars.get(one.kind, "") + one.name: made.get(one.name, one.default)
        for one in found
        if one.name not in ("self", "cls")
    }


def documented_parameters(function):
    """Entries of the section that speaks of them; records that are made for readers call them attributes."""
    return entries_of(function, "Parameters") or (
        entries_of(function, "Attributes") if is_dataclass(function) else []
    )


@pytest.mark.parametrize("thing", THINGS)
def test_parameters_are_those_of_the_signature(thing):
    for name, function in functions_of(thing).items():
        assert summary_of(function) != [""], name
        documented = [entry.name for entry in documented_parameters(function)]
        assert documented == list(parameters_of(function)), name


@pytest.mark.parametrize("thing", THINGS)
def test_every_entry_has_a_type_and_a_meaning(thing):
    for name, function in functions_of(thing).items():
        for entry in entries_of(function, "Parameters") + entries_of(function, "Attributes"):
            assert entry.kind, (name, entry.name)
            assert entry.meaning.endswith("."), (name, entry.name)
        assert all(entry.meaning.endswith(".") for entry in entries_of(function, "Returns")), name


@pytest.mark.parametrize("thing", THINGS)
def test_defaults_are_those_of_the_signature_and_among_the_choices(thing):
    for name, function in functions_of(thing).items():
        for entry in entries_of(function, "Parameters"):
            default = parameters_of(function)[entry.name]
            if default is inspect.Parameter.empty:
                assert entry.default == "", (name, entry.name)
                continue
            documented = ast.literal_eval(entry.default)
            assert (documented, type(documented)) == (default, type(default)), (name, entry.name)
            if entry.kind.startswith("{") and entry.kind.endswith("}"):
                assert documented in ast.literal_eval(f"[{entry.kind[1:-1]}]"), (name, entry.name)


RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 4)) + 3 * Y[:, np.newaxis]
TABLE = pyarrow.table({f"column {i}": X[:, i] for i in range(4)})  # has names of features
SETS = LocalSets.of([RNG.normal(size=(12, 4)) for _ in Y])
IMAGES = [RNG.integers(0, 255, (64, 80, 3), dtype=np.uint8) for _ in range(8)]

# Settings beside the defaults under which attributes appear, or small ones where the defaults need more rows.
SETTINGS = {
    "N3Classifier": [
        {},
        {"loss": "hinge", "arithmetic": "rational", "vote_weights": "uniform", "start": "zero", "n_rounds": 3},
    ],
    "SLNDClassifier": [{}, {"step": "theory", "loss": "log"}],
    "SplitClassifier": [{"estimator": N3Classifier(n_rounds=3), "n_splits": 2}],
    "BagOfFeatures": [{"n_words": 4}],
    "DescriptorPCA": [{"n_components": 2}],
    "DiagonalGMM": [{"n_components": 2}],
    "FisherVector": [{"n_components": 2}],
    "SpatialPyramid": [{"n_words": 8, "levels": (1,)}],
    "WhitenedPCA": [{"n_components": 2}],
    "SIFTColorFisher": [{"n_components": 2, "step": 16}],
    "Nimble": [
        {"n_filters": 8, "filter_size": 4, "short_side": 48, "window": 24, "n_patches": 500, "n_components": 5}
    ],
}
FITTED_ON = {"Nimble": IMAGES, "SIFTColorFisher": IMAGES} | dict.fromkeys(
    ("BagOfFeatures", "DescriptorPCA", "FisherVector", "SpatialPyramid", "NaiveBayesNN"), SETS
)


def public_attributes(cls):
    """Names ending in an underscore after fits with all settings above, properties included."""
    found = {name for name, _ in inspect.getmembers(cls, lambda thing: isinstance(thing, property))}
    for settings in SETTINGS.get(cls.__name__, [{}]):
        rows = FITTED_ON.get(cls.__name__, TABLE)
        found |= set(vars(cls(**settings).fit(rows, Y if rows is not IMAGES else Y[:8])))
    return {name for name in found if name.endswith("_") and not name.startswith("_")}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if not issubclass(cls, FixedDescriptor)])
def test_attributes_are_those_of_a_fit(cls):
    documented = [entry.name for entry in entries_of(cls, "Attributes")]
    assert len(documented) == len(set(documented))
    assert set(documented) == public_attributes(cls)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if issubclass(cls, FixedDescriptor)])
def test_descriptors_that_learn_nothing_have_no_attributes(cls):
    assert entries_of(cls, "Attributes") == []


@pytest.mark.parametrize("thing", sorted(NAMED))
def test_every_public_name_has_an_example(thing):
    assert any(">>>" in line for line in NumpyDocString(inspect.getdoc(NAMED[thing]))["Examples"])
