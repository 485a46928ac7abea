"""What every room may use: images, files, threads, checks."""
