"""Fair comparisons: protocols, measures, cells run one by one, and a report of them."""
