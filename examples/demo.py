"""The main job on data that needs no download: `nearboost compare` on digits and on textures made with a seed.

Writes two reports to ``demo_output`` and prints where they are. Run it with `make demo`.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

FOLDER = Path("demo_output")
TEXTURES = ("stripes", "checks", "dots", "clouds", "bricks")
EACH, SIDE = 60, 64
FEW = "n3:n_prototypes=0.1"  # a tenth of the training rows


def main():
    FOLDER.mkdir(exist_ok=True)
    digits = write_digits(FOLDER / "digits.npz")
    textures = write_textures(FOLDER / "textures")
    compare(digits, "--methods", f"nearboost,knn,weighted-knn,unn,n3,{FEW},innc,slnd,linear-svm,rbf-svm")
    compare(textures, "--features", "gist", "--methods", f"nearboost,knn,unn,n3,{FEW},innc,slnd,rbf-svm")


def compare(data, *options):
    """The command as a person would type it; a second `make demo` finds the results of the first."""
    out = FOLDER / f"report-{data.stem}"
    command = [sys.executable, "-m", "nearboost", "compare", str(data), *options, "--out", str(out)]
    print(f"\n$ nearboost {' '.join(command[3:])}", flush=True)
    subprocess.run(command, check=True)


def write_digits(path):
    """scikit-learn's 1,797 digits of 8 x 8 pixels, as rows."""
    X, y = load_digits(return_X_y=True)
    np.savez(path, X=X.astype(np.float32), y=y, shape=(8, 8))  # so that the report shows them
    return path


def write_textures(folder, seed=0):
    """A few hundred small images, a folder for each class; size, phase, contrast and noise differ."""
    rng = np.random.default_rng(seed)
    for name in TEXTURES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(EACH):
            Image.fromarray(draw(name, rng)).save(folder / name / f"{name}-{i:02d}.png")
    return folder


def draw(name, rng):
    """One texture in two colours, turned at random, with noise."""
    y, x = (np.mgrid[:SIDE, :SIDE] - SIDE / 2) / SIDE
    angle = rng.uniform(0, np.pi)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    n = rng.uniform(4, 8)
    u, v = n * u + rng.uniform(), n * v + rng.uniform()
    if name == "stripes":
        pattern = np.sin(2 * np.pi * u)
    elif name == "checks":
        pattern = np.sign(np.sin(2 * np.pi * u) * np.sin(2 * np.pi * v))
    elif name == "dots":
        pattern = np.where((u % 1 - 0.5) ** 2 + (v % 1 - 0.5) ** 2 < 0.08, 1.0, -1.0)
    elif name == "bricks":
        shifted = u + 0.5 * (np.floor(v) % 2)
        pattern = np.where((v % 1 < 0.15) | (shifted % 1 < 0.08), -1.0, 1.0)
    else:
        waves = np.fft.fft2(rng.normal(size=(SIDE, SIDE)))
        radius = np.hypot(*np.meshgrid(np.fft.fftfreq(SIDE), np.fft.fftfreq(SIDE)))
        pattern = np.fft.ifft2(waves / (0.02 + radius) ** 2).real
        pattern = np.clip(pattern / pattern.std(), -1, 1)
    grey = 0.5 + rng.uniform(0.1, 0.3) * pattern + rng.uniform(0.05, 0.2) * rng.normal(size=pattern.shape)
    tint = rng.uniform(0.7, 1.0, size=3)
    return (255 * np.clip(grey[..., np.newaxis] * tint, 0, 1)).astype(np.uint8)


if __name__ == "__main__":
    main()
