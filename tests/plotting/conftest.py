"""Figures are drawn without a screen, and closed."""

import matplotlib
import pytest


@pytest.fixture(autouse=True)
def figures():
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")
    matplotlib.use(before)
