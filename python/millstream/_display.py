"""HTML representation of models in notebooks, and memory of models written in Python."""

from __future__ import annotations

import inspect
import sys
from collections import deque
from html import escape
from types import FunctionType, ModuleType
from typing import Any

from millstream import _core
from millstream._echo import visible

#: Colours are based on those of the page, so that it is readable on light and dark backgrounds.
_STYLE = """
.millstream{font:13px/1.45 system-ui,sans-serif;display:inline-block;max-width:100%;color:inherit}
.millstream .ms-box{border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:5px 10px;margin:0;
background:rgba(128,128,128,.07)}
.millstream .ms-down{text-align:center;opacity:.5;line-height:1.2}
.millstream .ms-beside{display:flex;flex-wrap:wrap;gap:8px;align-items:stretch}
.millstream summary{cursor:pointer;font-weight:600}
.millstream .ms-plain{font-weight:600}
.millstream table{border-collapse:collapse;margin:4px 0 2px;background:none}
.millstream td{padding:1px 12px 1px 0;border:0;text-align:left;vertical-align:top;background:none;
font-family:ui-monospace,monospace;font-size:12px}
.millstream .ms-default{opacity:.55}
.millstream .ms-brief{font:12px ui-monospace,monospace;font-weight:400;opacity:.7;margin-left:6px}
.millstream .ms-foot{opacity:.7;font-size:12px;margin-top:5px}
"""


def html_of(model: Any) -> str:
    """A self-contained HTML fragment: steps, parameters, number of learned examples."""
    facts = [str(model.role)] if hasattr(model, "role") else []
    if (learned := getattr(model, "learned", None)) is not None:
        facts.append(f"{learned:,} example{'s' * (learned != 1)} learned")
    if isinstance(model, _core.Model):
        features, classes = len(model.features), len(model.classes)
        facts += [f"{features:,} feature{'s' * (features != 1)}"] * bool(features)
        facts += [f"{classes:,} class{'es' * (classes != 1)}"] * bool(classes)
    facts.append(_bytes(model.memory))
    foot = f'<div class="ms-foot">{escape(" · ".join(facts))}</div>'
    return visible(f'<div class="millstream"><style>{_STYLE}</style>{_box(_plain(model))}{foot}</div>')


def _plain(model: Any) -> Any:
    """The description of a compiled model, so that its steps need not be copied; other models unchanged."""
    return model.describe() if isinstance(model, _core.Model) else model  # type: ignore[attr-defined]


def _box(part: Any) -> str:
    """One model: a description or an object."""
    from millstream._part import from_description

    if isinstance(part, dict):
        title, parameters = part["name"].rpartition(".")[2], dict(part["parameters"])
    else:
        title, parameters = type(part).__name__, dict(getattr(part, "parameters", {}))
    for name, between in (("steps", '<div class="ms-down">↓</div>'), ("parts", "")):
        if isinstance(parameters.get(name), list) and title in ("Pipeline", "Union"):
            boxes = between.join(_box(_plain(member)) for member in parameters[name])
            return f'<div class="{"ms-below" if name == "steps" else "ms-beside"}">{boxes}</div>'
    if not parameters:
        return f'<div class="ms-box"><span class="ms-plain">{escape(title)}</span></div>'
    defaults = _defaults(part)
    rows = "".join(
        f"<tr{_default(defaults, name, value)}><td>{escape(name)}</td><td>{escape(_shown(value))}</td></tr>"
        for name, value in parameters.items()
    )
    alive = from_description if isinstance(part, dict) else lambda value: value
    changed = ", ".join(f"{k}={alive(v)!r}" for k, v in parameters.items() if not _default(defaults, k, v))
    shown = changed if len(changed) <= 120 else f"{changed[:119]}…"
    brief = f' <span class="ms-brief">{escape(shown)}</span>' if changed else ""
    head = f"<summary>{escape(title)}{brief}</summary>"
    return f'<div class="ms-box"><details>{head}<table>{rows}</table></details></div>'


def _defaults(part: Any) -> dict[str, Any]:
    if isinstance(part, dict):
        from millstream.registry import entry

        return {parameter["name"]: parameter["default"] for parameter in entry(part["name"])["parameters"]}
    signature = inspect.signature(type(part).__init__)
    return {name: parameter.default for name, parameter in signature.parameters.items()}


def _default(defaults: dict[str, Any], name: str, value: Any) -> str:
    default = defaults.get(name, inspect.Parameter.empty)
    if isinstance(value, dict) and isinstance(default, dict) and value.get("name") == default.get("name"):
        from millstream.registry import build

        default = build(default).describe()
    same = type(value) is type(default) and bool(value == default)
    return ' class="ms-default"' if same else ""


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "name" in value:
        inner = ", ".join(f"{name}={_shown(item)}" for name, item in value.get("parameters", {}).items())
        return f"{value['name'].rpartition('.')[2]}({inner})"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


def held_by(part: Any) -> int:
    """Memory of a component in bytes: its `memory`, or an estimate if it has none."""
    return int(part.memory) if hasattr(part, "memory") else memory_of(part)


def memory_of(thing: Any) -> int:
    """Bytes held by an object and all objects reachable from it, without classes, modules and functions."""
    seen: set[int] = set()
    total = 0
    waiting = [thing]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(item))
        if isinstance(item, _core.Model):
            total += item.memory
            waiting.append(item.__dict__)
            continue
        total += sys.getsizeof(item, 64)
        if isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset, deque)):
            waiting.extend(item)
        if isinstance(getattr(item, "__dict__", None), dict):
            waiting.append(item.__dict__)
        for kind in type(item).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else slots
            waiting.extend(getattr(item, name) for name in names if isinstance(name, str) and hasattr(item, name))
    return total
