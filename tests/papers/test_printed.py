"""The data file of the papers' numbers: complete, and every number with its place and measure."""

import math

import pytest
from papers.printed import library
from papers.registry import ALIASES, experiments

NAMES = {
    "n3": ["table-4", "table-5", "figure-1", "figure-2"],
    "thesis": [
        *(f"table-{n}" for n in ("2.3", "2.4", "2.5", "3.4", "3.5", "5.1", "5.2", "5.3", "5.4", "5.5")),
        *(f"figure-{n}" for n in ("2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "3.4")),
        *(f"figure-{n}" for n in ("4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "5.8")),
        *(f"figure-{n}" for n in ("A.2", "A.3", "A.4", "A.5", "A.6")),
    ],
    "mlnn": ["figure-3", "figure-4"],
    "mapboost": ["figure-1"],
    "inn": ["table-1", "table-2", "table-3", "table-4", "figure-1", "figure-2"],
}
ALL = {f"{paper}-{name}" for paper, names in NAMES.items() for name in names}
VARIANTS = {
    *(f"thesis-table-2.{n}-caltech" for n in (3, 4, 5)),
    *(f"thesis-figure-4.{n}-signs" for n in (2, 3, 4, 5)),
}
OURS = {
    *(f"ours-table-{name}" for name in ("means", "whole-vectors", "neighborhoods", "metrics")),
    "ours-figure-prototypes",
}
PRINTED = library().printed


def test_every_table_and_figure_has_a_name():
    assert set(experiments()) | set(ALIASES) == ALL | VARIANTS | OURS
    assert set(PRINTED) == set(experiments()) - VARIANTS - OURS == ALL - set(ALIASES)


def test_variants_stand_beside_what_is_in_print():
    for name in VARIANTS | OURS:
        assert set(experiments()[name].beside) <= set(PRINTED), name
    assert all(experiments()[name].beside for name in VARIANTS)


@pytest.mark.parametrize("name", PRINTED)
def test_every_number_has_its_place_and_measure(name):
    printed = PRINTED[name]
    assert library().papers[printed.paper].title
    number_in_print = name.split("-", 2)[-1]
    assert printed.place == f"{'Table' if 'table' in name else 'Figure'} {number_in_print}"
    for number in printed.numbers:
        assert math.isfinite(number.value)
        assert number.place
        assert number.measure
        assert number.text or (number.row and number.column in printed.columns)
        assert number.deviation is None or number.deviation > 0


@pytest.mark.parametrize("name", PRINTED)
def test_tables_have_cells_and_figures_have_prose_only(name):
    """Nothing is read off a plot; the weights in figure 1 of the INN paper are printed as a table."""
    printed = PRINTED[name]
    if "table" in name:
        assert printed.cells
    elif name != "inn-figure-1":
        assert not printed.cells
        assert all(number.place.startswith(("section", "caption", "abstract")) for number in printed.stated)


@pytest.mark.parametrize("name", [name for name in PRINTED if PRINTED[name].cells])
def test_rows_and_columns_are_named_once(name):
    places = [(number.row, number.column) for number in PRINTED[name].cells]
    assert len(set(places)) == len(places)


def test_some_numbers_as_printed():
    assert PRINTED["n3-table-4"].at("N3, binlog", "L1").value == 36.40
    assert PRINTED["thesis-table-2.3"].at("soft UNN", "100 classes").value == 31.61
    assert PRINTED["inn-table-1"].at("eigenfaces, linear SVM", "99") is None
    assert str(PRINTED["inn-table-3"].at("NBINN", "15-cat")) == "78.23 ± 1"
    assert str(PRINTED["thesis-figure-A.4"].at("UNN, ITML", "20%")) == "more than 81"


@pytest.mark.parametrize("name", ["thesis-table-5.4", "thesis-table-5.5", "inn-table-4"])
def test_the_means_in_print_are_those_of_their_rows(name):
    """A check of the copy: some print 0.3 off in themselves."""
    printed = PRINTED[name]
    for row in {number.row for number in printed.cells}:
        values = [number.value for number in printed.cells if number.row == row]
        assert sum(values[:-1]) / len(values[:-1]) == pytest.approx(values[-1], abs=0.35)


def test_shares_of_prototypes_add_up():
    printed = PRINTED["thesis-table-5.1"]
    for row in ("soft UNN", "soft UNN, adaptive"):
        parts = sum(printed.at(row, column).value for column in ("Mb", "ER"))
        assert parts == pytest.approx(printed.at(row, "all").value, abs=0.02)


def test_claims_are_those_of_the_prose():
    for name, experiment in experiments().items():
        texts = {number.text for one in experiment.beside or (name,) for number in library().find(one).stated}
        assert set(experiment.claims) <= texts


def test_our_rows_and_columns_meet_the_papers():
    """Every table has cells in which ours and the paper's can stand side by side."""
    for name, experiment in experiments().items():
        if name in PRINTED and "table" in name and not experiment.missing:
            named = {
                (
                    experiment.row.format(
                        panel=panel.name, line=line.name, x=experiment.label(x), measure=shown.title
                    ),
                    experiment.column.format(
                        panel=panel.name, line=line.name, x=experiment.label(x), measure=shown.title
                    ),
                )
                for panel, line in experiment.pairs()
                for x in experiment.xs
                for shown in experiment.measures
            }
            assert named & {(number.row, number.column) for number in PRINTED[name].cells}, name
