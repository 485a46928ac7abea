"""Loops of Gist around the Fourier transforms: weighing lines of a spectrum, energies of cells.

Complex numbers are pairs of float32, real and imaginary part side by side.
"""

import numpy as np

from nearboost.base.compiling import kernel


@kernel
def weigh_lines(spectrum, lines, response, weighed):
    """Some lines of a spectrum times a filter's response."""
    for i in range(lines.size):
        line, gains, out = spectrum[lines[i]], response[i], weighed[i]
        for x in range(gains.size):
            out[2 * x] = line[2 * x] * gains[x]
            out[2 * x + 1] = line[2 * x + 1] * gains[x]


@kernel
def place_lines(half, lines, border, placed):
    """Transformed lines, less their borders, back at their places; what no line covers is 0."""
    placed[:] = 0
    for i in range(lines.size):
        placed[lines[i]] = half[i, 2 * border : 2 * border + placed.shape[1]]


@kernel(fastmath={"reassoc", "nsz", "contract"})
def cell_energies(waves, border, bounds, energies):
    """Mean absolute values in a grid of cells, of a complex image with a border above and below."""
    energies[:] = 0
    for i in range(bounds.size - 1):
        for y in range(border + bounds[i], border + bounds[i + 1]):
            for j in range(bounds.size - 1):
                total = np.float32(0)
                row = waves[y, 2 * bounds[j] : 2 * bounds[j + 1]]
                for x in range(row.size // 2):
                    real, imaginary = row[2 * x], row[2 * x + 1]
                    total += np.sqrt(real * real + imaginary * imaginary)
                energies[i, j] += total
        for j in range(bounds.size - 1):
            energies[i, j] /= np.float32((bounds[i + 1] - bounds[i]) * (bounds[j + 1] - bounds[j]))
