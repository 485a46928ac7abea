"""Independent components, and how their values are distributed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

from nearboost.base.progress import progress_bar
from nearboost.base.threads import one_matrix_thread
from nearboost.features.pca import NO_VARIANCE, principal_directions

SHAPES = np.geomspace(0.1, 20.0, 4000)  # of generalised Gaussians: 1 is Laplace's, 2 is normal


def independent_directions(
    rows: NDArray[np.float32],
    n_components: int,
    seed: int = 0,
    *,
    max_rounds: int = 200,
    tolerance: float = 1e-3,
    verbose: int = 0,
) -> NDArray[np.float32]:
    """Directions, one in each row, along which rows have unit variance and are as far from normal as can be.

    FastICA (Hyvärinen 1999), all directions at once, with tanh, in the space of the ``n_components`` main ones.
    Rounds end when no direction turns any more, or after ``max_rounds``: filters of images never settle quite.
    """
    with one_matrix_thread():
        mean, variances, main = principal_directions(rows)
        rank = int((variances > NO_VARIANCE * max(variances[0], 0)).sum())
        if rank < n_components:
            raise ValueError(f"{n_components} filters need patches that vary in as many directions, not {rank}.")
        whitening = main[:n_components] / np.sqrt(variances[:n_components, np.newaxis])
        white = ((rows - mean.astype(np.float32)) @ whitening.T.astype(np.float32)).astype(np.float32)
        turn = orthogonal(np.random.default_rng(seed).normal(size=(n_components, n_components)))
        with progress_bar("Learning filters", max_rounds, verbose) as advance:
            for _ in range(max_rounds):
                # The fixed point of E[x tanh(wx)] on the sphere; all directions are made orthogonal at once.
                bent = np.tanh(white @ turn.T.astype(np.float32))
                slopes = 1 - np.square(bent, dtype=np.float32).mean(axis=0, dtype=np.float64)
                turned = orthogonal((bent.T @ white) / len(white) - slopes[:, np.newaxis] * turn)
                still = np.abs(np.abs((turned * turn).sum(axis=1)) - 1).max() <= tolerance
                turn = turned
                advance()
                if still:
                    break
    return (turn @ whitening).astype(np.float32)


def orthogonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The orthogonal matrix nearest to one, (MMᵀ)^−½ M."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)


class GeneralizedGaussians(NamedTuple):
    """Densities proportional to exp(−|x/scale|^shape), one for each filter."""

    shapes: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def fitted(cls, samples: NDArray[np.floating]) -> "GeneralizedGaussians":
        """Those with the mean |x| and the mean x² of each column."""
        sizes = np.abs(samples).mean(axis=0, dtype=np.float64)
        squares = np.square(samples, dtype=np.float64).mean(axis=0)
        ratios = np.exp(2 * gammaln(2 / SHAPES) - gammaln(1 / SHAPES) - gammaln(3 / SHAPES))
        shapes = np.interp(sizes**2 / squares, ratios, SHAPES)
        return cls(shapes, np.sqrt(squares * np.exp(gammaln(1 / shapes) - gammaln(3 / shapes))))

    def ranks(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(|X| ≤ size), a row for each size."""
        return np.asarray(gammainc(1 / self.shapes, self._powers(sizes)))

    def surprises(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """−log p(size), but for a constant: a row for each size."""
        return self._powers(sizes)

    def _powers(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((sizes[:, np.newaxis] / self.scales) ** self.shapes)
