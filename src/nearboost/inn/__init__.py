"""Iterative nearest neighbours; SRC, CRC and projections."""
