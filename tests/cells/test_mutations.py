"""Every file that a project reads is changed at random: commands end with their codes and sentences."""

import json
import random
import shutil
import sqlite3
from contextlib import suppress

import numpy as np
import pytest
import tifffile
from PIL import Image

from cells.pictures import spots
from cli.calling import call
from nearboost.base.disk import write_arrays
from nearboost.cli.common import Exit

ODD = [
    *(None, True, -1, 0, 2**31, 2**63, 1.5, 1e308, float("nan"), float("inf"), "", "a", "1", "nan", "1e999"),
    *("../../etc/passwd", "/etc/passwd", "\0", "\ud800", "\udcff", "=cmd", "<script>", "x" * 5000, "\n", "\u202e"),
    *([], {}, [[]], {"a": 1}, [1] * 100),
]
ODD_TEXTS = [
    *(
        "",
        "-1",
        "0",
        "1e400",
        "nan",
        "inf",
        "9" * 30,
        "9" * 5000,
        "=1",
        "a\tb",
        '"',
        "1.5",
        "<b>",
        "x" * 3000,
        "A99",
    ),
    *("\u202e", "demo", "positive", "\0", "0x10", "１", "٣"),
]
PIECES = [b"\0" * 8, b"\xff" * 4, b'"', b",", b"\n", b"nan", b"-1", b"1e400", b"\xff\xfe", b"=1+1"]
NUMBERS = [0, 1, 2**16, 2**31 - 1, 2**32 - 1]


@pytest.fixture(scope="module")
def counted(plate, tmp_path_factory):
    """A project with all that steps leave, corrected light included."""
    folder = tmp_path_factory.mktemp("counted")
    project = folder / "project"
    call("cells", "new", project, plate / "images", "--layout", plate / "layout.csv")
    for step in ("segment", "features"):
        call("cells", step, project)
    light = np.ones((64, 64), np.float32)
    write_arrays(project / "masks" / "illumination.npz", **{"nuclei demo": light, "stain demo": light})
    assert call("cells", "train", project, "--labels", plate / "truth.csv", "--method", "n3").code == Exit.DONE
    assert call("cells", "count", project).code == Exit.DONE
    assert call("cells", "labels", "export", project, folder / "labels.csv").code == Exit.DONE
    return folder


def change_bytes(path, chance):
    """Bits, bytes and pieces of a file that are others, more, or gone."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        at = chance.randrange(len(content) or 1)
        match chance.randrange(6):
            case 0 if content:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                del content[at:]
            case 2:
                del content[at : at + chance.randrange(1, 40)]
            case 3:
                content[at:at] = chance.choice(PIECES)
            case 4:
                content[at : at + 4] = chance.choice(NUMBERS).to_bytes(4, chance.choice(["little", "big"]))
            case _:
                content[at : at + 8] = chance.randbytes(8)
    path.write_bytes(content)


def change_json(path, chance):
    """Values of a JSON file that are others, or gone."""
    content = json.loads(path.read_text())
    for _ in range(chance.choice([1, 1, 2, 3])):
        inside = content
        while isinstance(inside, dict | list) and inside:
            key = chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
            deeper = inside[key]
            if not isinstance(deeper, dict | list) or not deeper or chance.random() < 0.4:
                break
            inside = deeper
        if inside and chance.random() < 0.8:
            inside[key] = chance.choice(ODD)
        elif inside:
            del inside[key]
    path.write_text(json.dumps(content))


def change_table(path, chance):
    """Cells, columns and lines of a table that are others, more, or gone."""
    lines = [line.split(",") for line in path.read_text().split("\n")]
    for _ in range(chance.choice([1, 1, 2, 3])):
        line = chance.choice([lines[0], chance.choice(lines)])
        at = chance.randrange(len(line) or 1)
        match chance.randrange(5):
            case 0:
                line.insert(at, chance.choice(ODD_TEXTS))
            case 1 if line:
                del line[at]
            case 2:
                lines.append(list(line))
            case _:
                line[at : at + 1] = [chance.choice(ODD_TEXTS)]
    path.write_text("\n".join(map(",".join, lines)))


def change(path, chance):
    by_kind = {".json": change_json, ".csv": change_table}.get(path.suffix)
    if by_kind is None or chance.random() < 0.3:
        change_bytes(path, chance)
        return
    try:
        by_kind(path, chance)
    except (UnicodeError, ValueError):  # it is text no more after an earlier change
        change_bytes(path, chance)


def change_rows(path, chance):
    """A sound file of annotations with odd contents, as somebody else may write it."""
    with sqlite3.connect(path) as rows:
        triggers = rows.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            rows.execute(f"DROP TRIGGER {name}")
        table = chance.choice(["steps", "label_events", "class_events", "generation_events", "unplaced_events"])
        column = chance.choice([name for _, name, *_ in rows.execute(f"PRAGMA table_info({table})")])
        value = chance.choice([-1, 0, 1, 2**31, 2**62, 1.5, 1e308, "", "x", "<b>", "\n,=1", None, "x" * 9999])
        with suppress(sqlite3.Error):  # columns have types
            rows.execute(f"UPDATE {table} SET {column} = ? WHERE id % ? = 0", (value, chance.choice([1, 2, 50])))
        for _, trigger in triggers:
            rows.execute(trigger)
    rows.close()


def images(folder, chance):
    """A damaged picture of a kind that microscopes write, and the words that make a project of it."""
    folder.mkdir()
    one = spots([(20, 20), (40, 60)], 8).astype(np.uint16)
    two, path, kind = np.stack([one, one // 2]), folder / "a.tif", chance.randrange(7)
    match kind:
        case 0:
            path = folder / "a.ome.tif"
            names = {"axes": "CYX", "Channel": {"Name": ["a", "b"]}, "PhysicalSizeX": 0.5}
            tifffile.imwrite(path, two, metadata=names, ome=True)
        case 1:
            tifffile.imwrite(path, two, imagej=True, metadata={"axes": "CYX", "unit": "um"}, resolution=(2, 2))
        case 2:
            tifffile.imwrite(path, two)
        case 3:
            tifffile.imwrite(path, one, compression="zlib", predictor=True)
        case 4:
            tifffile.imwrite(path, one.astype(np.float32), bigtiff=True)
        case 5:
            tifffile.imwrite(path, np.stack([one, one, one], -1).astype(np.uint8), photometric="rgb")
        case _:
            path = folder / "a.png"
            Image.fromarray(one).save(path)
    change_bytes(path, chance)
    return ["--channel", "nuclei=1", *(["--channel", "stain=2"] if kind in (0, 1, 2, 5) else [])]


def steps(counted, plate, folder, chance):
    """A damaged copy, and commands to try on it."""
    if chance.random() < 0.25:
        words = images(folder / "images", chance)
        project = folder / "made"
        return [("new", project, folder / "images", *words), ("segment", project), ("features", project)]
    project = folder / "project"
    shutil.copytree(counted / "project", project)
    mine, again = folder / "mine.csv", folder / "again"
    given = shutil.copytree(plate / "truth", folder / "given")
    shutil.copy(chance.choice([counted / "labels.csv", plate / "truth.csv"]), mine)
    if chance.random() < 0.1:
        (project / "annotations.db").unlink()  # so that labels.csv is taken over
    files = [path for path in sorted(project.rglob("*")) if path.is_file() and path.stat().st_size]
    kinds = [*project.glob("*"), project / "pipeline.json", project / "project.json", mine, *given.iterdir()]
    if chance.random() < 0.15 and (project / "annotations.db").exists():
        change_rows(project / "annotations.db", chance)
    else:
        for _ in range(chance.choice([1, 1, 2])):
            change(chance.choice([chance.choice(files), chance.choice([k for k in kinds if k.is_file()])]), chance)
    commands = [
        ("segment", project),
        ("segment", project, "--nucleus-diameter", 15),
        ("segment", project, "--nuclei-masks", given, "--cell-masks", given),
        ("features", project),
        ("train", project, "--labels", mine, "--method", "n3"),
        ("labels", "import", project, mine),
        ("labels", "export", project, folder / "out.csv"),
        ("predict", project),
        ("count", project),
        ("relink", project, plate / "images"),
        ("score-segmentation", project, "--nuclei-masks", given),
        ("run", project / "pipeline.json", plate / "images", "--out", again),
    ]
    return chance.sample(commands, 2)


@pytest.mark.parametrize(
    ("first", "n"), [(0, 40), *(pytest.param(1000 * i, 500, marks=pytest.mark.slow) for i in range(1, 7))]
)
def test_damage_is_told_in_sentences(counted, plate, tmp_path, first, n):
    for seed in range(first, first + n):
        chance, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        for words in steps(counted, plate, folder, chance):
            ended = call("cells", *words)
            where = f"{seed}: {words}: {ended.code} {ended.err[-2000:]}"
            assert ended.code in (Exit.DONE, Exit.FAILED, Exit.USAGE, Exit.PARTLY), where
            said = [line for line in ended.err.splitlines() if not line.startswith("nearboost: compiling")]
            told = [line for line in said if not line.startswith(("Note: ", "Skipped "))]
            failed = ended.code in (Exit.FAILED, Exit.USAGE)
            assert len(told) == failed, where
            assert all(line.startswith("Error: ") and line.endswith(".") for line in told), where
        shutil.rmtree(folder)
