"""Votes times coefficients."""

from nearboost.base.compiling import kernel


@kernel
def voter_contribution(voter, vote, coefficient_ptr, classes, values, rest, contribution):
    """What one voter adds to each class: its own values where it has any, its ``rest`` elsewhere."""
    contribution[:] = vote * rest[voter]
    for entry in range(coefficient_ptr[voter], coefficient_ptr[voter + 1]):
        contribution[classes[entry]] = vote * values[entry]


@kernel
def score_rows(ptr, voters, vote, coefficient_ptr, classes, values, rest, contribution, divisors, scores):
    """Scores of every row and class: contributions added in the order of the voters' rank.

    Each is divided by the row's ``divisors``, unless these are empty.
    """
    divide = len(divisors) > 0
    for row in range(len(ptr) - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            j = voters[entry]
            if rest[j] != 0.0:
                voter_contribution(j, vote[entry], coefficient_ptr, classes, values, rest, contribution)
                if divide:
                    for c in range(len(contribution)):
                        contribution[c] /= divisors[row, c]
                for c in range(len(contribution)):
                    scores[row, c] += contribution[c]
            else:  # the same sums, over the classes this voter has values for
                for stored in range(coefficient_ptr[j], coefficient_ptr[j + 1]):
                    c, term = classes[stored], vote[entry] * values[stored]
                    scores[row, c] += term / divisors[row, c] if divide else term
