"""How to reproduce a result: the command or call, the models, the versions."""

from __future__ import annotations

import ast
import builtins
import html
import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import millstream

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["call", "reproduce", "versions"]

#: Longer strings are cut: the representation of a custom model may have any length.
_LONGEST = 4000
#: Settings with these values are left out of the call.
_DEFAULTS = {"warmup": 0, "on_error": "raise"}


def reproduce(results: Mapping[str, Result], command: str | Sequence[str] | None) -> str:
    """The section of the page."""
    parts = []
    if command is not None:
        given = command if isinstance(command, str) else shlex.join(map(str, command))
        parts.append(f"<h3>Command</h3><pre>{html.escape(given)}</pre>")
    parts.append(f"<h3>In Python</h3><pre>{html.escape(call(results))}</pre>")
    for name, result in results.items():
        if (text := _description(result.model)) is not None:
            parts.append(
                f"<details><summary>all parameters of {html.escape(name[:80])}</summary>"
                f"<pre>{html.escape(text)}</pre></details>"
            )
    told = ", ".join(f"{name} {number}" for name, number in versions().items())
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts.append(f'<p class="note">{html.escape(told)}. Created on {made}.</p>')
    return "".join(parts)


def call(results: Mapping[str, Result]) -> str:
    """The evaluation as Python code that runs when it is pasted, if its data can be named."""
    first = next(iter(results.values()))
    settings = dict(first.settings)
    lines = []
    stream = settings.pop("stream", None)
    if stream is None:
        lines.append(f"# X and y: the data, {first.rows:,} rows")
        stream = "(X, y)" if first.target is None else f"(X, y)  # y: {first.target!r:.60}"
    lines.append(f"stream_of_rows = {stream}")
    if len(results) == 1:
        lines.append(f"model = {_model(first)}")
    else:
        lines += ["model = {", *(f"    {name!r}: {_model(result)}," for name, result in results.items()), "}"]
    arguments = [f"metrics={_metrics(first)}"]
    if (detector := settings.pop("detector", None)) is not None:
        arguments.append(f"detector={detector}")
    for key, value in settings.items():
        if value is None or (key in _DEFAULTS and value == _DEFAULTS[key]):
            continue
        code = _shown(value)
        if code is None:
            lines.append(f"# {key}: {type(value).__name__}, as in the original call")
            code = key
        arguments.append(f"{key}={code}")
    inside = "".join(f"    {each},\n" for each in ("model", "stream_of_rows", *arguments))
    lines += [f"result = evaluate.prequential(\n{inside})", "print(result)"]
    code = "\n".join(lines)
    return f"{imports(code)}\n\n{code}"


def imports(code: str) -> str:
    """The import statements that the code needs."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # The representation of a custom model need not be Python.
        return "from millstream import evaluate"
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    wanted = {node.id for node in names} - assigned - set(dir(builtins))
    modules = sorted({*_modules()} & wanted)
    found: dict[str, list[str]] = {}
    for name in sorted(wanted - set(modules)):
        if (module := _home(name)) is not None:
            found.setdefault(module, []).append(name)
    lines = ["import datetime"] * ("datetime" in wanted)
    lines += [f"from millstream import {', '.join(modules)}"] * bool(modules)
    lines += [f"from millstream.{module} import {', '.join(members)}" for module, members in sorted(found.items())]
    return "\n".join(lines)


def _modules() -> list[str]:
    return [name for name in millstream.__all__ if isinstance(getattr(millstream, name, None), ModuleType)]


def _home(name: str) -> str | None:
    """The public module of a class."""
    for module in _modules():
        if name in getattr(getattr(millstream, module), "__all__", ()):
            return module
    return None


def _metrics(result: Result) -> str:
    """The metrics as a list of names or instances, or as a dict if they have names of their own."""
    codes = {name: _metric(metric) for name, metric in result.metrics.items()}
    if all(name == type(metric).__name__ for name, metric in result.metrics.items()):
        return f"[{', '.join(codes.values())}]"
    return "{" + ", ".join(f"{name!r}: {code}" for name, code in codes.items()) + "}"


def _metric(metric: Any) -> str:
    name = type(metric).__name__
    try:
        parameters = metric.describe()["parameters"]
        plain = parameters == type(metric)().describe()["parameters"]
    except Exception:  # A metric written by a user has no description, or needs arguments.
        return repr(name)
    if plain:
        return repr(name)
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"


def _model(result: Result) -> str:
    text = repr(result.model)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _description(model: Any) -> str | None:
    try:
        text = json.dumps(model.describe(), indent=2, default=repr)
    except Exception:  # A model written in Python has no description.
        return None
    return text if len(text) <= 20 * _LONGEST else None


def versions() -> dict[str, str]:
    """Versions of the libraries in use, without anything that identifies the machine."""
    found = {"millstream": millstream.__version__, "Python": platform.python_version()}
    for library in ("numpy", "pyarrow"):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found | {platform.system() or "unknown system": platform.machine()}


def _shown(value: Any) -> str | None:
    """A setting as code; None if it has no short form."""
    if isinstance(value, (str, int, float, bool)) or type(value).__name__ == "timedelta":
        return repr(value)
    return None
