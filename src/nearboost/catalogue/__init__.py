"""Methods and descriptors by name, and their tuning."""
