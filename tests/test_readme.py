"""The code on the front pages runs, and prints what it says."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((TOP / "docs").glob("*.md")))]


def blocks(page):
    """Python code of a page, except in the reference, whose examples are doctests already."""
    if page == "docs/reference.md":
        return []
    return re.findall(r"^```python\n(.*?)^```", (TOP / page).read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_code_runs_and_prints_what_its_comments_say(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        capsys.readouterr()
        exec(compile(block, page, "exec"), names)
        printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        said = re.findall(r"print\(.*\)  # (.*)", block)
        if said:
            assert printed == said


def test_the_readme_has_code():
    assert blocks("README.md")
