"""Loops of image descriptors: dense SIFT, local colour, Gist, bio-inspired features, Nimble.

Images are float32, and inner loops run along their rows, so that they fill vectors.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy

N_DIRECTIONS, N_BINS = 8, 4
ZERO, HALF, ONE, TWO, FOUR, EIGHT = (np.float32(number) for number in (0, 0.5, 1, 2, 4, 8))
TINY = np.float32(1e-30)
CLIP = np.float32(0.2)
# arctan(t)·4/π on [0, 1] as an odd polynomial, to 2e-6
A1, A3, A5, A7, A9, A11 = (
    np.float32(number) for number in (1.27321054, -0.42350851, 0.24642312, -0.14823846, 0.06703234, -0.01492113)
)
N_CHANNELS = 3
GAIN = 2000.0  # G of eq. (5.3), in Hz per contrast
REFRACTORY = 0.005  # Ref of eq. (5.3), in seconds
NOISE = 1e-6  # contrasts of flat areas, made of rounding alone


# Dense SIFT: smoothing, maps of gradients by direction, bins, descriptors.


@kernel
def mirrored(i, n):
    """The number of a row or column, mirrored at the borders where it lies outside."""
    while i < 0 or i >= n:
        i = -1 - i if i < 0 else 2 * n - 1 - i
    return i


@kernel
def smooth(image, weights, smoothed):
    """Filter columns, then rows, with a kernel of odd length; borders are mirrored."""
    height, width = image.shape
    reach = weights.size // 2
    line = np.empty(width + 2 * reach, dtype=np.float32)
    for y in range(height):
        middle = line[reach : reach + width]
        middle[:] = ZERO
        for t in range(weights.size):
            row, weight = image[mirrored(y + t - reach, height)], weights[t]
            for x in range(width):
                middle[x] += weight * row[x]
        for t in range(reach):  # mirrored once here, so that the inner loop needs no bounds
            line[t] = line[reach + mirrored(t - reach, width)]
            line[reach + width + t] = line[reach + mirrored(width + t, width)]
        out = smoothed[y]
        out[:] = ZERO
        for t in range(weights.size):
            weight = weights[t]
            for x in range(width):
                out[x] += weight * line[x + t]


@kernel
def direction_maps(image, maps):
    """Gradient magnitudes shared between the two nearest of eight directions, counted against the clock.

    A direction is a number from 0 to 8. Within an eighth of the circle the share of the diagonal is
    arctan(t)·4/π, t the smaller over the larger of the two differences.
    """
    height, width = image.shape
    right, left = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    sizes, angles = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    for y in range(height):
        above, here, below = image[max(y - 1, 0)], image[y], image[min(y + 1, height - 1)]
        for x in range(width - 1):
            right[x] = here[x + 1]
            left[x + 1] = here[x]
        right[width - 1], left[0] = here[width - 1], here[0]
        for x in range(width):
            dx, dy = HALF * (right[x] - left[x]), HALF * (above[x] - below[x])
            sizes[x] = np.sqrt(dx * dx + dy * dy)
            # The angle by a polynomial in an eighth of the circle, then unfolded: without branches, for vectors.
            p, q = abs(dx), abs(dy)
            t = min(p, q) / (max(p, q) + TINY)
            s = t * t
            angle = t * (A1 + s * (A3 + s * (A5 + s * (A7 + s * (A9 + s * A11)))))
            angle = TWO - angle if q > p else angle
            angle = FOUR - angle if dx < ZERO else angle
            angles[x] = EIGHT - angle if dy < ZERO else angle
        for k in range(N_DIRECTIONS):
            row, center = maps[k, y], np.float32(k)
            for x in range(width):
                gap = abs(angles[x] - center)
                row[x] = max(ZERO, ONE - min(gap, EIGHT - gap)) * sizes[x]


@kernel
def bin_rows(maps, rows, weights, reach, binned):
    """Maps averaged over cells that begin at some rows and at every column.

    ``weights`` is a triangle that begins ``reach`` pixels before the cell. Outside the image there is no gradient.
    """
    height, width = maps.shape[1:]
    line = np.zeros(width + weights.size, dtype=np.float32)
    for i in range(rows.size):
        first = rows[i] - reach
        for k in range(N_DIRECTIONS):
            middle = line[reach : reach + width]
            middle[:] = ZERO
            for t in range(max(0, -first), min(weights.size, height - first)):
                row, weight = maps[k, first + t], weights[t]
                for x in range(width):
                    middle[x] += weight * row[x]
            out = binned[k, i]
            out[:] = ZERO
            for t in range(weights.size):
                weight = weights[t]
                for x in range(width):
                    out[x] += weight * line[x + t]


# Called from Python, not from `gather`: numba would link a second version of a fast-math kernel into its caller,
# and the run that compiles would give other last bits than runs from the cache.
@kernel(fastmath={"reassoc", "nsz", "contract"})
def finish(histograms, contrast, root):
    """Histograms to unit length, clipped, and to unit length again or to the roots of shares; less if flat."""
    for i in range(histograms.shape[0]):
        values = histograms[i]
        squares = ZERO
        for f in range(values.size):
            squares += values[f] * values[f]
        length = np.sqrt(squares)
        limit, squares, total = CLIP * length, ZERO, ZERO
        for f in range(values.size):
            value = min(values[f], limit)
            squares += value * value
            total += value
            values[f] = value
        gain = ONE if length >= contrast else length / contrast  # flat patches are noise: they count less
        if root:
            inverse = ONE / (total + TINY)
            for f in range(values.size):
                values[f] = gain * np.sqrt(values[f] * inverse)
        else:
            inverse = gain / (np.sqrt(squares) + TINY)
            for f in range(values.size):
                values[f] *= inverse


@kernel
def gather(binned, cells, columns, size, values):
    """Descriptors of patches: all pairs of four rows of ``binned`` and a first column, row by row."""
    point = 0
    for i in range(cells.shape[0]):
        for column in columns:
            out = values[point]
            for b in range(N_BINS):
                for a in range(N_BINS):
                    for k in range(N_DIRECTIONS):
                        out[(b * N_BINS + a) * N_DIRECTIONS + k] = binned[k, cells[i, b], column + a * size]
            point += 1


# Local colour: sums of all pixels above and to the left, means and deviations of cells from them.


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
            for b in range(N_BINS):
                top, bottom = sums[row + b * size], sums[row + (b + 1) * size + 1]
                for a in range(N_BINS):
                    left, right = column + a * size, column + (a + 1) * size + 1
                    for c in range(N_CHANNELS):
                        s = c + N_CHANNELS
                        mean = (bottom[right, c] - bottom[left, c] - top[right, c] + top[left, c]) / n_pixels
                        square = (bottom[right, s] - bottom[left, s] - top[right, s] + top[left, s]) / n_pixels
                        values[point, f + c] = mean
                        values[point, f + s] = np.sqrt(max(0.0, square - mean * mean))
                    f += 2 * N_CHANNELS
            point += 1


# Gist around its Fourier transforms. Complex numbers are pairs of float32, real and imaginary part side by side.


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
        copy(half[i, 2 * border :], placed[lines[i]])


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


# Bio-inspired features: contrast, firing rate and histogram in one pass over the pixels.


@kernel
def count_rates(narrow, wide, regions, gains, counts):
    """Pixels by region (0 is outside) and firing rate; rates lie in ±1/Ref, cut into equal bins.

    Filters are linear, so that a region's gain is that of its pixels.
    """
    n_bins = counts.shape[1]
    for row in range(narrow.shape[0]):
        for column in range(narrow.shape[1]):
            region = regions[row, column]
            if region == 0:
                continue
            contrast = (float(narrow[row, column]) - float(wide[row, column])) * gains[region - 1]  # (5.2)
            driven = GAIN * abs(contrast)
            rate = driven / (1.0 + REFRACTORY * driven)  # (5.3) of |C|
            if abs(contrast) <= NOISE:
                rate = 0.0
            elif contrast < 0:
                rate = -rate
            counts[region - 1, min(n_bins - 1, int((rate * REFRACTORY + 1.0) * 0.5 * n_bins))] += 1


# Nimble: filter responses as ranks and surprise, read from tables; sums over rectangles.


@kernel
def rank_and_surprise(responses, per_unit, ranks, surprises, surprise):
    """Replace responses by P(|R| ≤ |r|), and add −log p(r) of all filters at each place.

    Tables hold a column for each filter and a row for each step of |r|; what lies between is linear, what lies
    beyond is the last row.
    """
    last = ranks.shape[0] - 1
    for place in range(responses.shape[0]):
        total = 0.0
        for filter in range(responses.shape[1]):
            step = abs(responses[place, filter]) * per_unit
            low = int(step) if step < last - 1 else last - 1  # also where a response is not a number
            share = min(step - low, 1.0)
            responses[place, filter] = ranks[low, filter] + share * (ranks[low + 1, filter] - ranks[low, filter])
            total += surprises[low, filter] + share * (surprises[low + 1, filter] - surprises[low, filter])
        surprise[place] = total


@kernel
def add_up(values, sums):
    """Sums over all places above and left of each, so that any rectangle's sum is that of four corners."""
    n_rows, n_columns, n_filters = values.shape
    for row in range(n_rows):
        for column in range(n_columns):
            for filter in range(n_filters):
                sums[row + 1, column + 1, filter] = (
                    values[row, column, filter]
                    + sums[row, column + 1, filter]
                    + sums[row + 1, column, filter]
                    - sums[row, column, filter]
                )
