"""A transformer for tests of extraction: it takes its time, and notes whom it has described."""

import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from nearboost.base.images import pixels_of


class SlowMeans(TransformerMixin, BaseEstimator):
    """Mean, deviation and size of an image."""

    def __init__(self, notes, wait=0.0, n_jobs=1):
        self.notes, self.wait, self.n_jobs = notes, wait, n_jobs

    def fit(self, X=None, y=None):
        return self

    def transform(self, X):
        rows = []
        for path in X:
            pixels = pixels_of(path)
            with open(self.notes, "a") as notes:
                notes.write(Path(path).name + "\n")
            time.sleep(self.wait)
            rows.append([pixels.mean(), pixels.std(), *pixels.shape[:2]])
        return np.array(rows, dtype=np.float32)
