"""Loops of local colour: sums of all pixels above and to the left, means and deviations of cells from them."""

import numpy as np

from nearboost.base.compiling import kernel

N_CELLS, N_CHANNELS = 4, 3


@kernel
def integrals(pixels, sums):
    """``sums[y, x]``: channels and their squares, added up over the pixels above row y and left of column x."""
    height, width = pixels.shape[:2]
    sums[0] = 0.0
    row = np.empty(2 * N_CHANNELS)
    for y in range(height):
        row[:] = 0.0
        sums[y + 1, 0] = 0.0
        for x in range(width):
            for c in range(N_CHANNELS):
                value = np.float64(pixels[y, x, c])
                row[c] += value
                row[N_CHANNELS + c] += value * value
            for c in range(2 * N_CHANNELS):
                sums[y + 1, x + 1, c] = sums[y, x + 1, c] + row[c]


@kernel
def cell_statistics(sums, rows, columns, size, values):
    """For each patch and each of its cells, of size + 1 pixels a side, three means and three deviations."""
    n_pixels = np.float64((size + 1) ** 2)
    point = 0
    for row in rows:
        for column in columns:
            f = 0
            for b in range(N_CELLS):
                top, bottom = sums[row + b * size], sums[row + (b + 1) * size + 1]
                for a in range(N_CELLS):
                    left, right = column + a * size, column + (a + 1) * size + 1
                    for c in range(N_CHANNELS):
                        s = c + N_CHANNELS
                        mean = (bottom[right, c] - bottom[left, c] - top[right, c] + top[left, c]) / n_pixels
                        square = (bottom[right, s] - bottom[left, s] - top[right, s] + top[left, s]) / n_pixels
                        values[point, f + c] = mean
                        values[point, f + s] = np.sqrt(max(0.0, square - mean * mean))
                    f += 2 * N_CHANNELS
            point += 1
