"""The papers' tables and figures, run again: ``nearboost reproduce``."""
