"""Tables: what spreadsheets would run is text, and is read again as it was."""

import sys

import pytest

from nearboost.base.tables import check_table_name, escaped, format_columns, unescaped
from nearboost.datasets.tables import read_csv

FORMULAS = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'=1", "''@x"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_texts_and_come_back(text):
    assert escaped(text) == f"'{text}"
    assert unescaped(escaped(text)) == text


@pytest.mark.parametrize("value", ["plain", "", "a=b", "'quoted'", -1.5, -2, None, True])
def test_other_cells_stay(value):
    assert escaped(value) is value
    assert not isinstance(value, str) or unescaped(value) == value


def test_a_table_is_read_as_it_was_written(tmp_path):
    names = ["-1.png", "=1+1", "plain", "'=x"]
    path = tmp_path / "labels.csv"
    path.write_text(format_columns({"name": names, "label": ["-1", "+1", "a", "@b"]}), encoding="utf-8")
    assert "'=1+1,'+1" in path.read_text(encoding="utf-8")
    table = read_csv(path)
    assert table.columns == {"name": names, "label": ["-1", "+1", "a", "@b"]}


def test_parquet_without_its_package_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"nearboost\[tables\]"):
        check_table_name(tmp_path / "answers.parquet")
    check_table_name(tmp_path / "answers.csv")
