"""Fair comparisons: protocols, measures, methods by name, cells run one by one, their report, papers' tables."""
