"""Compiled loops and nothing else: no validation, no randomness, no printing."""
