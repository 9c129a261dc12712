"""Saved pipelines with steps in Python that are components of this package, such as vectorizers of texts.

Such a component is also saved alone, as the only segment of a file, and so is a model behind a filter of rows.

A file has a mark, the length of a JSON head, the head, the states of the segments one after the other, and a
checksum. The head lists each segment: compiled steps, whose state is a saved model of its own, or a component in
Python with its parameters and state. Only components of `_KNOWN` are built, so nothing in a file is executed.
"""

from __future__ import annotations

import importlib
import json
import zlib
from typing import Any

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidType, MillstreamError

__all__ = ["MARK", "component_bytes", "file_version", "from_pipeline_bytes", "pipeline_bytes"]

#: The first bytes of a file.
MARK = b"MILLPIPE"

_VERSION = 1

#: Components in Python that can be saved, and the parameters that are functions, which cannot.
_KNOWN: dict[str, tuple[str, ...]] = {
    "feature_extraction.BagOfWords": ("preprocessor", "tokenizer"),
    "feature_extraction.HashingVectorizer": (),
    "feature_extraction.TFIDF": ("preprocessor", "tokenizer"),
    "preprocessing.Guard": (),
}


#: A model that learns sampled rows only. It decides by the row alone, so the sampler has no state.
_SAMPLED = "sampling.Sampled"


def _is_sampled(component: Any) -> bool:
    from millstream.sampling.sampled import Sampled

    return isinstance(component, Sampled)


def _name_of(step: Any) -> str | None:
    """The name of a component in Python that can be saved."""
    kind = type(step)
    name = f"{kind.__module__.removeprefix('millstream.').partition('.')[0]}.{kind.__name__}"
    return name if name in _KNOWN and kind.__module__.startswith("millstream.") else None


def component_bytes(component: Any) -> bytes | None:
    """The saved component in Python; None if it is none of those that can be saved."""
    name = _SAMPLED if _is_sampled(component) else _name_of(component)
    return None if name is None else _file(name, [component], {"names": None, "learned": 0, "alone": True})


def pipeline_bytes(who: str, segments: list[Any], names: list[str] | None, learned: int) -> bytes:
    """The saved pipeline; an error if a step cannot be saved."""
    return _file(who, segments, {"names": names, "learned": learned})


def _file(who: str, segments: list[Any], more: dict[str, Any]) -> bytes:
    listed: list[dict[str, Any]] = []
    states: list[bytes] = []
    for segment in segments:
        one, state = _saved(who, segment)
        listed.append(one | {"bytes": len(state)})
        states.append(state)
    head = {"version": _VERSION, "written_by": _core.__version__, **more, "segments": listed}
    text = json.dumps(head).encode()
    body = b"".join([MARK, len(text).to_bytes(8, "little"), text, *states])
    return body + zlib.crc32(body).to_bytes(4, "little")


def _saved(who: str, segment: Any) -> tuple[dict[str, Any], bytes]:
    from millstream.compose.members import is_native
    from millstream.compose.union import Union

    if is_native(segment):
        return {"kind": "compiled"}, segment.to_bytes()
    if isinstance(segment, Union):
        members = [segment[name] for name in segment.names]
        # The names that were given, not those of the classes.
        return {"kind": "union", "names": getattr(segment, "_names", None)}, pipeline_bytes(who, members, None, 0)
    from millstream.compose.pipeline import Pipeline

    if isinstance(segment, Pipeline):
        return {"kind": "pipeline"}, segment.to_bytes()
    if _is_sampled(segment):
        return {"kind": _SAMPLED, "sampler": segment.sampler.describe()}, segment.model.to_bytes()
    name = _name_of(segment)
    if name is None:
        raise InvalidType(f"{who}: the step {segment!r} in Python cannot be saved as data; use pickle")
    parameters = {key: getattr(segment, key) for key in segment.parameters}
    for key in _KNOWN[name]:
        if parameters.get(key) is not None:
            raise InvalidType(f"{who}: {name}: the function {key} cannot be saved as data; use pickle")
    words = parameters.get("stop_words")
    parameters |= {"stop_words": sorted(words)} if words is not None else {}
    state = segment._state() if hasattr(segment, "_state") else b""
    return {"kind": name, "parameters": parameters, "learned": getattr(segment, "learned", 0)}, state


def from_pipeline_bytes(data: bytes) -> Any:
    """The pipeline or the component that was saved."""
    from millstream.compose.pipeline import Pipeline

    segments, head = _segments_of(data)
    if head.get("alone") is True and len(segments) == 1:
        return segments[0]
    made: Any
    try:
        made = Pipeline(segments, names=head["names"])
    except MillstreamError as error:
        raise InvalidState(f"millstream: the saved pipeline is not valid: {error}") from None
    made.learned = head["learned"]
    return made


def file_version(data: bytes) -> int:
    """The version of the format of a valid file."""
    start = len(MARK) + 8
    stop = start + int.from_bytes(data[len(MARK) : start], "little")
    return int(json.loads(data[start:stop])["version"])


def _segments_of(data: bytes) -> tuple[list[Any], dict[str, Any]]:
    start = len(MARK) + 8
    if len(data) < start + 4 or not data.startswith(MARK):
        raise InvalidState("millstream: the saved pipeline is truncated")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise InvalidState("millstream: the saved pipeline is damaged: its checksum is wrong")
    stop = start + int.from_bytes(data[len(MARK) : start], "little")
    try:
        head = json.loads(data[start:stop])
        if head["version"] != _VERSION:
            raise InvalidState(
                f"millstream: the saved pipeline has format {quoted(head['version'])}, not {_VERSION}"
            )
        segments = []
        for one in head["segments"]:
            size = int(one["bytes"])
            if size < 0 or stop + size > len(data) - 4:
                raise ValueError("a state has a wrong length")
            segments.append(_revived(one, data[stop : stop + size]))
            stop += size
        return segments, {**head, "names": head["names"], "learned": int(head["learned"])}
    except InvalidState:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        MillstreamError,
    ) as error:
        raise InvalidState(f"millstream: the saved pipeline is not valid: {quoted(str(error), 120)}") from None


def _revived(one: dict[str, Any], state: bytes) -> Any:
    from millstream.registry import build, from_bytes

    kind = one["kind"]
    if kind == _SAMPLED:
        from millstream.sampling.sampled import Sampled

        return Sampled(build(one["sampler"]), from_bytes(state))
    if kind in ("compiled", "pipeline"):
        return from_bytes(state)
    if kind == "union":
        from millstream.compose.union import Union

        return Union(_segments_of(state)[0], names=one["names"])
    if kind not in _KNOWN:
        raise ValueError(f"unknown component {kind!r}")
    module, _, short = kind.rpartition(".")
    parameters = dict(one["parameters"])
    if "ngram_range" in parameters:
        parameters["ngram_range"] = tuple(parameters["ngram_range"])
    made = getattr(importlib.import_module(f"millstream.{module}"), short)(**parameters)
    if hasattr(made, "_restore"):
        made._restore(state)
        made.learned = int(one["learned"])
    return made
