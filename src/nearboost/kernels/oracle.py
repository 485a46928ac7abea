"""What step kernels share: the oracle's tree (who is next, in O(log m) a change and a choice), safe root finding.

A complete binary tree over the candidates in one array: the second half holds the leaves, the children of
node n at 2n and 2n + 1. Its inner nodes hold the maximum of their leaves (the best candidate) or, for
random choice, their sum (the number of candidates).
"""

import numpy as np

from nearboost.base.compiling import kernel

LARGEST_DELTA, LARGEST_DECREASE, RANDOM = 0, 1, 2
TIE_WINDOW = 1e-10


@kernel
def candidate_value(oracle, eta, denominator, newton_constant):
    """Worth of a candidate with η = Σ v w b y y and Σ v b²; only a positive δ makes one.

    Positive means above the tie window: sums that cancel leave about 1e-17, which is zero.
    """
    delta = newton_constant * eta / denominator
    if oracle == RANDOM:
        return 1.0 if delta > TIE_WINDOW else 0.0
    if delta <= TIE_WINDOW:
        return -np.inf
    if oracle == LARGEST_DELTA:
        return delta
    return eta * eta / denominator  # what (B.3) bounds the decrease by


@kernel
def merge(oracle, left, right):
    """Value of an inner node."""
    if oracle == RANDOM:
        return left + right
    return left if left > right else right


@kernel
def build_tree(tree, oracle):
    """Fill the inner nodes from the leaves."""
    for node in range(len(tree) // 2 - 1, 0, -1):
        tree[node] = merge(oracle, tree[2 * node], tree[2 * node + 1])


@kernel
def set_leaf(tree, oracle, j, value):
    """Change one leaf and the nodes above it, as far as they change."""
    node = len(tree) // 2 + j
    tree[node] = value
    while node > 1:
        node //= 2
        merged = merge(oracle, tree[2 * node], tree[2 * node + 1])
        if tree[node] == merged:
            return
        tree[node] = merged


@kernel
def choose(tree, oracle, draw):
    """The next example, or -1 when no candidate is left.

    Candidates within the tie window of the best are tied and the lowest index wins, because a bare
    float maximum would decide between equal sums by the last bit. ``draw`` in [0, 1) serves RANDOM.
    """
    node, size = 1, len(tree) // 2
    if oracle == RANDOM:
        rank = np.floor(draw * tree[1])
        if tree[1] == 0.0:
            return -1
        while node < size:
            node *= 2
            if rank >= tree[node]:
                rank -= tree[node]
                node += 1
        return node - size
    if tree[1] == -np.inf:
        return -1
    threshold = tree[1] - TIE_WINDOW * max(1.0, tree[1])
    # Down to the left wherever somebody tied with the best is there.
    while node < size:
        node *= 2
        if tree[node] < threshold:
            node += 1
    return node - size


@kernel
def inside(low, high):
    """A point to go on from: the middle of the bracket, or farther out where it is open."""
    if np.isinf(high):
        return 2.0 * low + 1.0 if low > 0.0 else 1.0
    if np.isinf(low):
        return 2.0 * high - 1.0 if high < 0.0 else -1.0
    return 0.5 * (low + high)
