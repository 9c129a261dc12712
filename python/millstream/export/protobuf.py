"""The messages of an ONNX file, written as protocol buffers.

Only what exported models need: a hundred lines in place of a dependency, whose versions of protobuf often clash
with those of other packages. Field numbers are those of onnx.proto3; tests read the files with the `onnx` package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["BOOL", "DOUBLE", "INT64", "STRING", "graph", "model", "node", "tensor", "tensor_type"]

UINT8, INT64, STRING, BOOL, DOUBLE = 2, 7, 8, 9, 11
_TYPES = {"u1": UINT8, "i8": INT64, "b1": BOOL, "f8": DOUBLE}


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _integer(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _messages(field: int, messages: Iterable[bytes]) -> bytes:
    return b"".join(_bytes(field, message) for message in messages)


def tensor(name: str, data: Any) -> bytes:
    """A constant: an array of numbers or truths, or a list of strings."""
    if isinstance(data, list):
        return (
            _integer(1, len(data))
            + _integer(2, STRING)
            + _messages(6, (text.encode() for text in data))
            + _bytes(8, name)
        )
    array = np.asarray(data)
    dims = b"".join(_integer(1, size) for size in array.shape)
    raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return dims + _integer(2, _TYPES[array.dtype.str[1:]]) + _bytes(8, name) + _bytes(9, raw)


def _attribute(name: str, value: Any) -> bytes:
    head = _bytes(1, name)
    if isinstance(value, bool | int):
        return head + _integer(3, int(value)) + _integer(20, 2)
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, str):
        return head + _bytes(4, value) + _integer(20, 3)
    if isinstance(value, bytes):
        return head + _bytes(5, value) + _integer(20, 4)
    if all(isinstance(each, str) for each in value):
        return head + _messages(9, (each.encode() for each in value)) + _integer(20, 8)
    packed = b"".join(_varint(int(each)) for each in value)
    return head + _bytes(8, packed) + _integer(20, 7)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: Any) -> bytes:
    """An operator. Attributes are integers, strings, lists of them, or tensors as bytes."""
    parts = _messages(1, (name.encode() for name in inputs)) + _messages(2, (name.encode() for name in outputs))
    parts += _bytes(4, op) + _messages(5, (_attribute(name, value) for name, value in attributes.items()))
    return parts + (_bytes(7, domain) if domain else b"")


def tensor_type(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """An input or output; a dimension that is a string varies."""
    dims = _messages(1, (_bytes(2, size) if isinstance(size, str) else _integer(1, size) for size in shape))
    return _bytes(1, name) + _bytes(2, _bytes(1, _integer(1, kind) + _bytes(2, dims)))


def graph(
    name: str,
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
) -> bytes:
    """The operators in order, with constants, inputs and outputs."""
    body = _messages(1, nodes) + _bytes(2, name) + _messages(5, constants)
    return body + _messages(11, inputs) + _messages(12, outputs)


def model(
    body: bytes, producer: str, version: str, words: str, opsets: Mapping[str, int], metadata: Mapping[str, str]
) -> bytes:
    """A whole file. The IR version is that of opset 21."""
    domains = (_bytes(1, domain) + _integer(2, number) for domain, number in opsets.items())
    entries = (_bytes(1, key) + _bytes(2, value) for key, value in metadata.items())
    head = _integer(1, 10) + _bytes(2, producer) + _bytes(3, version) + _bytes(6, words) + _bytes(7, body)
    return head + _messages(8, domains) + _messages(14, entries)
