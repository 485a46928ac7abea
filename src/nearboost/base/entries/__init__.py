"""The kinds of entries that a model file may hold: numbers, words, arrays, matrices, parts.

Each kind checks what it is given. Lengths have names, and entries of one object that share a name must agree:
``Array("float", ("n_rows", "n_features"))`` beside ``Array("int64", ("n_rows",), low=0, below="n_classes")``.
"""

from nearboost.base.entries.arrays import Array, Csr, Labels, Texts, as_objects, check_pointers
from nearboost.base.entries.kinds import (
    LARGEST,
    NOT_FINITE,
    Choice,
    Coded,
    Constant,
    Flag,
    Integer,
    Misfit,
    ModelFileError,
    Number,
    Reader,
    Size,
    Sizes,
    Spec,
    Text,
    Writer,
    damaged,
)
from nearboost.base.entries.parts import Either, Fields, ListOf, Nullable, Part, Step, entry_of, kind_of

__all__ = [
    "LARGEST",
    "NOT_FINITE",
    "Array",
    "Choice",
    "Coded",
    "Constant",
    "Csr",
    "Either",
    "Fields",
    "Flag",
    "Integer",
    "Labels",
    "ListOf",
    "Misfit",
    "ModelFileError",
    "Nullable",
    "Number",
    "Part",
    "Reader",
    "Size",
    "Sizes",
    "Spec",
    "Step",
    "Text",
    "Texts",
    "Writer",
    "as_objects",
    "check_pointers",
    "damaged",
    "entry_of",
    "kind_of",
]
