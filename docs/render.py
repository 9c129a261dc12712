"""Build the site in build/docs from all pages of the project: the last step of `make docs`.

The pages are written for a code host, with plain links from file to file, including links out of docs/. They are
collected in one folder, with the links adapted; examples become pages that show their code. A Sphinx warning is an
error.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
TOP = HERE.parent

#: Pages outside docs/, with their names on the site; docs/index.md is the front page.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "results.md",
    "examples": "examples.md",
    "examples/README.md": "examples.md",
}


def site_paths() -> dict[Path, str]:
    """The path of each page and example on the site."""
    found = {TOP / source: name for source, name in OUTSIDE.items() if (TOP / source).exists()}
    found |= {path: path.relative_to(HERE).as_posix() for path in HERE.glob("**/*.md")}
    found |= {path: f"examples/{path.stem}.md" for path in (TOP / "examples").glob("*.py")}
    return found


def with_site_links(text: str, source: Path, name: str, known: dict[Path, str]) -> str:
    """The text of a page with links adapted to the site; a link to a file outside the site becomes plain text."""

    def adapt(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, fragment = target.partition("#")
        aim = Path(os.path.normpath(source.parent / path))
        if aim in known:
            link = os.path.relpath(known[aim], Path(name).parent) + (f"#{fragment}" if fragment else "")
            return f"[{words}]({link})"
        return words

    pieces = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        piece if piece.startswith("```") else re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", adapt, piece)
        for piece in pieces
    )


def example_page(path: Path) -> str:
    """A page with the docstring and the code of an example."""
    text = path.read_text()
    words = ast.get_docstring(ast.parse(text)) or path.stem
    title = path.stem.replace("_", " ").capitalize()
    return f"# {title}\n\n{words}\n\n`examples/{path.name}`\n\n```python\n{text}```\n"


def gather(folder: Path) -> None:
    """Collect all pages in one folder."""
    shutil.rmtree(folder, ignore_errors=True)
    known = site_paths()
    for source, name in known.items():
        if source.is_dir() or source == TOP / "README.md":
            continue
        aim = folder / name
        aim.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".py":
            aim.write_text(example_page(source))
        else:
            aim.write_text(with_site_links(source.read_text(), source, name, known))
    if not (folder / "examples.md").exists():
        (folder / "examples.md").write_text(examples_page(folder))
    shutil.copytree(HERE / "pictures", folder / "pictures", dirs_exist_ok=True)
    with (folder / "index.md").open("a") as index:
        index.write(tree(folder))


def examples_page(folder: Path) -> str:
    """The list of examples."""
    lines = ["# Examples", "Each example is a short, complete script, which the tests run.", ""]
    for page in sorted((folder / "examples").glob("*.md")):
        title, words = page.read_text().split("\n\n")[:2]
        lines.append(f"- [{title.removeprefix('# ')}](examples/{page.name}): {words}")
    return "\n".join([lines[0], "", *lines[1:]]) + "\n"


def tree(folder: Path) -> str:
    """The sidebar: the pages under the headings of the front page, in the same order."""
    text, listed = "", {"index"}
    for section in (folder / "index.md").read_text().split("\n## ")[1:]:
        names = [name for name in re.findall(r"\]\((\w+(?:/index)?)\.md\)", section) if name not in listed]
        listed |= set(names)
        text += _toctree(names, f":caption: {section.partition(chr(10))[0]}\n") if names else ""
    if missing := {page.stem for page in folder.glob("*.md")} - listed:
        raise SystemExit(f"docs/index.md has no link to {', '.join(sorted(missing))}")
    for parent in ("reference", "examples"):
        children = sorted(f"{parent}/{page.stem}" for page in (folder / parent).glob("*.md"))
        with (folder / f"{parent}.md").open("a") as page:
            page.write(_toctree(children))
    notes = folder / "notes" / "index.md"
    listed_notes = re.findall(r"\]\((\w+)\.md\)", notes.read_text())
    if missing := {page.stem for page in notes.parent.glob("*.md")} - {"index", *listed_notes}:
        raise SystemExit(f"docs/notes/index.md has no link to {', '.join(sorted(missing))}")
    with notes.open("a") as page:
        page.write(_toctree(listed_notes))
    return text


def _toctree(names: list[str], options: str = "") -> str:
    return f"\n```{{toctree}}\n:hidden:\n{options}\n{chr(10).join(names)}\n```\n"


def main(out: str = "build/docs") -> int:
    """Collect the pages and build the site; returns the exit code of Sphinx."""
    aim = TOP / out
    pages = aim.parent / f"{aim.name}-pages"
    gather(pages)
    shutil.rmtree(aim, ignore_errors=True)
    arguments = ["-W", "--keep-going", "-q", "-E", "-j", "auto", "-c", str(HERE)]
    code = build_main([*arguments, "-d", str(aim.parent / f"{aim.name}-trees"), str(pages), str(aim)])
    if code == 0:
        print(f"the site is in {Path(os.path.relpath(aim / 'index.html'))}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
