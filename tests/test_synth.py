"""Generators: their definitions, against the papers, against River, and against themselves."""

from __future__ import annotations

import hashlib
import json
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import evaluate, linear_model, synth
from millstream.errors import InvalidType, InvalidValue
from streams import ARGUMENTS

NAMES = millstream.find(role="generator")
GOLDEN = Path(__file__).parent / "golden" / "streams.json"


def built(name: str, **changes: Any) -> synth.Generator:
    """A generator by its name; where a parameter is required, that of the laws."""
    return millstream.build({"name": name, "parameters": {**ARGUMENTS.get(name, {}), **changes}})  # type: ignore[no-any-return]


def first(stream: synth.Generator, n: int) -> list[tuple[dict[Any, Any], Any]]:
    """The first examples."""
    return list(islice(stream, n))


def columns(stream: synth.Generator, n: int, rows: int) -> tuple[list[dict[Any, Any]], list[Any]]:
    """The first examples from chunks of so many rows."""
    xs: list[Any] = []
    ys: list[Any] = []
    for chunk in stream.chunks(rows):
        for x, y in chunk.examples():
            xs.append({name: None if value != value else value for name, value in x.items()})
            ys.append(y)
        if len(xs) >= n:
            return xs[:n], ys[:n]
    raise AssertionError("a generator ended")


def digest(stream: synth.Generator, n: int = 200) -> str:
    """A short text that changes if a bit of the first examples does."""
    text = json.dumps([[list(x.values()), y] for x, y in first(stream, n)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", NAMES)
def test_the_cut_into_chunks_changes_nothing(name: str) -> None:
    stream = built(name)
    examples = first(stream, 700)
    for rows in (1, 7, 256, 1000):
        n = 50 if rows == 1 else 700
        assert columns(stream, n, rows) == ([x for x, _ in examples[:n]], [y for _, y in examples[:n]])


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_is_a_stream(name: str) -> None:
    stream = built(name)
    assert first(stream, 50) == first(stream, 50) == first(built(name), 50)
    assert first(built(name, seed=2), 50) != first(stream, 50)
    again = pickle.loads(pickle.dumps(stream))
    assert again == stream
    assert repr(again) == repr(stream)
    assert first(again, 50) == first(stream, 50)


@pytest.mark.parametrize("name", NAMES)
def test_a_generator_says_what_it_gives(name: str) -> None:
    stream = built(name)
    assert stream.target == "y"
    assert stream.n_samples is None
    for x, y in first(stream, 100):
        assert list(x) == stream.features
        for feature, values in stream.nominal.items():
            assert x[feature] is None or x[feature] in values
        assert isinstance(y, float) if stream.classes is None else y in stream.classes


@pytest.mark.parametrize("name", NAMES)
def test_streams_never_change_silently(name: str) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert digest(built(name)) == golden[name], (
        "a released stream must stay; if it was wrong, say so in CHANGELOG.md"
    )


def test_every_golden_stream_is_there() -> None:
    assert sorted(json.loads(GOLDEN.read_text())) == NAMES


def test_rows_must_be_a_positive_whole_number() -> None:
    with pytest.raises(InvalidValue, match=r"synth.SEA: rows must be >= 1, got 0"):
        synth.SEA().chunks(0)
    with pytest.raises(InvalidType, match=r"rows must be a whole number, got 1.5"):
        synth.SEA().chunks(1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="rows must be fewer"):
        next(synth.SEA().chunks(2**62))


def test_a_rule_is_asked_for_all_its_features() -> None:
    with pytest.raises(InvalidValue, match=r"synth.SEA: rule\(\) needs the feature 1"):
        synth.SEA().rule({0: 1.0})
    with pytest.raises(InvalidType, match="no function of the features"):
        synth.RandomRBF(n_features=1).rule({0: 1.0})


def test_sea_is_rivers_rule_for_rule() -> None:
    from river.datasets import synth as river

    for variant in range(4):
        ours = synth.SEA(variant=variant)
        for x, y in river.SEA(variant=variant, seed=1).take(300):
            assert ours.rule(x) == y


def test_sea_classes_have_the_area_of_their_region() -> None:
    # The square has area 100; below the line x + y = θ lies θ²/2 of it: 32, 40.5, 24.5 and 45.125.
    for variant, above in enumerate((0.68, 0.595, 0.755, 0.54875)):
        chunk = next(synth.SEA(variant=variant).chunks(100_000))
        assert chunk.y.mean() == pytest.approx(above, abs=0.006)


def test_sea_is_learned_up_to_its_noise() -> None:
    chunk = next(synth.SEA(variant=1, noise=0.1, seed=3).chunks(50_000))
    model = linear_model.LogisticRegression()
    result = evaluate.prequential(model, (chunk.X - 5, chunk.y))
    assert 0.86 < result.values["Accuracy"] < 0.905


def test_rbf_is_spread_as_its_centroids_are() -> None:
    chunk = next(synth.RandomRBF(seed_model=3, n_features=5, n_centroids=2, n_classes=2).chunks(50_000))
    assert chunk.X.shape == (50_000, 5)
    other = next(synth.RandomRBF(seed=2, seed_model=3, n_features=5, n_centroids=2, n_classes=2).chunks(50_000))
    assert np.allclose(chunk.X.mean(axis=0), other.X.mean(axis=0), atol=0.02)
    assert synth.RandomRBF(seed_sample=3) == synth.RandomRBF(seed=3)  # type: ignore[call-arg]


def test_rbf_moves_when_told_to() -> None:
    still = next(synth.RandomRBF(seed=5, n_centroids=1).chunks(20_000)).X
    moved = next(synth.RandomRBF(seed=5, n_centroids=1, change_speed=1e-4).chunks(20_000)).X
    assert np.allclose(still[:1000].mean(axis=0), still[-1000:].mean(axis=0), atol=0.1)
    assert not np.allclose(moved[:1000].mean(axis=0), moved[-1000:].mean(axis=0), atol=0.1)
    none = next(synth.RandomRBF(seed=5, n_centroids=1, change_speed=1e-4, n_drift_centroids=0).chunks(20_000)).X
    assert np.array_equal(none, still)
