"""Saved pipelines with steps in Python that are components of this package, such as vectorizers of texts.

Such a component is also saved alone, as the only segment of a file, and so is a model behind a filter of rows.

A file has a mark, the length of a JSON head, the head, the states of the segments one after the other, and a
checksum. The head lists each segment: compiled steps, whose state is a saved model of its own, or a component in
Python with its parameters and state. Only components of `_KNOWN` are built, so nothing in a file is executed. A
plain function is saved as its import path, and imported only if the user lists the path or the function as
trusted.
"""

from __future__ import annotations

import importlib
import json
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidType, MillstreamError

__all__ = [
    "MARK",
    "Trusted",
    "component_bytes",
    "file_version",
    "from_pipeline_bytes",
    "functions_in",
    "pipeline_bytes",
]

#: Functions that a file may use: their import paths, or the functions themselves.
Trusted: TypeAlias = Iterable[str | Callable[..., Any]]

#: The first bytes of a file.
MARK = b"MILLPIPE"

_VERSION = 1

#: Components in Python that can be saved, and the parameters that are functions, saved by their import paths.
_KNOWN: dict[str, tuple[str, ...]] = {
    "compose.Func": ("function",),
    "compose.Prefixer": (),
    "compose.Renamer": (),
    "compose.Suffixer": (),
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
            parameters[key] = _path_of(who, parameters[key])
    words = parameters.get("stop_words")
    parameters |= {"stop_words": sorted(words)} if words is not None else {}
    if "mapping" in parameters:
        # Names may be integers, which keys in JSON are not.
        parameters["mapping"] = _pairs(who, name, parameters["mapping"])
    state = segment._state() if hasattr(segment, "_state") else b""
    return {"kind": name, "parameters": parameters, "learned": getattr(segment, "learned", 0)}, state


def _pairs(who: str, name: str, mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    pairs = list(mapping.items())
    if not all(isinstance(each, (str, int)) for pair in pairs for each in pair):
        raise InvalidType(f"{who}: {name}: names must be str or int to be saved as data; use pickle")
    return pairs


def _path_of(who: str, function: Any) -> str:
    """The import path of a plain function at the top level of a module."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    shown = f"the function {getattr(function, '__name__', type(function).__name__)}"
    if not isinstance(function, (types.FunctionType, types.BuiltinFunctionType)) or not module:
        raise InvalidType(f"{who}: {shown} cannot be saved as data: it is not a plain function; use pickle")
    try:
        found = getattr(importlib.import_module(module), str(name), None)
    except ImportError:
        found = None
    if found is not function:
        hint = f"define it with a name at the top level of the module {module}"
        raise InvalidType(f"{who}: {shown} cannot be saved as data, because it cannot be imported: {hint}")
    return f"{module}.{name}"


def _imported(path: str, trusted: list[Any]) -> Any:
    """A trusted function of a file: as given, or imported."""
    given = next((each for each in trusted if callable(each) and _path(each) == path), None)
    if given is not None:
        return given
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidState(
            f"millstream: the function {quoted(path)} of the saved pipeline cannot be imported: "
            f"{quoted(str(error), 120)}"
        ) from None
    if not callable(found):
        raise InvalidState(f"millstream: {quoted(path)} of the saved pipeline is not a function")
    return found


def _path(trusted: Any) -> str:
    return trusted if isinstance(trusted, str) else f"{trusted.__module__}.{trusted.__qualname__}"


def _checked_trusted(trusted: Any) -> list[Any]:
    """The trusted functions of a call, as a list; one function stands for itself."""
    found = list(trusted) if isinstance(trusted, Iterable) and not isinstance(trusted, str) else [trusted]
    for each in found:
        has_path = hasattr(each, "__qualname__") and isinstance(getattr(each, "__module__", None), str)
        if not isinstance(each, str) and not (callable(each) and has_path):
            raise InvalidType(
                f"millstream: trusted must be functions or their import paths, such as 'features.weekday', "
                f"got {quoted(each)}"
            )
    return found


def functions_in(data: bytes) -> list[str]:
    """The import paths of the functions that a saved pipeline uses, in order."""
    found: dict[str, None] = {}
    for one, state in _listed(data)[0]:
        if one["kind"] in ("pipeline", "union", _SAMPLED) and state.startswith(MARK):
            found |= dict.fromkeys(functions_in(state))
        for key in _KNOWN.get(one["kind"], ()):
            if (path := one["parameters"].get(key)) is not None:
                found[str(path)] = None
    return list(found)


def from_pipeline_bytes(data: bytes, trusted: Trusted = ()) -> Any:
    """The pipeline or the component that was saved."""
    from millstream.compose.pipeline import Pipeline

    trusted = _checked_trusted(trusted)
    segments, head = _segments_of(data, trusted)
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


def _listed(data: bytes) -> tuple[list[tuple[dict[str, Any], bytes]], dict[str, Any]]:
    """The description and the state of each segment, and the head."""
    start = len(MARK) + 8
    if len(data) < start + 4 or not data.startswith(MARK):
        raise InvalidState("millstream: the saved pipeline is truncated")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise InvalidState("millstream: the saved pipeline is damaged: its checksum is wrong")
    stop = start + int.from_bytes(data[len(MARK) : start], "little")
    with _valid():
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
            segments.append((dict(one), data[stop : stop + size]))
            stop += size
        return segments, {**head, "names": head["names"], "learned": int(head["learned"])}


@contextmanager
def _valid() -> Iterator[None]:
    """Within this context, an error in the contents of a file is an `InvalidState`."""
    try:
        yield
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


def _segments_of(data: bytes, trusted: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    listed, head = _listed(data)
    with _valid():
        # All functions are checked before the first one is imported.
        paths = {_path(each) for each in trusted}
        unknown = [path for path in functions_in(data) if path not in paths]
        if unknown:
            what = "a function that is" if len(unknown) == 1 else "functions that are"
            raise InvalidState(
                f"millstream: the saved pipeline uses {what} not trusted; if you trust the file, use  "
                f"millstream.load(path, trusted={unknown})"
            )
        return [_revived(one, state, trusted) for one, state in listed], head


def _revived(one: dict[str, Any], state: bytes, trusted: list[Any]) -> Any:
    from millstream.registry import build, from_bytes

    kind = one["kind"]
    if kind == _SAMPLED:
        from millstream.sampling.sampled import Sampled

        return Sampled(build(one["sampler"]), from_bytes(state, trusted))
    if kind == "compiled":
        return from_bytes(state)
    if kind == "pipeline":
        return from_pipeline_bytes(state, trusted) if state.startswith(MARK) else from_bytes(state)
    if kind == "union":
        from millstream.compose.union import Union

        return Union(_segments_of(state, trusted)[0], names=one["names"])
    if kind not in _KNOWN:
        raise ValueError(f"unknown component {kind!r}")
    module, _, short = kind.rpartition(".")
    parameters = dict(one["parameters"])
    for key in _KNOWN[kind]:
        if parameters.get(key) is not None:
            parameters[key] = _imported(parameters[key], trusted)
    if "ngram_range" in parameters:
        parameters["ngram_range"] = tuple(parameters["ngram_range"])
    if "mapping" in parameters:
        parameters["mapping"] = dict(parameters["mapping"])
    made = getattr(importlib.import_module(f"millstream.{module}"), short)(**parameters)
    if hasattr(made, "_restore"):
        made._restore(state)
        made.learned = int(one["learned"])
    return made
