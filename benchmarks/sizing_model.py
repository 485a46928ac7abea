"""What size needs what: the model that `benchmarks.sizing` prints from, and checks.

Processor seconds and bytes of each step, from a few constants that were measured. Rows of a file are within
``memory`` bytes, as in nearboost: half of it for queries, a quarter for a block of rows.
"""

from dataclasses import dataclass
from math import ceil

# Seconds for each pair of rows, and for each feature of it, on one H200 with rows in half precision: those of
# 4 million x 768 (20.9 s of products, 37.9 s in all). They foretell 11.6 s for 1.2 million x 4,096: it took 12.6.
GPU = {"pair": 1.06e-12, "feature": 1 / 5.88e14}
NEIGHBOUR = 12  # bytes: a row number and a distance
LEARNED = 1_000  # bytes a row that boosting works in
IDLE = 0.14e9  # bytes of Python and its libraries
SHADOW = 4  # bytes of a number as float32, beside those that it has
QUERY = 12  # bytes of a number of a query: float64 as it is measured, and float32
ANSWERED = 2.0**26  # bytes of a file that answers are made for at a time
STARTED = 2.0**25  # numbers that a mixture begins with, by k-means
SAMPLED = 10_000  # rows that SLND measures second moments of; about as many choose its setting
PASSES = 5  # of SLND over many rows
HOUR = 3600.0

Constants = dict[str, float]


@dataclass(frozen=True)
class Size:
    """What is asked about."""

    rows: float
    features: int
    k: int = 13
    classes: int = 100
    rounds: int = 50
    queries: float = 0
    rank: int = 256
    metric: str = "l2"
    number: int = 4  # bytes
    memory: float | None = None  # bytes to search in; None has room for all

    @property
    def numbers(self) -> float:
        """How many there are in the rows."""
        return self.rows * self.features

    @property
    def fits(self) -> bool:
        """Whether float32 copies of all rows, and rows of a file, are kept in memory."""
        return self.memory is None or self.numbers * (SHADOW + self.number) <= self.memory / 2


@dataclass(frozen=True)
class Step:
    """Processor seconds (of a GPU, its own) and bytes of a step, and what may take part in it."""

    name: str
    seconds: float
    bytes: float
    runs_on: str  # "cores", "GPUs" or "one core"

    def time(self, cores: int, gpus: int) -> float:
        """Wall seconds, where work divides evenly."""
        return self.seconds / {"cores": cores, "GPUs": max(1, gpus), "one core": 1}[self.runs_on]

    def money(self, price_core: float, price_gpu: float) -> float:
        return self.seconds / HOUR * (price_gpu if self.runs_on == "GPUs" else price_core)


def search_seconds(known: Constants, n_queries: float, size: Size) -> float:
    """Of one core: pairs of rows, each feature of these, numbers of queries, and numbers of rows as often as they
    are read."""
    name = "l1" if size.metric == "l1" else "l2"
    pairs = n_queries * size.rows * (known[f"{name} pair"] + size.features * known[f"{name} feature"])
    asked = n_queries * size.features * known["query number"]
    number = known[f"{name} number" if size.fits else "file number"]
    return pairs + asked + readings(n_queries, size) * size.numbers * number


def readings(n_queries: float, size: Size) -> int:
    """How often all rows are read: once for each part of the queries that there is room for."""
    if size.memory is None or size.fits:
        return 1
    return ceil(n_queries * size.features * QUERY / (size.memory / 2))


def search_bytes(size: Size) -> float:
    """Beside what is found: copies of all rows; or of a file queries, a block, its scores and the pages they are
    read from, which is half as much again as was allowed."""
    if size.memory is None or size.fits:
        return size.numbers * SHADOW
    return 1.5 * size.memory


def answering_bytes(n_samples: float, size: Size) -> float:
    """Answers to all rows of a file by samples in memory: these, a block of the file with its copies, and a
    probability for each row and class."""
    samples, answers = n_samples * size.features * (SHADOW + size.number), size.rows * size.classes * 8
    return samples + ANSWERED * (1 + QUERY / size.number) + answers


def gpu_seconds(n_queries: float, size: Size) -> float:
    return n_queries * size.rows * (GPU["pair"] + size.features * GPU["feature"])


def boosting_seconds(known: Constants, size: Size) -> float:
    return size.rows * (known["boost row"] + size.classes * known["boost row and class"])


def n3_seconds(known: Constants, size: Size) -> float:
    """Of a fit on a given graph; a file is read twice, for equal rows and for its limits."""
    read = 0.0 if size.memory is None else 2 * size.numbers * known["file number"]
    return boosting_seconds(known, size) + size.classes * size.rounds * known["N3 round"] + read


def boosting_bytes(size: Size) -> float:
    """What is worked in; of a file a block, and what is made of it, as well."""
    return size.rows * LEARNED + (0.0 if size.memory is None else 3 * ANSWERED)


def unn_seconds(known: Constants, size: Size) -> float:
    rounds = size.classes * size.rounds * size.rows * known["UNN round and row"]
    return boosting_seconds(known, size) + rounds


def default_slnd_seconds(known: Constants, size: Size) -> float:
    """All that the default fit does: what it projects, in each pass anew if there is no room, and the passes."""
    kept = size.memory is None or coordinates_bytes(size) <= size.memory
    rows = projected_rows(size.rows) + (0 if kept else PASSES - 1) * size.rows
    return rows * size.features * known["SLND number"] + passes_seconds(known, size)


def projected_rows(n_rows: float) -> float:
    """Rows that the default fit of SLND projects: all, and some five times to choose rank, damping and step."""
    return n_rows + 5 * min(n_rows, SAMPLED)


def passes_seconds(known: Constants, size: Size) -> float:
    return PASSES * size.rows * size.rank * size.classes * known["pass"]


def coordinates_bytes(size: Size) -> float:
    return size.rows * size.rank * 4


def slnd_bytes(size: Size) -> float:
    """A sample of the rows and a copy of it, at most twice what is allowed, and coordinates if there is room."""
    sample, z = min(size.rows, SAMPLED) * size.features * 8, coordinates_bytes(size)
    if size.memory is None:
        return sample + z
    return min(sample + (z if z <= size.memory else 0.0), 2 * size.memory)


def inn_seconds(known: Constants, n_queries: float, n_samples: float, features: int) -> float:
    """Codes of queries over samples: each number of a query, and its products with all samples."""
    return n_queries * features * (known["code number"] + n_samples * known["code product"])


def mixture_seconds(known: Constants, size: Size, n_components: int, n_rounds: int) -> float:
    """`DiagonalGMM`: a start by k-means of some rows, and rounds that take all to each component. A file is read
    three times on top of these."""
    started, rounds = min(size.numbers, STARTED) * known["mixture start"], n_rounds * known["mixture round"]
    read = 0.0 if size.memory is None else 3 * size.numbers * known["file number"]
    return n_components * (started + size.numbers * rounds) + read


def mixture_bytes(size: Size) -> float:
    """The rows of the start, and their copies."""
    return 2 * SHADOW * min(size.numbers, STARTED)


def steps_of(known: Constants, size: Size, gpus: int = 0) -> list[Step]:
    """All steps; each is one way to go on from the graph, or to do without."""
    n, edges = size.rows, size.rows * size.k
    on_gpu = gpus > 0 and size.metric != "l1"
    where = "GPUs" if on_gpu else "cores"
    searched = 2 * size.numbers if on_gpu else search_bytes(size)

    def seconds(n_queries: float) -> float:
        return gpu_seconds(n_queries, size) if on_gpu else search_seconds(known, n_queries, size)

    z = coordinates_bytes(size)
    steps = [
        Step("graph", seconds(n), searched + edges * NEIGHBOUR, where),
        Step("N3 on the graph", n3_seconds(known, size), boosting_bytes(size), "cores"),
        Step("UNN on the graph", unn_seconds(known, size), boosting_bytes(size), "cores"),
        Step("SLND: projection", size.numbers * size.rank * known["product"], z, "cores"),
        Step(f"SLND: {PASSES} passes", passes_seconds(known, size), z, "cores"),
        Step("SLND: default fit, in all", default_slnd_seconds(known, size), slnd_bytes(size), "cores"),
    ]
    if size.queries:
        answers = size.queries * size.classes * 8
        steps.append(Step("predict, all rows voting", seconds(size.queries), searched + answers, where))
    return steps


def unn_longer_up_to(known: Constants, size: Size) -> float:
    """Rows up to which UNN's rounds take longer than its graph, on one core."""
    rounds = size.classes * size.rounds * known["UNN round and row"]
    return rounds / (search_seconds(known, size.rows, size) / size.rows**2)
