"""The demo notebook runs from top to bottom, and prints what is stored in it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
NOTEBOOK = TOP / "examples" / "demo.ipynb"


def script():
    spec = importlib.util.spec_from_file_location("demo_notebook", TOP / "docs" / "demo_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(cell):
    """The text of a cell's outputs, without rates and sizes, which depend on the machine."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    text = re.sub(r"[\d,.]+ +[\d.,]+ (B|kB|MB)", "", "".join("".join(text) for text in texts))
    return re.sub(" +", " ", text)


@pytest.mark.slow
def test_the_cells_run_and_show_what_is_stored():
    stored = json.loads(NOTEBOOK.read_text())
    made = script().notebook()
    assert [cell["source"] for cell in stored["cells"]] == [cell["source"] for cell in made["cells"]]
    codes = [(old, new) for old, new in zip(stored["cells"], made["cells"], strict=True) if "outputs" in new]
    assert len(codes) >= 6
    for old, new in codes:
        assert shown(old) == shown(new)


def test_the_stored_result_is_visible_without_style_and_is_small():
    stored = json.loads(NOTEBOOK.read_text())
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    pages = [
        "".join(output["data"]["text/html"])
        for cell in stored["cells"]
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert any("data:image/" in page for page in pages)
    assert NOTEBOOK.stat().st_size < 100_000
