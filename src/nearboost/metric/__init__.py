"""Linear maps learned from labels: metrics for neighbours."""
