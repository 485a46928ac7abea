"""Facts of a comparison to one self-contained page, JSON and a table."""
