"""On real images: agreement with OpenCV, and what whitening does for neighbours."""

import numpy as np
import pytest
from benchmarks.data import available, data_folder
from sklearn.pipeline import make_pipeline

from nearboost import KNNClassifier
from nearboost.base.images import in_unit_range, is_grey, read_image
from nearboost.features import DenseSIFT, DescriptorPCA, FisherVector, WhitenedPCA


def scenes(n, part="train"):
    """The first files of each class, and their labels."""
    if not available("scene15"):
        pytest.skip("the real data for 'scene15' is not here; set NEARBOOST_DATA to its folder")
    classes = sorted((data_folder() / "scene15" / part).iterdir())
    files = [path for folder in classes for path in sorted(folder.glob("*.jpg"))[:n]]
    return files, np.repeat(np.arange(len(classes)), n)


@pytest.mark.data
@pytest.mark.parametrize("bin_size", [4, 8])
def test_agreement_with_opencv(bin_size):
    cv2 = pytest.importorskip("cv2", reason="OpenCV is in the extra for images")
    files, _ = scenes(1)
    sift = DenseSIFT(12, bin_sizes=(bin_size,), smoothing=1.5, root=False, contrast_threshold=0)
    cosines = []
    for path in files[::3]:
        image = read_image(path)
        [own] = sift.transform(path)
        centers = own.positions * image.shape[::-1] - 0.5
        points = [cv2.KeyPoint(float(x), float(y), bin_size / 1.5, 0.0, 0.0, 0) for x, y in centers]
        theirs = cv2.SIFT_create().compute(image, points)[1]
        lengths = np.linalg.norm(theirs, axis=1)
        cosines.append(((own.values * theirs).sum(axis=1) / np.maximum(lengths, 1))[lengths > 0])
    assert np.concatenate(cosines).mean() > 0.985


@pytest.mark.data
def test_scenes_are_grey_and_cells_are_deep():
    files, _ = scenes(1)
    assert all(is_grey(in_unit_range(read_image(path))) for path in files)
    cells = sorted((data_folder() / "hela2d").glob("*/*.tif"))
    if not cells:
        pytest.skip("the real data for 'hela2d' is not here; set NEARBOOST_DATA to its folder")
    assert read_image(cells[0]).shape == (382, 382)
    assert read_image(cells[0]).dtype == np.uint16


@pytest.mark.data
@pytest.mark.slow
def test_whitening_lifts_neighbours():
    """Unit length per Gaussian and damped whitening: some points more for k-NN, without labels.

    With 100 images a class to learn from; with 40 the lift is within the noise of such a test.
    """
    train, y_train = scenes(100)
    test, y_test = scenes(40, "test")
    common = make_pipeline(DenseSIFT(8), DescriptorPCA(64, max_descriptors=60_000)).fit(train)
    scores = {}
    for per_gaussian in (False, True):
        fisher = FisherVector(per_gaussian=per_gaussian, max_descriptors=60_000).fit(common.transform(train))
        rows, queries = (fisher.transform(common.transform(files)) for files in (train, test))
        if per_gaussian:
            whitening = WhitenedPCA(1024).fit(rows)
            rows, queries = whitening.transform(rows), whitening.transform(queries)
        scores[per_gaussian] = KNNClassifier(7).fit(rows, y_train).score(queries, y_test)
    assert scores[False] > 0.65
    assert scores[True] > scores[False] + 0.03
