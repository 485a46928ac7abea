"""The main job on data that needs no download: `nearboost compare` on digits and on textures made with a seed.

Writes two reports to ``demo_output`` and prints where they are. Run it with `make demo`.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from textures import write_known

FOLDER = Path("demo_output")
FEW = "n3:n_prototypes=0.1"  # a tenth of the training rows


def main():
    FOLDER.mkdir(exist_ok=True)
    digits = write_digits(FOLDER / "digits.npz")
    textures = write_known(FOLDER / "textures")
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


if __name__ == "__main__":
    main()
