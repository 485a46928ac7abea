"""How Sphinx builds the site; `make docs` calls it."""

import inspect
import os
from importlib import metadata
from typing import Any

project = "nearboost"
author = "The nearboost developers"
copyright = author
release = metadata.version("nearboost")
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "generated/api/*.md"]
templates_path = ["_templates"]

# Pages are Markdown as code hosts show it: fenced formulas, links to headings.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

# One page for each public name, its members on it; in docstrings, `Name` links to that page.
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
default_role = "py:obj"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # or long names are cut off beside the page

# MathJax lies in the site: no page asks another host.
MATHJAX = "tex-svg-full.js"
html_static_path = [
    "_static",
    *(str(file.locate()) for file in metadata.files("sphinx-mathjax-offline") or () if file.name == MATHJAX),
]
mathjax_path = MATHJAX

# Diagrams of estimators on pages of the gallery lead from there to those of classes.
os.environ["NEARBOOST_DOCS"] = "../../.."

# Each script of the gallery runs, and API pages list the scripts that use what they are about.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "generated/gallery",
    "backreferences_dir": "generated/uses",
    "doc_module": ("nearboost",),
    "reference_url": {"nearboost": None},
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "subsection_order": [
        f"../examples/gallery/{name}" for name in ("votes", "trust", "methods", "cells", "scale")
    ],
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "parallel": True,
    "only_warn_on_example_error": False,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"nearboost {release}"
html_theme_options = {
    "logo": {"text": "nearboost"},
    "navbar_end": ["theme-switcher", "release"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_show_sourcelink = False
html_copy_source = False


OF_FILES = ("model_state", "restore_model_state")  # what saving and loading call


def leave_out(_app: Any, what: str, name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """A class's page has the methods that a reader may call: not scikit-learn's, and no properties."""
    if what != "class":
        return None
    ours = str(getattr(member, "__module__", "")).startswith("nearboost")
    return skip or not (ours and inspect.isroutine(member)) or name in OF_FILES or not member.__doc__


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", leave_out)
