"""The reference has a page for each public name, and what it shows of a class."""

import re
from importlib import import_module

from docs.building import PUBLIC, ROOT, public_methods
from nearboost import N3Classifier

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def named():
    """Module and name of each entry of the reference."""
    for section in PAGE.split(".. currentmodule:: ")[1:]:
        module, _, rest = section.partition("\n")
        yield from ((module, name) for name in re.findall(r"^   (\w+)$", rest, re.MULTILINE))


def test_reference_names_everything_public_once():
    shown = [getattr(import_module(module), name) for module, name in named()]
    public = [getattr(import_module(module), name) for module in PUBLIC for name in import_module(module).__all__]
    assert len({id(thing) for thing in shown}) == len(shown)
    assert {id(thing) for thing in shown} == {id(thing) for thing in public}


def test_methods_are_those_a_reader_may_call():
    methods = dict(public_methods(N3Classifier))
    assert {"fit", "predict", "predict_proba", "explain", "add", "forget", "prune"} <= set(methods)
    assert not {"get_params", "set_score_request", "model_state", "restore_model_state"} & set(methods)
