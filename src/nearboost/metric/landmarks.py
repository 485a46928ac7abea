"""A kernel as coordinates: how near a row is to some landmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_EIGENVALUE = 1e-5  # relative to the largest
ROWS_PER_BLOCK = 1024


def gaussian_kernel(X: NDArray[Any], landmarks: NDArray[Any], gamma: float) -> NDArray[Any]:
    """exp(−γ|x − l|²) of each row and landmark."""
    lengths = np.einsum("ij,ij->i", landmarks, landmarks)
    kernel: NDArray[Any] = X @ landmarks.T
    kernel *= 2 * gamma
    kernel -= gamma * np.einsum("ij,ij->i", X, X)[:, np.newaxis]
    kernel -= gamma * lengths
    np.fmin(kernel, 0.0, out=kernel)
    return np.exp(kernel, out=kernel)


def landmark_basis(landmarks: NDArray[Any], gamma: float) -> NDArray[Any]:
    """U Λ^(−½) of the kernel between landmarks, widest first: kernel rows times it have the kernel as product."""
    values, vectors = np.linalg.eigh(gaussian_kernel(landmarks, landmarks, gamma))
    keep = np.flatnonzero(values > LEAST_EIGENVALUE * values[-1])[::-1]
    basis: NDArray[Any] = vectors[:, keep] / np.sqrt(values[keep])
    return basis


def kernel_coordinates(
    X: NDArray[np.float32], landmarks: NDArray[np.float32], gamma: float, basis: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Φ(x), a block of rows at a time."""
    coordinates = np.empty((len(X), basis.shape[1]), dtype=np.float32)
    for start in range(0, len(X), ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        coordinates[part] = gaussian_kernel(X[part], landmarks, gamma) @ basis
    return coordinates
