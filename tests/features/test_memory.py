"""Memory of a pipeline from images to rows: it must not grow with the number of images."""

import subprocess
import sys

import pytest

CHILD = """
import sys
import numpy as np
from sklearn.pipeline import make_pipeline
from nearboost.features import DenseSIFT, DescriptorPCA, FisherVector

class Pictures:
    # Made when asked for, so that what grows is not the pixels.
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError
        return np.random.default_rng(i).integers(0, 256, (128, 128), dtype=np.uint8)

def peak_mib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

pipeline = make_pipeline(
    DenseSIFT(3), DescriptorPCA(16, max_descriptors=5000), FisherVector(4, max_descriptors=5000)
)
few = pipeline.fit_transform(Pictures(10))
before = peak_mib()
many = pipeline.fit_transform(Pictures(120))
assert few.shape == (10, 128) and many.shape == (120, 128)
print(peak_mib() - before, DenseSIFT(3).transform(Pictures(1))[0].values.nbytes * 120 / 2**20)
"""


@pytest.mark.alone
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc")
def test_peak_does_not_grow_with_the_number_of_images():
    said = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    grown, all_descriptors = (float(word) for word in said.stdout.split())
    assert all_descriptors > 200  # MiB, would they all be held
    assert grown < all_descriptors / 8
