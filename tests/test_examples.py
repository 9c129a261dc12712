"""Every example runs, with few rows where it takes a number of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
EXAMPLES = sorted((TOP / "examples").glob("*.py"))


def run(example, folder, *arguments):
    paths = [str(TOP / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, example, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    known = {"--rows": "5000", "--out": str(tmp_path)}
    known |= {"--mails": "60", "--queries": "800", "--answers": "6000"}
    known |= {"--sensors": "2000", "--seconds": "40", "--rate": "20000", "--every": "0.3"}
    arguments = [word for pair in known.items() if f'"{pair[0]}"' in example.read_text() for word in pair]
    done = run(example, tmp_path, *arguments)
    if example.stem in ("spam", "sentence_encoder", "spam_on_embeddings") and "is not here" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout


def test_the_quick_start_writes_its_page(tmp_path):
    run(TOP / "examples" / "quick_start.py", tmp_path, "--rows", "5000", "--out", "here")
    page = (tmp_path / "here" / "quick_start.html").read_text()
    assert "Gaussian naive Bayes" in page
    assert "</html>" in page
