"""Filter responses as ranks and surprise, read from tables; and sums over rectangles."""

from nearboost.base.compiling import kernel


@kernel
def rank_and_surprise(responses, per_unit, ranks, surprises, surprise):
    """Replace responses by P(|R| ≤ |r|), and add −log p(r) of all filters at each place.

    Tables hold a column for each filter and a row for each step of |r|; what lies between is linear, what lies
    beyond is the last row.
    """
    last = ranks.shape[0] - 1
    for place in range(responses.shape[0]):
        total = 0.0
        for filter in range(responses.shape[1]):
            step = abs(responses[place, filter]) * per_unit
            low = min(int(step), last - 1)
            share = min(step - low, 1.0)
            responses[place, filter] = ranks[low, filter] + share * (ranks[low + 1, filter] - ranks[low, filter])
            total += surprises[low, filter] + share * (surprises[low + 1, filter] - surprises[low, filter])
        surprise[place] = total


@kernel
def add_up(values, sums):
    """Sums over all places above and left of each, so that any rectangle's sum is that of four corners."""
    n_rows, n_columns, n_filters = values.shape
    for row in range(n_rows):
        for column in range(n_columns):
            for filter in range(n_filters):
                sums[row + 1, column + 1, filter] = (
                    values[row, column, filter]
                    + sums[row, column + 1, filter]
                    + sums[row + 1, column, filter]
                    - sums[row, column, filter]
                )
