"""How a local descriptor becomes weights of visual words, and how the words are learned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import progress_bar
from nearboost.base.threads import one_matrix_thread
from nearboost.codes.l1 import L1Dictionary
from nearboost.inn.coder import INNCoder
from nearboost.neighbors import NeighborSearch

CODINGS = ("inn", "sparse", "llc", "hard")
REGULARIZATION = {"inn": 0.1, "sparse": 0.15, "llc": 1e-4}  # as in their papers or programs
BATCH = 1024  # descriptors between two changes of the atoms
AT_ONCE = 1024  # descriptors whose near words are laid out
FORGETTING = 3.0  # how fast codes by earlier atoms lose weight

Code = Callable[[NDArray[np.float32]], csr_array]


class Coding(NamedTuple):
    """How descriptors are coded: one of `CODINGS`, its λ or β, and how many words a code may have ("llc")."""

    coding: str
    regularization: float
    n_near: int

    def by(self, words: NDArray[np.float32], gram_memory: float | None = None) -> Code:
        """What turns descriptors into weights of the words, one row each; see `INNCoder` for ``gram_memory``."""
        if self.coding == "inn":
            return INNCoder(self.regularization, gram_memory=gram_memory, n_jobs=1).fit(words).transform
        if self.coding == "sparse":
            return L1Dictionary(words, self.regularization, n_jobs=1).codes
        return NearWords(words, self.regularization, self.n_near).codes


class NearWords:
    """Weights of the nearest words: the affine sum of them that is nearest to the descriptor (LLC).

    Eqs. (3) and (7) of Wang et al. (2010): c minimises |x − Σ c_j b_j|² + ε|c|² with Σ c_j = 1, where ε is
    ``regularization`` times Σ |x − b_j|².
    """

    def __init__(self, words: NDArray[np.float32], regularization: float, n_near: int) -> None:
        self.words, self.n_near = words, n_near
        self.regularization = regularization
        self.search = NeighborSearch(words, n_jobs=1, copy=False)

    def codes(self, values: NDArray[np.float32]) -> csr_array:
        near = self.search.search(values, self.n_near).indices
        blocks = [slice(start, start + AT_ONCE) for start in range(0, len(values), AT_ONCE)]
        weights = np.concatenate([self._weights(values[block], near[block]) for block in blocks])
        ends = np.arange(0, near.size + 1, self.n_near)
        return csr_array((weights.ravel(), near.ravel(), ends), shape=(len(values), len(self.words)))

    def _weights(self, values: NDArray[np.float32], near: NDArray[Any]) -> NDArray[np.float64]:
        apart = self.words[near].astype(np.float64) - values[:, np.newaxis]
        gram = apart @ apart.transpose(0, 2, 1)
        ridge = self.regularization * np.trace(gram, axis1=1, axis2=2)
        ridge[ridge == 0] = 1.0  # the descriptor is the word, and all near words are one
        damped = gram + ridge[:, np.newaxis, np.newaxis] * np.eye(self.n_near)
        weights = np.linalg.solve(damped, np.ones((1, self.n_near, 1)))
        return np.asarray(weights[..., 0] / weights.sum(axis=1))


def learn_atoms(
    rows: NDArray[np.float32],
    n_atoms: int,
    regularization: float,
    seed: int = 0,
    *,
    n_passes: int = 3,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> NDArray[np.float32]:
    """Words of unit length by which rows have good sparse codes.

    Online dictionary learning (Mairal et al. 2010): code some rows, then move each atom to the minimum for the
    codes so far, and again. An atom that no code uses becomes the row that is coded worst.
    """
    rng = np.random.default_rng(seed)
    lengths = np.linalg.norm(rows, axis=1)
    usable = rng.permutation(np.flatnonzero(lengths > 0))[:n_atoms]
    if len(usable) < n_atoms:
        raise ValueError(
            f"{n_atoms} words need as many descriptors that are not zero, and there are {len(usable)}; give more."
        )
    atoms = (rows[usable] / lengths[usable, np.newaxis]).astype(np.float64)
    order = np.concatenate([rng.permutation(len(rows)) for _ in range(n_passes)])
    starts = range(0, len(order), BATCH)
    between, towards = np.zeros((n_atoms, n_atoms)), np.zeros(atoms.shape)
    with progress_bar("Learning words", len(starts), verbose) as advance, one_matrix_thread():
        for number, start in enumerate(starts, 1):
            batch = rows[order[start : start + BATCH]].astype(np.float64)
            codes = L1Dictionary(atoms, regularization, n_jobs=n_jobs).codes(batch)
            kept = (1 - 1 / number) ** FORGETTING  # codes by early atoms, which were poor, count less and less
            between = kept * between + (codes.T @ codes).toarray()
            towards = kept * towards + codes.T @ batch
            unused = np.flatnonzero(np.diagonal(between) == 0)
            errors = np.square(batch - codes @ atoms).sum(axis=1)
            move_atoms(atoms, between, towards)
            renew_atoms(atoms, unused, batch, errors)
            advance()
    return np.ascontiguousarray(atoms, dtype=np.float32)


def move_atoms(atoms: NDArray[Any], between: NDArray[Any], towards: NDArray[Any]) -> None:
    """Each used atom in turn to its best place on the unit sphere, the others fixed; in place."""
    for j in np.flatnonzero(np.diagonal(between) > 0):
        moved = atoms[j] + (towards[j] - between[j] @ atoms) / between[j, j]
        length = np.linalg.norm(moved)
        if length > 0:
            atoms[j] = moved / length


def renew_atoms(atoms: NDArray[Any], unused: NDArray[Any], batch: NDArray[Any], errors: NDArray[Any]) -> None:
    """Unused atoms become the worst coded rows, in place."""
    worst = np.argsort(-errors, kind="stable")[: len(unused)]
    for j, row in zip(unused, batch[worst], strict=False):
        length = np.linalg.norm(row)
        if length > 0:
            atoms[j] = row / length
