"""Fair comparisons: protocols, measures, methods by name, cells run one by one, a report; and the papers' tables."""
