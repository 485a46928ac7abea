"""Linear maps learned from labels, for neighbours."""
