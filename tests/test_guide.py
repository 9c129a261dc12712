"""The guide: its pictures can be drawn anew, and its site is made without a warning."""

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TOP = Path(__file__).parent.parent
DOCS = TOP / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_pictures_can_be_drawn_anew_and_are_all_shown(tmp_path):
    pictures = script("pictures")
    drawn = pictures.main(tmp_path / "first", rows=1000)
    assert {path.name for path in drawn} == {path.name for path in (DOCS / "pictures").iterdir()}
    assert all(path.read_text().rstrip().endswith("</svg>") for path in drawn)
    shown = {name for page in DOCS.glob("*.md") for name in re.findall(r"\(pictures/(\S+?)\)", page.read_text())}
    assert shown == {path.name for path in drawn}
    again = pictures.main(tmp_path / "second", rows=1000)
    assert [path.read_bytes() for path in drawn] == [path.read_bytes() for path in again]


@pytest.mark.slow
def test_the_recorded_terminal_of_the_readme_is_current():
    terminal = script("terminal")
    assert "(docs/terminal.svg)" in (TOP / "README.md").read_text()

    def words(picture):
        texts = "\n".join(ElementTree.fromstring(picture).itertext())
        # Seconds, rates and sizes.
        return re.sub(r"[\d.,]+(?= s\b| rows/s| kB)", "", texts)

    assert words(terminal.drawn(terminal.record())) == words(terminal.PICTURE.read_text())


@pytest.mark.slow
def test_the_site_is_made_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    command = [sys.executable, DOCS / "render.py", tmp_path / "site"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    front = (tmp_path / "site" / "index.html").read_text()
    for page in DOCS.glob("*.md"):
        assert (tmp_path / "site" / f"{page.stem}.html").exists()
        assert page.stem == "index" or f'href="{page.stem}.html"' in front
    # Pages link to each other, not to files of the repository.
    pages = list((tmp_path / "site").glob("**/*.html"))
    assert [page for page in pages if re.search(r'href="[^":]*\.(md|py)["#]', page.read_text())] == []


def test_links_are_adapted_to_the_site():
    render = script("render")
    known = {
        DOCS / "index.md": "index.md",
        DOCS / "a" / "b.md": "a/b.md",
        TOP / "examples/spam.py": "examples/spam.md",
    }
    text = "[up](../index.md#top) [same](b.md) [example](../../examples/spam.py) [gone](../../Makefile) [web](http://x)"
    adapted = render.with_site_links(text, DOCS / "a" / "b.md", "a/b.md", known)
    assert adapted == "[up](../index.md#top) [same](b.md) [example](../examples/spam.md) gone [web](http://x)"
    assert (
        render.with_site_links("```\n[x](y.md)\n```", DOCS / "a" / "b.md", "a/b.md", known)
        == "```\n[x](y.md)\n```"
    )


def test_one_page_names_a_component_for_each_question():
    page = (DOCS / "which_component.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\((which_\w+\.md)\)", page))
    assert linked == {path.name for path in DOCS.glob("which_*.md")} - {"which_component.md"}
    for module, name in re.findall(r"`([a-z_]+)\.([A-Z]\w*)", page):
        assert hasattr(importlib.import_module(f"millstream.{module}"), name), name
