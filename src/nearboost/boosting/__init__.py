"""Boosted neighbours: one engine, thin classifiers on it."""
