"""Methods and descriptors by name, and how their settings are chosen."""
