"""Rows of a reader: a model takes them as they were parsed, unless someone has seen their arrays."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import linear_model, optim, stream
from millstream._sparse import unseen
from millstream.errors import InvalidType, InvalidValue


def parsed(tmp_path: Path, text: str = "1 |a b c:2 d\n-1 |a c e\n") -> stream.Sparse:
    """Rows as they come from a reader."""
    path = tmp_path / "rows.vw"
    path.write_text(text)
    (chunk,) = stream.read_vw(path, bits=18).chunks()
    rows = chunk.X
    assert isinstance(rows, stream.Sparse)
    return rows


def learner() -> linear_model.LogisticRegression:
    return linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5))


def test_a_run_asks_for_no_arrays(tmp_path: Path) -> None:
    rows = parsed(tmp_path)
    assert len(rows) == 2
    learner().step_many(rows, np.array([1, 0]))
    assert unseen(rows) is not None
    assert rows.width == 1 << 18
    assert unseen(rows) is not None
    assert len(rows.values) == len(rows.indices) == rows.starts[-1] == 7
    assert unseen(rows) is None
    assert len(rows) == 2
    with pytest.raises(AttributeError, match="no 'shape'"):
        rows.shape  # type: ignore[attr-defined] # noqa: B018


def test_what_is_written_to_the_arrays_is_learned(tmp_path: Path) -> None:
    rows, y = parsed(tmp_path), np.array([1, 0])
    rows.values[:] *= 2.0
    one, two = learner(), learner()
    one.learn_many(rows, y)
    two.learn_many(stream.Sparse(*(np.array(a) for a in (rows.starts, rows.indices, rows.values)), rows.width), y)
    assert one.to_bytes() == two.to_bytes()


def test_rows_are_copied_and_replaced(tmp_path: Path) -> None:
    for made in (
        pickle.loads(pickle.dumps(parsed(tmp_path))),
        copy.deepcopy(parsed(tmp_path)),
        dataclasses.replace(parsed(tmp_path)),
        parsed(tmp_path).take([0, 1]),
        parsed(tmp_path).cut(0, 2),
    ):
        assert (made.values == parsed(tmp_path).values).all()
        assert (made.indices == parsed(tmp_path).indices).all()
        assert made.width == 1 << 18


def _set(place: int, number: float) -> Callable[[np.ndarray], None]:
    def write(array: np.ndarray) -> None:
        array[place] = number

    return write


@pytest.mark.parametrize(
    ("array", "spoil", "message"),
    [
        ("indices", lambda array: np.add.at(array, [0], np.uint32(2**31)), "out of order or out of range"),
        ("indices", _set(-1, 1 << 18), "out of order or out of range"),
        ("indices", lambda array: np.copyto(array, array[::-1].copy()), "out of order or out of range"),
        ("indices", _set(1, 0), "out of order or out of range"),
        ("starts", _set(1, 9), "out of order or out of range"),
        ("starts", _set(2, 6), "out of order or out of range"),
        ("values", _set(0, np.nan), "must be finite, got NaN"),
        ("values", _set(-1, np.inf), "must be finite, got inf"),
        ("values", lambda array: np.multiply.at(array, [4], np.inf), "must be finite, got inf"),
    ],
)
def test_arrays_that_were_spoiled_are_refused(
    tmp_path: Path, array: str, spoil: Callable[[np.ndarray], None], message: str
) -> None:
    for model in (learner(), linear_model.PAClassifier(), linear_model.AROW()):
        model.learn_many(parsed(tmp_path), np.array([1, 0]))
        before = model.to_bytes()
        rows = parsed(tmp_path)
        spoil(getattr(rows, array))
        for _ in range(2):
            with pytest.raises(InvalidValue, match=message):
                model.step_many(rows, np.array([1, 0]))
        assert model.to_bytes() == before


def test_too_narrow(tmp_path: Path) -> None:
    for seen in (False, True):
        rows = parsed(tmp_path)
        assert not seen or len(rows.values)
        object.__setattr__(rows, "width", 3)
        with pytest.raises(InvalidValue, match="out of order or out of range"):
            learner().step_many(rows, np.array([1, 0]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [1.0]}, "values of sparse rows must be a plain NumPy array, got list"),
        ({"starts": None}, "starts of sparse rows must be a plain NumPy array, got None"),
        ({"values": np.ma.array(np.ones(1), mask=[True])}, "values of sparse rows must be a plain NumPy array"),
        ({"width": -1}, "the width of sparse rows must be an integer number of columns, got -1"),
        ({"width": 2**64}, "the width of sparse rows must be an integer number of columns"),
        ({"width": "7"}, "the width of sparse rows must be an integer number of columns, got '7'"),
    ],
)
def test_rows_that_are_none(changes: dict[str, Any], message: str) -> None:
    rows = stream.Sparse(np.array([0, 1]), np.array([0]), np.array([1.0]), 5)
    with pytest.raises((InvalidValue, InvalidType), match=re.escape(message)):
        learner().step_many(dataclasses.replace(rows, **changes), np.array([1]))


@pytest.mark.slow
def test_rows_of_a_reader_outlive_it(tmp_path: Path) -> None:
    copies = [
        (np.array(c.X.indices), np.array(c.X.values)) for c in stream.read_vw(_many(tmp_path), bits=18).chunks()
    ]
    kept = [chunk.X for chunk in stream.read_vw(tmp_path / "many.vw", bits=18).chunks()]
    assert len(kept) > 3
    for rows, (indices, values) in zip(kept, copies, strict=True):
        assert (rows.indices == indices).all()
        assert (rows.values == values).all()


def _many(tmp_path: Path) -> Path:
    noise = np.random.default_rng(1)
    path = tmp_path / "many.vw"
    lines = [
        f"{1 if noise.random() < 0.5 else -1} |t {' '.join(map(str, noise.integers(0, 5000, 60)))}\n"
        for _ in range(20_000)
    ]
    path.write_text("".join(lines))
    return path


@pytest.mark.slow
def test_rows_give_what_copies_give(tmp_path: Path) -> None:
    chunks = list(stream.read_vw(_many(tmp_path), bits=18).chunks())
    models = [linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5)) for _ in range(2)]
    for chunk in chunks:
        answers = [models[0].step_many(chunk.X, chunk.y)]
        assert unseen(chunk.X) is not None
        answers.append(models[1].step_many(copy.deepcopy(chunk.X), chunk.y))
        assert (answers[0] == answers[1]).all()
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [("read_vw", "1 |a b", "-1 |a b:1e308 b:1e308"), ("read_libsvm", "1 1:1", "-1 1:1e308 1:1e308")],
)
def test_values_that_overflow_when_added_up_are_refused(tmp_path: Path, read: str, good: str, bad: str) -> None:
    path = tmp_path / "rows.txt"
    path.write_text(f"{good}\n{bad}\n{good}\n")
    message = (
        rf"{re.escape(str(path))}, line 2, column \d: the values of column \d+ must add up to a finite number"
    )
    with pytest.raises(InvalidValue, match=message):
        list(getattr(stream, read)(path))
    rows = getattr(stream, read)(path, on_error="skip")
    assert len(list(rows)) == 2
    assert rows.skipped.count == 1


def test_skipped_lines_are_counted_where_some_rows_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_text("1 |a b\nbad\n" * 10)
    rows = stream.read_vw(path, on_error="skip")
    assert len(list(rows.take(3))) == 3
    assert rows.skipped.count == 10
    assert len(rows.skipped.reasons) > 1


def test_threads_that_ask_at_once_are_given_the_same_arrays(tmp_path: Path) -> None:
    for _ in range(20):
        rows = parsed(tmp_path)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda name: getattr(rows, name), ["values", "starts", "values", "starts"]))  # noqa: B023
        assert found[0] is found[2] is rows.values
        assert found[1] is found[3] is rows.starts
    # One that did not find it, and comes to make it when another just has.
    assert rows.__getattr__("values") is rows.values
