"""Loops over the regions of a picture: basins that are flooded from their peaks, and cheapest paths from seeds.

Pictures have a border of one pixel that nothing enters, so that neighbours need no bounds.
"""

import numpy as np

from nearboost.base.compiling import kernel


@kernel
def root_of(parents, basin):
    """The basin that this one was merged into, if any; the way there is made shorter."""
    while parents[basin] != basin:
        parents[basin] = parents[parents[basin]]
        basin = parents[basin]
    return basin


@kernel
def flood(heights, order, steps, least_drop, labels, parents, peaks):
    """Give each place, from the highest down, to a basin; return the number of basins before merging.

    A place without higher neighbours is a new peak. Where basins meet, the lower ones whose peak lies less than
    ``least_drop`` above the meeting place are merged into the highest. ``order`` lists the places, highest first;
    ``steps`` leads to the eight neighbours; ``labels`` is 0 for places to flood and -1 for others.
    """
    n_basins = 0
    for place in order:
        height = heights[place]
        best, highest, top = 0, -np.inf, 0
        for step in steps:
            near = place + step
            if labels[near] > 0:
                basin = root_of(parents, labels[near])
                if heights[near] > highest:
                    best, highest = basin, heights[near]
                if top == 0 or peaks[basin] > peaks[top]:
                    top = basin
        if best == 0:
            n_basins += 1
            parents[n_basins], peaks[n_basins], best = n_basins, height, n_basins
        else:
            for step in steps:
                if labels[place + step] > 0:
                    basin = root_of(parents, labels[place + step])
                    if basin != top and peaks[basin] - height < least_drop:
                        parents[basin] = top
        labels[place] = root_of(parents, best)
    return n_basins


@kernel
def settle(places, labels, parents):
    """Name each place after the basin that its own was merged into."""
    for place in places:
        labels[place] = root_of(parents, labels[place])


@kernel
def sift_up(costs, places, at):
    """Put the last entry of a heap where it belongs; of equal costs the smaller place comes first."""
    while at > 0:
        above = (at - 1) // 2
        if costs[above] < costs[at] or (costs[above] == costs[at] and places[above] <= places[at]):
            return
        costs[above], costs[at] = costs[at], costs[above]
        places[above], places[at] = places[at], places[above]
        at = above


@kernel
def sift_down(costs, places, size):
    """Put the first entry of a heap where it belongs."""
    at = 0
    while True:
        least = at
        for below in (2 * at + 1, 2 * at + 2):
            if below < size and (
                costs[below] < costs[least] or (costs[below] == costs[least] and places[below] < places[least])
            ):
                least = below
        if least == at:
            return
        costs[least], costs[at] = costs[at], costs[least]
        places[least], places[at] = places[at], places[least]
        at = least


@kernel
def spread(values, allowed, steps, lengths, per_length, labels, costs, heap_costs, heap_places, size):
    """Give each allowed place to the seed with the cheapest path; a step costs √(Δ² + (per_length·length)²).

    The heap holds the seeds' places at cost 0 and has room for each place nine times; ``labels`` and ``costs``
    hold the seeds and infinity elsewhere. Paths of equal cost belong to the place that was reached first.
    """
    while size > 0:
        cost, place = heap_costs[0], heap_places[0]
        size -= 1
        heap_costs[0], heap_places[0] = heap_costs[size], heap_places[size]
        sift_down(heap_costs, heap_places, size)
        if cost > costs[place]:
            continue
        for k in range(steps.size):
            near = place + steps[k]
            if not allowed[near]:
                continue
            rise, length = values[near] - values[place], per_length * lengths[k]
            reached = cost + np.sqrt(rise * rise + length * length)
            if reached < costs[near]:
                costs[near], labels[near] = reached, labels[place]
                heap_costs[size], heap_places[size] = reached, near
                sift_up(heap_costs, heap_places, size)
                size += 1


@kernel
def mark_pieces(labels, steps, pieces, waiting, owners):
    """Number the connected pieces of equal labels above 0, in the order of their first places; return how many.

    ``owners`` gets the label of each piece; ``waiting`` has room for all places.
    """
    n_pieces = 0
    for start in range(labels.size):
        if labels[start] <= 0 or pieces[start] != 0:
            continue
        n_pieces += 1
        owners[n_pieces] = labels[start]
        pieces[start], waiting[0], size = n_pieces, start, 1
        while size > 0:
            size -= 1
            place = waiting[size]
            for step in steps:
                near = place + step
                if pieces[near] == 0 and labels[near] == labels[start]:
                    pieces[near], waiting[size] = n_pieces, near
                    size += 1
    return n_pieces


@kernel
def add_shapes(labels, rows, sums):
    """For each region, at its row: pixels; Σy, Σx, Σy², Σx², Σxy; first and last y and x; crossings of outlines.

    Crossings are counted along rows, columns and both diagonals. ``labels`` has a border of zeros, and places
    count from the pixel inside of it; ``sums`` starts with zeros, and with infinity for what is first.
    """
    for y in range(1, labels.shape[0] - 1):
        for x in range(1, labels.shape[1] - 1):
            label = labels[y, x]
            if label == 0:
                continue
            own = sums[rows[label]]
            row, column = y - 1.0, x - 1.0
            own[0] += 1.0
            own[1] += row
            own[2] += column
            own[3] += row * row
            own[4] += column * column
            own[5] += row * column
            own[6], own[7] = min(own[6], row), max(own[7], row)
            own[8], own[9] = min(own[8], column), max(own[9], column)
            own[10] += (labels[y, x - 1] != label) + (labels[y, x + 1] != label)
            own[11] += (labels[y - 1, x] != label) + (labels[y + 1, x] != label)
            own[12] += (labels[y - 1, x - 1] != label) + (labels[y + 1, x + 1] != label)
            own[13] += (labels[y - 1, x + 1] != label) + (labels[y + 1, x - 1] != label)


@kernel
def add_intensities(pixels, labels, rows, sums):
    """For each region, at its row: pixels, Σ, Σ², least and largest; ``sums`` starts at 0, 0, 0, ∞, −∞."""
    for y in range(labels.shape[0]):
        for x in range(labels.shape[1]):
            label = labels[y, x]
            if label != 0:
                own, value = sums[rows[label]], float(pixels[y, x])
                own[0] += 1.0
                own[1] += value
                own[2] += value * value
                own[3], own[4] = min(own[3], value), max(own[4], value)
