"""Compatibility of a saved model and a source: a model without any column of a file would predict constants."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pyarrow as arrow

from millstream import _core
from millstream._echo import plain
from millstream.cli.errors import UsageError
from millstream.stream import Sparse, Stream
from millstream.stream.chunk import Chunk
from millstream.stream.derived import Derived
from millstream.stream.vowpal_wabbit import VowpalWabbit

__all__ = ["check_known", "check_width"]

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


def _knows(model: Any) -> tuple[int, bool, list[str | int]]:
    """Number of features of a model, whether they are all numbered, and the first of them."""
    if isinstance(model, _core.Model):
        return model._knows(_MOST)
    names = list(getattr(model, "features", ()))
    return len(names), all(isinstance(name, int) for name in names), names[:_MOST]


def _listed(names: list[Any], count: int) -> str:
    shown = ", ".join(plain(name, 40) for name in names[:_MOST])
    return f"{shown}, … ({count:,} in total)" if count > _MOST else shown or "none"
