"""
Fisher vectors of scenes
========================

A Fisher vector says how the local patches of an image differ from those of all images: more of this kind,
shifted that way. Images with near vectors share a texture, wherever it lies and however it is turned.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import train_test_split

from nearboost import NearBoostClassifier
from nearboost.features import SIFTColorFisher, SmallGrey

SIDE, NAMES = 64, np.array(["stripes", "checks", "dots", "rings"])


def draw(name, rng):
    """A texture of random size, angle and place, in any colour, with noise."""
    y, x = rng.uniform(5, 8) * (np.mgrid[:SIDE, :SIDE] / SIDE + rng.uniform(size=(2, 1, 1)))
    angle = rng.uniform(0, np.pi)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    waves = {"stripes": np.sin(6 * u), "checks": np.sign(np.sin(3 * u) * np.sin(3 * v))}
    waves |= {
        "dots": 2.0 * (np.hypot(u % 1 - 0.5, v % 1 - 0.5) < 0.3) - 1,
        "rings": np.sin(6 * np.hypot(u - 3, v - 3)),
    }
    grey = 0.5 + 0.25 * waves[name] + 0.12 * rng.normal(size=(SIDE, SIDE))
    return (255 * np.clip(grey[..., np.newaxis] * rng.uniform(0.6, 1, 3), 0, 1)).astype(np.uint8)


rng = np.random.default_rng(0)
y = np.repeat(NAMES, 40)
images = [draw(name, rng) for name in y]
train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)

right = {}
for descriptor in (SmallGrey(), SIFTColorFisher(n_components=8)):
    descriptor.fit([images[i] for i in train])
    rows = np.asarray(descriptor.transform(images))
    right[type(descriptor).__name__] = NearBoostClassifier().fit(rows[train], y[train]).score(rows[test], y[test])

figure, axes = plt.subplots(2, 5, figsize=(9, 3.8), layout="constrained")
for line, query in zip(axes, (test[0], test[1]), strict=True):
    near = train[np.argsort(-(rows[train] @ rows[query]))[:4]]  # by Fisher vectors, the last rows
    for ax, i, name in zip(line, [query, *near], ["asked", *["near"] * 4], strict=True):
        ax.imshow(images[i])
        ax.set_title(f"{name}: {y[i]}", fontsize="small")
        ax.set_axis_off()
figure.suptitle(f"Right: {right['SmallGrey']:.0%} by pixels, {right['SIFTColorFisher']:.0%} by Fisher vectors")
plt.show()
