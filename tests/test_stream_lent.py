"""Rows that a reader lends: the core takes them as they were parsed, without looking through them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import linear_model, optim, stream
from millstream.errors import InvalidValue


def lent(tmp_path: Path, text: str = "1 |a b c:2 d\n-1 |a c e\n") -> stream.Sparse:
    """Rows as they come from a reader."""
    path = tmp_path / "rows.vw"
    path.write_text(text)
    (chunk,) = stream.read_vw(path, bits=18).chunks()
    return chunk.X


def test_rows_of_a_reader_cannot_be_written_to(tmp_path: Path) -> None:
    rows = lent(tmp_path)
    for array in (rows.starts, rows.indices, rows.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


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


def other(rows: stream.Sparse) -> stream.Sparse:
    """Rows of as many entries from another file, in other columns."""
    starts, indices = rows.starts.copy(), rows.indices[::-1].copy()
    return stream.Sparse(starts, indices, rows.values.copy(), rows.width)


def spoiled(values: np.ndarray, place: int, number: float) -> np.ndarray:
    values = values.copy()
    values[place] = number
    return values


UNSOUND = "out of order or out of range"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: (rows.starts, rows.indices[::-1], rows.values, rows.width), UNSOUND),
        (lambda rows: (rows.starts, rows.indices[::-1].copy(), rows.values, rows.width), UNSOUND),
        (lambda rows: (rows.starts, other(rows).indices, rows.values, rows.width), UNSOUND),
        (lambda rows: (np.array([0, 0, len(rows.values)]), rows.indices, rows.values, rows.width), UNSOUND),
        (lambda rows: (rows.starts, rows.indices, rows.values[:-1], rows.width), UNSOUND),
        (lambda rows: (rows.starts, rows.indices, rows.values, 3), UNSOUND),
        (lambda rows: (rows.starts, rows.indices, spoiled(rows.values, 0, np.nan), rows.width), "must be finite"),
        (lambda rows: (rows.starts, rows.indices, spoiled(rows.values, -1, np.inf), rows.width), "must be finite"),
        (lambda rows: (rows.starts, rows.indices.view(), spoiled(rows.values, -1, -np.inf), rows.width), "finite"),
    ],
    ids=[
        "backwards",
        "a copy backwards",
        "columns of others",
        "one row",
        "values missing",
        "too narrow",
        "missing first",
        "infinite last",
        "a view",
    ],
)
def test_what_was_made_of_lent_rows_is_looked_through(
    tmp_path: Path, spoil: Callable[[Any], Any], message: str
) -> None:
    model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5))
    model.learn_many(lent(tmp_path), np.array([1, 0]))
    before = model.to_bytes()
    for _ in range(2):
        with pytest.raises(InvalidValue, match=message):
            model.step_many(stream.Sparse(*spoil(lent(tmp_path))), np.array([1, 0]))
    assert model.to_bytes() == before


def test_rows_of_two_files_are_looked_through(tmp_path: Path) -> None:
    one, two = lent(tmp_path, "1 |a b c d\n"), lent(tmp_path, "1 |a e f\n1 |a g\n")
    assert len(one.indices) == 4
    assert len(two.indices) == 5
    model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5))
    with pytest.raises(InvalidValue, match=UNSOUND):
        model.step_many(stream.Sparse(two.starts, one.indices, one.values, one.width), np.array([1, 0]))


def test_whole_rows_are_known_again(tmp_path: Path) -> None:
    """The three arrays show one owner: by that the core knows them."""
    rows = lent(tmp_path)
    assert rows.starts.base is rows.indices.base is rows.values.base
    assert not isinstance(rows.indices.base, np.ndarray)
    assert rows.cut(0, 1).indices.base is not rows.indices.base


def test_lent_rows_give_what_copies_give(tmp_path: Path) -> None:
    chunks = list(stream.read_vw(_many(tmp_path), bits=18).chunks())
    models = [linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.5)) for _ in range(2)]
    for chunk in chunks:
        rows = chunk.X
        copied = stream.Sparse(rows.starts.copy(), rows.indices.copy(), rows.values.copy(), rows.width)
        answers = [model.step_many(X, chunk.y) for model, X in zip(models, (rows, copied), strict=True)]
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
    assert rows.set_aside.count == 1
