"""Divide and conquer (section 6.2 of N3's paper): cut, normalise, average posteriors, one number at a time."""

import math


def normalised_part(row, start, stop, norm):
    part = [float(value) for value in row[start:stop]]
    if norm is None:
        return part
    length = sum(map(abs, part)) if norm == "l1" else math.sqrt(sum(value * value for value in part))
    return [value / length for value in part] if length else part


def mean_posteriors(posteriors, mean, floor):
    """``posteriors[part][row][class]`` averaged over the parts; each row then sums to 1."""
    n_parts = len(posteriors)
    rows = []
    for row in range(len(posteriors[0])):
        means = []
        for c in range(len(posteriors[0][row])):
            values = [max(float(posteriors[part][row][c]), floor) for part in range(n_parts)]
            if mean == "arithmetic":
                means.append(sum(values) / n_parts)
            elif mean == "geometric":
                means.append(math.prod(values) ** (1 / n_parts))
            else:
                means.append(n_parts / sum(1 / value for value in values))
        rows.append([value / sum(means) for value in means])
    return rows
