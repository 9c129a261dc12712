"""Comparison of an exported model with the model itself."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream._frames import dicts
from millstream.errors import InvalidValue, MissingData
from millstream.export.c_source import c_source
from millstream.export.onnx_file import metadata
from millstream.export.translation import Exported, translate

__all__ = ["Comparison", "check"]

#: Metadata that the inputs and outputs follow from.
_INTERFACE = {"role", "numbers", "strings", "labels", "features"}
#: Differences of probabilities within which either of the two best classes is right.
_TIE = 1e-9


@dataclass(frozen=True)
class Comparison:
    """The differences between a model and its export."""

    #: Number of compared rows.
    rows: int
    #: Largest difference; of numbers other than probabilities relative to their size.
    largest: float
    #: Number of rows with another class or cluster, without ties.
    labels: int

    @property
    def agrees(self) -> bool:
        """Whether all differences are at most 1e-9."""
        return self.largest <= _TIE and self.labels == 0

    def __str__(self) -> str:
        word = "agree" if self.agrees else "differ"
        return f"{self.rows:,} rows {word}: largest difference {self.largest:.1e}, {self.labels} other labels"


def check(model: Any, path: str | os.PathLike[str], X: Any) -> Comparison:
    """Predict rows with a model and with its export, and report the largest difference.

    An ONNX file is run by onnxruntime (`pip install onnxruntime`), a C file is compiled with `cc` first.

    Parameters
    ----------
    model
        The model as it was exported.
    path
        File that `export.onnx` or `export.c` wrote; a C file with the default name.
    X
        Rows: a frame, a matrix, an Arrow table, or a list of dicts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from millstream import export, tree
    >>> stream = np.random.default_rng(0)
    >>> X = stream.normal(size=(2000, 3))
    >>> model = tree.HoeffdingTreeClassifier()
    >>> _ = model.learn_many(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tree.onnx")
    ...     export.onnx(model, path)
    ...     export.check(model, path, X).agrees
    True
    """
    exported = translate(model)
    rows = list(dicts(X))
    numbers, strings = _inputs(exported, rows)
    suffix = Path(path).suffix
    if suffix in (".onnx", ".c") and not Path(path).is_file():
        raise FileNotFoundError(f"export.check: there is no file {quoted(str(path))}")
    if suffix == ".onnx":
        theirs = _by_onnx(Path(path), exported, numbers, strings)
    elif suffix == ".c":
        theirs = _by_c(Path(path), exported, numbers, strings)
    else:
        raise InvalidValue(f"export.check: path must end with .onnx or .c, got {quoted(str(path))}")
    return _compare(model, exported, rows, theirs)


def _inputs(exported: Exported, rows: list[dict[Any, Any]]) -> tuple[np.ndarray[Any, Any], list[list[str | None]]]:
    """The two inputs."""

    def number(value: Any) -> float:
        return float("nan") if value is None else float(value)

    numbers = [[number(row.get(name)) for name in exported.numbers] for row in rows]
    strings = [[_text(row.get(name)) for name in exported.strings] for row in rows]
    return np.array(numbers, dtype=np.float64).reshape(len(rows), len(exported.numbers)), strings


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _by_onnx(path: Path, exported: Exported, numbers: Any, strings: list[list[str | None]]) -> dict[str, Any]:
    try:
        import onnxruntime
    except ImportError:
        raise MissingData("export.check: ONNX files need onnxruntime: pip install onnxruntime") from None
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InvalidValue(f"export.check: onnxruntime refused {path}: {str(error)[:500]}") from None
    about = session.get_modelmeta().custom_metadata_map
    if any(about.get(key) != value for key, value in metadata(exported).items() if key in _INTERFACE):
        raise _other(path)
    wanted = {each.name for each in session.get_inputs()}
    given = {}
    if "numbers" in wanted:
        given["numbers"] = numbers
    if "strings" in wanted:
        filled = [[text or "" for text in row] for row in strings]
        given["strings"] = np.array(filled, dtype=object).reshape(len(strings), len(exported.strings))
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


def _by_c(path: Path, exported: Exported, numbers: Any, strings: list[list[str | None]]) -> dict[str, Any]:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise MissingData("export.check: C files need a compiler; set CC")
    # Numbers beyond a row would be read, and beyond the classes written.
    if _interface(path.read_text(errors="replace")) != _interface(c_source(exported, "model")):
        raise _other(path)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "model.so")
        command = [compiler, "-std=c99", "-O1", "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InvalidValue(f"export.check: {compiler} refused {path}: {done.stderr.strip()[:500]}")
        return _run_c(ctypes.CDLL(str(library)), exported, numbers, strings)


def _interface(source: str) -> str:
    """The comment of a C file, without its first line, which has the version and the parameters."""
    return source.partition("*/")[0].partition("\n")[2]


def _other(path: Path) -> InvalidValue:
    return InvalidValue(
        f"export.check: {path} has other features or classes than the model: export the model again"
    )


def _run_c(library: Any, exported: Exported, numbers: Any, strings: list[list[str | None]]) -> dict[str, Any]:
    """Call the compiled function for each row."""
    doubles = ctypes.POINTER(ctypes.c_double)
    width = next((value.shape[0] for value in exported.outputs.values() if value.shape), 0)
    out = np.zeros(max(width, 1))
    is_class, is_features = "class" in exported.outputs, "features" in exported.outputs
    function = library.model_transform if is_features else library.model_predict
    integer = is_class or "cluster" in exported.outputs
    function.restype = None if is_features else ctypes.c_int32 if integer else ctypes.c_double
    answers, vectors = [], []
    numbers = np.ascontiguousarray(numbers)
    for row in range(len(numbers)):
        given: list[Any] = []
        if exported.numbers or not exported.strings:
            given.append(numbers[row].ctypes.data_as(doubles))
        if exported.strings:
            texts = [None if text is None else text.encode() for text in strings[row]]
            given.append((ctypes.c_char_p * len(texts))(*texts))
        if is_class or is_features:
            given.append(out.ctypes.data_as(doubles))
        answers.append(function(*given))
        vectors.append(out[:width].copy())
    if is_features:
        return {"features": np.array(vectors)}
    if is_class:
        found = [exported.labels[code] if code >= 0 else None for code in answers]
        return {"label": found, "probabilities": np.array(vectors)}
    return {next(iter(exported.outputs)): np.array(answers)}


def _compare(model: Any, exported: Exported, rows: list[dict[Any, Any]], theirs: dict[str, Any]) -> Comparison:
    rows = [{name: _finite(value) for name, value in row.items()} for row in rows]
    if "probabilities" in theirs:
        return _compare_classes(model, exported, rows, theirs)
    if "features" in theirs:
        names = exported.features
        ours = np.array([[model.transform_one(row).get(name, np.nan) for name in names] for row in rows])
        both = np.isnan(ours) & np.isnan(theirs["features"])
        difference = np.where(both, 0.0, np.abs(ours - theirs["features"]) / np.maximum(1.0, np.abs(ours)))
        return Comparison(len(rows), _largest(difference), 0)
    if "cluster" in theirs:
        ours = np.array([model.predict_one(row) for row in rows])
        return Comparison(len(rows), 0.0, int((ours != theirs["cluster"]).sum()))
    ((name, found),) = theirs.items()
    ask = model.score_one if name == "score" else model.predict_one
    ours = np.array([ask(row) for row in rows], dtype=np.float64)
    return Comparison(len(rows), _largest(np.abs(ours - found) / np.maximum(1.0, np.abs(ours))), 0)


def _finite(value: Any) -> Any:
    """Infinity is refused by models, and missing for exports."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _largest(differences: Any) -> float:
    """The largest; infinite if one is not a number."""
    return float(np.where(np.isnan(differences), np.inf, differences).max(initial=0.0))


def _compare_classes(
    model: Any, exported: Exported, rows: list[dict[Any, Any]], theirs: dict[str, Any]
) -> Comparison:
    ours = [model.predict_proba_one(row) for row in rows]
    labels = exported.labels
    matrix = np.array([[each.get(label, 0.0) for label in labels] for each in ours]).reshape(
        len(rows), len(labels)
    )
    other = 0
    for row, probabilities, label in zip(rows, matrix, theirs["label"], strict=True):
        best = np.sort(probabilities)[::-1]
        tie = len(best) > 1 and best[0] - best[1] <= _TIE
        own = model.predict_one(row)
        same = label in ("", -1, None) if own is None else label == own or str(label) == str(own)
        other += not (same or tie)
    return Comparison(len(rows), _largest(np.abs(matrix - theirs["probabilities"])), other)
