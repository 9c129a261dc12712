"""The rate of every generator, compared with MOA and River."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import millstream
from benchmarks import peers
from benchmarks.measure import Comparison, Outcome, Side
from millstream import synth

__all__ = ["comparisons", "names", "random_rbf"]

_SEA, _LED = {"name": "synth.SEA"}, {"name": "synth.LED"}

#: Arguments for generators that require them, or that match the settings of the peers.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "synth.Drift": {"stream": _SEA, "drift_stream": {"name": "synth.SEA", "parameters": {"variant": 1}}},
    "synth.Imbalance": {"stream": _SEA, "shares": [0.5, 0.5]},
    "synth.LabelNoise": {"stream": _LED},
    "synth.LED": {"irrelevant_features": True, "noise_percentage": 0.1},
    "synth.Missing": {"stream": _SEA},
}

#: The equivalents in MOA, by default with the same settings.
MOA = {
    "synth.Agrawal": "generators.AgrawalGenerator",
    "synth.Drift": "ConceptDriftStream -s generators.SEAGenerator -d (generators.SEAGenerator -f 2) -p 5000",
    "synth.Hyperplane": "generators.HyperplaneGenerator",
    "synth.LED": "generators.LEDGenerator",
    "synth.Mixed": "generators.MixedGenerator",
    "synth.RandomRBF": "generators.RandomRBFGenerator -a 10",
    "synth.RandomTree": "generators.RandomTreeGenerator",
    "synth.SEA": "generators.SEAGenerator",
    "synth.STAGGER": "generators.STAGGERGenerator",
    "synth.Sine": "generators.SineGenerator",
    "synth.Waveform": "generators.WaveformGenerator",
}


def names() -> list[str]:
    """All generators."""
    return millstream.find(role="generator")


def describe(name: str) -> dict[str, Any]:
    """A complete description of the component."""
    return {"name": name, "parameters": ARGUMENTS.get(name, {})}


def _river(name: str) -> Callable[[], Any] | None:
    """A factory of River's counterpart, if there is one."""
    from river.datasets import synth

    special: dict[str, Callable[[], Any]] = {
        "synth.Drift": lambda: synth.ConceptDriftStream(synth.SEA(seed=1), synth.SEA(variant=1, seed=1), seed=1),
        "synth.LED": lambda: synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True),
        "synth.RandomRBF": lambda: synth.RandomRBF(seed_model=1, seed_sample=1),
        "synth.RandomTree": lambda: synth.RandomTree(seed_tree=1, seed_sample=1),
    }
    if name in special:
        return special[name]
    kind = getattr(synth, name.rpartition(".")[2], None)
    return None if kind is None else lambda: kind(seed=1)


def ours(name: str, rows: int) -> Side:
    """Chunks, as a model receives them."""

    def prepare() -> Callable[[], Outcome]:
        stream: synth.Generator = millstream.build(describe(name))

        def run() -> Outcome:
            left = rows
            for chunk in stream.chunks():
                left -= len(chunk)
                if left <= 0:
                    break
            return Outcome()

        return run

    return Side("millstream", rows, prepare)


def moa(name: str, rows: int) -> Side:
    """MOA's task that only generates, in Java."""

    def prepare() -> Callable[[], Outcome]:
        peers.has_java()
        from moa.tasks import MeasureStreamSpeed

        task = MeasureStreamSpeed()
        task.getOptions().setViaCLIString(f"-s ({MOA[name]}) -g {rows}")
        task.prepareForUse()

        def run() -> Outcome:
            task.doTask()
            return Outcome()

        return run

    return Side("MOA", rows, prepare)


def river(build: Callable[[], Any], rows: int) -> Side:
    """River's loop over dicts."""

    def prepare() -> Callable[[], Outcome]:
        stream = build()

        def run() -> Outcome:
            for _ in stream.take(rows):
                pass
            return Outcome()

        return run

    return Side("River", rows, prepare)


def _comparison(name: str, title: str, size: float, goals: dict[str, float], note: str = "") -> Comparison:
    sides = [ours(name, int(2_000_000 * size))]
    if name in MOA and peers.has_java():
        sides.append(moa(name, int(1_000_000 * size)))
    if build := _river(name):
        sides.append(river(build, int(20_000 * size)))
    present = {side.name for side in sides}
    return Comparison(title, "", sides, {side: goal for side, goal in goals.items() if side in present}, note)


def random_rbf(size: float) -> Comparison:
    """RandomRBF, which has a goal."""
    note = "millstream fills NumPy matrices; MOA's task MeasureStreamSpeed creates instances and discards them"
    return _comparison(
        "synth.RandomRBF", "RandomRBF generator, 10 features, generation only", size, {"MOA": 3}, note
    )


def comparisons(size: float, only: list[str] | None = None) -> Iterator[Comparison]:
    """All generators."""
    for name in names():
        if only is None or any(name.startswith(wanted) for wanted in only):
            yield _comparison(name, name, size, {})
