"""What the gallery, training and results pages ask for: queries, votes, jobs, models, tables that hold or not."""

import re
import shutil
import threading
import time

import numpy as np
import pytest

from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_bar
from nearboost.cells.annotation_records import Cell
from nearboost.cells.describing import describe_project, known_rows
from nearboost.cells.doubts import suspects_of
from nearboost.cells.jobs import CANCELLED, DONE, FAILED, RUNNING, Jobs
from nearboost.cells.kept_models import activate_model, kept_models, train_next
from nearboost.cells.labelling import exclude_cells, label_cells
from nearboost.cells.learning import label_table
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels, open_store
from nearboost.cells.queries import Query, find_cells
from nearboost.cells.results import count_again, download, read_results
from nearboost.cells.saying import active_model, rows_of, said_of
from nearboost.cells.tables import count_project, predict_project, write_cells
from nearboost.cells.training import train_cells
from nearboost.cells.voting import training_picture, vote_on


@pytest.fixture(scope="module")
def trained_once(segmented_once, plate, tmp_path_factory):
    folder = shutil.copytree(segmented_once, tmp_path_factory.mktemp("working") / "project")
    lines = (plate / "truth.csv").read_text().splitlines()
    (folder / "third.csv").write_text("\n".join([lines[0], *lines[1::3]]))
    project = open_project(folder)
    import_labels(project, folder / "third.csv")
    train_cells(project)
    count_again(project)
    return folder


@pytest.fixture
def project(trained_once, tmp_path):
    return open_project(shutil.copytree(trained_once, tmp_path / "project"))


@pytest.fixture
def store(project):
    with open_store(project) as opened:
        yield opened


def found(project, store, **query):
    return find_cells(project, store, Query(**query))


def keys(answer):
    return [(one.image, one.object) for one in answer.cells]


def test_random_cells_are_repeated_by_their_seed(project, store):
    some = found(project, store, n=20)
    assert keys(found(project, store, n=20)) == keys(some)
    assert keys(found(project, store, n=20, seed=1)) != keys(some)
    assert some.total == len(rows_of(project)) - len(store.labels())
    labelled = {(one.image, one.object) for one in store.labels()}
    assert not labelled & set(keys(found(project, store, n=500)))
    assert labelled < set(keys(found(project, store, n=500, also_labelled=True)))
    well = found(project, store, n=500, well=("demo", "B08"))
    assert {one.well for one in well.cells} == {"B08"}


def test_cells_by_what_the_model_says(project, store):
    said = said_of(project)
    sure = found(project, store, kind="predicted", class_name="granular", n=500).cells
    assert [one.said for one in sure] == ["granular"] * len(sure)
    assert [one.probability for one in sure] == sorted((one.probability for one in sure), reverse=True)
    doubtful = found(project, store, kind="doubtful", n=500, also_labelled=True).cells
    margins = [abs(np.diff(said.chances[said.places[one.image, one.object]])[0]) for one in doubtful]
    assert margins == sorted(margins)
    row = found(project, store, kind="likeliest", class_name="diffuse", n=12).cells
    chances = [one.probability for one in row]
    assert chances == sorted(chances)
    assert len(row) == 12
    assert chances[0] < 0.3 < 0.7 < chances[-1]


def test_similar_cells(project, store):
    rows = rows_of(project)
    answer = found(project, store, kind="similar", cell=(1, 2), n=7, also_labelled=True)
    place = said_of(project).places[1, 2]
    distances = np.linalg.norm(rows.features - rows.features[place], axis=1)
    distances[place] = np.inf
    expected = np.sort(distances)[:7]
    got = [distances[said_of(project).places[key]] for key in keys(answer)]
    assert np.allclose(got, expected, rtol=1e-5)
    with pytest.raises(UsageError, match="Choose a cell"):
        found(project, store, kind="similar", cell=(99, 1))


def test_labelled_cells_and_those_to_check(project, store):
    names = {one.id: one.name for one in store.classes()}
    answer = found(project, store, kind="labelled", class_name="diffuse", n=500)
    assert {names[one.label.class_id] for one in answer.cells} == {"diffuse"}
    assert found(project, store, kind="to check").cells == []
    with pytest.raises(UsageError, match="no class 'odd'"):
        found(project, store, kind="labelled", class_name="odd")
    with pytest.raises(UsageError, match="Ask for 1 to 500"):
        found(project, store, n=9999)


def test_questions_before_there_is_an_answer(segmented):
    project = open_project(segmented)
    with open_store(project) as store:
        with pytest.raises(UsageError, match="not described yet"):
            found(project, store)
        with pytest.raises(UsageError, match="no model"):
            vote_on(project, 1, 1)
        assert read_results(project, store).counts == []
        assert label_table(project, store).notes == [
            "Labels of two classes or more are needed before a model can be trained."
        ]
        assert "Train a model first" in suspects_of(project, store).lead
        assert kept_models(project) == []


def test_who_voted(project):
    vote = vote_on(project, 1, 1)
    assert vote.said in ("diffuse", "granular")
    assert 1 <= len(vote.voters) <= 5
    assert "training cell" in vote.meaning
    sizes = [abs(one.vote) for one in vote.voters]
    assert sizes == sorted(sizes, reverse=True)
    assert training_picture(project, vote.voters[0].row)[:2] == b"\xff\xd8"
    with pytest.raises(UsageError, match="no picture"):
        training_picture(project, 10**6)


def test_labels_by_class_and_well(project, store):
    table = label_table(project, store)
    assert table.classes == ["diffuse", "granular"]
    assert sum(map(sum, table.counts)) == len(store.labels())
    assert table.notes == []
    for one in store.labels():
        if one.class_id == 2 and one.image != 8:
            exclude_cells(project, store, "Ada", [Cell(one.image, one.object, one.event)])
    table = label_table(project, store)
    assert table.excluded > 10
    assert any("all labelled cells of class 'granular' are of demo A08" in note for note in table.notes)
    assert any("Few labels" in note for note in table.notes)
    assert any("classes count alike" in note for note in table.notes)


def test_held_out_figures_and_suspects(project, store, plate):
    [model] = kept_models(project)
    figures = model.figures
    assert model.active
    assert model.problem == ""
    assert sum(map(sum, figures.counts)) == figures.n_cells == len(store.labels())
    assert figures.by_well
    assert figures.mean == pytest.approx(np.mean(figures.accuracies))
    assert figures.mean > 0.8
    right = sum(figures.counts[i][i] for i in range(2))
    opened = said_of(project).model
    assert right / figures.n_cells == pytest.approx(opened.held_out_accuracy)
    wrong = [one for one in store.labels() if one.class_id == 1][::6]
    label_cells(project, store, "Eve", [Cell(one.image, one.object, one.event) for one in wrong], 2)
    train_cells(project)
    doubts = suspects_of(project, store)
    first = {(one.image, one.object) for one in doubts.cells[: len(wrong)]}
    assert len(first & {(one.image, one.object) for one in wrong}) >= len(wrong) / 2
    assert "were judged" in doubts.lead
    assert not doubts.cells[0].changed


def test_models_are_kept_and_one_is_active(project, store):
    before = said_of(project).names
    wrong = [Cell(one.image, one.object, one.event) for one in store.labels() if one.class_id == 1][:8]
    label_cells(project, store, "Ada", wrong, 2)
    assert "cells-2.nb is trained on" in train_next(project)
    assert [(one.name, one.active) for one in kept_models(project)] == [("cells-2.nb", True), ("cells.nb", False)]
    assert active_model(project).name == "cells-2.nb"
    activate_model(project, "cells.nb")
    assert active_model(project).name == "cells.nb"
    assert np.array_equal(said_of(project).names, before)
    (project.folder / "models" / "broken.nb").write_bytes(b"no model")
    broken = next(one for one in kept_models(project) if one.name == "broken.nb")
    assert broken.problem
    for name in ("../cells.nb", "gone.nb"):
        with pytest.raises(UsageError, match="no model"):
            activate_model(project, name)


def test_results_are_marked_stale(project, store):
    assert read_results(project, store).stale == []
    one = store.labels()[0]
    label_cells(project, store, "Ada", [Cell(one.image, one.object, one.event)], 3 - one.class_id)
    assert read_results(project, store).stale == ["Labels have changed since the cells were counted."]
    store.undo("Ada")
    assert read_results(project, store).stale == []
    train_next(project)
    assert "model have changed" in read_results(project, store).stale[0]
    count_again(project)
    assert read_results(project, store).stale == []
    layout = project.folder / "layout.csv"
    layout.write_text(layout.read_text().replace("30.0", "31.0"))
    assert read_results(open_project(project.folder), store).stale == [
        "The layout has changed since the cells were counted."
    ]
    (project.folder / "tables" / "counts.csv").write_text("level\n")
    assert "not those that were written" in read_results(project, store).stale[-1]


def test_a_kill_while_counting_leaves_no_old_table_that_looks_new(project, store, monkeypatch):
    def cut_off(*given):
        raise KeyboardInterrupt

    one = store.labels()[0]
    label_cells(project, store, "Ada", [Cell(one.image, one.object, one.event)], 3 - one.class_id)
    with monkeypatch.context() as patch:
        patch.setattr("nearboost.cells.results.write_cells", cut_off)
        with pytest.raises(KeyboardInterrupt):
            count_again(project)
    assert read_results(project, store).stale
    count_again(project)
    assert read_results(project, store).stale == []


@pytest.mark.parametrize("name", ["counts", "wells", "responses"])
@pytest.mark.parametrize("change", [lambda text: re.sub(r"[0-9]+[.][0-9]+", "?", text), lambda text: text[40:]])
def test_tables_that_somebody_edited_are_not_shown(project, store, name, change):
    path = project.folder / "tables" / f"{name}.csv"
    path.write_text(change(path.read_text()))
    results = read_results(project, store)
    assert "not those that were written; count again" in results.stale[-1]
    assert results.counts == []
    assert f"{name}.csv" in results.files
    count_again(project)
    assert read_results(project, store).counts


def test_results_are_the_tables(project, store):
    results = read_results(project, store)
    plates = [one for one in results.counts if one["level"] == "plate"]
    assert sum(one["count"] for one in plates) == len(rows_of(project))
    assert all(one["low"] <= one["share"] <= one["high"] for one in plates)
    granular = next(one for one in results.curves if one.readout == "Share_granular")
    assert len(granular.doses) == len(granular.values) == 12
    assert (granular.ec50 is not None) == bool(granular.curve)
    assert granular.z_prime < 1


def test_downloads_are_what_the_commands_write(project, store, tmp_path):
    other = open_project(shutil.copytree(project.folder, tmp_path / "other"))
    for file in (other.folder / "tables").iterdir():
        file.unlink()
    predicted = predict_project(other)
    write_cells(other, predicted.rows, predicted)
    count_project(other)
    files = read_results(project, store).files
    assert {"counts.csv", "wells.csv", "responses.csv", "cells.csv"} <= set(files)
    for name in files:
        assert download(project, store, name) == (other.folder / "tables" / name).read_bytes(), name
    assert download(project, store, "labels.csv") == (project.folder / "labels.csv").read_bytes()
    for name in ("../project.json", "project.json", "cells.h5ad"):
        with pytest.raises(UsageError, match="no table"):
            download(project, store, name)


def test_jobs_tell_how_far_they_are_and_end_when_they_are_told(project):
    jobs, reached, go_on = Jobs(), threading.Event(), threading.Event()

    def work():
        with progress_bar("Counting", 3, 0) as advance:
            for _ in range(3):
                advance()
                reached.set()
                go_on.wait(10)
        return "counted"

    assert jobs.state.state == ""
    first = jobs.start("count", work)
    assert reached.wait(10)
    state = jobs.state
    assert (state.number, state.state, state.step, state.taken, state.total) == (1, RUNNING, "Counting", 1, 3)
    with pytest.raises(UsageError, match=r"running \(count\)"):
        jobs.start("train", work)
    go_on.set()
    assert (jobs.wait(10).state, jobs.state.told, first.number) == (DONE, "counted", 1)
    go_on.clear()
    reached.clear()
    jobs.start("count", work)
    assert reached.wait(10)
    jobs.cancel()
    go_on.set()
    assert jobs.wait(10).state == CANCELLED
    jobs.start("fail", lambda: 1 / 0)
    assert (jobs.wait(10).state, jobs.state.told) == (FAILED, "division by zero")
    jobs.start("train", lambda: train_next(project))
    began = time.monotonic()
    jobs.close(30)
    assert time.monotonic() - began < 30
    assert jobs.state.state in (DONE, CANCELLED)


def test_rows_are_there_as_soon_as_they_are_made(segmented):
    """Nothing is remembered of a time when they were not; and who looks for them stops nobody who makes them."""
    project = open_project(segmented)
    describe_project(project)
    kept = segmented / "features"
    kept.rename(segmented / "elsewhere")
    assert rows_of(project) is None
    looking = [threading.Thread(target=known_rows, args=(project,)) for _ in range(8)]
    for one in looking:
        one.start()
    rows, skipped = describe_project(project)
    for one in looking:
        one.join()
    assert skipped == {}
    assert len(rows_of(project)) == len(rows)
