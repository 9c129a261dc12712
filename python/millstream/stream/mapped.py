"""Examples changed or selected by functions of the caller."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from millstream import _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType
from millstream.registry import nearest
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk, as_list
from millstream.stream.derived import Derived, shown

__all__ = ["Filter", "FilterChunks", "Map", "MapChunks"]


class Map(Derived):
    """The features of each example changed by a function."""

    keeps_features = False

    def __init__(self, source: Stream, function: Callable[[dict[Any, Any]], Mapping[Any, Any]]) -> None:
        self.function = _callable("map: function", function)
        super().__init__(source, function)

    def chunks(self) -> Iterator[Chunk]:
        before = 0
        for chunk in self.source.chunks():
            rows: list[Any] = []
            failure: BaseException | None = None
            try:
                rows.extend(map(self._mapped, _frames.dicts(chunk.X)))
            except BaseException as error:
                failure = _noted(error, self, chunk, len(rows), before)
            before += len(chunk)
            if rows:
                yield replace(chunk.cut(0, len(rows)), X=rows)
            if failure is not None:
                raise failure

    def _mapped(self, x: dict[Any, Any]) -> Mapping[Any, Any]:
        changed = self.function(x)
        if not isinstance(changed, Mapping):
            who = shown(self.function)
            raise InvalidType(f"stream.map: {who} must return a dict of features, got {typed(changed)}")
        return changed


class MapChunks(Derived):
    """Each chunk changed by a function."""

    keeps_features = False

    def __init__(self, source: Stream, function: Callable[[Chunk], Chunk]) -> None:
        self.function = _callable("map_chunks: function", function)
        super().__init__(source, function)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            changed = self.function(chunk)
            if not isinstance(changed, Chunk):
                who, got = shown(self.function), typed(changed)
                raise InvalidType(f"stream.map_chunks: {who} must return a stream.Chunk, got {got}")
            if len(changed):
                yield changed

    @property
    def n_samples(self) -> int | None:
        return None


class FilterChunks(Derived):
    """The examples selected by a function of the chunk."""

    def __init__(self, source: Stream, predicate: Callable[[Chunk], Any]) -> None:
        self.predicate = _callable(f"{self.verb}: predicate", predicate)
        super().__init__(source, predicate)

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.source.chunks():
            mask = np.asarray(self._mask(chunk))
            if mask.dtype != bool or mask.shape != (len(chunk),):
                who, got = shown(self.predicate), f"dtype {mask.dtype} and shape {mask.shape}"
                if mask.dtype == object:
                    got += "; fill gaps with fill_null(False)"
                raise InvalidType(f"stream.filter_chunks: {who} must return a bool for each row, got {got}")
            if mask.all():
                yield chunk
            elif mask.any():
                yield chunk.take(np.flatnonzero(mask))

    def _mask(self, chunk: Chunk) -> Any:
        mask = self.predicate(chunk)
        return mask.to_pylist() if hasattr(mask, "to_pylist") else mask

    @property
    def n_samples(self) -> int | None:
        return None


class Filter(FilterChunks):
    """The examples selected by a function of the features, or of features and target."""

    def __init__(self, source: Stream, predicate: Callable[..., Any]) -> None:
        super().__init__(source, predicate)
        self.with_target = _takes_two(predicate)

    def chunks(self) -> Iterator[Chunk]:
        before = 0
        for chunk in self.source.chunks():
            chosen: list[bool] = []
            ys = as_list(chunk.y) if self.with_target and chunk.y is not None else [None] * len(chunk)
            failure: BaseException | None = None
            try:
                for x, y in zip(_frames.dicts(chunk.X), ys, strict=True):
                    chosen.append(bool(self.predicate(x, y) if self.with_target else self.predicate(x)))
            except BaseException as error:
                failure = _noted(error, self, chunk, len(chosen), before)
            before += len(chunk)
            if all(chosen):
                chunk = chunk.cut(0, len(chosen))
            else:
                chunk = chunk.take(np.flatnonzero(chosen))
            if len(chunk):
                yield chunk
            if failure is not None:
                raise failure


def _noted(error: BaseException, stream: Derived, chunk: Chunk, place: int, before: int) -> BaseException:
    """An error of the caller's function, with a note on its row."""
    if isinstance(error, Exception):
        words = f"in {stream.verb}, row {before + place} of {quoted(stream.source, 200)}"
        if type(error) is KeyError and error.args:
            words += _missing(error.args[0], next(chunk.cut(place, place + 1).examples())[0])
        error.add_note(words)
    return error


def _missing(name: Any, x: Mapping[Any, Any]) -> str:
    """A hint for a missing feature; the function may have read another dict."""
    if not isinstance(name, (str, int)) or name in x:
        return ""
    shown = ", ".join(map(quoted, list(x)[:12])) + (", …" if len(x) > 12 else "")
    hint = nearest(str(name), [other for other in x if isinstance(other, str)])
    return f", which has no {quoted(name)}{hint or f'; it has {shown}'}"


def _callable(what: str, function: Any) -> Any:
    if not callable(function):
        raise InvalidType(f"stream.{what} must be callable, got {typed(function)}")
    return function


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function requires two arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return len(needed) == 2
