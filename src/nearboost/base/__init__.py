"""What every layer may use: threads, compilation, progress and validation."""
