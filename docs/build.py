"""Write docs/reference.md and docs/names.md from the registry, and check every link: `make docs`."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.registry import Entry, entry, face, find

TOP = Path(__file__).resolve().parent.parent
REFERENCE = TOP / "docs" / "reference.md"
NAMES = TOP / "docs" / "names.md"

#: Modules whose public functions and classes are listed beside the parts of the registry.
OTHERS = ("registry", "base", "evaluate", "compat", "errors")


def sections(docstring: str) -> dict[str, str]:
    """The parts of a docstring by their underlined heading; what comes first is under ''."""
    found: dict[str, list[str]] = {"": []}
    current = ""
    lines = docstring.splitlines()
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", following) and len(following) == len(line):
            current = line
            found[current] = []
        elif not (re.fullmatch(r"-{3,}", line) and found[current] == []):
            found[current].append(line)
    return {heading: "\n".join(body).strip() for heading, body in found.items()}


def _example(text: str) -> str:
    return f"```pycon\n{text}\n```"


def _parameters(declared: Entry) -> Iterator[str]:
    if not declared["parameters"]:
        return
    yield "| parameter | must be | default | |"
    yield "|---|---|---|---|"
    for parameter in declared["parameters"]:
        default = parameter["default"]
        if isinstance(default, dict) and set(default) == {"name"}:
            default = default["name"]
        shown = "required" if parameter["required"] else f"`{json.dumps(default)}`"
        cells = (f"`{parameter['name']}`", parameter["must_be"], shown, parameter["words"])
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def describe_part(name: str) -> str:
    """One part of the registry."""
    declared = entry(name)
    parts = sections(inspect.getdoc(face(name)) or "")
    lines = [
        f"### {name}",
        f"*{declared['role'].replace('_', ' ')}*",
        parts.pop(""),
        "\n".join(_parameters(declared)),
    ]
    parts.pop("Parameters", None)
    for heading, body in parts.items():
        lines.append(_example(body) if heading == "Examples" else f"**{heading}.** {body}")
    return "\n\n".join(line for line in lines if line)


def describe_object(module: str, name: str, thing: Any) -> str:
    """A function or a class that is not in the registry."""
    parts = sections(inspect.getdoc(thing) or "")
    title = f"### {module}.{name}"
    lines = [title, parts.pop("")]
    if inspect.isfunction(thing):
        lines.insert(1, f"```python\n{name}{inspect.signature(thing)}\n```")
    for heading, body in parts.items():
        lines.append(_example(body) if heading == "Examples" else f"**{heading}**\n\n{_definitions(body)}")
    return "\n\n".join(line for line in lines if line)


def _definitions(body: str) -> str:
    """The `name` / indented words of a docstring's section as a list."""
    lines: list[str] = []
    for line in body.splitlines():
        if line.startswith("    ") and lines:
            lines[-1] += f" {line.strip()}"
        elif line:
            lines.append(f"- `{line}`:")
    return "\n".join(lines)


def reference() -> str:
    """The whole page."""
    modules: dict[str, list[str]] = {}
    for name in find():
        modules.setdefault(name.rpartition(".")[0], []).append(name)
    lines = [
        "# Reference",
        "Written by `make docs` from the registry and the docstrings. The same from a shell: `millstream list`, "
        "`millstream describe NAME`.",
    ]
    for module, names in sorted(modules.items()):
        lines.append(f"## {module}")
        lines.append(inspect.getdoc(importlib.import_module(f"millstream.{module}")) or "")
        lines += [describe_part(name) for name in names]
    for module in OTHERS:
        loaded = importlib.import_module(f"millstream.{module}")
        things = {name: getattr(loaded, name) for name in loaded.__all__}
        public = [name for name, thing in things.items() if inspect.isfunction(thing) or inspect.isclass(thing)]
        if public:
            lines += [f"## {module}", inspect.getdoc(loaded) or ""]
            lines += [describe_object(module, name, getattr(loaded, name)) for name in public]
    return "\n\n".join(lines) + "\n"


def glossary() -> str:
    """Every parameter name, with its words and the parts that have it."""
    uses: dict[str, dict[str, list[str]]] = {}
    for name in find():
        for parameter in entry(name)["parameters"]:
            uses.setdefault(parameter["name"], {}).setdefault(parameter["words"], []).append(name)
    lines = [
        "# Names",
        "One word per parameter across the project; a new learner uses these before it makes a new one. Written "
        "by `make docs` from the registry.",
        "Names of data: `x` one example, `X` many, `y` target, `w` sample weight. Names that come from River or "
        "scikit-learn are accepted where a class lists them in `aliases` (`lr` for `learning_rate`).",
    ]
    rows = ["| name | means | in |", "|---|---|---|"]
    for name, meanings in sorted(uses.items()):
        for words, parts in meanings.items():
            shown = ", ".join(parts[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")
            rows.append(f"| `{name}` | {words.replace('|', chr(92) + '|')} | {shown} |")
    return "\n\n".join([*lines, "\n".join(rows)]) + "\n"


def pages() -> list[Path]:
    """Every page of the project."""
    return sorted(
        path for folder in (".", "docs", "benchmarks", "examples") for path in (TOP / folder).glob("*.md")
    )


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def broken_links() -> list[str]:
    """Links inside the project that lead nowhere."""
    broken = []
    for page in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            aim = (page.parent / path) if path else page
            if not aim.exists() or (anchor and anchor not in anchors(aim)):
                broken.append(f"{page.relative_to(TOP)}: {target}")
    return broken


def undocumented() -> list[str]:
    """Parts without words."""
    return [name for name in find() if not inspect.getdoc(face(name))]


def main() -> int:
    """Write and check; the number of complaints is the exit code."""
    REFERENCE.write_text(reference())
    NAMES.write_text(glossary())
    complaints = [f"a link leads nowhere: {link}" for link in broken_links()]
    complaints += [f"no docstring: {name}" for name in undocumented()]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"docs/reference.md and docs/names.md: {len(find())} parts; the links of {len(pages())} pages hold")
    return min(len(complaints), 1)


if __name__ == "__main__":
    sys.exit(main())
