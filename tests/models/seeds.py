"""A sound file of every class that can be saved, of this format and of earlier ones, and something to ask it."""

import warnings
from pathlib import Path

from PIL import Image

import nearboost as nb
from models.fitted import CLASSIFIERS, OF_IMAGES, OF_PATCHES, TRANSFORMERS, patches, pictures, queries, rows
from nearboost.features import Gist
from nearboost.models import Model, origins_of, save
from nearboost.models.novelty import learn_novelty

OLD = Path(__file__).parent / "old"
OLD_WIDTH = slice(2, None, 6)  # the features that old files were fitted on


def write_seeds(folder, only=None):
    """Paths and queries by name."""
    seeds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make, asked in new_seeds(folder):
            if only is None or name in only:
                seeds[name] = folder / f"{name}.nb", asked
                save(make(), seeds[name][0])
    for path in sorted(OLD.glob("*/*.nb")):
        name = f"{path.parent.name} {path.stem}"
        if path.stem != "binarizer" and (only is None or name in only):
            seeds[name] = path, asked_of_old(path.stem)
    return seeds


def new_seeds(folder):
    X, y = rows()
    X, y = X[:120], y[:120]
    kinds = [
        (CLASSIFIERS, lambda model: model.fit(X, y), queries()[:20]),
        (TRANSFORMERS, lambda model: model.fit(X, y), queries()[:20]),
        (OF_IMAGES, lambda model: model.fit(pictures()), pictures()[:2]),
        (OF_PATCHES, lambda model: model.fit(patches(), ["a", "b"] * 5), [one.values for one in patches()[:2]]),
    ]
    for makers, fit, asked in kinds:
        for name, make in makers.items():
            yield name, lambda fit=fit, make=make: fit(make()), asked
    yield "model of rows", lambda: model_of_rows(X, y), queries()[:20]
    yield "model of pictures", lambda: model_of_pictures(folder), pictures()[:2]


def model_of_rows(X, y):
    names = [f"row {number}" for number in range(len(X))]
    fitted = nb.N3Classifier(5, n_rounds=9).fit(X, y)
    facts = {"items": len(X), "kind": "rows"}
    return Model(None, fitted, tuple("abcd"), origins_of(None, names, y), facts, novelty=learn_novelty(X))


def model_of_pictures(folder):
    images, labels = pictures(), rows()[1][:10] % 2
    files = [folder / f"{number}.png" for number in range(10)]
    for file, image in zip(files, images, strict=True):
        Image.fromarray((255 * image).astype("uint8")).save(file)
    gist = Gist(side=64).fit(images)
    classifier = nb.KNNClassifier(3).fit(gist.transform(images), labels)
    origins = origins_of(files, [file.name for file in files], labels)
    return Model(gist, classifier, ("a", "b"), origins, {"items": 10, "kind": "images"})


def asked_of_old(name):
    if name.replace("-", " ") in OF_PATCHES:
        return [one.values for one in patches()[:2]]
    return pictures()[:2] if name.replace("-", " ") in OF_IMAGES else queries()[:8, OLD_WIDTH]
