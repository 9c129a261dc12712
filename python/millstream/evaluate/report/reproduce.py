"""How to reproduce a result: the command or call, the models, the versions."""

from __future__ import annotations

import html
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import millstream

if TYPE_CHECKING:
    from millstream.evaluate.result import Result

__all__ = ["call", "reproduce", "versions"]

#: Longer strings are cut: the representation of a custom model may have any length.
_LONGEST = 4000


def reproduce(results: Mapping[str, Result], command: str | Sequence[str] | None) -> str:
    """The section of the page."""
    parts = []
    if command is not None:
        given = command if isinstance(command, str) else " ".join(map(str, command))
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
    """The evaluation as a call."""
    first = next(iter(results.values()))
    settings = dict(first.settings)
    stream = settings.pop("stream", None) or "stream"
    if len(results) == 1:
        models = f"model = {_model(first)}"
    else:
        models = "\n".join(["models = {", *(f"    {name!r}: {_model(r)}," for name, r in results.items()), "}"])
    metrics = ", ".join(repr(name) for name in first.values)
    if (detector := settings.pop("detector", None)) is not None:
        chosen = f", detector={detector}"
    else:
        chosen = ""
    chosen += "".join(f", {key}={_shown(value)}" for key, value in settings.items() if value is not None)
    which = "model" if len(results) == 1 else "models"
    return f"{models}\nevaluate.prequential({which}, {stream}, metrics=[{metrics}]{chosen})"


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


def _shown(value: Any) -> str:
    if isinstance(value, (str, int, float, bool)):
        return repr(value)
    return f"<{type(value).__name__}>" if hasattr(value, "__len__") or callable(value) else repr(value)
