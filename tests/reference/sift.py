"""Dense SIFT (after Lowe 2004), one pixel and one share at a time."""

import numpy as np


def smoothed(image, deviation):
    """A Gaussian to three deviations, borders mirrored."""
    if not deviation:
        return image.astype(float)
    reach = int(np.ceil(3 * deviation))
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-(offsets**2) / (2 * deviation**2))
    weights /= weights.sum()
    padded = np.pad(image.astype(float), reach, mode="symmetric")
    height, width = image.shape
    down = sum(w * padded[t : t + height] for t, w in enumerate(weights))
    return sum(w * down[:, t : t + width] for t, w in enumerate(weights))


def histogram(image, row, column, size):
    """Mean gradient sizes of a patch by cell row, cell column and direction; ``image`` is smoothed."""
    counts = np.zeros((4, 4, 8))
    padded = np.pad(image, 1, mode="edge")
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            dx = (padded[y + 1, x + 2] - padded[y + 1, x]) / 2
            dy = (padded[y, x + 1] - padded[y + 2, x + 1]) / 2  # upwards
            direction = np.arctan2(dy, dx) / (np.pi / 4) % 8
            # where the pixel lies, counted in cells from the middle of the first one
            v, u = (y - row) / size - 0.5, (x - column) / size - 0.5
            for b in range(4):
                for a in range(4):
                    share = max(0, 1 - abs(v - b)) * max(0, 1 - abs(u - a))
                    for k in range(8) if share else ():
                        gap = abs(direction - k)
                        turn = max(0, 1 - min(gap, 8 - gap))
                        counts[b, a, k] += share * turn * np.hypot(dx, dy)
    return counts.ravel() / size**2


def descriptor(counts, root, contrast):
    length = np.linalg.norm(counts)
    if length == 0:
        return counts
    clipped = np.minimum(counts / length, 0.2)
    unit = np.sqrt(clipped / clipped.sum()) if root else clipped / np.linalg.norm(clipped)
    return unit * min(1, length / contrast if contrast else 1)
