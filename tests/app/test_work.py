"""What gallery, training and results ask of the app, without a browser."""

import time

import pytest

from app.talking import running
from nearboost.cells.labels import read_label_file
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels
from nearboost.cells.results import count_again
from nearboost.cells.training import train_cells


@pytest.fixture
def trained(screen, plate):
    project = open_project(screen)
    import_labels(project, plate / "truth.csv")
    train_cells(project)
    with running(screen) as app:
        yield app.enter().be("Ada")


def end_of(app, job):
    """How a job ended."""
    for _ in range(400):
        if job["state"] != "running":
            return job
        time.sleep(0.05)
        job = app.read("/api/job")
    raise AssertionError(job)


def test_pages_before_there_is_anything(inside):
    for path in ("/gallery", "/train", "/results"):
        found = inside.ask("GET", path)
        assert found.status == 200, found.body
    assert "not described yet" in inside.ask("GET", "/api/gallery").body.decode()
    assert "Labels of two classes" in inside.ask("GET", "/train").body.decode()
    assert "train a model" in inside.ask("GET", "/results").body.decode()
    assert end_of(inside, inside.write("/api/job/describe", {}))["state"] == "done"
    assert len(inside.read("/api/gallery?n=5")["cells"]) == 5
    failed = end_of(inside, inside.write("/api/job/train", {}))
    assert (failed["state"], "labels of two classes" in failed["told"]) == ("failed", True)


def test_cells_are_asked_for_and_confirmed(trained):
    store = trained.desk.annotations
    for one in store.labels():
        if one.object % 2:
            trained.write(
                "/api/label",
                {"cells": [{"image": one.image, "object": one.object, "event": one.event}], "class": None},
            )
    found = trained.read("/api/gallery?kind=predicted&class=granular&n=4")
    assert len(found["cells"]) == 4
    cells = [{name: one[name] for name in ("image", "object", "event")} for one in found["cells"]]
    made = trained.write("/api/gallery/confirm", {"cells": cells})["labels"]
    number = next(one.id for one in store.classes() if one.name == "granular")
    assert {one["class"] for one in made} == {number}
    assert trained.write("/api/undo", {})["done"] == "confirm"
    assert trained.write("/api/gallery/confirm", {"cells": [cells[0] | {"event": 10**6}]}, 409)["present"]
    for wrong in ("kind=magic", "kind=predicted&class=%3Cscript%3E", "n=1e9", "kind=similar&image=1&object=../1"):
        assert trained.ask("GET", f"/api/gallery?{wrong}").status == 400


def test_pictures_and_votes_are_of_numbers(trained):
    crop = trained.ask("GET", "/api/cells/1/1/crop")
    assert (crop.status, crop.headers["Content-Type"], crop.body[:4]) == (200, "image/png", b"\x89PNG")
    vote = trained.read("/api/cells/1/1/votes")
    assert 1 <= len(vote["voters"]) <= 5
    small = trained.ask("GET", f"/api/trained-on/{vote['voters'][0]['row']}")
    assert (small.status, small.body[:2]) == (200, b"\xff\xd8")
    for path in ("/api/cells/1/999/crop", "/api/cells/99/1/votes", "/api/trained-on/99999"):
        assert trained.ask("GET", path).status == 400
    for path in ("/api/cells/../1/crop", "/api/cells/a/1/crop"):
        assert trained.ask("GET", path).status == 404


def test_a_model_is_trained_and_another_one_used(trained):
    store = trained.desk.annotations
    one = store.labels()[0]
    trained.write(
        "/api/label",
        {"cells": [{"image": one.image, "object": one.object, "event": one.event}], "class": 3 - one.class_id},
    )
    done = end_of(trained, trained.write("/api/job/train", {}))
    assert done["state"] == "done", done
    assert "cells-2.nb is trained on" in done["told"]
    assert trained.read("/api/suspects")["cells"]
    assert end_of(trained, trained.write("/api/job/activate", {"name": "cells.nb"}))["state"] == "done"
    page = trained.ask("GET", "/train").body.decode()
    assert page.index("<bdi>cells-2.nb</bdi>") < page.index("<bdi>cells.nb</bdi>")
    gone = end_of(trained, trained.write("/api/job/activate", {"name": "../../x.nb"}))
    assert (gone["state"], "no model" in gone["told"]) == ("failed", True)


def test_counts_are_stale_after_a_label_and_files_are_those_on_the_disk(trained):
    assert end_of(trained, trained.write("/api/job/count", {}))["state"] == "done"
    assert trained.read("/api/results/stale")["stale"] == []
    one = trained.desk.annotations.labels()[0]
    trained.write(
        "/api/exclude",
        {"cells": [{"image": one.image, "object": one.object, "event": one.event}], "excluded": True},
    )
    assert "Labels have changed" in trained.read("/api/results/stale")["stale"][0]
    assert "Labels have changed" in trained.ask("GET", "/results").body.decode()
    folder = trained.desk.project.folder
    for name in ("counts.csv", "wells.csv", "responses.csv", "cells.csv"):
        found = trained.ask("GET", f"/results/{name}")
        assert found.body == (folder / "tables" / name).read_bytes()
        assert found.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
    assert trained.ask("GET", "/results/labels.csv").body.startswith(b"ImageNumber,")
    for name in ("project.json", "..%2Fproject.json", "cells.h5ad"):
        assert trained.ask("GET", f"/results/{name}").status in (400, 404)


def test_a_layout_corrected_while_the_app_runs_is_what_is_counted_by(trained):
    assert end_of(trained, trained.write("/api/job/count", {}))["state"] == "done"
    folder = trained.desk.project.folder
    layout, wells = folder / "layout.csv", folder / "tables" / "wells.csv"
    text = layout.read_text()
    changed = text.replace("A03,1.0,", "A03,7.5,")
    assert changed != text
    assert "demo,A03,1.0," in wells.read_text()
    layout.write_text(changed)
    assert ["layout has changed" in one for one in trained.read("/api/results/stale")["stale"]] == [True]
    plate = trained.read("/api/plate")
    assert [one["layout"]["dose"] for one in plate["wells"] if one["well"] == "A03"] == ["7.5"]
    assert end_of(trained, trained.write("/api/job/count", {}))["state"] == "done"
    assert "demo,A03,7.5," in wells.read_text()
    assert trained.read("/api/results/stale")["stale"] == []


def test_tables_of_another_layout_are_stale_however_they_were_written(trained):
    """A process that opened the project before the layout was corrected cannot say that its tables hold."""
    project, layout = trained.desk.project, trained.desk.project.folder / "layout.csv"
    layout.write_text(layout.read_text().replace("A03,1.0,", "A03,7.5,"))
    count_again(project)
    assert ["layout has changed" in one for one in trained.read("/api/results/stale")["stale"]] == [True]


def test_classes_that_the_model_does_not_know_are_told(trained):
    """A class that was renamed or merged counts beside its old name until a model is trained anew."""
    first, second = trained.desk.annotations.classes()
    trained.write("/api/classes/change", {"class": first.id, "name": "smooth"})
    assert end_of(trained, trained.write("/api/job/count", {}))["state"] == "done"
    told = trained.read("/api/results/stale")["stale"]
    assert len(told) == 1
    assert "labelled smooth, which the model does not know (it says diffuse, granular); train anew" in told[0]
    trained.write("/api/classes/merge", {"class": first.id, "into": second.id})
    assert end_of(trained, trained.write("/api/job/count", {}))["state"] == "done"
    assert trained.read("/api/results/stale")["stale"] == [
        "The model says diffuse, which is no class any more; train anew."
    ]


def test_a_damaged_layout_is_told_and_nothing_is_counted_by_it(trained):
    layout = trained.desk.project.folder / "layout.csv"
    layout.write_text(layout.read_text().replace("negative", "neg"))
    told = trained.write("/api/job/count", {}, status=400)
    assert "control 'neg' in line 2" in str(told)
    refused = trained.ask("GET", "/plate").body
    assert b"control &#39;neg&#39; in line 2" in refused
    assert b'href="/results"' in refused, "a page without a way on ends the work"
    assert trained.ask("GET", "/fields/1").status == 200, "labels can be given meanwhile"


def test_a_class_called_by_a_script_stays_a_text(screen, plate):
    project, name = open_project(screen), "</script><script>alert(1)</script>"
    labels = read_label_file(project, plate / "truth.csv").labels
    lines = [f'{one.image},{one.object},"{name if one.name == "granular" else "=cmd()"}"' for one in labels]
    (screen / "hostile.csv").write_text("\n".join(["ImageNumber,ObjectNumber,class", *lines]))
    import_labels(project, screen / "hostile.csv")
    train_cells(project)
    count_again(project)
    with running(screen) as app:
        app.enter()
        for path in ("/gallery", "/train", "/results"):
            assert b"<script>alert" not in app.ask("GET", path).body
        assert b"'=cmd()" in app.ask("GET", "/results/counts.csv").body


def test_the_labels_file_is_written_when_the_app_ends(screen, plate):
    with running(screen) as app:
        app.enter().be("Ada")
        app.write("/api/classes/add", {"name": "round"})
        app.write("/api/label", {"cells": [{"image": 1, "object": 1, "event": 0}], "class": 1})
    assert ",round,Ada," in (screen / "labels.csv").read_text()
