"""Tensors of the Open Inference Protocol: input tensors to examples, and predictions to output tensors."""

from __future__ import annotations

import math
from typing import Any

from millstream._echo import quoted, typed
from millstream.serve.api.fields import as_json, check_number, checked_object
from millstream.serve.requests import Problem
from millstream.serve.served_model import Prediction

__all__ = ["examples", "predict_tensor", "proba_tensor", "string_tensor"]

_INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
_FLOATS = ("FP64", "FP32", "FP16")
#: Datatypes and the Python types of their elements. A null is a missing value in all of them.
_ELEMENTS: dict[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_FLOATS, (int, float)),
}
#: Maximum number of examples of a request.
_MOST_EXAMPLES = 100_000


def examples(inputs: Any) -> list[dict[str, Any]]:
    """The examples in input tensors.

    A tensor of shape [n] or [n, 1] holds the values of the feature with its name. A tensor of shape [n, d] holds d
    features, whose names are given by the parameter `names`: a list, or a comma-separated string.
    """
    if not isinstance(inputs, list) or not inputs:
        raise Problem(422, "invalid", "inputs: must be a non-empty list of tensors")
    columns: dict[str, list[Any]] = {}
    number = None
    for index, tensor in enumerate(inputs):
        where = f"inputs[{index}]"
        names, rows = _columns(tensor, where)
        if number is not None and len(rows) != number:
            raise Problem(422, "invalid", f"{where}: all tensors must have {number} rows, got {len(rows)}")
        number = len(rows)
        for place, name in enumerate(names):
            if name in columns:
                raise Problem(422, "invalid", f"{where}: feature {quoted(name)} is in two tensors")
            columns[name] = [row[place] for row in rows]
        check_number(len(columns), "inputs")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _columns(tensor: Any, where: str) -> tuple[list[str], list[list[Any]]]:
    """The names of the features in a tensor, and its rows."""
    checked = checked_object(tensor, ("name", "shape", "datatype", "parameters", "data"), where)
    name, shape, datatype = checked.get("name"), checked.get("shape"), checked.get("datatype")
    if not isinstance(name, str) or not name:
        raise Problem(422, "invalid", f"{where}: name: must be a non-empty string, got {typed(name)}")
    if not isinstance(datatype, str) or datatype not in _ELEMENTS:
        known = ", ".join(_ELEMENTS)
        raise Problem(422, "invalid", f"{where}: datatype: must be one of {known}, got {typed(datatype)}")
    if (
        not isinstance(shape, list)
        or len(shape) not in (1, 2)
        or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in shape)
    ):
        raise Problem(422, "invalid", f"{where}: shape: must be [n] or [n, d], sizes >= 1, got {quoted(shape)}")
    if shape[0] > _MOST_EXAMPLES:
        raise Problem(413, "body-too-large", f"{where}: at most {_MOST_EXAMPLES} examples, got {shape[0]}")
    width = shape[1] if len(shape) == 2 else 1
    values = _flat(checked.get("data"), where)
    if len(values) != shape[0] * width:
        raise Problem(
            422, "invalid", f"{where}: data: shape {shape} needs {shape[0] * width} elements, got {len(values)}"
        )
    _check_elements(values, datatype, where)
    names = _names(name, width, checked.get("parameters"), where)
    return names, [values[start : start + width] for start in range(0, len(values), width)]


def _flat(data: Any, where: str) -> list[Any]:
    """The elements in row-major order; the data may be nested by row."""
    if not isinstance(data, list):
        raise Problem(422, "invalid", f"{where}: data: must be an array, got {typed(data)}")
    if data and all(isinstance(row, list) for row in data):
        return [value for row in data for value in row]
    return list(data)


def _check_elements(values: list[Any], datatype: str, where: str) -> None:
    wanted = _ELEMENTS[datatype]
    for place, value in enumerate(values):
        is_wrong_bool = isinstance(value, bool) and datatype != "BOOL"
        if value is not None and (is_wrong_bool or not isinstance(value, wanted)):
            raise Problem(422, "invalid", f"{where}: data[{place}]: is not of {datatype}, got {typed(value)}")


def _names(name: str, width: int, parameters: Any, where: str) -> list[str]:
    given = checked_parameters(parameters, where).get("names")
    if given is None:
        if width == 1:
            return [name]
        raise Problem(
            422, "invalid", f"{where}: parameters: a tensor with {width} columns needs their names, as `names`"
        )
    names = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if (
        not isinstance(names, list)
        or len(names) != width
        or not all(isinstance(each, str) and each for each in names)
        or len(set(names)) != width
    ):
        raise Problem(
            422, "invalid", f"{where}: parameters: names: must be {width} different strings, got {quoted(given)}"
        )
    return names


def checked_parameters(parameters: Any, where: str) -> dict[str, Any]:
    """The parameters of a tensor; members for other servers are ignored."""
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise Problem(422, "invalid", f"{where}: parameters: must be an object, got {typed(parameters)}")
    return parameters


def predict_tensor(values: list[Any]) -> dict[str, Any]:
    """The predictions. Null means that nothing has been learned yet."""
    known = [value for value in values if value is not None]
    shape = [len(values)]
    if known and all(isinstance(value, list) for value in known):
        width = max(map(len, known))
        if len(known) == len(values) and all(len(value) == width for value in known):
            shape, values = [len(values), width], [number for value in values for number in value]
            known = values
    if known and all(isinstance(value, bool) for value in known):
        datatype = "BOOL"
    elif known and all(type(value) is int and -(1 << 63) <= value < 1 << 63 for value in known):
        datatype = "INT64"
    elif known and all(type(value) in (int, float) for value in known):
        datatype, values = "FP64", [None if value is None else float(value) for value in values]
    else:
        datatype = "BYTES"
        values = [value if value is None or isinstance(value, str) else as_json(value) for value in values]
    return {"name": "predict", "shape": shape, "datatype": datatype, "data": values}


def proba_tensor(predictions: list[Prediction]) -> dict[str, Any] | None:
    """The probability of each class: a row for each example. The parameter `labels` has the classes as JSON."""
    if any(prediction.proba is None for prediction in predictions):
        return None
    labels: dict[tuple[type, Any], int] = {}
    for prediction in predictions:
        for label, _ in prediction.proba or ():
            # A learner written in Python may distinguish True from 1.
            labels.setdefault((type(label), label), len(labels))
    data = [0.0] * (len(predictions) * len(labels))
    for row, prediction in enumerate(predictions):
        for label, p in prediction.proba or ():
            data[row * len(labels) + labels[type(label), label]] = p if math.isfinite(p) else 0.0
    return {
        "name": "proba",
        "shape": [len(predictions), len(labels)],
        "datatype": "FP64",
        "parameters": {"labels": as_json([label for _, label in labels])},
        "data": data,
    }


def string_tensor(name: str, values: list[str]) -> dict[str, Any]:
    """A tensor of strings."""
    return {"name": name, "shape": [len(values)], "datatype": "BYTES", "data": values}
