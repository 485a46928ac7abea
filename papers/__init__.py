"""The papers' tables and figures, run again: ``python -m papers NAME --data DIR``."""
