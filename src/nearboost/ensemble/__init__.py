"""One classifier for each part of a long descriptor."""
