"""Rows with a given spectrum and labels from a noisy linear rule, made in blocks from a seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class Spectrum:
    """x = R z with E[z_i²] = i^−1.2 and R a fixed rotation; the class is the largest of (z + noise)ᵀA.

    The rotation is a random change of signs followed by a cosine transform, which costs O(d log d) a row.
    A is Gaussian; ``noise`` is the standard deviation of the scores' noise over that of the scores.
    """

    n_features: int
    n_classes: int
    decay: float = 1.2
    noise: float = 0.3
    seed: int = 0

    def blocks(self, n_rows: int, first_block: int = 0) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Rows and labels; blocks after the first are drawn from seeds of their own."""
        fixed = np.random.default_rng(self.seed)
        deviation = np.arange(1, self.n_features + 1, dtype=np.float32) ** np.float32(-self.decay / 2)
        rule = fixed.standard_normal((self.n_features, self.n_classes), dtype=np.float32)
        signs = fixed.choice(np.float32([-1, 1]), self.n_features)
        noise = self.noise * np.linalg.norm(deviation)
        for number, start in enumerate(range(0, n_rows, ROWS_AT_ONCE), first_block):
            rng = np.random.default_rng((self.seed, number))
            size = min(ROWS_AT_ONCE, n_rows - start)
            z = rng.standard_normal((size, self.n_features), dtype=np.float32) * deviation
            scores = z @ rule + noise * rng.standard_normal((size, self.n_classes), dtype=np.float32)
            yield dct(z * signs, norm="ortho", axis=1), scores.argmax(axis=1)

    def rows(self, n_rows: int, first_block: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All blocks at once."""
        blocks = list(self.blocks(n_rows, first_block))
        return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])

    def save(self, path: Path, n_rows: int, first_block: int = 0) -> Path:
        """Rows to a .npy file, block by block, and labels to another of that name with _y, whose path this is.

        Written, not mapped: pages of a map would stay in memory.
        """
        labels = []
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, self.n_features)}
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for rows, y in self.blocks(n_rows, first_block):
                rows.astype("<f4", copy=False).tofile(file)
                labels.append(y)
        beside = path.with_name(f"{path.stem}_y.npy")
        np.save(beside, np.concatenate(labels))
        return beside
