"""Tables as .csv files: what they may look like, and one sentence for every mistake."""

import errno

import numpy as np
import pytest

from nearboost.datasets import DataError, open_dataset
from nearboost.datasets.csv_rows import read_csv_rows

ROWS = [[1.5, -2], [3, 4e-3], [0.1, 7]]
LINES = ["height,width,label", "1.5,-2,oak", "3,4e-3,elm", "0.1,7,oak"]


def written(folder, lines, **how):
    file = folder / "trees.csv"
    file.write_text("\n".join(lines) + "\n", **{"encoding": "utf-8"} | how)
    return file


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("label", "Class"),
        lambda text: text.replace("label", "species"),  # the only column of text
        lambda text: text.replace("height", '"height"').replace("oak", '"oak"'),
        lambda text: text.replace("height,width", "0,1"),  # as written from a table without names
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_rows_and_labels_of_a_table(tmp_path, change, newline):
    found = open_dataset(written(tmp_path, [change("\n".join(LINES))], newline=newline))
    assert (found.kind, found.name, found.classes) == ("vectors", "trees", ("elm", "oak"))
    assert found.labels.tolist() == ["oak", "elm", "oak"]
    np.testing.assert_array_equal(found.items, ROWS)
    assert found.names == ["row 0", "row 1", "row 2"]


def test_labels_may_stand_anywhere_and_be_numbers(tmp_path):
    found = open_dataset(written(tmp_path, ["x1,target,x2", "1,2,3", "4,10,6"]))
    assert found.labels.tolist() == ["2", "10"]
    np.testing.assert_array_equal(found.items, [[1, 3], [4, 6]])


def test_parts_groups_and_names_come_along(tmp_path):
    lines = ["file_name,part,x,label,plate", "a.png,train,1,oak,p", "b.png,test,2,elm,q"]
    found = open_dataset(written(tmp_path, lines))
    assert found.names == ["a.png", "b.png"]
    assert found.part.tolist() == ["train", "test"]
    assert found.groups.tolist() == ["p", "q"]
    np.testing.assert_array_equal(found.items, [[1], [2]])


def test_rows_need_no_labels(tmp_path):
    found = read_csv_rows(written(tmp_path, ["x1,x2", "1,2", "3,4"]))
    np.testing.assert_array_equal(found.numbers, [[1, 2], [3, 4]])
    assert len(found.words) == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([""], "is empty; expected a line with names"),
        (["x,label"], "no rows below its first line"),
        (["5.1,3.5,oak", "4.9,3.0,elm"], "begins with a line of values"),
        (["1,1,0", "2,1,0"], "begins with a line of values"),
        ([",x,label", "0,1,oak"], "no name for column 1; give it one, or drop it if it numbers the rows"),
        (["x,X,label", "0,1,oak"], "two columns called 'x'"),
        (["x,y_,label", "1,2,oak", "1,elm"], "2 values in line 3; expected 3: x, y_, label"),
        (["x,y_,label", "1,oak"], "2 values in line 2; expected 3"),
        (["x,label", "1,oak", "2 cm,elm"], "'2 cm' in line 3 of the column 'x'; expected a number"),
        (["x;label", "1,5;oak"], "'1,5' in line 2 of the column 'x'; .* write decimals with a point"),
        (["x,label", "1,oak", ",elm"], "no value in line 3 of the column 'x'; fill it in"),
        (["x,label", "1,oak", "2,"], "no label in line 3; fill or delete the line"),
        (["x,label", "1,oak", "nan,elm"], "NaN or infinite values in row 1"),
        (["x1,x2", "1,2", "3,4"], "has columns of numbers alone; expected one called label or class"),
        (
            ["x,who,what", "1,a,b"],
            "'a' in line 2 of the column 'who'; .* or a column called label; encode .* or drop it",
        ),
        (["x,who,label", "1,a,b"], "'a' in line 2 of the column 'who'"),
        (["label", "oak", "elm"], "no columns of numbers beside label"),
        (["x,label", '1,"oak'], "is not a readable CSV file"),
        (["x,label", "1,oak", "2,oak"], "one class only, 'oak'"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(tmp_path, lines, said):
    with pytest.raises(DataError, match=rf"trees\.csv .*{said}"):
        open_dataset(written(tmp_path, lines))


def test_text_that_is_not_utf_8_is_told(tmp_path):
    with pytest.raises(DataError, match="save it as UTF-8"):
        open_dataset(written(tmp_path, ["x,label", "1,Flieder", "2,Föhre"], encoding="latin-1"))


def test_a_table_that_may_not_be_read(tmp_path, monkeypatch):
    path = written(tmp_path, LINES)

    def denied(*given, **named):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(DataError, match=r"cannot be read \(Permission denied\); check its permissions\.$"):
        open_dataset(path)
