"""N3 with the calibrated hinge loss in rational arithmetic (Lemma 1): no rounding anywhere.

Plain votes only. Digits about double with every reweighting of an example: small sets, few rounds.
"""

from fractions import Fraction


def start_weights(codes):
    """1 / ‖1 + y_ic y_i‖₁ as fractions, from rows of ±1 codes: twice the number of equal codes."""
    return [[Fraction(1, 2 * list(row).count(code)) for code in row] for row in codes]


def move_weight(w, shift):
    """Table 2, row D."""
    z = shift + (1 - 2 * w) / min(w, 1 - w)
    return (1 + max(Fraction(0), -z)) / (2 + abs(z))


def n3_hinge(indices, y, w, *, n_rounds, oracle="delta"):
    """Picks, steps, coefficients and weights of one class problem; ties go to the lower index."""
    y = [int(code) for code in y]
    w = list(w)
    reverse = [[i for i, voters in enumerate(indices) if j in voters] for j in range(len(y))]
    alpha, picks, deltas = [Fraction(0)] * len(y), [], []
    for _ in range(n_rounds):
        eta = [sum((w[i] * y[i] * y[j] for i in members), Fraction(0)) for j, members in enumerate(reverse)]
        candidates = [j for j in range(len(y)) if eta[j] > 0]  # n_j = 0 gives η = 0
        if not candidates:
            break
        power = 1 if oracle == "delta" else 2
        j = max(candidates, key=lambda j: eta[j] ** power / len(reverse[j]))  # first of equal ones
        delta = 4 * eta[j] / len(reverse[j])
        for i in reverse[j]:
            w[i] = move_weight(w[i], delta * y[i] * y[j])
        alpha[j] += delta
        picks.append(j)
        deltas.append(delta)
    return picks, deltas, alpha, w
