"""What every classifier poses and answers alike."""
