"""What is measured of answers: metrics, intervals, and whether two methods differ."""
