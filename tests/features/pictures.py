"""Generated pictures: smooth blobs and edges, grey or in colour, of any size and type."""

import numpy as np
from scipy.ndimage import gaussian_filter


def picture(height=70, width=90, seed=0, *, channels=None):
    """Floats that fill [0, 1]."""
    rng = np.random.default_rng(seed)
    shape = (height, width) if channels is None else (height, width, channels)
    sigma = 2.0 if channels is None else (2.0, 2.0, 0.0)
    soft = gaussian_filter(rng.normal(size=shape), sigma)
    pixels = soft + 0.3 * np.sign(gaussian_filter(rng.normal(size=shape), sigma)) * soft.std()
    pixels -= pixels.min()
    return (pixels / max(pixels.max(), 1e-12)).astype(np.float64)


def as_bytes(pixels):
    return np.rint(255 * pixels).astype(np.uint8)


class Lazy:
    """A sequence that makes its images when asked, and counts how often."""

    def __init__(self, n, make):
        self.n, self.make, self.asked = n, make, []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked.append(i)
        return self.make(i)
