"""NearBoostClassifier on many rows: ``python -m benchmarks.flagship_many N_CLASSES [N_ROWS]``.

Made-up classes of three Gaussians each in 50 dimensions; processor seconds on two threads, peak memory.
"""

import sys
from resource import RUSAGE_SELF, getrusage
from time import process_time

import numpy as np

from nearboost import NearBoostClassifier

N_FEATURES, N_PARTS, N_QUERIES = 50, 3, 5_000


def main(n_classes: int, n_rows: int = 100_000) -> None:
    """Fit, ask, and print what it cost."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes * N_PARTS, N_FEATURES)) * (0.55 if n_classes < 50 else 0.9)
    part = rng.integers(0, len(centres), n_rows + N_QUERIES)
    X, y = centres[part] + rng.normal(size=(len(part), N_FEATURES)), part % n_classes
    started = process_time()
    model = NearBoostClassifier(n_jobs=2).fit(X[:n_rows], y[:n_rows])
    fitted = process_time()
    accuracy = model.score(X[n_rows:], y[n_rows:])
    per_query = (process_time() - fitted) / N_QUERIES
    print(f"fit {fitted - started:.1f} s, a query {1e3 * per_query:.2f} ms, "
          f"{getrusage(RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB; held out {100 * model.held_out_accuracy_:.1f}, "
          f"test {100 * accuracy:.1f}\n{model.report_}")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
