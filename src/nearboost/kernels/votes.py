"""Votes times coefficients."""

from nearboost.base.compiling import kernel


@kernel
def voter_contribution(voter, vote, coefficient_ptr, classes, values, rest, contribution):
    """What one voter adds to each class: its own values where it has any, ``rest`` elsewhere."""
    contribution[:] = vote * rest
    for entry in range(coefficient_ptr[voter], coefficient_ptr[voter + 1]):
        contribution[classes[entry]] = vote * values[entry]


@kernel
def score_rows(ptr, voters, vote, coefficient_ptr, classes, values, rest, contribution, scores):
    """Scores of every row and class: contributions added in the order of the voters' rank."""
    for row in range(len(ptr) - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            if rest != 0.0:
                voter_contribution(
                    voters[entry], vote[entry], coefficient_ptr, classes, values, rest, contribution
                )
                for c in range(len(contribution)):
                    scores[row, c] += contribution[c]
            else:  # the same sums; only the classes a voter has values for
                j = voters[entry]
                for stored in range(coefficient_ptr[j], coefficient_ptr[j + 1]):
                    scores[row, classes[stored]] += vote[entry] * values[stored]


@kernel
def leading_classes(ptr, voters, vote, label_ptr, labels, limits, tally, right, truth):
    """Count, for each number of voters in ``limits``, the rows whose plain vote elects their label.

    ``tally`` is a zeroed array over classes. Ties go to the class whose voter came first.
    """
    for row in range(len(ptr) - 1):
        leader = -1
        limit = 0
        for rank in range(ptr[row + 1] - ptr[row]):
            entry = ptr[row] + rank
            for e in range(label_ptr[voters[entry]], label_ptr[voters[entry] + 1]):
                c = labels[e]
                tally[c] += vote[entry]
                if leader < 0 or tally[c] > tally[leader]:
                    leader = c
            while limit < len(limits) and limits[limit] == rank + 1:
                right[limit] += 1 if leader == truth[row] else 0
                limit += 1
        for entry in range(ptr[row], ptr[row + 1]):
            for e in range(label_ptr[voters[entry]], label_ptr[voters[entry] + 1]):
                tally[labels[e]] = 0.0
