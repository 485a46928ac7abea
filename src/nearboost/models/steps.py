"""Whether the steps of a pipeline fit each other: what one gives, the next must take."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline


def check_steps(whole: Pipeline | FeatureUnion) -> None:
    """Refuse steps that scikit-learn, or the step after them, would refuse when rows come."""
    steps = whole.steps if isinstance(whole, Pipeline) else whole.transformer_list
    names = [name for name, _ in steps]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{type(whole).__name__} needs steps under different names, and has {names}.")
    weights = getattr(whole, "transformer_weights", None) or {}
    if not isinstance(weights, Mapping) or not all(isinstance(one, int | float) for one in weights.values()):
        raise ValueError("transformer_weights must give numbers to names of transformers.")
    parts = _parts(whole)
    must_transform = parts[:-1] if isinstance(whole, Pipeline) else parts
    for part in must_transform:
        if not hasattr(part, "transform"):
            raise ValueError(f"{type(part).__name__} is a step of {type(whole).__name__}, and transforms nothing.")
    if isinstance(whole, Pipeline):
        for one, other in pairwise(parts):
            check_fit(one, other)


def check_fit(one: Any, other: Any) -> None:
    """Refuse a part that cannot take what another one gives."""
    given, wanted = given_by(one), wanted_by(other)
    if any(a != b for a, b in zip(given, wanted, strict=True) if a is not None and b is not None):
        raise ValueError(
            f"{type(other).__name__} takes {_in_words(*wanted)}, and {type(one).__name__} gives it "
            f"{_in_words(*given)}; put parts together that fit."
        )


def given_by(part: Any) -> tuple[str, int | None]:
    """Images, sets of descriptors or rows; and of how many numbers, where our own classes say so."""
    if isinstance(part, Pipeline):
        parts = _parts(part)
        return given_by(parts[-1]) if parts else ("rows", None)
    if not hasattr(part, "gives"):
        return "rows", None
    return part.gives, getattr(part, "_n_features_out", None)


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


def _in_words(kind: str | None, width: int | None) -> str:
    of = {"sets": "sets of descriptors", "rows": "rows"}.get(str(kind), str(kind))
    return of if width is None else f"{of} of {width:,} numbers"
