"""What the page on NearBoostClassifier says of sizes is what the code does."""

from docs.building import ROOT
from nearboost.ensemble import choosing, code_heads, learning, linear_head, scaling, stacking
from nearboost.problem import held_out

PAGE = (ROOT / "docs" / "nearboost.md").read_text(encoding="utf-8")


def bounds():
    """The left column of the table and what its right column begins with, from the constants."""
    assert choosing.FEW_ROWS == held_out.TINY  # one row of the table for both
    assert code_heads.MOST_GAPS * 4 == 2**29  # half a gigabyte
    near, enough = code_heads.N_NEAR, scaling.ENOUGH_COMPONENTS
    yield f"fewer than {held_out.TINY} rows", "five folds three times over; every metric is judged on all folds"
    yield f"{held_out.SMALL} rows", "three folds instead of five"
    yield (
        f"{learning.MANY_ROWS:,} rows",
        (
            f"{learning.MORE_LANDMARKS:,} landmarks instead of {learning.LANDMARKS}, {learning.MORE_WIDTH} of "
            f"their coordinates for the metric instead of {learning.WIDTH}"
        ),
    )
    yield (
        f"more than {code_heads.MOST_FOR_ALL:,} rows to code by (all, or the prototypes)",
        f"the vote is among the query's {near} nearest rows",
    )
    yield (
        f"more than {held_out.LARGE:,} rows",
        f"three folds of about {held_out.MOST_HELD_OUT:,} rows are held out; the others are always learned from",
    )
    n_rows = f"{scaling.COMPONENT_ROWS:,}"
    yield f"more than {n_rows} rows", f"principal components are found from {n_rows} of them"
    yield (
        "large classes",
        (
            "distances within classes are kept up to half a gigabyte (while learning, in each thread), and "
            f"up to {code_heads.GAPS_PER_NUMBER} for each number of the mapped rows; beyond, codes inside a class "
            f"are among its {near} nearest"
        ),
    )
    yield f"rows × classes above {choosing.MOST_CODES:,}", "no multinomial regression"
    yield (
        f"held-out rows × classes above {stacking.MOST_SCORES:,}",
        "the weights a are fitted on evenly spread rows",
    )
    yield (
        f"more than {enough} features, or as many as rows",
        (
            f"principal components, {enough} of them; where there are more than {learning.WIDE}, up to "
            f"{scaling.MOST_COMPONENTS:,} are tried as two further metrics, ε of "
            + " and ".join(f"{metric.shrinkage:g}" for metric in choosing.WIDE_METRICS)
            + ", and the better one on a sphere"
        ),
    )
    yield "values beyond 10⁶ deviations", "count as that"
    assert scaling.FARTHEST == 1e6


def test_the_table_of_bounds():
    _, _, table = PAGE.partition("## Sizes and bounds\n\n")
    table, _, _ = table.partition("\n\n")
    lines = [f"| {what} | {changes} |" for what, changes in bounds()]
    assert table.splitlines() == ["| | what changes |", "| --- | --- |", *lines]


def test_what_the_steps_say():
    ridges, penalties = linear_head.RIDGES, linear_head.PENALTIES
    said = [
        f"ρ from {ridges[0]:g} to {ridges[-1]:g}",
        f"penalty from {penalties[0]:g} to {penalties[-1]:g}",
        f"divided by their length in the metric, from {choosing.SPHERE_FROM} features on",
        f"t = 1 … {code_heads.N_TERMS},  λ = {code_heads.REGULARIZATION} (on a sphere {code_heads.ON_SPHERE})",
        f"t = {stacking.EQUAL_AT} / ({stacking.EQUAL_AT} + m)",
        f"{scaling.N_KNOTS} knots",
        f"at least {learning.LEAST_LANDMARKS} and two a class",
        f"at most {code_heads.NARROW} coordinates",
        f"ridge {' and '.join(f'{ridge:g}' for ridge in choosing.SCALING_RIDGES)}",
    ]
    assert [words for words in said if words not in PAGE] == []
