"""Bio-inspired features (section 5.2 of the thesis), one pixel at a time."""

import math

import numpy as np


def gaussian(x, y, sigma, reach):
    total = sum(math.exp(-(i * i) / (2 * sigma**2)) for i in range(-reach, reach + 1)) ** 2
    return math.exp(-(x * x + y * y) / (2 * sigma**2)) / total


def contrast(image, row, column, scale):
    """(5.2): the difference of Gaussians (5.1) around one pixel; beyond the border its pixels repeat."""
    sigma = 0.5 * 2 ** (scale - 1)
    found = 0.0
    for deviation, sign in ((sigma, 1), (3 * sigma, -1)):
        reach = math.ceil(4 * deviation)
        for i in range(-reach, reach + 1):
            for j in range(-reach, reach + 1):
                y = min(max(row + i, 0), image.shape[0] - 1)
                x = min(max(column + j, 0), image.shape[1] - 1)
                found += sign * image[y, x] * gaussian(j, i, deviation, reach)
    return found


def firing_rate(c, gain=2000.0, refractory=0.005):
    """(5.3), taken of |C| with the sign of C."""
    if abs(c) <= 1e-6:
        return 0.0
    return math.copysign(gain * abs(c) / (1 + refractory * gain * abs(c)), c)


def histogram(rates, n_bins, limit=200.0):
    counts = np.zeros(n_bins)
    for rate in rates:
        counts[min(n_bins - 1, math.floor((rate + limit) / (2 * limit) * n_bins))] += 1
    return counts / counts.sum() if len(rates) else counts
