"""Write docs/reference.md, docs/reference/ and docs/names.md, and check every link: the first step of `make docs`.

Components are taken from the registry, everything else from the public names of the package's modules, so
additions to either appear in the reference at the next run.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import millstream
from millstream.registry import Entry, class_of, entry, find

TOP = Path(__file__).resolve().parent.parent
REFERENCE = TOP / "docs" / "reference.md"
MODULES = TOP / "docs" / "reference"
NAMES = TOP / "docs" / "names.md"

#: Modules without a reference page: the command line has its own guide, and `millstream demo` runs the demo.
ELSEWHERE = ("cli", "demo")

#: Attributes and methods of components beyond the verbs that all share.
_READABLE = ("millstream.cluster", "millstream.tree.readable", "millstream.forest", "millstream.drift.retrain")


def modules() -> list[str]:
    """The public modules of the package."""
    found = (module.name for module in pkgutil.iter_modules(millstream.__path__))
    return sorted(name for name in found if not name.startswith("_") and name not in ELSEWHERE)


def sections(docstring: str) -> dict[str, str]:
    """The sections of a docstring by their underlined heading; the text before the first is under ''."""
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


def _prose(text: str) -> str:
    """Prose, with examples outside an Examples section marked as code."""
    return re.sub(r"^>>> .*(?:\n.+)*", lambda example: _example(example[0]), text, flags=re.MULTILINE)


def _references(text: str) -> str:
    """A list of papers, each of which starts with its authors and year."""
    papers: list[str] = []
    for line in text.splitlines():
        if papers and not re.match(r"[^a-z].*?\(\d{4}", line):
            papers[-1] += f" {line.strip()}"
        elif line:
            papers.append(line)
    return "**References**\n\n" + "\n".join(f"- {paper}" for paper in papers)


def _in_python(value: Any) -> str:
    """A default as Python code, with the quotes of JSON."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _parameters(declared: Entry) -> Iterator[str]:
    if not declared["parameters"]:
        return
    yield "| parameter | must be | default | |"
    yield "|---|---|---|---|"
    for parameter in declared["parameters"]:
        default = parameter["default"]
        if isinstance(default, dict) and set(default) == {"name"}:
            default = default["name"]
        plain = f"{default:g}" if isinstance(default, float) and abs(default) >= 1e6 else _in_python(default)
        shown = "required" if parameter["required"] else f"`{plain}`"
        former = " or ".join(f"`{name}`" for name in parameter["formerly"])
        words = f"{parameter['words']}; formerly {former}" if former else parameter["words"]
        cells = (f"`{parameter['name']}`", parameter["must_be"], shown, words)
        yield "| " + " | ".join(map(_cell, cells)) + " |"


def _merging(declared: Entry) -> str:
    """How exactly models can be merged, of components with a state."""
    if declared["role"] in ("generator", "loss", "schedule", "kernel", "search_engine", "buffer"):
        return ""
    words = f" ({declared['merge_words']})" if declared["merge_words"] else ""
    return f", [merging](../merging.md): {declared['merge']}{words}"


def describe_part(name: str) -> str:
    """The entry of a component."""
    declared = entry(name)
    parts = sections(inspect.getdoc(class_of(name)) or "")
    lines = [
        f"## {name}",
        f"*{declared['role'].replace('_', ' ')}*{_merging(declared)}",
        _prose(parts.pop("")),
        "\n".join(_parameters(declared)),
    ]
    parts.pop("Parameters", None)
    written = {"Examples": _example, "References": _references}
    lines += [written.get(heading, f"**{heading}.** {{}}".format)(body) for heading, body in parts.items()]
    lines += _methods(class_of(name), [each for each in class_of(name).__mro__ if each.__module__ in _READABLE])
    return "\n\n".join(line for line in lines if line)


def describe_object(module: str, name: str, thing: Any) -> str:
    """The entry of a function or class that is not in the registry."""
    if thing.__name__ != name:
        return f"## {module}.{name}\n\nAnother name of `{module}.{thing.__name__}`."
    parts = sections(inspect.getdoc(thing) or "")
    lines = [f"## {module}.{name}", _signature(name, thing), _prose(parts.pop(""))]
    written = {"Examples": _example, "References": _references}
    for heading, body in parts.items():
        lines.append(written[heading](body) if heading in written else f"**{heading}**\n\n{_definitions(body)}")
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        lines += _methods(thing, _owners(thing))
    return "\n\n".join(line for line in lines if line)


def _signature(name: str, thing: Any) -> str:
    """The signature without type annotations."""
    if inspect.isclass(thing) and (issubclass(thing, BaseException) or _is_abstract(thing)):
        return ""
    try:
        signature = inspect.signature(thing)
    except (ValueError, TypeError):
        return ""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    called = f"{name}{signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)}"
    if len(called) > 100:
        shown, star = [], False
        for parameter in bare:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
                shown.append("*")
            star = star or parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
            shown.append(str(parameter))
        called = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + ")"
    # Write a default that is a class or a function by its name, since its `repr` is not valid Python.
    called = re.sub(r"<(?:class|function) '?(?:\w+\.)*(\w+)'?[^>]*>", r"\1", called)
    return f"```python\n{called}\n```"


def _is_abstract(kind: type) -> bool:
    """Whether the class is not called by users: a base class without parameters, or a returned record."""
    return any(_fields(kind).values()) or kind.__module__ == "millstream.base"


def _fields(kind: type) -> dict[str, str]:
    """The fields of a record, each with its description from the preceding comment."""
    if not dataclasses.is_dataclass(kind):
        return {}
    source = inspect.getsource(kind)
    words = {name: text for text, name in re.findall(r"#: (.*)\n    (\w+):", source)}
    return {field.name: words.get(field.name, "") for field in dataclasses.fields(kind) if field.name[0] != "_"}


def _owners(kind: type) -> list[type]:
    """A class and its base classes, except for those that have their own entry in the reference."""
    shown = {getattr(importlib.import_module(f"millstream.{module}"), name) for module, name in public()}
    ours = (each for each in kind.__mro__ if each.__module__.startswith("millstream."))
    above = shown.intersection(kind.__mro__) - {kind}
    return [each for each in ours if each is kind or not any(issubclass(other, each) for other in above)]


def _methods(kind: type, owners: list[type]) -> Iterator[str]:
    """A table of fields and public methods, with the first sentence of each docstring."""
    fields = _fields(kind)
    rows = [f"| `{name}` | {_cell(words)} |" for name, words in fields.items() if words]
    for name in sorted({name for owner in owners for name in vars(owner) if not name.startswith("_")}):
        if not hasattr(kind, name):
            continue  # a verb that the class lacks, or a parameter, which has a section of its own
        thing = inspect.getattr_static(kind, name)
        called = getattr(kind, name)
        words = inspect.getdoc(called) or ""
        if isinstance(thing, (property, cached_property)):
            shown = name
        elif callable(called):
            try:
                parameters = [each for each in inspect.signature(called).parameters if each != "self"]
            except (ValueError, TypeError):
                parameters = []
            shown = f"{name}({', '.join(parameters)})"
        else:
            continue
        if words and name not in fields and words != inspect.getdoc(type(called)):
            first = " ".join(words.split("\n\n")[0].split())
            rows.append(f"| `{shown}` | {_cell(first)} |")
    if rows:
        yield "| name | |\n|---|---|\n" + "\n".join(rows)


def _cell(words: str) -> str:
    """Text escaped for a table cell."""
    return words.replace("|", "\\|")


def _definitions(body: str) -> str:
    """A docstring section of names and indented descriptions as a list; lists in a description are nested."""
    lines: list[str] = []
    for line in body.splitlines():
        if line.startswith("    - ") and lines:
            lines.append(f"  {line.strip()}")
        elif line.startswith("    ") and lines:
            lines[-1] += f" {line.strip()}"
        elif line:
            lines.append(f"- `{line}`:")
    return "\n".join(line.removesuffix(":") if line.endswith("`:") else line for line in lines)


@cache
def public() -> list[tuple[str, str]]:
    """The public functions and classes that are not in the registry."""
    return [(module, name) for module, (_, others) in contents().items() for name in others]


def contents() -> dict[str, tuple[list[str], list[str]]]:
    """The components and the other public functions and classes of each module."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    parts = find()
    for module in modules():
        loaded = importlib.import_module(f"millstream.{module}")
        own = [name for name in parts if name.rpartition(".")[0] == module]
        known = {name.rpartition(".")[2] for name in own}
        others = [
            name
            for name in getattr(loaded, "__all__", ())
            if name not in known and (inspect.isfunction(thing := getattr(loaded, name)) or inspect.isclass(thing))
        ]
        if own or others:
            found[module] = (own, others)
    return found


def linked(text: str, home: str, places: dict[str, str]) -> str:
    """Link component names in the prose to their entries; code stays unchanged."""

    def link(match: re.Match[str]) -> str:
        module = places.get(match[1])
        if module is None:
            return match[0]
        page = "" if module == home else f"{module}.md"
        return f"[{match[0]}]({page}#{anchor(match[1])})"

    pieces = re.split(r"(^```.*?^```|^#+ .*?$)", text, flags=re.DOTALL | re.MULTILINE)
    pattern = r"(?<!\[)`([A-Za-z_]+\.[A-Za-z_0-9]+)(?:\([^`]*\))?`"
    return "".join(piece if piece.startswith(("```", "#")) else re.sub(pattern, link, piece) for piece in pieces)


def reference() -> dict[Path, str]:
    """All pages of the reference: an overview, and a page for each module."""
    modules = contents()
    places = {name: module for module, (parts, _) in modules.items() for name in parts}
    places |= {f"{module}.{name}": module for module, (_, others) in modules.items() for name in others}
    index = [
        "# Reference",
        "Every component with its parameters, an example that runs as a test, and its paper. Generated by "
        "`make docs` from the registry and the docstrings. In a shell, use `millstream list` and "
        "`millstream describe NAME`.",
    ]
    pages: dict[Path, str] = {}
    for module, (parts, others) in modules.items():
        loaded = importlib.import_module(f"millstream.{module}")
        words = sections(inspect.getdoc(loaded) or "")
        example = words.get("Examples")
        page = [f"# {module}", _prose(words[""]), _example(example) if example else ""]
        page += [describe_part(name) for name in parts]
        page += [describe_object(module, name, getattr(loaded, name)) for name in others]
        pages[MODULES / f"{module}.md"] = linked("\n\n".join(text for text in page if text) + "\n", module, places)
        rows = ["| name | |", "|---|---|"]
        rows += [_row(module, name, entry(name)["words"]) for name in parts]
        rows += [_row(module, f"{module}.{name}", _first_words(name, getattr(loaded, name))) for name in others]
        first = words[""].split("\n\n")[0].replace("\n", " ")
        index += [f"## [{module}](reference/{module}.md)", first, "\n".join(rows)]
    pages[REFERENCE] = "\n\n".join(index) + "\n"
    return pages


def _row(module: str, name: str, words: str) -> str:
    return f"| [`{name.rpartition('.')[2]}`](reference/{module}.md#{anchor(name)}) | {_cell(words)} |"


def _first_words(name: str, thing: Any) -> str:
    """The first sentence of a docstring."""
    if thing.__name__ != name:
        return f"Another name of {thing.__name__}"
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\. |\.$", text)[0]


def glossary() -> str:
    """Every parameter name, with its description and the components that have it."""
    uses: dict[str, dict[str, list[str]]] = {}
    for name in find():
        for parameter in entry(name)["parameters"]:
            uses.setdefault(parameter["name"], {}).setdefault(parameter["words"], []).append(name)
    lines = [
        "# Names",
        "Parameters with the same meaning have the same name; a new component uses these names where they fit. "
        "Generated by `make docs` from the registry.",
        "Names of data: `x` one example, `X` many, `y` target, `w` sample weight. Former names of parameters, and "
        "many names of River and scikit-learn, are accepted as well (`lr` for `learning_rate`).",
    ]
    rows = ["| name | meaning | used by |", "|---|---|---|"]
    for name, meanings in sorted(uses.items()):
        for words, parts in meanings.items():
            shown = ", ".join(parts[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")
            rows.append(f"| `{name}` | {_cell(words)} | {shown} |")
    return "\n\n".join([*lines, "\n".join(rows)]) + "\n"


def pages() -> list[Path]:
    """All Markdown pages of the project."""
    folders = (".", "docs", "docs/notes", "docs/reference", "benchmarks", "examples")
    return sorted(path for folder in folders for path in (TOP / folder).glob("*.md"))


def anchor(heading: str) -> str:
    """The anchor of a heading in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """The anchors of all headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def _without_code(text: str) -> str:
    # The text of a link may itself be code: [`Stream`](stream.md).
    return re.sub(r"```.*?```|(?<!\[)`[^`\n]*`", "", text, flags=re.DOTALL)


def broken_links() -> list[str]:
    """Broken links within the project."""
    broken = []
    for page in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, place = target.partition("#")
            aim = (page.parent / path) if path else page
            if not aim.exists() or (place and place not in anchors(aim)):
                broken.append(f"{page.relative_to(TOP)}: {target}")
    return broken


def undocumented() -> list[str]:
    """Components and public names without a docstring."""
    missing = [name for name in find() if not inspect.getdoc(class_of(name))]
    for module, name in public():
        if not inspect.getdoc(getattr(importlib.import_module(f"millstream.{module}"), name)):
            missing.append(f"{module}.{name}")
    return missing


def main() -> int:
    """Write the pages and check them; returns 1 if a check failed."""
    written = {**reference(), NAMES: glossary()}
    MODULES.mkdir(exist_ok=True)
    for gone in set(MODULES.glob("*.md")) - set(written):
        gone.unlink()
    for page, text in written.items():
        page.write_text(text)
    problems = [f"broken link: {link}" for link in broken_links()]
    problems += [f"no docstring: {name}" for name in undocumented()]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"wrote the reference of {len(find())} components; all links of {len(pages())} pages are valid")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
