"""Write examples/demo.ipynb with the outputs of its cells: `python docs/demo_notebook.py`.

No Jupyter is needed: each cell is executed here, and the value of its last line is displayed as a notebook would.
`tests/test_demo_notebook.py` executes the cells again; continuous integration also runs the file with Jupyter.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent.parent / "examples" / "demo.ipynb"

#: Cells in order. A cell that starts with "#" and a space is text.
CELLS = (
    """# millstream in ten minutes
A stream of loan applications: numbers, categories, and a rule that changes after 10,000 rows. Each model predicts
a row before it learns it, so that no test set is needed.""",
    """from millstream import evaluate, forest, linear_model, preprocessing, stream, synth, tree

before, after = synth.Agrawal(classification_function=1), synth.Agrawal(classification_function=2)
rows = synth.Drift(before, after, position=10_000, width=1).take(20_000)
x, y = next(iter(rows))
x""",
    """# What is in the stream?
`stream.profile` lists the columns by kind, missing values, the target, and probable mistakes. With a file, use
`stream.read_csv("data.csv", target="late")`.""",
    """stream.profile(rows, 5_000)""",
    """# Compare models in one pass
Each label arrives 100 rows late. `best constant` is the score of the best constant prediction: a useful model
beats it.""",
    """models = {
    "linear": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "forest": forest.ARFClassifier(n_models=10, seed=1),
    "tree": tree.HoeffdingTreeClassifier(),
}
results = evaluate.prequential(models, rows, metrics=["LogLoss", "Accuracy"], delay=100, progress=False)
results""",
    """# Is the best model clearly ahead?
The intervals are those of paired blocks of rows.""",
    """print(results.differences())""",
    """# Why this prediction?
Contributions of the features, with the standard errors of a sampled estimate.""",
    """model = results["forest"].model
print(model.explain_one(x))""",
    """# Save and continue
A model that is loaded and continued is bit-identical to one that never stopped.""",
    """import millstream

data = model.to_bytes()
again = millstream.from_bytes(data)
again.learned, again.predict_one(x), again.to_bytes() == data""",
)


def executed(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last expression (None if there is none)."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    printed, value = executed(source, names)
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def notebook() -> dict[str, Any]:
    """The notebook with its outputs."""
    cells: list[dict[str, Any]] = []
    names: dict[str, Any] = {}
    count = 0
    for place, source in enumerate(CELLS):
        cell: dict[str, Any] = {"id": f"cell-{place}", "metadata": {}, "source": source.splitlines(keepends=True)}
        if source.startswith("# "):
            cells.append({"cell_type": "markdown", **cell})
            continue
        count += 1
        outputs = _outputs(source, names, count)
        cells.append({"cell_type": "code", "execution_count": count, "outputs": outputs, **cell})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def main(path: Path = NOTEBOOK) -> None:
    """Write the notebook."""
    path.write_text(json.dumps(notebook(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
