"""Loops of Gist around the Fourier transforms: weighing lines of a spectrum, turning, energies of cells."""

import numpy as np

from nearboost.base.compiling import kernel


@kernel
def weigh_lines(spectrum, lines, response, weighed):
    """Some lines of a spectrum, real and imaginary parts side by side, times a filter's response."""
    for i in range(lines.size):
        line = spectrum[lines[i]]
        for x in range(response.shape[1]):
            weighed[i, 2 * x] = line[2 * x] * response[i, x]
            weighed[i, 2 * x + 1] = line[2 * x + 1] * response[i, x]


@kernel
def turn_lines(half, lines, border, turned):
    """Transformed lines, less their borders, as columns; what no line covers is 0."""
    turned[:] = 0
    for i in range(lines.size):
        for x in range(turned.shape[0]):
            turned[x, lines[i]] = half[i, border + x]


@kernel(fastmath={"reassoc", "nsz", "contract"})
def cell_energies(waves, border, bounds, energies):
    """Mean absolute values of a complex image, real and imaginary parts side by side, in a grid of cells."""
    energies[:] = 0
    for i in range(bounds.size - 1):
        for y in range(bounds[i], bounds[i + 1]):
            for j in range(bounds.size - 1):
                total = np.float32(0)
                for x in range(border + bounds[j], border + bounds[j + 1]):
                    real, imaginary = waves[y, 2 * x], waves[y, 2 * x + 1]
                    total += np.sqrt(real * real + imaginary * imaginary)
                energies[i, j] += total
        for j in range(bounds.size - 1):
            energies[i, j] /= np.float32((bounds[i + 1] - bounds[i]) * (bounds[j + 1] - bounds[j]))
