"""The code of the front pages and of the guide runs, and prints what they say.

The blocks of a page run in their order, in one folder. What a comment behind `print(...)` says must be printed; so
must a block of text that follows, in which `...` stands for any text, and seconds, rates and sizes for any. Shell
commands run if all of them are `millstream`.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((TOP / "docs").glob("*.md")))]


def blocks(page):
    """The language and the code of each block, with the text that is shown as its output (or None)."""
    if page == "docs/reference.md":
        return []
    pattern = r"^```(python|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    found = re.findall(pattern, (TOP / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    return [(language, code, shown or None) for language, code, shown in found]


def run_python(code, page, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def run_shell(code, folder):
    commands = [line for line in code.replace("\\\n", "").splitlines() if line and not line.startswith("#")]
    if not all(re.match(r"(cat [^|]*\| )?millstream ", line) for line in commands):
        return None
    program = folder / "programs" / "millstream"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom millstream.cli import main\nsys.exit(main())\n")
    program.chmod(0o755)
    paths = [str(TOP / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PATH": os.pathsep.join([str(program.parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(paths),
        "COLUMNS": "120",
    }
    done = subprocess.run(["bash", "-euc", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{code}{done.stdout}{done.stderr}"
    return done.stdout


def without_clock(shown):
    """A text in which what depends on the machine or the version is `...`: seconds, rates, sizes."""
    lines, end = [], None
    for line in shown.strip("\n").splitlines():
        if end is not None:
            line = re.sub(r"(?<= )[\d,]+$", "...", line[:end]) + line[end:]
        rates = re.search(r"  rows/s(?=  |$)", line)
        end = rates.end() if rates else end if line else None
        line = re.sub(r"[\d.,]+(?= s\b| rows/s)", "...", line)
        lines.append(re.sub(r"[\d.,]+ (?:bytes|B|kB|MB)(?!\w)", "...", line))
    return "\n".join(lines)


def same(printed, shown):
    pieces = re.split(r"\.\.\.", re.sub(" +", " ", without_clock(shown)))
    pattern = r".*?".join(re.escape(piece) for piece in pieces)
    printed = "\n".join(line.rstrip() for line in re.sub(" +", " ", printed).strip("\n").splitlines())
    assert re.fullmatch(pattern, printed, flags=re.DOTALL), f"printed:\n{printed}\nshown:\n{shown}"


#: Pages whose code takes more than half a second.
SLOW = {
    f"docs/{name}.md"
    for name in (
        "coming_from_scikit_learn",
        "coming_from_vw",
        "command_line",
        "concepts",
        "online_convex_optimisation",
        "papers",
        "quick_start",
        "recipes",
    )
}


@pytest.mark.parametrize("page", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PAGES])
def test_code_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A module, in which pickle finds the classes of the page.
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    names = vars(module)
    for language, code, shown in blocks(page):
        printed = run_python(code, page, names) if language == "python" else run_shell(code, tmp_path)
        if printed is None:
            continue
        assert language == "python" or printed or "--quiet" in code
        said = re.findall(r"print\(.*\)  # (.*)", code) if language == "python" else []
        if said:
            assert [line.rstrip() for line in printed.splitlines()] == said
        if shown is not None:
            same(printed, shown)


RECIPES = re.split(r"^### (.*)$", (TOP / "docs/recipes.md").read_text(), flags=re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "text"), list(zip(RECIPES[1::2], RECIPES[2::2], strict=True)))
def test_a_recipe_runs_alone_after_the_shared_table(title, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for code in re.findall(r"^```python\n(.*?)^```$", RECIPES[0] + text, flags=re.DOTALL | re.MULTILINE):
        run_python(code, title, vars(module))


def test_recipes_are_in_groups():
    groups = re.findall(r"^## (.*)$", "".join(RECIPES), flags=re.MULTILINE)
    assert 5 <= len(groups) <= 12
    assert len(RECIPES[1::2]) > 4 * len(groups)


def test_the_readme_has_code():
    assert blocks("README.md")
