"""Files of the real data, a few of each class; tests skip where the data is not."""

import pytest
from benchmarks.data import data_folder


def files_of(folder, per_class, pattern, kinds=None):
    """Paths and the names of their classes."""
    place = data_folder() / folder
    if not place.is_dir():
        pytest.skip(f"the real data for {folder!r} is not here; set NEARBOOST_DATA to its folder")
    classes = [path for path in sorted(place.iterdir()) if path.is_dir()][:kinds]
    paths = [path for one in classes for path in sorted(one.glob(pattern))[:per_class]]
    return paths, [path.parent.name for path in paths]
