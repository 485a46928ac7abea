"""What is measured: metrics, intervals, differences."""
