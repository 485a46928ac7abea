"""
A class for a set of descriptors
================================

`NaiveBayesNN` compares each small piece of an image with the pieces of all training images, and adds up what
they say. Here pieces are patches of 4 x 4 pixels, with their place appended. Each square beside a digit has the
colour of the class that its patch speaks for; pale ones hardly speak.
"""

import numpy as np
from matplotlib import pyplot as plt
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits

from nearboost import NaiveBayesNN

images, y = load_digits(n_class=2, return_X_y=True)[0].reshape(-1, 8, 8), load_digits(n_class=2).target
places = np.stack(np.meshgrid(range(5), range(5), indexing="ij"), axis=-1).reshape(-1, 2)


def patches(image):
    """25 rows: the pixels of a patch, and where it is."""
    return np.hstack([sliding_window_view(image, (4, 4)).reshape(25, 16), 8.0 * places])


model = NaiveBayesNN("nn").fit([patches(image) for image in images[:200]], y[:200])
sets = [patches(image) for image in images[200:]]
right = model.score(sets, y[200:])

figure, axes = plt.subplots(2, 4, figsize=(8, 4.2), layout="constrained")
for pair, number in zip(axes.reshape(4, 2), (0, 1, 5, 6), strict=True):
    said = model.decision_function(patches(images[200 + number])[:, np.newaxis])  # each patch alone
    pair[0].imshow(images[200 + number], cmap="gray")
    largest = np.abs(said).max()
    pair[1].imshow(said.reshape(5, 5), cmap="RdBu", vmin=-largest, vmax=largest)
    pair[0].set_title(f"a {y[200 + number]}")
    pair[1].set_title("patches for 0 red, for 1 blue", fontsize=9)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
figure.suptitle(f"{right:.1%} of {len(sets)} new digits are right")
plt.show()
