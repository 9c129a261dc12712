"""Trees and ensembles on drifting streams, compared with MOA and River: `python -m benchmarks.drifting --write`.

Every example is predicted before it is learned; accuracy and kappa are over the whole stream. All three libraries
receive the same rows, with nominal values as integers, and the settings on which MOA and River agree. A seed is
used for the stream and for the learner. A run takes most of an hour, nearly all of it for River, so it is not part
of `make bench`. With `--kept scores.json`, a run continues an earlier one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import millstream
from benchmarks import peers, report, streams
from millstream import datasets, metrics, synth

__all__ = ["LEARNERS", "STREAMS", "main"]

QUALITY = Path(__file__).parent / "QUALITY.md"
ROWS, SEEDS = 10_000, (1, 2, 3)
MEMBERS = 10

_TREE = {"name": "tree.HoeffdingTreeClassifier"}
_TEN = {"n_models": MEMBERS}


@dataclass(frozen=True)
class Learner:
    """An algorithm with its name and options in each library."""

    words: str
    ours: dict[str, Any]
    moa: str
    #: Module and class.
    river: tuple[str, str]
    options: str = ""
    seeded: bool = True
    of_trees: bool = False


LEARNERS = (
    Learner(
        "Hoeffding tree",
        _TREE,
        "moa.classifiers.trees.HoeffdingTree",
        ("tree", "HoeffdingTreeClassifier"),
        seeded=False,
    ),
    Learner(
        "adaptive Hoeffding tree",
        {"name": "tree.HoeffdingAdaptiveTreeClassifier"},
        "moa.classifiers.trees.HoeffdingAdaptiveTree",
        ("tree", "HoeffdingAdaptiveTreeClassifier"),
    ),
    Learner(
        "extremely fast decision tree",
        {"name": "tree.ExtremelyFastDecisionTreeClassifier"},
        "moa.classifiers.trees.EFDT",
        ("tree", "ExtremelyFastDecisionTreeClassifier"),
        seeded=False,
    ),
    Learner(
        "bagging",
        {"name": "ensemble.Bagging", "parameters": {"model": _TREE, **_TEN}},
        "moa.classifiers.meta.OzaBag",
        ("ensemble", "BaggingClassifier"),
        f"-s {MEMBERS}",
        of_trees=True,
    ),
    Learner(
        "leveraging bagging",
        {"name": "ensemble.LeveragingBagging", "parameters": {"model": _TREE, **_TEN}},
        "moa.classifiers.meta.LeveragingBag",
        ("ensemble", "LeveragingBaggingClassifier"),
        f"-s {MEMBERS}",
        of_trees=True,
    ),
    Learner(
        "adaptive random forest",
        {"name": "forest.ARFClassifier", "parameters": dict(_TEN)},
        "moa.classifiers.meta.AdaptiveRandomForest",
        ("forest", "ARFClassifier"),
        f"-s {MEMBERS}",
    ),
    Learner(
        "streaming random patches",
        {"name": "ensemble.SRPClassifier", "parameters": dict(_TEN)},
        "moa.classifiers.meta.StreamingRandomPatches",
        ("ensemble", "SRPClassifier"),
        f"-s {MEMBERS}",
    ),
)


def _drift(make: Callable[[int, int], Any], concepts: tuple[int, int, int], seed: int, width: int) -> Any:
    """Three concepts, one after the other."""
    first, second, third = (make(concept, seed + place) for place, concept in enumerate(concepts))
    later = synth.Drift(second, third, position=ROWS // 3, width=width)
    return synth.Drift(first, later, position=ROWS // 3, width=width)


def _sea(concept: int, seed: int) -> Any:
    return synth.SEA(variant=concept, noise=0.1, seed=seed)


def _agrawal(concept: int, seed: int) -> Any:
    return synth.Agrawal(classification_function=concept, perturbation=0.05, seed=seed)


def _led(seed: int) -> Any:
    def make(n_drift_features: int, seed: int) -> Any:
        return synth.LED(
            seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=n_drift_features
        )

    return _drift(make, (1, 5, 7), seed, 1)


STREAMS: dict[str, Callable[[int], Any]] = {
    "SEA, abrupt": lambda seed: _drift(_sea, (0, 3, 1), seed, 1),
    "SEA, gradual": lambda seed: _drift(_sea, (0, 3, 1), seed, ROWS // 10),
    "Agrawal, abrupt": lambda seed: _drift(_agrawal, (0, 2, 6), seed, 1),
    "Agrawal, gradual": lambda seed: _drift(_agrawal, (0, 2, 6), seed, ROWS // 10),
    "LED, abrupt": _led,
    "RandomRBF, moderate": lambda seed: synth.RandomRBF(seed=seed, n_classes=5, change_speed=0.0001),
    "RandomRBF, fast": lambda seed: synth.RandomRBF(seed=seed, n_classes=5, change_speed=0.001),
    "Hyperplane": lambda seed: synth.Hyperplane(seed=seed, n_drift_features=5, mag_change=0.001),
    "Flights": lambda _: datasets.Flights(),
}


def rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix, with nominal values as integers in order of appearance, and classes numbered from 0."""
    codes: dict[tuple[Any, Any], int] = {}
    values, classes = [], []
    for x, y in STREAMS[name](seed).take(ROWS):
        numbers = []
        for feature, value in x.items():
            if isinstance(value, str):
                known = sum(1 for column, _ in codes if column == feature)
                value = codes.setdefault((feature, value), known)
            numbers.append(0.0 if value is None else float(value))
        values.append(numbers)
        classes.append(int(y))
    return np.array(values), np.array(classes)


def kappa(truth: np.ndarray, said: Any) -> tuple[float, float]:
    """Accuracy and Cohen's kappa, in percent."""
    accuracy, agreement = metrics.Accuracy(), metrics.CohenKappa()
    for t, s in zip(truth.tolist(), said, strict=True):
        if s is not None:
            accuracy.update(t, int(s))
            agreement.update(t, int(s))
    return 100 * accuracy.get(), 100 * agreement.get()


def ours(learner: Learner, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    """millstream, in one call."""
    description = {"name": learner.ours["name"], "parameters": dict(learner.ours.get("parameters", {}))}
    if learner.seeded:
        description["parameters"]["seed"] = seed
    model = millstream.build(description)
    return kappa(y, list(model.step_many(X, y)))


def river(learner: Learner, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    """River, dict by dict."""
    import importlib

    module, name = learner.river
    settings: dict[str, Any] = {"seed": seed} if learner.seeded else {}
    if learner.ours.get("parameters"):
        settings["n_models"] = MEMBERS
    if learner.of_trees:
        settings["model"] = importlib.import_module("river.tree").HoeffdingTreeClassifier()
    model = getattr(importlib.import_module(f"river.{module}"), name)(**settings)
    said = []
    for x, target in zip(streams.as_dicts(X), y.tolist(), strict=True):
        said.append(model.predict_one(x))
        model.learn_one(x, target)
    return kappa(y, said)


def moa(learner: Learner, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[float, float]:
    """MOA's own loop in Java."""
    evaluator = peers.moa_evaluated(learner.moa, X, y, learner.options, seed if learner.seeded else None)
    return evaluator.accuracy(), evaluator.kappa()


Score = tuple[float, float]
LIBRARIES: dict[str, Callable[[Learner, np.ndarray, np.ndarray, int], Score]] = {
    "millstream": ours,
    "MOA": moa,
    "River": river,
}


Found = dict[tuple[str, str], dict[str, list[Score]]]


def measure(only: list[str] | None, libraries: list[str], kept: Path | None) -> Found:
    """The score of each seed, by learner and stream, then by library."""
    chosen = [learner for learner in LEARNERS if only is None or learner.words in only]
    found = _read(kept)
    for stream in STREAMS:
        data: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for learner in chosen:
            of = found.setdefault((learner.words, stream), {})
            for library in libraries:
                if library not in of:
                    # The rows of Flights are the same for all seeds.
                    data = data or {seed: rows(stream, seed) for seed in SEEDS}
                    of[library] = [LIBRARIES[library](learner, *data[seed], seed) for seed in SEEDS]
                    _write(found, kept)
                words = f"{learner.words}, {stream}, {library}: {_cell(of[library], 0)}"
                print(words, file=sys.stderr, flush=True)
    return found


def _read(kept: Path | None) -> Found:
    if kept is None or not kept.exists():
        return {}
    pairs = ((key.split("|"), scores) for key, scores in json.loads(kept.read_text()).items())
    return {(learner, stream): scores for (learner, stream), scores in pairs}


def _write(found: Found, kept: Path | None) -> None:
    if kept is not None:
        kept.write_text(json.dumps({"|".join(key): scores for key, scores in found.items()}))


def _cell(scores: list[Score], column: int) -> str:
    numbers = [score[column] for score in scores]
    return f"{statistics.mean(numbers):.2f} ± {statistics.stdev(numbers):.2f}"


def page(found: Found, libraries: list[str]) -> str:
    """The page of results that are complete: all seeds of all libraries."""
    found = {
        key: scores
        for key, scores in found.items()
        if all(len(scores.get(name, [])) == len(SEEDS) for name in libraries)
    }
    lines = ["# Trees and ensembles on drifting streams", ""]
    lines += [
        f"{report.machine()} {ROWS:,} rows of each stream, {len(SEEDS)} seeds: mean ± standard deviation, "
        "in percent. Each library has its own defaults where they differ; only MOA scores rows before anything "
        "was learned.",
        "",
    ]
    for words in dict.fromkeys(learner for learner, _ in found):
        lines += [
            f"## {words}",
            "",
            "| stream | " + " | ".join(f"{name} accuracy | kappa" for name in libraries) + " |",
        ]
        lines.append("|---|" + "---|---|" * len(libraries))
        of = {stream: scores for (learner, stream), scores in found.items() if learner == words}
        for stream, scores in of.items():
            cells = [f"{_cell(scores[name], 0)} | {_cell(scores[name], 1)}" for name in libraries]
            lines.append(f"| {stream} | " + " | ".join(cells) + " |")
        means = [
            f"**{statistics.mean(score[0] for scores in of.values() for score in scores[name]):.2f}** | "
            f"{statistics.mean(score[1] for scores in of.values() for score in scores[name]):.2f}"
            for name in libraries
        ]
        lines += ["| **mean** | " + " | ".join(means) + " |", ""]
    return "\n".join(lines)


def main() -> None:
    """Run the selected benchmarks and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="LEARNER", help="only these learners")
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=list(LIBRARIES))
    parser.add_argument("--write", action="store_true", help="write QUALITY.md; not with --only")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="file with the scores of an earlier run")
    given = parser.parse_args()
    found = measure(given.only, given.libraries, given.kept)
    text = page(found, given.libraries)
    print(text)
    if given.write and given.only is None and given.libraries == list(LIBRARIES):
        QUALITY.write_text(text)


if __name__ == "__main__":
    main()
