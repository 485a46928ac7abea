"""Whether parts can answer, and the steps of a pipeline fit each other: what one gives, the next must take."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline

from nearboost.features.base import check_length
from nearboost.models.files import MOST_TRIED

MOST_DEEP = 6  # pipelines and unions in each other, each of which has its parts tried
MOST_GROWTH = 16  # numbers that transformers may give for each number that they take or hold


def check_steps(whole: Pipeline | FeatureUnion) -> None:
    """Refuse steps that scikit-learn, or the step after them, would refuse when rows come."""
    steps = whole.steps if isinstance(whole, Pipeline) else whole.transformer_list
    names = [name for name, _ in steps]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{type(whole).__name__} needs steps under different names, and has {names}.")
    weights = getattr(whole, "transformer_weights", None) or {}
    if not isinstance(weights, Mapping) or not set(weights) <= set(names):
        raise ValueError("transformer_weights must give numbers to names of transformers.")
    if not all(isinstance(one, int | float) and isfinite(one) for one in weights.values()):
        raise ValueError("transformer_weights must be finite numbers.")
    if _depth(whole) > MOST_DEEP:
        raise ValueError(f"Pipelines and unions are nested more than {MOST_DEEP} times; use fewer.")
    parts = _parts(whole)
    must_transform = parts[:-1] if isinstance(whole, Pipeline) else parts
    for part in must_transform:
        if not hasattr(part, "transform"):
            raise ValueError(f"{type(part).__name__} is a step of {type(whole).__name__}, and transforms nothing.")
    if isinstance(whole, Pipeline):
        for one, other in pairwise(parts):
            check_fit(one, other)
    elif (
        len({wanted_by(part)[0] for part in parts}) > 1 or len({wanted_by(part)[1] for part in parts} - {None}) > 1
    ):
        raise ValueError("FeatureUnion needs steps that all take the same rows, and these differ.")
    if not hasattr(whole, "predict"):  # a classifier holds arrays as wide as its rows
        check_growth(whole)


def check_growth(whole: Pipeline | FeatureUnion) -> None:
    """Refuse a few bytes that would make a long row of a short one, thousands of times."""
    (_, taken), (_, given) = wanted_by(whole), given_by(whole)
    if given is None:
        return
    check_length(given, "unite fewer parts")
    if taken is not None and given > MOST_GROWTH * (taken + held_by(whole)):
        raise ValueError(f"{type(whole).__name__} makes {given:,} numbers of {taken:,}; unite fewer parts.")


def held_by(part: Any) -> int:
    """How many numbers the arrays of transformers have."""
    if isinstance(part, Pipeline | FeatureUnion):
        return sum(map(held_by, _parts(part)))
    return sum(one.size for one in vars(part).values() if isinstance(one, np.ndarray))


def check_answers(part: Any) -> None:
    """Refuse a fitted part of scikit-learn, which does not check its attributes, if one row is too much for it."""
    if not isinstance(part, Pipeline | FeatureUnion):
        asked = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(part, name)]
        for name in asked or ["transform"]:
            _answer(part, name)


def _answer(part: Any, asked: str) -> Any:
    """What a part of scikit-learn says of a row of ones; None where it is not fitted or takes no such rows."""
    width = getattr(part, "n_features_in_", MOST_TRIED)
    if width >= MOST_TRIED:
        return None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return getattr(part, asked)(np.ones((1, width)))
    except Exception as error:  # whatever comes to light in there
        raise ValueError(f"{type(part).__name__} cannot {asked}: {error}") from None


def check_fit(one: Any, other: Any) -> None:
    """Refuse a part that cannot take what another one gives."""
    given, wanted = given_by(one), wanted_by(other)
    if any(a != b for a, b in zip(given, wanted, strict=True) if a is not None and b is not None):
        raise ValueError(
            f"{type(other).__name__} takes {_in_words(*wanted)}, and {type(one).__name__} gives it "
            f"{_in_words(*given)}; put parts together that fit."
        )


def given_by(part: Any) -> tuple[str, int | None]:
    """Images, sets of descriptors or rows; and of how many numbers, where that is known."""
    if isinstance(part, Pipeline):
        parts = _parts(part)
        return given_by(parts[-1]) if parts else ("rows", None)
    if isinstance(part, FeatureUnion):
        given = [given_by(one) for one in _parts(part)]
        if any(kind != "rows" for kind, _ in given):
            raise ValueError("FeatureUnion needs steps that give rows; put an encoder after local descriptors.")
        widths = [width for _, width in given if width is not None]
        return "rows", sum(widths) if len(widths) == len(given) else None
    if type(part).__module__.startswith("sklearn."):
        answer = _answer(part, "transform")
        if answer is not None and not np.isfinite(answer).all():
            raise ValueError(f"{type(part).__name__} makes numbers that are not finite of a row of ones.")
        return "rows", None if answer is None else answer.shape[1]
    return getattr(part, "gives", "rows"), getattr(part, "_n_features_out", None)


def wanted_by(part: Any) -> tuple[str | None, int | None]:
    """What a part takes, and of how many numbers, where that is known."""
    if isinstance(part, Pipeline | FeatureUnion):
        parts = _parts(part)
        return wanted_by(parts[0]) if parts else (None, None)
    return getattr(part, "takes", "rows"), getattr(part, "n_features_in_", None)


def _parts(whole: Pipeline | FeatureUnion) -> Sequence[Any]:
    """The steps that do something."""
    steps, idle = (whole.steps, "passthrough") if isinstance(whole, Pipeline) else (whole.transformer_list, "drop")
    return [step for _, step in steps if not (isinstance(step, str) and step == idle)]


def _depth(part: Any) -> int:
    """How often pipelines and unions stand in each other."""
    inside = _parts(part) if isinstance(part, Pipeline | FeatureUnion) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)


def _in_words(kind: str | None, width: int | None) -> str:
    of = {"sets": "sets of descriptors", "rows": "rows"}.get(str(kind), str(kind))
    return of if width is None else f"{of} of {width:,} numbers"
