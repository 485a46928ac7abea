"""Which data the items of a model came from, one after the other: the fact that `add` and `forget` change."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.models.model import Model


def sources_of(model: Model) -> list[list[Any]]:
    """The data that a model's items came from, one after the other, and how many came from each."""
    return list(model.facts.get("sources", [[str(model.facts.get("data", "rows")), model.n_training]]))


def with_sources(facts: dict[str, Any], sources: list[list[Any]]) -> dict[str, Any]:
    """Facts of a model whose items come from this data."""
    others = {name: fact for name, fact in facts.items() if name != "sources"}
    data = " and ".join(dict.fromkeys(name for name, _ in sources))
    facts = others | {"data": data, "items": sum(n for _, n in sources)}
    return facts if len(sources) == 1 else facts | {"sources": sources}


def sources_left(model: Model, stay: NDArray[np.integer]) -> list[list[Any]]:
    """Where the items come from that stay, by number."""
    sources = sources_of(model)
    numbers = np.repeat(np.arange(len(sources)), [n for _, n in sources])
    left = np.bincount(numbers[stay], minlength=len(sources)).tolist()
    return [[name, n] for (name, _), n in zip(sources, left, strict=True) if n]
