"""From pixels to vectors: local descriptors, what encodes them, and whole-image descriptors."""
