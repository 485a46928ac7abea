"""SLND on sparse text beside logistic regression: ``python -m benchmarks.text``.

Made-up texts, by seed: words after Zipf's law, topics and a vocabulary of its own for each class, lengths that
vary by a log-normal law, then TF-IDF with a logarithm of the counts. As many rows to learn from as to be
tested on.
Contenders are scikit-learn's logistic regression by its default solver, as it is, with less penalty, and after a
scaler. Seconds are of the processor, one thread, medians over the seeds; each seed runs all contenders in turn.
Prints Markdown tables and writes ``benchmarks/results/text.json``; ``--show`` prints what was written last.
"""

import argparse
import warnings
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.linear.slnd import SLNDClassifier

SHAPES = {  # rows to learn from, words of the language, classes, words of a text
    "texts": (4_200, 30_000, 20, 150),
    "very short": (4_200, 30_000, 20, 12),
    "more rows": (10_000, 50_000, 5, 80),
    "fewer rows": (1_000, 10_000, 4, 60),
    "two classes": (3_000, 20_000, 2, 100),
}
N_TOPICS, TOPICAL, OWN = 60, 0.35, 0.15  # shares of words that come from topics, and from the class alone


def contenders() -> dict[str, Any]:
    """Whoever takes part."""
    return {
        "SLND": SLNDClassifier(n_jobs=1),
        "logistic regression": LogisticRegression(max_iter=1_000),
        "the same, C=30": LogisticRegression(C=30, max_iter=1_000),
        "the same, scaled": make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1_000)),
    }


def make_texts(
    n_rows: int, n_words: int, n_classes: int, length: int, seed: int
) -> tuple[csr_array, NDArray[np.int64]]:
    """TF-IDF rows and their classes."""
    rng = np.random.default_rng(seed)
    zipf = 1 / (np.arange(n_words) + 2.7) ** 1.05

    def favouring(share: float, strength: float) -> NDArray[np.float64]:
        """Cumulative frequencies where a share of the words is more frequent."""
        factors = np.ones(n_words)
        chosen = rng.choice(n_words, int(share * n_words), replace=False)
        factors[chosen] += rng.gamma(0.5, strength, len(chosen))
        frequencies = np.cumsum(zipf * factors)
        return frequencies / frequencies[-1]

    sources = [favouring(0, 0)]
    sources += [favouring(1 / 60, 60) for _ in range(N_TOPICS)]
    sources += [favouring(1 / 20, 40) for _ in range(n_classes)]
    topics_of_class = rng.dirichlet(np.full(N_TOPICS, 0.08), n_classes)
    y = rng.integers(n_classes, size=n_rows)
    lengths = np.maximum(3, rng.lognormal(np.log(length), 0.7, n_rows)).astype(int)
    rows, words = [], []
    for row, (label, n) in enumerate(zip(y, lengths, strict=True)):
        shares = np.zeros(len(sources))
        shares[0] = 1 - TOPICAL - OWN
        shares[1 : 1 + N_TOPICS] = TOPICAL * rng.dirichlet(6 * topics_of_class[label] + 0.01)
        shares[1 + N_TOPICS + label] = OWN
        counts = rng.multinomial(n, shares / shares.sum())
        for source in np.flatnonzero(counts):
            words.append(np.searchsorted(sources[source], rng.random(counts[source])))
            rows.append(np.full(counts[source], row))
    places = np.concatenate(rows), np.concatenate(words)
    counted = csr_array((np.ones(len(places[0])), places), shape=(n_rows, n_words))
    return csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counted)), y


def measure(name: str, seed: int) -> list[dict[str, Any]]:
    """Every contender on one set of texts."""
    n_rows, *shape = SHAPES[name]
    X, y = make_texts(2 * n_rows, *shape, seed=seed)
    Q, truth = X[n_rows:], y[n_rows:]
    results = []
    for contender, model in contenders().items():
        start = process_time()
        model.fit(X[:n_rows], y[:n_rows])
        seconds = process_time() - start
        loss, accuracy = log_loss(truth, model.predict_proba(Q)), model.score(Q, truth)
        row = {"set": name, "seed": seed, "contender": contender, "seconds": seconds}
        results.append({**row, "accuracy": float(accuracy), "log_loss": float(loss)})
        print(results[-1], flush=True)
    return results


def report(results: list[dict[str, Any]]) -> str:
    """A table of accuracy, log-loss and seconds."""
    lines = []
    for name, (n_rows, n_words, n_classes, _) in SHAPES.items():
        for contender in dict.fromkeys(row["contender"] for row in results):
            own = [row for row in results if (row["set"], row["contender"]) == (name, contender)]
            if own:
                accuracy, loss = (np.mean([row[key] for row in own]) for key in ("accuracy", "log_loss"))
                seconds = np.median([row["seconds"] for row in own])
                shape = f"{name}: {n_rows:,} x {n_words:,}, {n_classes} classes"
                lines.append([shape, contender, f"{100 * accuracy:.1f}", f"{loss:.3f}", f"{seconds:.2f}"])
    return markdown(["", "", "accuracy", "log-loss", "seconds"], lines)


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.show:
        compiled = make_texts(300, 2_000, 3, 20, seed=0)
        SLNDClassifier(max_passes=2, n_jobs=1).fit(*compiled)
        write_results("text", [row for name in SHAPES for seed in options.seeds for row in measure(name, seed)])
    print(report(read_results("text")))


if __name__ == "__main__":
    main()
