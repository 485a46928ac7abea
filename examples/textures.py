"""Small images of five kinds of texture, drawn with a seed, to try the commands on.

`python examples/textures.py FOLDER` writes ``FOLDER/known/KIND/*.png``, 60 a kind, whose labels are the names of
their folders, and ``FOLDER/new/*.png``, 10 a kind without labels.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("stripes", "checks", "dots", "clouds", "bricks")
KNOWN, NEW = 60, 10  # of each kind
SIDE = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write_known(folder / "known")
    write_new(folder / "new")
    print(f"{KNOWN * len(KINDS)} images in {folder / 'known'}, {NEW * len(KINDS)} in {folder / 'new'}")


def write_known(folder, each=KNOWN):
    """A folder for each kind."""
    rng = np.random.default_rng(0)
    for kind in KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            Image.fromarray(draw(kind, rng)).save(folder / kind / f"{kind}-{i:02d}.png")
    return folder


def write_new(folder):
    """Images in any order; their names do not tell what they show."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    for number, kind in enumerate(rng.permutation(np.repeat(KINDS, NEW))):
        Image.fromarray(draw(kind, rng)).save(folder / f"image-{number:02d}.png")


def draw(kind, rng):
    """One texture in two colours, turned at random, with noise; size, phase and contrast differ."""
    y, x = (np.mgrid[:SIDE, :SIDE] - SIDE / 2) / SIDE
    angle = rng.uniform(0, np.pi)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    n = rng.uniform(4, 8)
    u, v = n * u + rng.uniform(), n * v + rng.uniform()
    if kind == "stripes":
        pattern = np.sin(2 * np.pi * u)
    elif kind == "checks":
        pattern = np.sign(np.sin(2 * np.pi * u) * np.sin(2 * np.pi * v))
    elif kind == "dots":
        pattern = np.where((u % 1 - 0.5) ** 2 + (v % 1 - 0.5) ** 2 < 0.08, 1.0, -1.0)
    elif kind == "bricks":
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
