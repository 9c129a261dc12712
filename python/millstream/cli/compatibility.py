"""Whether a saved model and a source go together: a model that knows no column of a file answers constants."""

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

#: How many features are named.
_MOST = 6


def check_width(model: Any, path: str, stream: Stream, given: Namespace) -> None:
    """Refuse a file of Vowpal Wabbit that is hashed to another width than the model was taught with."""
    while isinstance(stream, Derived):
        stream = stream.source
    if not isinstance(stream, VowpalWabbit):
        return
    known, numbered, _ = _knows(model)
    if not known or not numbered or known == 2**stream.bits:
        return
    bits = known.bit_length() - 1
    hint = f"add --option bits={bits}" if known == 2**bits else "it was taught with a file of another kind"
    raise UsageError(
        f"{path} knows {known:,} columns, but {given.source} is read with {2**stream.bits:,} "
        f"(bits={stream.bits}): {hint}"
    )


def check_known(model: Any, path: str, chunk: Chunk, given: Namespace) -> None:
    """Refuse rows of which the model, which has learned, knows no column."""
    known, numbered, first = _knows(model)
    if not known or not getattr(model, "learned", 0):
        return
    if isinstance(chunk.X, Sparse):
        strange = not numbered and not any(isinstance(name, int) for name in model.features)
        has = f"columns that are numbers below {chunk.X.width:,}"
    elif isinstance(chunk.X, arrow.Table):
        names = chunk.X.column_names
        strange = numbered or not set(names).intersection(model.features)
        has = _listed(names, len(names))
    else:
        return
    if strange:
        raise UsageError(
            f"{path} knows no column of {given.source}: it knows {_listed(first, known)}; the file has {has}"
        )


def _knows(model: Any) -> tuple[int, bool, list[str | int]]:
    """How many features a model knows, whether by their numbers alone, and the first of them."""
    if isinstance(model, _core.Model):
        return model._knows(_MOST)
    names = list(getattr(model, "features", ()))
    return len(names), all(isinstance(name, int) for name in names), names[:_MOST]


def _listed(names: list[Any], count: int) -> str:
    shown = ", ".join(plain(name, 40) for name in names[:_MOST])
    return f"{shown}, … ({count:,} in all)" if count > _MOST else shown or "none"
