"""Neighbours that learn: one engine, thin classifiers."""
