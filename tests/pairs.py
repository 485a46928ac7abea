"""Grids of parameters by pairs: every two values meet in some case.

A mistake of two options that do not go together shows in any case that has them both, so a few cases of a
product find nearly what all of them find.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations

Case = Sequence[Hashable]  # one value for each option


def cover_pairs(cases: Sequence[Case]) -> list[int]:
    """Places of few of the cases, in order, that have every pair of values that all of them have.

    Greedy: always the case with the most pairs that are still missing, the first of equals.
    """
    pairs = [set(combinations(enumerate(case), 2)) for case in cases]
    missing = set().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda place: len(pairs[place] & missing))
        missing -= pairs[best]
        chosen.append(best)
    return sorted(chosen)
