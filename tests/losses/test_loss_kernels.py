"""The compiled losses are the NumPy ones, and their callers load from the cache."""

import os
import subprocess
import sys

import numpy as np
import pytest

from nearboost.kernels.losses import loss_slope, loss_value
from nearboost.losses import LOSSES

MARGINS = np.concatenate([np.linspace(-6, 6, 401), [-1e300, -1e6, -750, -40, -0.5, 0.0, 0.5, 40, 750, 1e8, 1e300]])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
def test_kernels_agree_with_numpy(loss):
    for compiled, formula in [
        (loss_value, loss.value),
        (loss_slope, lambda margin: -loss.derivative(margin)),
    ]:
        by_kernel = np.array([compiled(loss.code, margin) for margin in MARGINS])
        # The hinge value crosses zero as a difference, hence the absolute part.
        np.testing.assert_allclose(
            by_kernel, formula(MARGINS), rtol=1e-15, atol=1e-15 if loss.name == "hinge" else 0
        )


CALLER = """
import numpy as np
from nearboost.base.compiling import kernel
from nearboost.kernels.losses import loss_slope, loss_value


@kernel
def total(code, margins):
    result = 0.0
    for i in range(margins.size):
        x = margins[i]
        result += loss_value(code, x) + loss_slope(code, x)
    return result


total(1, np.ones(3))
print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


def test_a_caller_is_compiled_once_for_all_processes(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def run():
        command = [sys.executable, "-W", "error", "-c", "import caller"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    first, second = run(), run()
    assert first.stdout.split() == ["0", "1"]
    assert "compiling kernels" in first.stderr
    assert second.stdout.split() == ["1", "0"]
    assert second.stderr == ""
