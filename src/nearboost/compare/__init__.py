"""Fair comparisons: protocols, one method on one split at a time, their facts and their report."""
