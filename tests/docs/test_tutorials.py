"""Tutorials are followed to the letter; what they show is there."""

import re

import pytest
from benchmarks.terminal import picture, plain, words_in
from benchmarks.tutorials import BLOCK, PAGES, follow, run_shell, stands_in

import nearboost
from docs.building import ROOT, script

NAMES = sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "index")
choosing = script("choosing.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tutorial_says_what_happens(name, tmp_path):
    steps = list(follow(PAGES / f"{name}.md", tmp_path))
    assert len(steps) > 5


@pytest.mark.parametrize("name", NAMES)
def test_pictures_of_a_tutorial_are_there_and_have_words(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[([^\]]*)\]\(\.\./(\S+)\)", page)
    assert all(len(words) > 20 and (ROOT / "docs" / file).is_file() for words, file in pictures)
    taken = [block["target"] for block in BLOCK.finditer(page) if block["target"]]
    assert taken == [file for _, file in pictures if "tutorial-" in file]


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_a_picture(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    steps = re.split(r"^## (?=\d)", page.partition("## Where to go")[0], flags=re.MULTILINE)[1:]
    assert len(steps) >= 7
    assert [step.partition("\n")[0] for step in steps if "![" not in step] == []


def test_blocks_of_a_page_are_run_in_order(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 6\n```\n\n```sh\necho 12 > n\n```\n\n```python\nprint(open('n').read(), x)\n```\n"
    )
    assert [step.printed for step in follow(page, tmp_path)] == ["", "", "12\n 6\n"]


@pytest.mark.parametrize(("said", "fails"), [("12 …", False), ("1 2", True)])
def test_what_is_not_printed_is_told(tmp_path, said, fails):
    page = tmp_path / "page.md"
    page.write_text(f"```sh\necho 12 eggs\n```\n\n```text\n{said}\n```\n")
    if fails:
        with pytest.raises(AssertionError, match=r"page\.md: .* is not in"):
            list(follow(page, tmp_path))
    else:
        assert len(list(follow(page, tmp_path))) == 1


def test_a_command_that_fails_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho why\nfalse\necho never\n```\n")
    with pytest.raises(AssertionError, match="why"):
        list(follow(page, tmp_path))


def test_lines_may_be_broken_anywhere():
    assert stands_in("a … of b c", "so a\n piece of  b\nc.")
    assert not stands_in("a … of b d", "so a\n piece of  b\nc.")


def test_chooser_is_up_to_date():
    assert choosing.DRAWING.read_text(encoding="utf-8") == choosing.draw(), "run: python docs/choosing.py"


def test_chooser_names_what_there_is():
    methods = [way.method for ways in choosing.QUESTIONS.values() for way in ways if way.note]
    classes = {name for method in methods for name in re.findall(r"[A-Z]\w*[a-z]\w*", method)}
    assert len(classes) >= 6
    assert all(hasattr(nearboost, name) for name in classes)


def test_what_a_terminal_shows_is_a_picture_of_it(tmp_path):
    shown = run_shell("echo '12 <eggs>'\nprintf '\\033[1mbold\\033[0m\\rBar\\r\\033[2Kdone\\n' >&2\n")
    assert plain(shown) == "12 <eggs>\ndone\n"
    drawn = picture(shown)
    assert drawn.startswith("<svg ")
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert words_in(drawn) == [word for one in shown for word in words_in(f"{one.command} {one.written}")]


def test_what_a_first_run_says_of_kernels_is_in_no_picture():
    [shown] = run_shell("printf 'nearboost: compiling kernels that\\ntakes about 10 seconds.\\nDone.\\n'\n")
    assert plain([shown]) == "Done.\n"
