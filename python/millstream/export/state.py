"""The state of a native model as plain Python values and NumPy arrays.

A saved model is a header, a MessagePack payload and a checksum (`docs/notes/state_and_threads.md`). Its state is
data, so that one reader serves all components: maps become dicts, lists of numbers arrays, and the packed states
of components inside others are decoded too.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from millstream.base import Model
from millstream.errors import InvalidState, InvalidType

__all__ = ["pack", "saved", "sealed", "state_of", "unpack"]

_MAGIC = b"MILLSTRM"
_FORMAT = 1
#: By first byte of MessagePack: the number's format.
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def saved(model: Any) -> dict[str, Any]:
    """The content of a model's file: description, schema, labels, number of learned examples and state.

    >>> from millstream import linear_model
    >>> model = linear_model.PARegressor()
    >>> model.learn_one({"x": 2.0}, 1.0)
    >>> saved(model)["state"]["plane"]["weights"]
    array([0.36])
    """
    if not isinstance(model, Model):
        raise InvalidType(f"export: the model must be a model of millstream, got {type(model).__name__}")
    data = model.to_bytes()
    if data[:8] != _MAGIC:
        raise InvalidState("export: the model's bytes do not begin with MILLSTRM")
    length = struct.unpack_from("<Q", data, 12)[0]
    content: dict[str, Any] = unpack(data[20 : 20 + length])
    content["state"] = unpack(content["state"])
    # Lists of integers are arrays elsewhere.
    content["labels"] = np.asarray(content["labels"], dtype=object).tolist()
    content["schema"]["names"] = np.asarray(content["schema"]["names"], dtype=object).tolist()
    return content


def state_of(model: Any) -> bytes:
    """The packed state in a model's file."""
    state: bytes = unpack(model.to_bytes()[20:-4])["state"]
    return state


def sealed(content: dict[str, Any]) -> bytes:
    """The file of a component with this content; its state is packed bytes."""
    payload = pack(content)
    body = _MAGIC + struct.pack("<IQ", _FORMAT, len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data: bytes) -> Any:
    """Decode MessagePack. Byte strings stay bytes: a component knows which of them are packed states."""
    return _Reader(data).value()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _number(self, form: str) -> Any:
        number = struct.unpack_from(form, self._data, self._at)[0]
        self._at += struct.calcsize(form)
        return number

    def _take(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def value(self) -> Any:
        head = self._data[self._at]
        self._at += 1
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 0x100
        if head in _NUMBERS:
            return self._number(_NUMBERS[head])
        if 0xA0 <= head < 0xC0 or head in _TEXTS:
            return self._take(head - 0xA0 if head < 0xC0 else self._number(_TEXTS[head])).decode()
        if head in _BYTES:
            return self._take(self._number(_BYTES[head]))
        if 0x90 <= head < 0xA0 or head in _LISTS:
            return self._list(head - 0x90 if head < 0xA0 else self._number(_LISTS[head]))
        if 0x80 <= head < 0x90 or head in _MAPS:
            length = head - 0x80 if head < 0x90 else self._number(_MAPS[head])
            return {self.value(): self.value() for _ in range(length)}
        if head in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[head]
        raise InvalidState(f"export: unknown type {head:#x} in a saved state")

    def _list(self, length: int) -> Any:
        stride, end = 9, self._at + 9 * length
        if length and self._data[self._at] == 0xCB and end <= len(self._data):
            cells = np.frombuffer(self._data, np.uint8, stride * length, self._at).reshape(length, stride)
            if (cells[:, 0] == 0xCB).all():
                self._at = end
                return cells[:, 1:].copy().view(">f8").astype(np.float64).reshape(length)
        values = [self.value() for _ in range(length)]
        if values and all(type(value) is int for value in values):
            return np.array(values, dtype=np.int64 if max(values) < 2**63 else np.uint64)
        return values


def pack(value: Any) -> bytes:
    """Encode as MessagePack."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, (int, np.integer)):
        number = int(value)
        return struct.pack(">Bq", 0xD3, number) if number < 2**63 else struct.pack(">BQ", 0xCF, number)
    if isinstance(value, (float, np.floating)):
        return struct.pack(">Bd", 0xCB, float(value))
    if isinstance(value, str):
        text = value.encode()
        return struct.pack(">BI", 0xDB, len(text)) + text
    if isinstance(value, bytes):
        return struct.pack(">BI", 0xC6, len(value)) + value
    if isinstance(value, dict):
        items = b"".join(pack(key) + pack(each) for key, each in value.items())
        return struct.pack(">BI", 0xDF, len(value)) + items
    return struct.pack(">BI", 0xDD, len(value)) + b"".join(pack(each) for each in value)
