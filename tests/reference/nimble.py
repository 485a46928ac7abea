"""Nimble: ranks of filter responses and their means over the cells of a window, one at a time."""

import math

import numpy as np
from scipy.integrate import quad


def response(image, filter, row, column):
    """One filter at one place of an image with three axes."""
    size = filter.shape[0]
    return float((image[row : row + size, column : column + size].astype(float) * filter).sum())


def rank(r, shape, scale):
    """P(|X| ≤ |r|) by integrating the generalised Gaussian density."""
    norm = shape / (2 * scale * math.gamma(1 / shape))
    return 2 * quad(lambda x: norm * math.exp(-((x / scale) ** shape)), 0, abs(r), limit=200)[0]


def window_means(ranks, row, column, size):
    """Means over 1, 2 x 2 and 4 x 4 cells, the finest ``size`` places wide."""
    means = []
    for n in (1, 2, 4):
        width = 4 * size // n
        for i in range(n):
            for j in range(n):
                top, left = row + i * width, column + j * width
                means.append(
                    ranks[top : top + width, left : left + width].reshape(-1, ranks.shape[2]).mean(axis=0)
                )
    return np.concatenate(means)


def log_image(z, eps=0.05):
    return (math.log(eps) - math.log(z + eps)) / (math.log(eps) - math.log(1 + eps))
