"""The pictures of docs/nearboost.md: ``python -m benchmarks.flagship_pictures [NAME ...]``.

One function for each picture, named as its file; most look into one classifier of half of scikit-learn's digits.
Writes ``docs/figures/nearboost-NAME.png`` and prints the figures that the page quotes.
"""

import argparse
from collections.abc import Callable
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA

from benchmarks import flagship_digits as digits
from benchmarks.data import ROOT
from benchmarks.flagship_digits import Rows, X, Y, code_of_unsure, fitted, halves, joined, unsure
from nearboost import LandmarkMap, NearBoostClassifier
from nearboost.ensemble.answers import HEADS
from nearboost.ensemble.scaling import normal_ranks, one_scale
from nearboost.metric.landmarks import gaussian_kernel
from nearboost.problem.held_out import join_equal_rows, mark_rows, number_folds
from nearboost.problem.targets import labels_from_classes

OURS, OTHER, THIRD, QUIET = "#3b7dd8", "#d0692b", "#3a9a62", "#8a8f98"
COLOURS = (OURS, OTHER, THIRD, "#a65fb5", "#b39600", QUIET, "#d9536f", "#27a0a6", "#a07148", "#6a7fc1")
N_COLOURS = 128  # of a file: small, and no difference to the eye
SPLITS = range(5)
CONFUSED = (1, 5, 8, 9)


def tones(labels: Any) -> list[str]:
    """A colour for each of its three most probable classes, grey for the others."""
    known = dict(zip(unsure()[1], (OURS, OTHER, THIRD), strict=True))
    return [known.get(int(label), QUIET) for label in labels]


def thumbnail(axes: Any, pixels: Rows, title: str = "", colour: str = "black") -> None:
    """A digit, with a line above it and a frame in the same colour."""
    axes.axis("on")
    axes.imshow(pixels.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    axes.set_title(title, color=colour, fontsize=9, pad=3)
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set(color=colour, linewidth=1.6)


def folds() -> Figure:
    """Copies of a row are of one fold; what that is good for."""
    nine = np.argsort(Y, kind="stable")[[0, 1, 2, 200, 201, 202, 400, 401, 402]]
    rows, labels = np.tile(X[nine], (3, 1)), labels_from_classes(np.tile(Y[nine], 3), 10)
    groups = join_equal_rows(mark_rows(rows), np.arange(len(rows)))
    fold_of_row = number_folds(labels, groups, 3, np.random.RandomState(0).random_sample)
    figure = plt.figure(figsize=(8.6, 2.6))
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
    for pixels, fold, axes in zip(rows, fold_of_row, left.subplots(3, 9).flat, strict=True):
        thumbnail(axes, pixels, colour=COLOURS[fold])
    left.suptitle("nine digits, three times each; a colour for each fold", fontsize=10)
    axes = right.subplots()
    estimates = [digits.copied(seed) for seed in SPLITS]
    dots(axes, estimates, {"copies in\nother folds": OTHER, "held_out_\naccuracy_": OURS, "new\ndigits": THIRD})
    axes.set(ylabel="accuracy")
    return figure


def dots(axes: Any, values: list[tuple[float, ...]], colours: dict[str, str]) -> None:
    """A column of dots for each name, one for each split, and a line at their mean."""
    print("means:", dict(zip(colours, np.mean(values, axis=0).round(4).tolist(), strict=True)))
    for x, (column, colour) in enumerate(zip(np.transpose(values), colours.values(), strict=True)):
        axes.plot(x + np.linspace(-0.15, 0.15, len(column)), column, "o", color=colour, markersize=5)
        axes.plot([x - 0.3, x + 0.3], [column.mean()] * 2, color=colour)
    axes.set_xticks(range(len(colours)), colours)
    axes.set_xlim(-0.6, len(colours) - 0.4)


def scaling() -> Figure:
    """A skewed feature, what becomes of its values, and its normal scores."""
    data = load_breast_cancer()
    place = data.feature_names.tolist().index("area error")
    feature, weight = data.data[:, [place]], np.ones(len(data.data))
    plain, ranks = (make(feature, weight).apply(feature)[:, 0] for make in (one_scale, normal_ranks))
    figure, (before, between, after) = plt.subplots(1, 3, figsize=(8.6, 2.7))
    before.hist(plain, 40, color=OTHER)
    before.set(title="centred, divided by its deviation", xlabel="area error, deviations", ylabel="rows")
    order = np.argsort(feature[:, 0])
    between.plot(feature[order, 0], ranks[order], color=QUIET)
    between.set(title="the map: 200 knots", xlabel="area error", ylabel="normal score")
    after.hist(ranks, 40, color=OURS)
    after.set(title="normal scores of ranks", xlabel="normal score")
    return figure


def kernel() -> Figure:
    """One digit's kernel values, and how well few landmarks stand for the kernel."""
    learned, labels, new, _ = halves()
    row = unsure()[0]
    figure = plt.figure(figsize=(8.6, 3.0))
    left, right = figure.subfigures(1, 2, width_ratios=(1.1, 1))
    maker = LandmarkMap(600).fit(learned, labels)
    values = gaussian_kernel(new[row : row + 1] - maker.mean_, maker.landmarks_, maker.gamma_)[0]
    order = np.argsort(-values)[np.linspace(0, len(values) - 1, 7).astype(int)]
    cells = left.subplots(2, 4).flat
    thumbnail(cells[0], new[row], "x", OURS)
    for axes, place in zip(cells[1:], order, strict=True):
        thumbnail(axes, learned[maker.landmark_rows_[place]], f"{values[place]:.2f}")
    left.suptitle("a new digit x, and k(x, landmark)", fontsize=10)
    axes = right.subplots()
    exact = gaussian_kernel(new - maker.mean_, new - maker.mean_, maker.gamma_)[np.triu_indices(len(new), 1)]
    some = np.random.default_rng(0).choice(len(exact), 1500, replace=False)
    for count, colour in ((60, OTHER), (600, OURS)):
        coordinates = LandmarkMap(count).fit(learned, labels).transform(new)
        close = (coordinates @ coordinates.T)[np.triu_indices(len(new), 1)]
        print(f"kernel: {count} landmarks, root mean square error {np.sqrt(np.mean((close - exact) ** 2)):.4f}")
        axes.plot(exact[some], close[some], ".", color=colour, markersize=2, label=f"{count} landmarks")
    axes.set(xlabel="k(x, z) of two new digits", ylabel="Φ(x)·Φ(z)")
    axes.legend(markerscale=5, frameon=False)
    return figure


def metric() -> Figure:
    """New digits of four classes that are easily confused, in two coordinates before and after."""
    learned, labels, new, truth = halves()
    answers = fitted()._answers
    before = answers.scaling.apply(learned), answers.scaling.apply(new)
    after = answers.kernel(learned)[0], answers.kernel(new)[0]
    figure, pair = plt.subplots(1, 2, figsize=(8.6, 4.0))
    for axes, (known, shown), title in zip(
        pair, (before, after), ("before", "in the learned metric"), strict=True
    ):
        print(f"metric: {title}: {digits.between_share(shown, truth):.3f} of the variance is between classes")
        turned = PCA(2).fit(known[np.isin(labels, CONFUSED)])
        for label in CONFUSED:
            points = turned.transform(shown[truth == label])
            axes.scatter(*points.T, s=22, marker=f"${label}$", color=COLOURS[label], linewidth=0.3)
        axes.set(title=f"{title}: the two widest directions", xticks=[], yticks=[])
    return figure


def vote() -> Figure:
    """A digit as a weighted sum of training digits."""
    learned, labels, new, _ = halves()
    terms = joined(code_of_unsure().voters[0])
    figure, cells = plt.subplots(1, 1 + len(terms), figsize=(8.6, 1.5))
    thumbnail(cells[0], new[unsure()[0]], "x ≈")
    for axes, (term, weight) in zip(cells[1:], terms, strict=True):
        thumbnail(axes, learned[term], f"{weight:.2f}", tones([labels[term]])[0])
        axes.set_xlabel(f"a {labels[term]}", fontsize=9)
    return figure


def residual() -> Figure:
    """The same digit by the digits of one class alone, for three classes."""
    learned, _, new, _ = halves()
    row, classes = unsure()
    codes, coded = code_of_unsure(), fitted()._answers.coded
    scores = coded.scores(codes)[1][0]
    lines = [joined(codes.members[0, label]) for label in classes]
    figure, cells = plt.subplots(3, 2 + max(map(len, lines)), figsize=(8.6, 4.0))
    for axes in cells.flat:
        axes.axis("off")
    for places, terms, label, tone in zip(cells, lines, classes, tones(classes), strict=True):
        thumbnail(places[0], new[row], "x ≈")
        for axes, (term, weight) in zip(places[1:], terms, strict=False):
            thumbnail(axes, learned[term], f"{weight / coded.terms.sum():.2f}", tone)
        text = f"r² = {codes.squares[0, label]:.1f}\nR = {scores[label]:.2f}"
        places[-1].text(0, 0.5, text, va="center", color=tone, fontsize=10)
    return figure


def linear() -> Figure:
    """The terms of the linear score, which cancel."""
    row, (label, *_) = unsure()
    one = fitted().explain(halves()[2][row : row + 1], landmarks=True)[0]
    terms = np.sort(one.landmark_contributions[:, label])
    print(f"linear: {len(terms)} terms from {terms[0]:.2f} to {terms[-1]:.2f}, sum {terms.sum():.2f}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 2.8), width_ratios=(1.6, 1))
    left.bar(np.arange(len(terms)), terms, 1.0, color=np.where(terms > 0, OURS, OTHER))
    title = f"what each landmark adds to the {label}: together {terms.sum():.2f}"
    left.set(title=title, xlabel="landmarks, sorted", ylabel="term")
    right.bar(one.classes, one.linear, color=THIRD)
    right.set(title="their sum for each class", xlabel="class", xticks=one.classes)
    return figure


def stack() -> Figure:
    """Three weighted scores, their sum, and probabilities."""
    row, _ = unsure()
    new = halves()[2][row : row + 1]
    answers = fitted()._answers
    seen = answers.look_at(new)
    heads = np.stack([*answers.coded.scores(seen.codes), seen.lines])[:, 0]
    parts = answers.stack[:, np.newaxis] * (heads - heads.mean(axis=1, keepdims=True))
    classes = np.arange(10)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 2.9), width_ratios=(1.7, 1))
    for place, (name, part, colour) in enumerate(zip(HEADS, parts, (OURS, OTHER, THIRD), strict=True)):
        left.bar(
            classes + 0.26 * (place - 1), part, 0.26, color=colour, label=f"{answers.stack[place]:.1f} · {name}"
        )
    left.plot(classes, parts.sum(axis=0), "D", color="black", markersize=5, label="sum")
    left.axhline(0, color=QUIET, linewidth=0.8)
    left.set(title="scores of one digit", xlabel="class", xticks=classes)
    left.legend(frameon=False, fontsize=8, ncols=2)
    right.bar(classes, fitted().predict_proba(new)[0], color=QUIET)
    right.set(title="softmax of the sum", xlabel="class", xticks=classes)
    return figure


def refit() -> Figure:
    """Held-out and true accuracy against the number of rows."""
    sizes = (20, 40, 80, 160, 320, 640, 1280)
    figures = np.array([[digits.held_and_true(seed, size) for seed in SPLITS] for size in sizes])
    for size, mean in zip(sizes, figures.mean(axis=1), strict=True):
        print(f"refit: {size} rows, held out {mean[0]:.4f}, new digits {mean[1]:.4f}")
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for column, (name, colour) in enumerate(
        (("held_out_accuracy_", OURS), ("new digits, after the refit", OTHER))
    ):
        axes.errorbar(
            sizes, figures[..., column].mean(axis=1), figures[..., column].std(axis=1),
            color=colour, marker="o", markersize=4, capsize=2, label=name,
        )  # fmt: skip
    axes.set(xscale="log", xlabel="training rows", ylabel="accuracy", title="mean and deviation of five draws")
    axes.set_xticks(sizes, sizes)
    axes.minorticks_off()
    axes.legend(frameon=False)
    return figure


def reliability() -> Figure:
    """How often answers of each probability are right."""
    answers: dict[str, list[Any]] = {"held out": [], "new digits": [], "tuned SVM": []}
    for seed in SPLITS:
        split = digits.drawn(seed, 300)
        model = NearBoostClassifier().fit(split.X_train, split.y_train)
        answers["held out"].append((model.held_out_proba_, split.y_train[model.held_out_rows_]))
        answers["new digits"].append((model.predict_proba(split.X_test), split.y_test))
        answers["tuned SVM"].append((digits.svm_probabilities(split), split.y_test))
    figure, axes = plt.subplots(figsize=(5.4, 3.8))
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8)
    for (name, pairs), colour, marker in zip(answers.items(), (THIRD, OURS, OTHER), "^os", strict=True):
        p, truth = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        top, right = p.max(axis=1), p.argmax(axis=1) == truth
        loss = -np.log(p[np.arange(len(p)), truth.astype(int)]).mean()
        bins = np.digitize(top, np.linspace(0.3, 1, 8))
        filled = [b for b in np.unique(bins) if (bins == b).sum() >= 20]
        places = [(top[bins == b].mean(), right[bins == b].mean()) for b in filled]
        gap = sum(abs(top[bins == b].sum() - right[bins == b].sum()) for b in np.unique(bins)) / len(top)
        print(f"reliability: {name}: accuracy {right.mean():.4f}, log-loss {loss:.4f}, mean gap {gap:.4f}")
        axes.plot(*np.transpose(places), color=colour, marker=marker, markersize=5, label=f"{name}: {loss:.2f}")
    axes.set(xlabel="probability of the answer", ylabel="share that is right", xlim=(0.2, 1.02), ylim=(0.2, 1.02))
    axes.legend(frameon=False, title="log-loss")
    return figure


def prototypes() -> Figure:
    """Accuracy and time of a query against the share of rows kept."""
    shares = (0.02, 0.05, 0.1, 0.2, 0.5, None)
    measured = np.array([[digits.accuracy_and_time(seed, share) for seed in SPLITS] for share in shares])
    places = [100 * (share or 1.0) for share in shares]
    figure, pair = plt.subplots(1, 2, figsize=(8.6, 2.9))
    for column, (axes, name) in enumerate(zip(pair, ("accuracy", "µs a query, one thread"), strict=True)):
        means, spread = measured[..., column].mean(axis=1), measured[..., column].std(axis=1)
        print(f"prototypes: {name}", dict(zip(shares, means.round(4).tolist(), strict=True)))
        axes.errorbar(places, means, spread, color=(OURS, OTHER)[column], marker="o", markersize=4, capsize=2)
        axes.set(xscale="log", xlabel="prototypes, % of the rows", ylabel=name)
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
    pair[1].set_ylim(0)
    return figure


def explanation() -> Figure:
    """The training rows behind one answer, and what they add."""
    learned, _, new, _ = halves()
    row, _ = unsure()
    one = fitted().explain(new[row : row + 1])[0]
    added = one.votes + one.residuals
    most = np.argsort(-np.abs(added), kind="stable")[:10]
    most = most[np.argsort(-added[most], kind="stable")]
    figure, (cells, bars) = plt.subplots(2, 1, figsize=(8.6, 3.1), height_ratios=(1, 2))
    cells.axis("off")
    bars.bar(range(len(most)), added[most], 0.6, color=tones(one.labels[most]))
    bars.axhline(0, color=QUIET, linewidth=0.8)
    bars.set_xticks(range(len(most)), [f"a {label}" for label in one.labels[most]])
    bars.set(ylabel="adds to its class", xlim=(-0.6, len(most) - 0.4))
    for place, (term, tone) in enumerate(zip(one.prototypes[most], tones(one.labels[most]), strict=True)):
        inset = cells.inset_axes(((place + 0.05) / len(most), 0, 0.9 / len(most), 1))
        thumbnail(inset, learned[term], f"row {term}", tone)
    total = one.total()
    print(f"explanation: {len(added)} rows; scores {total.round(2)}; linear {one.linear.round(2)}")
    return figure


def limits() -> Figure:
    """Where others are as good or better."""
    figure, cells = plt.subplots(1, 3, figsize=(8.6, 2.7))
    for axes, (name, make) in zip(cells, digits.LIMITS.items(), strict=True):
        values = [digits.beside_others(make(seed)) for seed in SPLITS]
        dots(axes, values, {"NearBoost": OURS, "SVM": OTHER, "trees": THIRD})
        axes.set_title(name)
    cells[0].set_ylabel("accuracy")
    return figure


PICTURES: list[Callable[[], Figure]] = [
    *(folds, scaling, kernel, metric, vote, residual, linear),
    *(stack, refit, reliability, prototypes, explanation, limits),
]


def write(make: Callable[[], Figure]) -> None:
    """One picture, in few colours and on white, which both light and dark pages can show."""
    figure = make()
    kept = BytesIO()
    figure.savefig(kept, dpi=130, facecolor="white")
    plt.close(figure)
    path = ROOT / "docs" / "figures" / f"nearboost-{make.__name__}.png"
    Image.open(kept).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="pictures to draw, by default all")
    plt.switch_backend("agg")
    plt.rcParams.update({"figure.constrained_layout.use": True, "font.size": 9, "axes.titlesize": 10})
    names = parser.parse_args().names
    for make in PICTURES:
        if not names or make.__name__ in names:
            write(make)


if __name__ == "__main__":
    main()
