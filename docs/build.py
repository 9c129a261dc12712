"""Write docs/reference.md, docs/reference/ and docs/names.md, and check every link: the first step of `make docs`.

The parts come from the registry, and the rest from the public names of the package's modules, so what is added to
either is in the reference at the next run.
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
from functools import cache
from pathlib import Path
from typing import Any

import millstream
from millstream.registry import Entry, class_of, entry, find

TOP = Path(__file__).resolve().parent.parent
REFERENCE = TOP / "docs" / "reference.md"
MODULES = TOP / "docs" / "reference"
NAMES = TOP / "docs" / "names.md"

#: The command line has a page of its own; the demo is what `millstream demo` runs.
ELSEWHERE = ("cli", "demo")

#: What parts can do beyond the verbs that all have.
_READABLE = ("millstream.tree.readable", "millstream.forest", "millstream.drift.retrain")


def modules() -> list[str]:
    """The public modules of the package."""
    found = (module.name for module in pkgutil.iter_modules(millstream.__path__))
    return sorted(name for name in found if not name.startswith("_") and name not in ELSEWHERE)


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


def _prose(text: str) -> str:
    """Words, in which an example that has no heading is code all the same."""
    return re.sub(r"^>>> .*(?:\n.+)*", lambda example: _example(example[0]), text, flags=re.MULTILINE)


def _references(text: str) -> str:
    """A list of papers: each begins with its authors and a year."""
    papers: list[str] = []
    for line in text.splitlines():
        if papers and not re.match(r"[^a-z].*?\(\d{4}", line):
            papers[-1] += f" {line.strip()}"
        elif line:
            papers.append(line)
    return "**References**\n\n" + "\n".join(f"- {paper}" for paper in papers)


def _parameters(declared: Entry) -> Iterator[str]:
    if not declared["parameters"]:
        return
    yield "| parameter | must be | default | |"
    yield "|---|---|---|---|"
    for parameter in declared["parameters"]:
        default = parameter["default"]
        if isinstance(default, dict) and set(default) == {"name"}:
            default = default["name"]
        plain = f"{default:g}" if isinstance(default, float) and abs(default) >= 1e6 else json.dumps(default)
        shown = "required" if parameter["required"] else f"`{plain}`"
        cells = (f"`{parameter['name']}`", parameter["must_be"], shown, parameter["words"])
        yield "| " + " | ".join(map(_cell, cells)) + " |"


def describe_part(name: str) -> str:
    """One part of the registry."""
    declared = entry(name)
    parts = sections(inspect.getdoc(class_of(name)) or "")
    lines = [
        f"## {name}",
        f"*{declared['role'].replace('_', ' ')}*",
        _prose(parts.pop("")),
        "\n".join(_parameters(declared)),
    ]
    parts.pop("Parameters", None)
    written = {"Examples": _example, "References": _references}
    lines += [written.get(heading, f"**{heading}.** {{}}".format)(body) for heading, body in parts.items()]
    lines += _methods(class_of(name), [each for each in class_of(name).__mro__ if each.__module__ in _READABLE])
    return "\n\n".join(line for line in lines if line)


def describe_object(module: str, name: str, thing: Any) -> str:
    """A function or a class that is not in the registry."""
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
    """How it is called, without the types, which are a click away in the source."""
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
    # A default that is a class or a function by its name: what `repr` gives is no Python.
    called = re.sub(r"<(?:class|function) '?(?:\w+\.)*(\w+)'?[^>]*>", r"\1", called)
    return f"```python\n{called}\n```"


def _is_abstract(kind: type) -> bool:
    """Whether nobody calls it: a base class without parameters, or a record that functions give back."""
    return any(_fields(kind).values()) or kind.__module__ == "millstream.base"


def _fields(kind: type) -> dict[str, str]:
    """The fields of a record, with the words of the comment before each."""
    if not dataclasses.is_dataclass(kind):
        return {}
    source = inspect.getsource(kind)
    words = {name: text for text, name in re.findall(r"#: (.*)\n    (\w+):", source)}
    return {field.name: words.get(field.name, "") for field in dataclasses.fields(kind) if field.name[0] != "_"}


def _owners(kind: type) -> list[type]:
    """The classes above one, and itself, that are not shown elsewhere in the reference."""
    shown = {getattr(importlib.import_module(f"millstream.{module}"), name) for module, name in public()}
    ours = (each for each in kind.__mro__ if each.__module__.startswith("millstream."))
    above = shown.intersection(kind.__mro__) - {kind}
    return [each for each in ours if each is kind or not any(issubclass(other, each) for other in above)]


def _methods(kind: type, owners: list[type]) -> Iterator[str]:
    """Fields, and the first words of the public methods of some of its classes."""
    fields = _fields(kind)
    rows = [f"| `{name}` | {_cell(words)} |" for name, words in fields.items() if words]
    for name in sorted({name for owner in owners for name in vars(owner) if not name.startswith("_")}):
        thing = inspect.getattr_static(kind, name)
        called = getattr(kind, name)
        words = inspect.getdoc(called) or ""
        if isinstance(thing, property):
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
    """Words as they may stand in a table."""
    return words.replace("|", "\\|")


def _definitions(body: str) -> str:
    """The `name` / indented words of a docstring's section as a list; a list in the words is one below it."""
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
    """The public functions and classes that are in no registry."""
    return [(module, name) for module, (_, others) in contents().items() for name in others]


def contents() -> dict[str, tuple[list[str], list[str]]]:
    """For each module: the names of its parts, and its other public functions and classes."""
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
    """Names of parts in the prose as links to their words; code stays as it is."""

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
    """All pages of the reference: what each module has, and a page for each module."""
    modules = contents()
    places = {name: module for module, (parts, _) in modules.items() for name in parts}
    places |= {f"{module}.{name}": module for module, (_, others) in modules.items() for name in others}
    index = [
        "# Reference",
        "Every part, with its parameters, an example that runs as a test, and its paper. Written by `make docs` "
        "from the registry and the docstrings. From a shell: `millstream list`, `millstream describe NAME`.",
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
            rows.append(f"| `{name}` | {_cell(words)} | {shown} |")
    return "\n\n".join([*lines, "\n".join(rows)]) + "\n"


def pages() -> list[Path]:
    """Every page of the project."""
    folders = (".", "docs", "docs/notes", "docs/reference", "benchmarks", "examples")
    return sorted(path for folder in folders for path in (TOP / folder).glob("*.md"))


def anchor(heading: str) -> str:
    """What a heading is called in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def _without_code(text: str) -> str:
    # What is shown by a link may itself be code: [`Stream`](stream.md).
    return re.sub(r"```.*?```|(?<!\[)`[^`\n]*`", "", text, flags=re.DOTALL)


def broken_links() -> list[str]:
    """Links inside the project that lead nowhere."""
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
    """Parts and public names without words."""
    missing = [name for name in find() if not inspect.getdoc(class_of(name))]
    for module, name in public():
        if not inspect.getdoc(getattr(importlib.import_module(f"millstream.{module}"), name)):
            missing.append(f"{module}.{name}")
    return missing


def main() -> int:
    """Write and check; the exit code says whether there were complaints."""
    written = {**reference(), NAMES: glossary()}
    MODULES.mkdir(exist_ok=True)
    for gone in set(MODULES.glob("*.md")) - set(written):
        gone.unlink()
    for page, text in written.items():
        page.write_text(text)
    complaints = [f"a link leads nowhere: {link}" for link in broken_links()]
    complaints += [f"no docstring: {name}" for name in undocumented()]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(f"the reference and the glossary: {len(find())} parts; the links of {len(pages())} pages hold")
    return min(len(complaints), 1)


if __name__ == "__main__":
    sys.exit(main())
