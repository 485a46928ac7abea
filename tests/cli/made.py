"""Small data for commands: textured images in folders, and rows of digits."""

import numpy as np
from PIL import Image

KINDS = {"dots": (7.0, 7.0), "stripes": (6.0, 0.0), "waves": (0.0, 3.0)}


def texture(kind, seed, side=48):
    """A periodic pattern with a phase, a contrast and noise of its own."""
    rng = np.random.default_rng([sorted(KINDS).index(kind), seed])
    across, down = KINDS[kind]
    y, x = np.mgrid[:side, :side] / side
    phase = rng.uniform(0, 2 * np.pi, 2)
    plane = np.cos(2 * np.pi * across * x + phase[0]) + np.cos(2 * np.pi * down * y + phase[1])
    noisy = 128 + rng.uniform(20, 45) * plane + rng.normal(0, 12, plane.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def image_folder(folder, n=12, *, divided=True, broken=True, first=0):
    """Folders of classes, below train and test where ``divided``; one file may be no image."""
    parts = {"train": range(n), "test": range(n, n + 4)} if divided else {".": range(first, first + n)}
    for part, seeds in parts.items():
        for kind in KINDS:
            (folder / part / kind).mkdir(parents=True)
            for seed in seeds:
                Image.fromarray(texture(kind, seed)).save(folder / part / kind / f"{seed:02}.png")
    if broken:
        (folder / next(iter(parts)) / "dots" / "broken.png").write_bytes(b"no image")
    return folder


def row_folder(folder, n=150):
    """X.npy and y.npy of digits with names for classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=3, return_X_y=True)
    folder.mkdir(parents=True)
    np.save(folder / "X.npy", X[:n])
    np.save(folder / "y.npy", np.array(["nought", "one", "two"])[y[:n]])
    return folder
