"""Facts of made-up comparisons, as the report gets them."""

import base64
import io
from dataclasses import replace

import numpy as np

from nearboost.compare.records import Mistake, Prototype
from nearboost.compare.report.facts import (
    ClassFacts,
    ConfusionFacts,
    CurvePoint,
    DataFacts,
    Difference,
    Entry,
    Facts,
    Failure,
    FitFacts,
    MethodFacts,
    ProtocolFacts,
    Timing,
)
from nearboost.measures.differences import Summary, summarise

SCENES = ("coast", "forest", "highway", "inside city", "mountain", "open country", "street", "tall building")
METHODS = {  # accuracy, prototypes, fit seconds, query milliseconds
    "n3": (0.831, 412, 14.2, 0.31),
    "rbf-svm": (0.829, None, 41.0, 1.9),
    "unn": (0.806, 523, 9.1, 0.35),
    "innc": (0.799, 1344, 0.02, 4.8),
    "slnd": (0.784, None, 3.2, 0.012),
    "linear-svm": (0.772, None, 2.4, 0.006),
    "weighted-knn": (0.748, 1344, 0.004, 0.42),
    "knn": (0.740, 1344, 0.004, 0.41),
}


def spread(mean, rng, scale=0.004):
    values = mean + scale * rng.standard_normal(5)
    return summarise(values.tolist(), (float(values.mean() - 2 * scale), float(values.mean() + 2 * scale)))


def thumbnail(rng):
    """A small texture as a PNG."""
    from PIL import Image

    y, x = np.mgrid[:64, :64] / 64
    angle, wave = rng.uniform(0, np.pi), rng.uniform(3, 12)
    stripes = np.sin(2 * np.pi * wave * (x * np.cos(angle) + y * np.sin(angle)))
    grey = 128 + 60 * stripes + 20 * rng.standard_normal((64, 64))
    file = io.BytesIO()
    Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def confusion(rng, n_classes, per_class=150, right=0.82):
    chances = rng.dirichlet(np.full(n_classes, 0.3), size=n_classes) * (1 - right) + right * np.eye(n_classes)
    return np.array([rng.multinomial(per_class, row) for row in chances / chances.sum(axis=1, keepdims=True)])


def leaderboard(rng):
    rows = []
    for method, (accuracy, prototypes, fit, query) in METHODS.items():
        gap = accuracy - METHODS["n3"][0]
        measures = {
            "accuracy": spread(accuracy, rng),
            "mean_class_accuracy": spread(accuracy + 0.01, rng),
            "top5": spread(0.96 + accuracy / 30, rng, 0.002),
            "log_loss": None if method in ("slnd", "linear-svm") else spread(1.7 - 1.3 * accuracy, rng, 0.02),
            "ece": None if method in ("slnd", "linear-svm") else spread(0.2 - 0.2 * accuracy, rng, 0.003),
        }
        rows.append(
            Entry(
                method,
                "gist",
                5,
                measures,
                prototypes=None if prototypes is None else spread(prototypes, rng, prototypes / 100),
                fit_seconds=spread(fit, rng, fit / 20),
                query_ms=spread(query, rng, query / 20),
                peak_mib=spread(300 + 10 * fit, rng, 5),
                held_out_accuracy=None if "svm" in method else spread(accuracy - 0.005, rng),
                against_best=None if gap == 0 else difference(gap, float(np.exp(200 * gap))),
            )
        )
    return rows


def difference(gap, p):
    """From the best, on five splits."""
    return Difference(gap, p, (gap - 0.011, gap + 0.011), retrained=True)


def entry(method, splits=1, **measures):
    """A method with these measures on one split."""
    return Entry(method, splits=splits, measures={name: summarise([value]) for name, value in measures.items()})


def scenes(seed=0):
    """Eight methods on eight classes of images, five splits, one failed cell."""
    rng = np.random.default_rng(seed)
    counts = confusion(rng, len(SCENES))
    right = counts.diagonal() / counts.sum(axis=1)
    levels = np.linspace(0.25, 0.97, 8)
    return Facts(
        title="8 scenes: eight methods compared",
        command="nearboost compare ~/pictures/8-cat --features gist --protocol half --repeats 5 --out report",
        created="2026-11-16 01:30 UTC",
        machine={"cpu": "Some Processor 2.4 GHz", "cores": 2, "memory_gib": 7.8, "system": "Linux x86_64"},
        versions={"nearboost": "0.1.0", "python": "3.11.2", "numpy": "2.3.1", "scikit-learn": "1.7.0"},
        protocol=ProtocolFacts("half", 5, 5, 0, 1344, 1344, "rows as they are"),
        data=DataFacts(
            "8-cat",
            "images",
            2688,
            list(SCENES),
            dict.fromkeys(SCENES, 336),
            ["2 files were no images and were skipped: readme.txt, .DS_Store."],
        ),
        leaderboard=leaderboard(rng),
        best="n3",
        failed=[Failure("unn", "gist", "killed after 600 s: the limit of one run", 3)],
        per_class=[
            ClassFacts(
                name,
                int(counts[i].sum()),
                {m: float(min(right[i] + METHODS[m][0] - 0.831, 1)) for m in METHODS},
                0.9 + 0.09 * float(right[i]),
                {m: (float(right[i]) - 0.08, min(float(right[i]) + 0.05, 1.0)) for m in METHODS},
            )
            for i, name in enumerate(SCENES)
        ],
        confusion=ConfusionFacts(
            list(SCENES),
            counts.tolist(),
            {
                m: confusion(rng, 8, right=METHODS[m][0]).tolist() if m != "n3" else counts.tolist()
                for m in METHODS
            },
        ),
        reliability={
            method: [
                [c, a, n, max(a - n**-0.5, 0.0), min(a + n**-0.5, 1.0)]
                for c, a, n in (
                    (float(c), float(np.clip(c + rng.normal(0, 0.04), 0, 1)), int(20 + 900 * c**3)) for c in levels
                )
            ]
            for method in ("n3", "rbf-svm", "unn", "innc", "weighted-knn", "knn")
        },
        gallery=[
            Prototype(
                f"{SCENES[i % 8]}/image_{100 + i:04d}.jpg",
                float(2.5 * 0.93**i * (-1 if i == 5 else 1)),
                SCENES[i % 8],
                thumbnail(rng),
            )
            for i in range(30)
        ],
        mistakes=[
            Mistake(
                f"{SCENES[i % 8]}/image_{700 + i:04d}.jpg",
                SCENES[i % 8],
                SCENES[(i + 3) % 8],
                0.99 - 0.012 * i,
                thumbnail(rng),
            )
            for i in range(16)
        ],
        timings=[
            Timing(
                method,
                "gist",
                values[2] * (1 + split / 50),
                values[3] * 1.344,
                1344,
                310.0 + split,
                2,
                split,
                values[3],
            )
            for method, values in METHODS.items()
            for split in range(5)
        ],
        curve=[
            CurvePoint(method, share, round(1344 * share), spread(values[0] - 0.1 * np.log10(1 / share), rng))
            for method, values in METHODS.items()
            for share in (0.1, 0.2, 0.5, 1.0)
        ],
        methods=[MethodFacts(method, f"What {method} is, in one sentence.", "compare.md") for method in METHODS],
        fit=FitFacts(
            *("/home/me/pictures/8-cat", "n3", "gist", False, "auto", []),
            "nearboost fit ~/pictures/8-cat --method n3 --features gist",
        ),
    )


def many_classes(n_classes=120, seed=0):
    """As `scenes`, with so many classes that neither names nor numbers fit the confusion matrix."""
    rng = np.random.default_rng(seed)
    names = [f"class {i:03d}" for i in range(n_classes)]
    counts = confusion(rng, n_classes, per_class=30, right=0.6)
    facts = scenes(seed)
    return replace(
        facts,
        data=replace(facts.data, classes=names),
        confusion=ConfusionFacts(names, counts.tolist()),
        per_class=[
            ClassFacts(name, 30, {"n3": counts[i][i] / 30, "knn": 0.5}, None) for i, name in enumerate(names)
        ],
    )


def bare():
    """One method on vectors, one split: no probabilities, no prototypes, no pictures, measures missing."""
    nothing = float("nan")
    measures = {"accuracy": Summary(0.95, 0.0, [0.95]), "mean_class_accuracy": Summary(nothing, None, [nothing])}
    return Facts(
        title="digits",
        command="nearboost compare digits.npz --methods slnd",
        created="2026-11-16",
        protocol=ProtocolFacts("fixed", 1, 1, 0, 100, 40, "rows as they are"),
        data=DataFacts("digits", "vectors", 1797, ["0", "1"], {}, []),
        leaderboard=[
            Entry("slnd", measures={**measures, "log_loss": None}, query_ms=Summary(0.0, None, [0.0])),
        ],
        best="slnd",
        confusion=ConfusionFacts(["0", "1"], [[19, 1], [1, 19]]),
        mistakes=[Mistake("row 17", "0", "1", None)],
    )
