"""A model as an ONNX file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from millstream._core import __version__
from millstream.export import protobuf
from millstream.export.onnx_graph import OPSETS, Nodes
from millstream.export.translation import Exported

__all__ = ["onnx_bytes"]

NUMBERS, STRINGS = "numbers", "strings"


def onnx_bytes(exported: Exported) -> bytes:
    """The file of an exported model."""
    inputs = []
    if exported.numbers or not exported.strings:
        inputs.append(protobuf.tensor_type(NUMBERS, protobuf.DOUBLE, ["rows", len(exported.numbers)]))
    if exported.strings:
        inputs.append(protobuf.tensor_type(STRINGS, protobuf.STRING, ["rows", len(exported.strings)]))
    batch = NUMBERS if exported.numbers or not exported.strings else STRINGS
    nodes = Nodes(exported.graph, NUMBERS, STRINGS, batch)
    outputs = []
    for name, value in exported.outputs.items():
        if name == "class":
            outputs.append(_label(nodes, exported, nodes.name(value)))
            continue
        nodes.output(value, name)
        kind = protobuf.INT64 if value.dtype == "int" else protobuf.DOUBLE
        outputs.append(protobuf.tensor_type(name, kind, ["rows", *value.shape]))
    words = f"{exported.role}, exported by millstream {__version__}"
    body = protobuf.graph("millstream", nodes.nodes, nodes.constants, inputs, outputs)
    return protobuf.model(body, "millstream", __version__, words, OPSETS, metadata(exported))


def _label(nodes: Nodes, exported: Exported, code: str) -> bytes:
    """The output `label`: strings as they are, integers and truths as integers."""
    labels = exported.labels
    keys = np.arange(len(labels), dtype=np.int64)
    is_text = any(isinstance(label, str) for label in labels)
    if not labels:
        nodes.node("Identity", code, output="label")
        return protobuf.tensor_type("label", protobuf.INT64, ["rows"])
    if is_text:
        values, default = (
            protobuf.tensor("values", [str(label) for label in labels]),
            protobuf.tensor("default", [""]),
        )
    else:
        values = protobuf.tensor("values", np.array([int(label) for label in labels], dtype=np.int64))
        default = protobuf.tensor("default", np.array([-1], dtype=np.int64))
    nodes.node(
        "LabelEncoder",
        code,
        domain="ai.onnx.ml",
        output="label",
        keys_tensor=protobuf.tensor("keys", keys),
        values_tensor=values,
        default_tensor=default,
    )
    return protobuf.tensor_type("label", protobuf.STRING if is_text else protobuf.INT64, ["rows"])


def metadata(exported: Exported) -> dict[str, str]:
    """What a reader needs to know of the file, as JSON values."""
    found: dict[str, Any] = {
        "millstream_version": __version__,
        "role": exported.role,
        "learned": exported.learned,
        "numbers": exported.numbers,
        "strings": exported.strings,
        "labels": exported.labels,
        "features": exported.features,
    }
    text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}
    return {"description": exported.description, **text}
