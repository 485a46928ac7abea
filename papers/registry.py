"""All tables and figures by name."""

from difflib import get_close_matches
from functools import cache

from papers.experiment import Experiment

# The thesis repeats tables and figures of the N3 paper, and draws its own tables 2.3 to 2.5.
ALIASES = {
    "thesis-figure-2.1": "thesis-table-2.3",
    "thesis-figure-2.2": "thesis-table-2.4",
    "thesis-figure-2.3": "thesis-table-2.5",
    "thesis-table-3.4": "n3-table-4",
    "thesis-table-3.5": "n3-table-5",
    "thesis-figure-3.1": "n3-figure-1",
    "thesis-figure-3.2": "n3-figure-1",
    "thesis-figure-3.3": "n3-figure-2",
    "thesis-figure-3.4": "n3-figure-2",
}


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, in the order of the papers."""
    from papers import of_bags, of_cells, of_codes, of_fisher_vectors, of_scenes

    files = (of_fisher_vectors, of_bags, of_cells, of_scenes, of_codes)
    found = {one.name: one for file in files for one in file.EXPERIMENTS}
    order = {"n3": 0, "thesis": 1, "mlnn": 2, "mapboost": 3, "inn": 4}
    return dict(sorted(found.items(), key=lambda pair: (order[pair[0].split("-")[0]], pair[0])))


def find(name: str) -> Experiment:
    """The experiment of this name, also by an alias; another name gives a sentence with the nearest ones."""
    known = experiments()
    wanted = name.strip()
    by_lower = {one.lower(): one for one in (*known, *ALIASES)}
    wanted = by_lower.get(wanted.lower(), wanted)
    if ALIASES.get(wanted, wanted) in known:
        return known[ALIASES.get(wanted, wanted)]
    near = get_close_matches(wanted, [*known, *ALIASES], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "python -m papers --list has all names."
    raise ValueError(f"There is no table or figure {name!r}; {hint}")
