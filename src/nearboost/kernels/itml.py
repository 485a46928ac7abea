"""ITML: one Bregman projection after the other (Algorithm 1 of Davis et al. 2007).

The state is a factor of A = FFᵀ and not A itself, so that A is symmetric and positive definite whatever the
rounding. With w = Fᵀv, p = ‖w‖² and p' the distance to reach, the update A ← A + β A v vᵀ A of step 3.8 reads

    F ← F (I + c w wᵀ),   c = (√(p'/p) − 1)/p,

which concerns each row of F alone. Rows and pairs go in twos: what is loaded serves two rows, two updates and two
looks ahead. That makes 3d² multiplications a pair, which vectorise, as fast as the 2d² of updating A itself.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.arrays import copy

# Below this share of the bound u a pair counts as one row twice: its direction, if any, is made of rounding.
NEGLIGIBLE = 1e-24
ANY_ORDER = {"reassoc", "contract", "nsz"}  # of the terms of a sum; NaN and infinity are treated as always


@kernel(fastmath=ANY_ORDER)
def inner_product(a, b):
    """aᵀb."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@kernel
def subtract_rows(rows, pair, v):
    """v = x_i − x_j."""
    first = rows[pair[0]]
    second = rows[pair[1]]
    for j in range(len(v)):
        v[j] = first[j] - second[j]


@kernel
def project(k, p, similar, gamma, inverse_bounds, inverse_slacks, duals):
    """Steps 3.3 to 3.7 for pair k at distance p: move its slack ξ and its λ, return c.

    Step 3.4 is α = min(λ, δ γ/(γ+1) (1/p − 1/ξ)), and 3.5 means 1/p' = 1/p − δα. Without the minimum, distance and
    slack meet at 1/p' = 1/ξ' = (γ/ξ + 1/p)/(γ + 1): in this form nothing cancels and p' stays positive.
    """
    if not p > NEGLIGIBLE:
        return 0.0
    sign = 1.0 if similar[k] else -1.0
    inverse = 1.0 / p
    target = (gamma * inverse_slacks[k] + inverse) / (gamma + 1.0)
    alpha = sign * (inverse - target)
    if alpha < duals[k]:
        inverse_slacks[k] = target
        duals[k] -= alpha
    else:  # α = λ, and the slack is back at its bound
        target = inverse - sign * duals[k]
        inverse_slacks[k] = inverse_bounds[k]
        duals[k] = 0.0
    return (np.sqrt(inverse / target) - 1.0) * inverse


@kernel(fastmath=ANY_ORDER)
def update_and_look(factor, c, d, w, x, v, y, next_w, next_x):
    """F ← F (I + c w wᵀ)(I + d x xᵀ) and, with its new rows at hand, next_w = Fᵀv and next_x = Fᵀy."""
    next_w[:] = 0.0
    next_x[:] = 0.0
    between = inner_product(w, x)
    for r in range(0, len(factor), 2):  # two rows at a time share the loads of w and x
        upper, upper_w, upper_x, upper_v, upper_y = factor[r], 0.0, 0.0, v[r], y[r]
        lower, lower_w, lower_x, lower_v, lower_y = factor[r + 1], 0.0, 0.0, v[r + 1], y[r + 1]
        for j in range(len(w)):
            upper_w += upper[j] * w[j]
            upper_x += upper[j] * x[j]
            lower_w += lower[j] * w[j]
            lower_x += lower[j] * x[j]
        upper_w *= c
        lower_w *= c
        upper_x = d * (upper_x + upper_w * between)  # of the row as the first update leaves it
        lower_x = d * (lower_x + lower_w * between)
        for j in range(len(w)):
            upper_entry = upper[j] + (upper_w * w[j] + upper_x * x[j])
            lower_entry = lower[j] + (lower_w * w[j] + lower_x * x[j])
            upper[j] = upper_entry
            lower[j] = lower_entry
            next_w[j] += upper_v * upper_entry + lower_v * lower_entry
            next_x[j] += upper_y * upper_entry + lower_y * lower_entry


@kernel
def sweep_pairs(factor, rows, pairs, similar, gamma, inverse_bounds, inverse_slacks, duals):
    """Project on every pair once, in order; distances are in units of the bound u.

    Features and pairs are even in number; a pair of one row with itself may fill up, for it is passed over.
    """
    own = factor.copy()  # numba's arrays begin at multiples of 32 bytes, others need not: a quarter faster
    v, w, next_w = np.empty(len(own)), np.zeros(len(own)), np.empty(len(own))
    y, x, next_x = np.empty(len(own)), np.zeros(len(own)), np.empty(len(own))
    subtract_rows(rows, pairs[0], v)
    subtract_rows(rows, pairs[1], y)
    update_and_look(own, 0.0, 0.0, w, x, v, y, next_w, next_x)
    for k in range(0, len(pairs), 2):
        w, next_w = next_w, w
        x, next_x = next_x, x
        c = project(k, inner_product(w, w), similar, gamma, inverse_bounds, inverse_slacks, duals)
        bend = c * inner_product(w, x)
        for j in range(len(x)):
            x[j] += bend * w[j]  # the second pair sees F (I + c w wᵀ)
        d = project(k + 1, inner_product(x, x), similar, gamma, inverse_bounds, inverse_slacks, duals)
        following = min(k + 2, len(pairs) - 2)  # after the last pairs the look is for nothing
        subtract_rows(rows, pairs[following], v)
        subtract_rows(rows, pairs[following + 1], y)
        update_and_look(own, c, d, w, x, v, y, next_w, next_x)
    for i in range(len(own)):
        copy(own[i], factor[i])
