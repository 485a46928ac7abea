"""Descriptors of files of formats 1 and 2: what has another form today."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.entries import ModelFileError
from nearboost.models.old_records import Picked, Record, kept_parameters, same_attributes


def _mixture(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    if not state:  # not fitted
        return parameters, state
    standard = {name: record[f"_mixture.{name}"] for name in ("means", "variances")}
    scale = {"center": record["_scale.mean"], "deviation": inverted(record["_scale.inverse"])}
    return parameters, state | standard | scale


def inverted(inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers whose inverses are these, to the last bit; the nearest ones where there are none."""
    nearest = 1 / np.asarray(inverse, dtype=np.float64)
    found = nearest.copy()
    for one in (np.nextafter(nearest, 0), np.nextafter(nearest, np.inf)):
        found = np.where((1 / found != inverse) & (1 / one == inverse), one, found)
    return found


def _nimble(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    if not state:
        return parameters, state
    return parameters, state | {name: record[f"distributions_.{name}"] for name in ("shapes", "scales")}


def _pyramid(record: Record) -> Picked:
    """What made the codes was kept; words are those of the pyramid."""
    parameters, state = same_attributes(record)
    if "words_" not in state:
        return parameters, {}
    coder = record["_codes"]
    kind = coder.name if isinstance(coder, Record) else None
    how: dict[str, Any]
    if kind == "INNCoder":
        how = {"coding": "inn", "regularization": coder["regularization"], "n_near": 1}
    elif kind == "L1Dictionary":
        how = {"coding": "sparse", "regularization": coder["_coder.problem.regularization"], "n_near": 1}
    elif kind == "NearWords":
        coding = "llc" if coder["regularization"] > 0 else "hard"
        how = {"coding": coding, "regularization": coder["regularization"], "n_near": coder["n_near"]}
    else:
        raise ModelFileError("holds a pyramid of no known coding; it was changed or damaged.")
    return parameters, state | how


def _embedding(record: Record) -> Picked:
    from nearboost.features.embedding import Network

    network = [record[f"path_to_onnx.{name}"] for name in ("name", "content", "sha256")]
    if [type(one) for one in network] != [str, bytes, str]:
        raise ModelFileError("holds a network that is none; it was changed or damaged.")
    return kept_parameters(record) | {"path_to_onnx": Network(*network)}, {}


FEATURES: dict[str, Callable[[Record], Picked]] = {
    "DiagonalGMM": _mixture,
    "Embedding": _embedding,
    "Nimble": _nimble,
    "SpatialPyramid": _pyramid,
}
