"""Loops of dense SIFT: smoothing, maps of gradients by direction, bins, descriptors.

Everything is float32, and the inner loops run along image rows, so that they fill vectors.
"""

import numpy as np

from nearboost.base.compiling import kernel

N_DIRECTIONS, N_BINS = 8, 4
ZERO, HALF, ONE, TWO, FOUR, EIGHT = (np.float32(number) for number in (0, 0.5, 1, 2, 4, 8))
TINY = np.float32(1e-30)
CLIP = np.float32(0.2)
# arctan(t)·4/π on [0, 1] as an odd polynomial, to 2e-6
A1, A3, A5, A7, A9, A11 = (
    np.float32(number) for number in (1.27321054, -0.42350851, 0.24642312, -0.14823846, 0.06703234, -0.01492113)
)


@kernel
def inside(i, n):
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
            row, weight = image[inside(y + t - reach, height)], weights[t]
            for x in range(width):
                middle[x] += weight * row[x]
        for t in range(reach):
            line[t] = line[reach + inside(t - reach, width)]
            line[reach + width + t] = line[reach + inside(width + t, width)]
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


@kernel(fastmath={"reassoc", "nsz", "contract"})
def finish(values, contrast, root):
    """A histogram to unit length, clipped, and to unit length again or to the roots of shares; less if flat."""
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
    gain = ONE if length >= contrast else length / contrast
    if root:
        inverse = ONE / (total + TINY)
        for f in range(values.size):
            values[f] = gain * np.sqrt(values[f] * inverse)
    else:
        inverse = gain / (np.sqrt(squares) + TINY)
        for f in range(values.size):
            values[f] *= inverse


@kernel
def gather(binned, cells, columns, size, contrast, root, values):
    """Descriptors of patches: all pairs of four rows of ``binned`` and a first column, row by row."""
    point = 0
    for i in range(cells.shape[0]):
        for column in columns:
            out = values[point]
            for b in range(N_BINS):
                for a in range(N_BINS):
                    for k in range(N_DIRECTIONS):
                        out[(b * N_BINS + a) * N_DIRECTIONS + k] = binned[k, cells[i, b], column + a * size]
            finish(out, contrast, root)
            point += 1
