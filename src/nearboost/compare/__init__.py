"""Fair comparisons: protocols, runs, facts and report."""
