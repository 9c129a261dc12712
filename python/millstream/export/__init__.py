"""Models outside Python: as an ONNX file, or as one C file.

`onnx` writes a file for onnxruntime, which runs in Python, Node, browsers, Java, C# and C++. `c` writes a C99 file
without dependencies, for firmware and for languages that call C. Both predict as `predict_many` does, in double
precision, and `check` compares them. `supported` lists which components can be exported.

An exported model does not learn. Train in Python, export, and export again after more training.
"""

from __future__ import annotations

import os
import re
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.export.comparison import Comparison, check
from millstream.export.rows import Unsupported
from millstream.export.support import supported

__all__ = ["Comparison", "Unsupported", "c", "check", "onnx", "supported"]


def onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the prediction of a model as an ONNX file (opset 21, ai.onnx.ml 5).

    The file has the inputs `numbers` (double, rows by numeric features) and `strings` (rows by nominal features),
    each only if the model has learned such features, in the order in which it learned them. NaN is a missing
    number, the empty string a missing string unless the model has learned it. A classifier has the outputs `label`
    and `probabilities`, in the order of `classes`; a regressor has `prediction`, a clusterer `cluster`, an anomaly
    detector `score`, a transformer `features`. Names and description are in the metadata. Python needs onnxruntime
    1.22 or newer.

    Parameters
    ----------
    model
        Any native model or pipeline whose components `supported()` lists as "yes".
    path
        File to write.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from millstream import export, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> for x, y in (({"x": 1.0}, False), ({"x": 3.0}, True)):
    ...     model.learn_one(x, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.onnx")
    ...     export.onnx(model, path)
    ...     path.stat().st_size > 1000
    True
    """
    from millstream.export.files import write_onnx
    from millstream.export.translation import translate

    write_onnx(translate(model), path)


def c(model: Any, path: str | os.PathLike[str], *, name: str = "model") -> None:
    """Write the prediction of a model as one C99 file.

    The file depends only on the C math library. Its function allocates no memory and has no state, so any number
    of threads may call it. A comment at the top describes it: `model_predict(numbers, probabilities)` returns the
    index of a class in `model_labels`, or -1 before anything was learned.

    Parameters
    ----------
    model
        Any native model or pipeline whose components `supported()` lists as "yes".
    path
        File to write.
    name
        Prefix of all names in the file, so that one program can contain several models.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from millstream import baseline, export
    >>> model = baseline.TargetMean()
    >>> model.learn_one({"x": 1.0}, 4.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mean.c")
    ...     export.c(model, path, name="mean")
    ...     print(path.read_text().split("double mean_predict")[-1].strip())
    (const double *numbers)
    {
        (void)numbers;
    <BLANKLINE>
        return 4.0;
    }
    """
    from millstream.export.files import write_c
    from millstream.export.translation import translate

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidValue(f"export.c: name must be a C identifier, got {quoted(name)}")
    write_c(translate(model), path, name)
