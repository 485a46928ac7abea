"""Descriptors of images and mixtures of Gaussians: ``python -m benchmarks.features``.

Images per second on one core for each descriptor, 256 x 256 pixels; dense SIFT beside OpenCV's SIFT at the same
keypoints, with the agreement of the two; `DiagonalGMM` beside scikit-learn's from the same start. All threads are
pinned to one. Contenders run in turn; the tables show minima of processor time, which other work on the machine
disturbs least. Scene-15 gives the images where it is there, else they are generated. Prints tables in Markdown
and writes ``benchmarks/results/features.json``.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.data import available, data_folder
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.base.images import as_grey, in_unit_range, read_image
from nearboost.features.bags import BagOfFeatures
from nearboost.features.color import LocalColor
from nearboost.features.fisher import FisherVector
from nearboost.features.gist import Gist, resized
from nearboost.features.gmm import DiagonalGMM
from nearboost.features.pca import DescriptorPCA
from nearboost.features.recipe import SIFTColorFisher
from nearboost.features.sift import DenseSIFT

SIDE, N_POINTS, BIN_SIZE = 256, 2500, 4
TARGETS = {"DenseSIFT": 5, "Gist, 128 px": 5, "Gist, 256 px": 20}  # ms an image
TARGET_OPENCV, TARGET_COSINE = 3, 0.98
TARGET_GMM = {"float32": 2.5, "float64": 5.0}


def photos(n: int) -> list[NDArray[np.uint8]]:
    """Grey squares from Scene-15, or blurred noise."""
    if available("scene15"):
        files = sorted((data_folder() / "scene15" / "train").glob("*/*.jpg"))
        chosen = files[:: len(files) // n][:n]
        squares = [resized(as_grey(in_unit_range(read_image(path))), SIDE) for path in chosen]
    else:
        rng = np.random.default_rng(0)
        noise = [gaussian_filter(rng.normal(size=(SIDE, SIDE)), 2) for _ in range(n)]
        squares = [(one - one.min()) / np.ptp(one) for one in noise]
    return [np.rint(255 * square).astype(np.uint8) for square in squares]


def fastest(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Least processor seconds of each, in turn."""
    least = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, contender in contenders.items():
            start = process_time()
            contender()
            least[name] = min(least[name], process_time() - start)
    return least


def descriptors(images: list[NDArray[np.uint8]], rounds: int) -> dict[str, Any]:
    """Milliseconds an image of every descriptor, on one core; encoders without the description of patches."""
    colored = [np.dstack([one, one[::-1], one.T]) for one in images]
    small = [one[::2, ::2] for one in images]
    sift, three = DenseSIFT(n_points=N_POINTS, bin_sizes=(BIN_SIZE,)), DenseSIFT(n_points=N_POINTS)
    color = LocalColor(n_points=N_POINTS)
    described = [sift.transform(one)[0].values for one in images]
    pca = DescriptorPCA(64, n_jobs=1).fit(described)
    reduced = [one.values for one in pca.transform(described)]
    fisher = FisherVector(16, n_jobs=1, tol=0.1).fit(reduced)
    bags = BagOfFeatures(500, n_jobs=1, max_rounds=5).fit(described)
    recipe = SIFTColorFisher(n_points=N_POINTS, n_jobs=1, max_descriptors=20_000).fit(colored)
    contenders: dict[str, Callable[[], Any]] = {
        "DenseSIFT": lambda: [sift.transform(one)[0] for one in images],
        "DenseSIFT, 3 sizes": lambda: [three.transform(one)[0] for one in images],
        "LocalColor, 3 sizes": lambda: [color.transform(one)[0] for one in colored],
        "DescriptorPCA": lambda: list(pca.transform(described)),
        "FisherVector": lambda: fisher.transform(reduced),
        "BagOfFeatures": lambda: bags.transform(described),
        "SIFTColorFisher, all": lambda: recipe.transform(colored),
        "Gist, 128 px": lambda: Gist(n_jobs=1).transform(small),
        "Gist, 256 px": lambda: Gist(side=256, n_jobs=1).transform(images),
        "Gist(320), 128 px": lambda: Gist(320, n_jobs=1).transform(small),
    }
    for contender in contenders.values():
        contender()  # compile, and bring memory in
    return {name: 1000 * seconds / len(images) for name, seconds in fastest(contenders, rounds).items()}


def beside_opencv(images: list[NDArray[np.uint8]], rounds: int) -> dict[str, Any]:
    """The same keypoints, for cells of 4, 6 and 8 pixels."""
    import cv2

    cv2.setNumThreads(1)
    results = {}
    for size in (4, 6, 8):
        settings = {"n_points": N_POINTS, "bin_sizes": (size,)}
        alike = DenseSIFT(**settings, smoothing=1.5, root=False, contrast_threshold=0)
        own, theirs = DenseSIFT(**settings), cv2.SIFT_create()
        [first] = alike.transform(images[0])
        centers = first.positions * SIDE - 0.5
        points = [cv2.KeyPoint(float(x), float(y), size / 1.5, 0.0, 0.0, 0) for x, y in centers]
        contenders = {"own": lambda own=own: own.transform(images[0])[0],
                "opencv": lambda theirs=theirs, points=points: theirs.compute(images[0], points)}  # fmt: skip
        seconds = fastest(contenders, rounds)
        cosines = []
        for image in images:
            found = theirs.compute(image, points)[1]
            lengths = np.linalg.norm(found, axis=1)
            products = (alike.transform(image)[0].values * found).sum(axis=1)
            cosines.append((products[lengths > 0] / lengths[lengths > 0]).mean())
        results[str(size)] = {
            "milliseconds": {name: 1000 * value for name, value in seconds.items()},
            "times_faster": seconds["opencv"] / seconds["own"],
            "mean_cosine": float(np.mean(cosines)),
        }
    return results


def mixtures(n_rows: int, n_rounds: int, repeats: int) -> dict[str, Any]:
    """A million rows of 64 numbers, 64 components, from the same start."""
    rng = np.random.default_rng(0)
    n_features = n_components = 64
    centers = rng.normal(size=(n_components, n_features))
    rows = (centers[rng.integers(0, n_components, n_rows)] + rng.normal(size=(n_rows, n_features))).astype(
        np.float32
    )
    start = (
        np.full(n_components, 1 / n_components),
        rows[:n_components].astype(np.float64),
        np.tile(rows.var(axis=0, dtype=np.float64), (n_components, 1)),
    )
    results = {}
    for dtype in ("float32", "float64"):
        X = rows.astype(dtype, copy=False)
        own = DiagonalGMM(n_components, max_iter=n_rounds, tol=0.0, start=start, n_jobs=1)
        theirs = GaussianMixture(
            n_components, covariance_type="diag", max_iter=n_rounds, tol=0.0, init_params="random_from_data",
            weights_init=start[0], means_init=start[1], precisions_init=1 / start[2],
        )  # fmt: skip
        DiagonalGMM(2, max_iter=1, n_jobs=1).fit(X[:1000])  # compile
        contenders = {"own": lambda own=own, X=X: own.fit(X), "sklearn": lambda theirs=theirs, X=X: theirs.fit(X)}
        seconds = fastest(contenders, repeats)
        results[dtype] = {
            "seconds": seconds,
            "times_faster": seconds["sklearn"] / seconds["own"],
            "mean_log_likelihood": {"own": own.score(X), "sklearn": float(theirs.score(X[::50]))},
            "difference": abs(own.score(X[::50]) - float(theirs.score(X[::50]))),
        }
    return {"n_rows": n_rows, "n_rounds": n_rounds, "by_dtype": results}


def report(results: dict[str, Any]) -> str:
    """The tables in Markdown, and the verdicts."""
    verdicts = []
    speed = [[name, f"{ms:.2f}", f"{1000 / ms:,.0f}"] for name, ms in results["descriptors"].items()]
    for name, target in TARGETS.items():
        ms = results["descriptors"][name]
        verdicts.append(f"{name}: {ms:.1f} ms, target {target}: {'met' if ms <= target else 'missed'}")
    opencv = []
    for size, row in results["opencv"].items():
        own, theirs = row["milliseconds"]["own"], row["milliseconds"]["opencv"]
        ratio, cosine = row["times_faster"], row["mean_cosine"]
        opencv.append([size, f"{own:.1f}", f"{theirs:.1f}", f"{ratio:.1f}", f"{cosine:.3f}"])
        met = ratio >= TARGET_OPENCV and cosine >= TARGET_COSINE
        verdicts.append(f"cells of {size} px beside OpenCV: {'met' if met else 'missed'}")
    gmm = []
    for dtype, row in results["gmm"]["by_dtype"].items():
        seconds, ratio = row["seconds"], row["times_faster"]
        cells = [f"{seconds['own']:.2f}", f"{seconds['sklearn']:.2f}", f"{ratio:.1f}", f"{row['difference']:.0e}"]
        gmm.append([dtype, *cells])
        met = ratio >= TARGET_GMM[dtype] and row["difference"] <= 1e-3
        verdict = "met" if met else "missed"
        verdicts.append(f"GMM, {dtype}: {ratio:.1f} times as fast, target {TARGET_GMM[dtype]}: {verdict}")
    title = f"GMM, {results['gmm']['n_rows']:,} x 64, 64 components, {results['gmm']['n_rounds']} rounds"
    return "\n\n".join(
        [
            markdown([f"descriptor, {N_POINTS:,} patches", "ms", "images/s"], speed),
            markdown(["cell, px", "own, ms", "OpenCV, ms", "times", "cosine"], opencv),
            markdown([title, "own, s", "scikit-learn, s", "times", "difference"], gmm),
            "\n".join(f"- {verdict}" for verdict in verdicts),
        ]
    )


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        warnings.simplefilter("ignore", ConvergenceWarning)
        images = photos(options.images)
        before = os.getloadavg()
        with threadpool_limits(1):
            payload = {
                "images": "Scene-15" if available("scene15") else "generated",
                "load_before": before,
                "descriptors": descriptors(images, options.rounds),
                "opencv": beside_opencv(images, options.rounds),
                "gmm": mixtures(options.rows, n_rounds=5, repeats=3),
                "load_after": os.getloadavg(),
            }
        write_results("features", payload)
    print(report(read_results("features")))


if __name__ == "__main__":
    main()
