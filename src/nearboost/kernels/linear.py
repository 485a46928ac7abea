"""Stochastic steps of linear classifiers, all classes as one matrix.

Rows are given in coordinates z in which the metric is diagonal. The update (4.16) of the thesis,
w ← w − η y F'(y wᵀx) H* x, then reads V ← V + η B (zᵀ y p) with p = −F' and B the diagonal of H*.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.base.loss_formulas import MULTINOMIAL
from nearboost.kernels.losses import loss_slope, loss_value

ANY_ORDER = {"reassoc", "contract", "nsz"}  # of the terms of a sum; NaN and infinity are treated as always


@kernel(fastmath=ANY_ORDER)
def softmax_slopes(scores, weight, members):
    """Scores of one row become weight · (1[own class] − P(class)); returns weight · −ln P(own class)."""
    top = scores[0]  # taken away before exp, which could overflow
    for c in range(1, len(scores)):
        top = max(top, scores[c])
    total = scores[0] * 0
    own = scores[members[0]] - top
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - top)
        total += scores[c]
    share = weight / total
    for c in range(len(scores)):
        scores[c] *= -share
    scores[members[0]] += weight
    return weight * (np.log(total) - own)


@kernel
def one_vs_rest_slopes(code, scores, weight, members, measured):
    """Scores h of one row become weight · y p; returns weight · Σ F(y h) where it is to be measured."""
    value = 0.0
    place = 0
    for c in range(len(scores)):
        sign = -1.0
        if place < len(members) and members[place] == c:
            sign = 1.0
            place += 1
        margin = sign * scores[c]
        if measured:
            value += loss_value(code, margin)
        scores[c] = weight * sign * loss_slope(code, margin)
    return weight * value


@kernel
def chosen_slopes(code, scores, weight, members, chosen):
    """As `one_vs_rest_slopes` for the chosen classes alone; the others get 0."""
    value = 0.0
    place = 0
    following = 0
    for c in range(len(scores)):
        sign = -1.0
        if place < len(members) and members[place] == c:
            sign = 1.0
            place += 1
        if following < len(chosen) and chosen[following] == c:  # both lists rise with c
            following += 1
            value += loss_value(code, sign * scores[c])
            scores[c] = weight * sign * loss_slope(code, sign * scores[c])
        else:
            scores[c] = 0
    return weight * value


@kernel
def gather(Z, places, block):
    """The first columns of some rows."""
    for i in range(len(places)):
        row = Z[places[i]]
        for j in range(block.shape[1]):
            block[i, j] = row[j]


@kernel
def batch_slopes(scores, rows, starts, members, chosen_starts, chosen, weights, code, measured):
    """Scores of a batch become slopes y p in place; returns their loss where it is measured, and their weight."""
    loss, counted = 0.0, 0.0
    for i in range(len(rows)):
        row = rows[i]
        own = members[starts[row] : starts[row + 1]]
        if code == MULTINOMIAL:
            value = softmax_slopes(scores[i], weights[row], own)
        elif len(chosen_starts) > 0:
            value = chosen_slopes(
                code, scores[i], weights[row], own, chosen[chosen_starts[row] : chosen_starts[row + 1]]
            )
        else:
            value = one_vs_rest_slopes(code, scores[i], weights[row], own, measured)
        if measured:
            loss += value
            counted += weights[row]
    return loss, counted


@kernel
def descend(
    Z, places, rows, starts, members, chosen_starts, chosen, weights, code, V, metric, steps, size, every, total
):
    """Steps over batches of ``size`` rows, in order; V moves in place.

    ``places`` are rows of Z, ``rows`` the same rows among all, whose labels are ``members`` from ``starts``; with
    ``chosen_starts``, only the ``chosen`` classes of a row learn from it. V after each step is added to ``total``
    where that has room. Returns the loss before the steps, summed over every so many batches, and the weight of
    the rows in that sum.
    """
    k, n_classes = V.shape
    block = np.empty((size, k), Z.dtype)
    scores = np.empty((size, n_classes), Z.dtype)
    change = np.empty((k, n_classes), Z.dtype)
    loss, counted = 0.0, 0.0
    averaged = total.size > 0
    for number in range(len(steps)):
        first = number * size
        last = min(first + size, len(places))
        n = last - first
        gather(Z, places[first:last], block)
        np.dot(block[:n], V, scores[:n])
        value, weight = batch_slopes(
            scores, rows[first:last], starts, members, chosen_starts, chosen, weights, code, number % every == 0
        )
        loss += value
        counted += weight
        np.dot(block[:n].T, scores[:n], change)  # Σ z y p over the batch
        for j in range(k):
            for c in range(n_classes):
                V[j, c] += steps[number] * metric[j, c] * change[j, c]
                if averaged:
                    total[j, c] += V[j, c]
    return loss, counted


@kernel(fastmath=ANY_ORDER)
def descend_sparse(
    ends, columns, values, places, rows, starts, members, chosen_starts, chosen, weights, code, V, metric, steps,
    size, every,
):  # fmt: skip
    """`descend` for sparse rows: those of a batch touch the weights of their own features alone.

    Row i has ``values`` in ``columns``, from ``ends[i]`` on; the metric has one number for each feature.
    """
    scores = np.empty((size, V.shape[1]), V.dtype)
    loss, counted = 0.0, 0.0
    for number in range(len(steps)):
        first = number * size
        last = min(first + size, len(places))
        for i in range(last - first):
            own = scores[i]
            own[:] = 0
            for e in range(ends[places[first + i]], ends[places[first + i] + 1]):
                along = V[columns[e]]
                for c in range(len(own)):
                    own[c] += values[e] * along[c]
        value, weight = batch_slopes(
            scores, rows[first:last], starts, members, chosen_starts, chosen, weights, code, number % every == 0
        )
        loss += value
        counted += weight
        for i in range(last - first):
            own = scores[i]
            for e in range(ends[places[first + i]], ends[places[first + i] + 1]):
                move = steps[number] * metric[columns[e]] * values[e]
                along = V[columns[e]]
                for c in range(len(own)):
                    along[c] += move * own[c]
    return loss, counted
