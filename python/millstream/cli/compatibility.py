"""Compatibility of a saved model and a source: a model without any column of a file would predict constants."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as arrow

from millstream import _core
from millstream._echo import plain
from millstream.cli.errors import UsageError
from millstream.compose import Pipeline, Union
from millstream.errors import InvalidValue
from millstream.registry import nearest
from millstream.stream import Sparse, Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.vowpal_wabbit import VowpalWabbit

__all__ = ["StrictColumns", "check_known", "check_width", "differing_columns", "learned_columns"]

#: Maximum number of columns that are compared by name.
_MOST_COMPARED = 10_000

#: Maximum number of listed features.
_MOST = 6


def check_width(model: Any, path: str, stream: Stream, given: Namespace) -> None:
    """Refuse a Vowpal Wabbit file that is hashed to another width than the training data."""
    while isinstance(stream, Derived):
        stream = stream.source
    if not isinstance(stream, VowpalWabbit):
        return
    known, numbered, _ = _knows(model)
    if not known or not numbered or known == 2**stream.bits:
        return
    bits = known.bit_length() - 1
    hint = f"add --option bits={bits}" if known == 2**bits else "it was trained with another kind of file"
    raise UsageError(
        f"{path} has {known:,} columns, but {given.source} is read with {2**stream.bits:,} "
        f"(bits={stream.bits}): {hint}"
    )


def check_known(model: Any, path: str, chunk: Chunk, given: Namespace) -> None:
    """Refuse rows that have no column in common with a trained model."""
    segments = getattr(model, "_segments", None)
    if segments and not hasattr(segments[0], "features"):
        # The names are those returned by a step in Python, such as words.
        return
    known, numbered, first = _knows(model)
    if not known or not getattr(model, "learned", 0):
        return
    if isinstance(chunk.X, Sparse):
        strange = not numbered and not any(isinstance(name, int) for name in model.features)
        has = f"columns numbered below {chunk.X.width:,}"
    elif isinstance(chunk.X, arrow.Table):
        names = chunk.X.column_names
        strange = numbered or not set(names).intersection(model.features)
        has = _listed(names, len(names))
    else:
        return
    if strange:
        raise UsageError(
            f"{path} has no column in common with {given.source}: it has {_listed(first, known)}; "
            f"the file has {has}"
        )


class StrictColumns(Derived):
    """A stream that raises an error if its columns differ from those of a trained model, or of its first rows."""

    def __init__(self, source: Stream, models: Mapping[str, Any], given: Namespace) -> None:
        super().__init__(source)
        self.name = given.source
        #: The columns that each model has learned, and whether these are all columns of its rows.
        self.known = {path: found for path, model in models.items() if (found := _columns_of(model))[0]}

    def __repr__(self) -> str:
        return repr(self.source)

    def chunks(self) -> Iterator[Chunk]:
        first: list[str] = []
        for chunk in self.source.chunks():
            if isinstance(chunk.X, arrow.Table):
                has = chunk.X.column_names
                for path, (known, is_complete) in self.known.items():
                    _compare(path, known, self.name, has, is_complete)
                if first:
                    _compare("the first rows", first, self.name, has)
                first = first or has
            yield chunk


def _differences(known: list[str], has: list[str]) -> tuple[list[str], list[str]]:
    """The known columns that are absent, and the unknown columns."""
    known_names, names = set(known), set(has)
    return [name for name in known if name not in names], [name for name in has if name not in known_names]


def _compare(path: str, known: list[str], source: str, has: list[str], is_complete: bool = True) -> None:
    lacking, unknown = _differences(known, has)
    if unknown and is_complete:
        hint = nearest(unknown[0], lacking or known)
        raise InvalidValue(f"--strict: {source} has {_listed(unknown, len(unknown))}, absent from {path}{hint}")
    if lacking:
        raise InvalidValue(f"--strict: {source} lacks {_listed(lacking, len(lacking))}, present in {path}")


def _columns_of(model: Any) -> tuple[list[str], bool]:
    """The columns that a model has learned, and whether these are all columns of its rows.

    There are none if they are not known by name. A vectorizer of texts reads one column and ignores the others.
    """
    if not getattr(model, "learned", 0):
        return [], False
    found, is_complete = _columns_read(model)
    names = list(dict.fromkeys(found))
    return (names, is_complete) if all(isinstance(name, str) for name in names) else ([], False)


def learned_columns(*models: Any) -> set[str]:
    """The names of all columns that some models have learned."""
    return {name for model in models for name in _columns_of(model)[0]}


def _columns_read(part: Any) -> tuple[list[Any], bool]:
    """The columns that a component reads; those of all parts of a union, and of the first step of a pipeline."""
    if isinstance(part, _core.Model):
        return list(part.features), True
    if isinstance(part, Union):
        read = [_columns_read(each) for each in part.parts]
        return [name for names, _ in read for name in names], any(is_complete for _, is_complete in read)
    if isinstance(part, Pipeline):
        return _columns_read(part._segments[0])
    if hasattr(part, "features"):
        return list(part.features), True
    on = getattr(part, "on", None)
    return ([], False) if on is None else ([on], False)


def differing_columns(model: Any, path: str, chunk: Chunk, given: Namespace) -> list[str]:
    """Columns that the model knows and the source lacks, with the nearest name, and unknown columns."""
    if not isinstance(chunk.X, arrow.Table):
        return []
    known, is_complete = _columns_of(model)
    if not known or len(known) > _MOST_COMPARED:
        return []
    has = chunk.X.column_names
    lacking, unknown = _differences(known, has)
    lines = []
    if lacking:
        near = nearest(lacking[0], unknown) if len(lacking) == 1 else ""
        lines.append(
            f"{path} has learned {_listed(lacking, len(lacking))}, which {given.source} does not have{near}"
        )
    if unknown and is_complete:
        words = "a column" if len(unknown) == 1 else "columns"
        lines.append(f"{given.source} has {words} that {path} does not know: {_listed(unknown, len(unknown))}")
    return lines


def _knows(model: Any) -> tuple[int, bool, list[str | int]]:
    """Number of features of a model, whether they are all numbered, and the first of them."""
    if isinstance(model, _core.Model):
        return model._knows(_MOST)
    names = list(getattr(model, "features", ()))
    return len(names), all(isinstance(name, int) for name in names), names[:_MOST]


def _listed(names: list[Any], count: int) -> str:
    shown = ", ".join(plain(name, 40) for name in names[:_MOST])
    return f"{shown}, … ({count:,} in total)" if count > _MOST else shown or "none"
