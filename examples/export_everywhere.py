"""One model in Node, Java and C: a forest that learned a stream in Python predicts the same in other languages.

Languages whose runtime is not here are skipped. Node needs the package onnxruntime-node in NODE_PATH, Java needs
onnxruntime's jar in CLASSPATH, C needs a compiler.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from millstream import export, forest

SOURCES = Path(__file__).parent / "export"


def learned(rows: int) -> tuple[Any, np.ndarray[Any, Any]]:
    """A forest that has learned a stream with missing numbers, and rows to predict."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 10))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    X[random.random(X.shape) < 0.02] = np.nan
    model = forest.ARFClassifier(n_models=10)
    model.learn_many(X, y)
    return model, X[:1000]


def commands(folder: Path) -> dict[str, list[str] | None]:
    """What runs the model in each language; None where it is not here."""
    onnx, rows = str(folder / "model.onnx"), str(folder / "rows.csv")
    node, java, compiler = shutil.which("node"), shutil.which("java"), shutil.which("cc")
    has_node = any(Path(path, "onnxruntime-node").exists() for path in os.environ.get("NODE_PATH", "").split(":"))
    has_java = "onnxruntime" in os.environ.get("CLASSPATH", "")
    found: dict[str, list[str] | None] = dict.fromkeys(("Node", "Java", "C"))
    if node and has_node:
        found["Node"] = [node, str(SOURCES / "predict.mjs"), onnx, rows]
    if java and has_java:
        found["Java"] = [java, str(SOURCES / "Predict.java"), onnx, rows]
    if compiler:
        program = str(folder / "predict")
        sources = [str(SOURCES / "main.c"), str(folder / "model.c")]
        subprocess.run([compiler, "-std=c99", "-O2", *sources, "-o", program, "-lm"], check=True)
        found["C"] = [program]
    return found


def main() -> None:
    """Learn, export, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="rows to learn")
    given = parser.parse_args()
    model, X = learned(given.rows)
    ours = model.predict_proba_many(X)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export.onnx(model, folder / "model.onnx")
        export.c(model, folder / "model.c")
        lines = [",".join("NaN" if np.isnan(x) else repr(float(x)) for x in row) for row in X]
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        sizes = [(folder / file).stat().st_size // 1000 for file in ("model.onnx", "model.c")]
        print(f"A forest of 10 trees: {sizes[0]} kB of ONNX, {sizes[1]} kB of C.")
        if importlib.util.find_spec("onnxruntime"):
            print(f"  Python: {export.check(model, folder / 'model.onnx', X)}")
        for language, command in commands(folder).items():
            if command is None:
                print(f"  {language}: its runtime is not here")
                continue
            with (folder / "rows.csv").open() as rows:
                done = subprocess.run(command, stdin=rows, capture_output=True, text=True, check=True)
            theirs = np.array([line.split(",") for line in done.stdout.split()], dtype=np.float64)
            same = int((theirs.argmax(axis=1) == ours.argmax(axis=1)).sum())
            largest = np.abs(theirs - ours).max()
            print(f"  {language}: largest difference {largest:.1e}, {same:,} of {len(X):,} classes are the same")


if __name__ == "__main__":
    main()
