"""Model files changed with ill intent, by the thousand, and what becomes of them.

``python tests/models/mutations.py N SEED`` tries N files over every class that can be saved. A file is well
behaved if loading it ends in one sentence, or gives a model that answers.
"""

import argparse
import copy
import hashlib
import io
import json
import multiprocessing
import random
import resource
import sys
import time
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

HEADER, HEADER_SUM = "model.json", "model.json.sha256"
MOST_SECONDS = 20
WIDEST = 10**6
STRANGE = [
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        3,
        7,
        10**9,
        2**31,
        2**63 - 1,
        -(2**63),
        10**30,
        0.0,
        -0.5,
        1e-308,
        1e308,
        0.5,
    ),
    *(
        "",
        "x",
        "l1",
        "l2",
        "cosine",
        "auto",
        "log",
        "inn",
        "passthrough",
        "drop",
        "../x",
        "a" * 1000,
        "\0",
        "\ud800",
    ),
    *([], {}, [[]], [0], [None], {"array": 0}, {"array": -1}, {"array": 10**9}, {"array": "0"}, {"array": True}),
    *({"float": "nan"}, {"float": "inf"}, {"float": "x"}, {"tuple": []}, {"tuple": 3}, {"dict": [[1, 2]]}),
    *({"dict": [[[], 1]]}, {"numbers": {"array": 0}}, {"texts": {"array": 0}}, {"random": [1, 2, 3, 4]}),
    *({"csr": [[1, 1], {"array": 0}, {"array": 1}, {"array": 2}]}, {"csr": [[-1, 2], 1, 2, 3]}, {"csr": []}),
    {"class": "sklearn.Pipeline", "parameters": {"steps": []}, "state": {}},
    {"class": "Gist", "parameters": {}, "state": {}},
    {"class": "os.system", "parameters": {}, "state": {}},
]


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def with_header(contents, header):
    """Members with another header and all checksums right, so that nothing stops at the outer door."""
    for number, told in enumerate(header.get("arrays", [])):
        name = f"arrays/{number}.npy"
        if name in contents and isinstance(told, dict):
            told["sha256"] = hashlib.sha256(contents[name]).hexdigest()
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return contents | {HEADER: text, HEADER_SUM: hashlib.sha256(text).hexdigest().encode()}


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(2, 0), allow_pickle=False)
    return file.getvalue()


def spots(coded, found):
    """All places in a header: (container, key)."""
    if isinstance(coded, dict | list):
        for key in coded if isinstance(coded, dict) else range(len(coded)):
            found.append((coded, key))
            spots(coded[key], found)
    return found


def edited_value(rng, contents):
    """Some entry of the header becomes something strange, or that of another place."""
    header = json.loads(contents[HEADER])
    places = spots(header["root"], [])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        container, key = rng.choice(places)
        other, at = rng.choice(places)
        way = rng.randrange(4)
        if way == 0 and isinstance(container, dict) and key in container:
            del container[key]
        elif way == 1:
            container[key] = copy.deepcopy(other[at]) if at in range(len(other)) or at in other else None
        else:
            container[key] = copy.deepcopy(rng.choice(STRANGE))
    return with_header(contents, header)


def nested(rng, contents):
    """An entry stands inside itself again and again."""
    header = json.loads(contents[HEADER])
    container, key = rng.choice(spots(header, []))
    inner = copy.deepcopy(container[key])
    for _ in range(rng.choice([3, 30, 300])):
        inner = rng.choice([[inner], {"tuple": [inner]}, {"dict": [["x", inner]]}])
    container[key] = inner
    return with_header(contents, header)


def other_array(rng, contents):
    """An array with other numbers, another type, order or shape, under a fitting checksum."""
    names = [name for name in contents if name.endswith(".npy")]
    if not names:
        return edited_value(rng, contents)
    name = rng.choice(names)
    array = np.lib.format.read_array(io.BytesIO(contents[name]))
    changed = changed_array(rng, array)
    header = json.loads(contents[HEADER])
    return with_header(contents | {name: npy(changed)}, header)


def changed_array(rng, array):
    way = rng.randrange(9)
    flat = array.copy().reshape(-1)
    if way == 0 and flat.size:  # a few wild numbers
        for _ in range(rng.randint(1, 3)):
            wild = rng.choice([-1, 0, 1, 2**31 - 1, -(2**31), 10**6, len(flat), len(flat) + 1])
            with np.errstate(all="ignore"):
                flat[rng.randrange(flat.size)] = np.array(wild).astype(array.dtype)
        return flat.reshape(array.shape)
    if way == 1 and flat.size and array.dtype.kind == "f":
        flat[rng.randrange(flat.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-320, 0])
        return flat.reshape(array.shape)
    if way == 2:
        kind = rng.choice(["<f4", "<f8", ">f8", "<i4", "<i8", ">i4", "|u1", "<u8", "|b1", "<f2", "<c16", "<U3"])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(kind) if array.dtype.kind != "U" else np.zeros(array.shape, kind)
    if way == 3:
        return np.asfortranarray(array)
    if way == 4:
        return array[: rng.randint(0, len(array))] if array.ndim and len(array) else array.reshape(-1)
    if way == 5:
        return np.concatenate([array, array[-1:]]) if array.ndim and len(array) else np.zeros((3, 3))
    if way == 6:
        return array.T if array.ndim > 1 else array[:, np.newaxis] if array.ndim else array[np.newaxis]
    if way == 7:
        return flat[np.random.RandomState(rng.randrange(2**31)).permutation(flat.size)].reshape(array.shape)
    return np.zeros(rng.choice([(0,), (1,), (0, 0), (1, 1), (2, 3, 4), (10**5,)]), array.dtype)


def shared_array(rng, contents):
    """Two entries point at one array, or at each other's."""
    header = json.loads(contents[HEADER])
    pointers = [(c, k) for c, k in spots(header["root"], []) if k == "array"]
    if len(pointers) < 2:
        return edited_value(rng, contents)
    (first, _), (second, _) = rng.sample(pointers, 2)
    if rng.random() < 0.5:
        first["array"] = second["array"]
    else:
        first["array"], second["array"] = second["array"], first["array"]
    return with_header(contents, header)


def swapped_members(rng, contents):
    names = list(contents)
    first, second = rng.choice(names), rng.choice(names)
    return contents | {first: contents[second], second: contents[first]}


def mutate(rng, path, out):
    """Write a changed copy of a file."""
    way = rng.random()
    if way < 0.1:
        whole = bytearray(path.read_bytes())
        for _ in range(rng.randint(1, 4)):
            whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        out.write_bytes(bytes(whole))
    elif way < 0.13:
        out.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])
    else:
        changes = [edited_value] * 8 + [other_array] * 8 + [shared_array] * 2 + [nested, swapped_members]
        written(out, rng.choice(changes)(rng, members(path)))


def ask(model, queries):
    """Everything a model may be asked; nothing is compared."""
    from nearboost.models import Model

    if isinstance(model, Model):
        ask_whole(model, queries)
        return
    if getattr(model, "n_features_in_", 0) > WIDEST:
        return  # rows of that width are not at hand
    queries = suited(queries, model)
    if getattr(model, "regions", 1) > 1:  # it needs masks, and says so
        model.transform(queries, masks=[np.ones(one.shape[:2], int) for one in queries])
        return
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, name):
            getattr(model, name)(queries)
    if hasattr(model, "explain"):
        model.explain(queries[:2])


def suited(queries, model):
    """What a model wants to be asked, where a change has made it want something else: that is right."""
    from nearboost.base.local_sets import LocalSet
    from nearboost.models.steps import wanted_by

    kind, width = wanted_by(model)
    if isinstance(queries, np.ndarray):
        return np.resize(queries, (len(queries), width)) if kind == "rows" and width else queries
    if isinstance(queries, list) and kind == "sets":  # of images
        return [LocalSet(np.ones((5, width), np.float32), np.full((5, 2), 0.5)) for _ in queries]
    return np.ones((len(queries), width)) if isinstance(queries, list) and kind == "rows" else queries


def ask_whole(model, queries):
    """What commands ask of a model: answers, voters, names and pictures of its rows."""
    if model.features is None:
        ask(model.classifier, queries)
        wanted = getattr(model.classifier, "n_features_in_", queries.shape[1])
        model.predict_rows(np.resize(queries, (len(queries), wanted)))
    else:
        model.predict(queries)
    if model.origins is not None:
        kept = model.only_voters().origins
        for place, row in enumerate(kept.rows):
            assert kept.place(int(row)) == place
            kept.picture(place)


def serve(tasks, answers):
    """A process that tries files until there are no more; what kills it is seen from outside."""
    warnings.simplefilter("ignore")
    from nearboost.models import ModelFileError, load

    for number, path, queries in iter(tasks.get, None):
        start = time.perf_counter()
        try:
            ask(load(path), queries)
            outcome = "answered"
        except ModelFileError as error:
            said = str(error)
            outcome = "refused" if said.startswith(path) and said.endswith(".") and "\n" not in said else said
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"[:300]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answers.put((number, outcome, time.perf_counter() - start, peak))


class Tried:
    """A process at work, made anew whenever a file has killed it."""

    def __init__(self):
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self):
        self._tasks, self._answers = self._context.Queue(), self._context.Queue()
        self._process = self._context.Process(target=serve, args=(self._tasks, self._answers), daemon=True)
        self._process.start()

    def outcome(self, number, path, queries):
        self._tasks.put((number, str(path), queries))
        started = time.perf_counter()
        while True:
            try:
                return self._answers.get(timeout=0.5)[1:]
            except Exception:  # queue.Empty
                waited = time.perf_counter() - started
                if not self._process.is_alive() or waited > 10 * MOST_SECONDS:
                    code = self._process.exitcode
                    self._process.kill()
                    self._start()
                    return (f"killed by signal {code}" if code is not None else "no answer", waited, 0.0)

    def close(self):
        self._tasks.put(None)
        self._process.join(10)


def run(n_files, seed, seeds, folder):
    """Outcomes of so many changed files: counts, and all that should not have been."""
    folder = Path(folder)
    rng = random.Random(seed)
    names = sorted(seeds)
    tried, counts, bad = Tried(), Counter(), []
    normal = max(tried.outcome(-1, *seeds[name])[2] for name in names)  # MiB, with sound files
    for number in range(n_files):
        name = names[number % len(names)]
        path, queries = seeds[name]
        out = folder / "changed.nb"
        mutate(rng, Path(path), out)
        outcome, seconds, peak = tried.outcome(number, out, queries)
        counts[outcome if outcome in ("answered", "refused") else "bad"] += 1
        if outcome not in ("answered", "refused") or seconds > MOST_SECONDS or peak > 4 * normal:
            bad.append((number, name, outcome, round(seconds, 1), round(peak)))
            out.rename(folder / f"bad-{number}.nb")
    tried.close()
    return counts, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_files", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--folder", type=Path, default=Path("mutated"))
    parser.add_argument("--only", nargs="*", help="names of seeds")
    options = parser.parse_args()
    from models.seeds import write_seeds

    options.folder.mkdir(exist_ok=True)
    seeds = write_seeds(options.folder, options.only)
    counts, bad = run(options.n_files, options.seed, seeds, options.folder)
    sys.stdout.write(f"{dict(counts)}\n")
    for one in bad:
        sys.stdout.write(" ".join(map(str, one)) + "\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
