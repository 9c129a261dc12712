"""Snapshots of small Python objects, which are restored in place.

A snapshot records the contents of an object and of everything that it holds: attributes, containers, arrays,
random generators and further objects of classes written in Python. To restore it, the recorded contents are put
back into the same objects. None of the user's code runs then, so this cannot fail, and can be repeated after an
interruption.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import logging
import random
import re
import struct
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["Snapshot", "put_back", "take"]

#: Largest number of values in a snapshot. Beyond it, a snapshot costs more than learning in Python.
_MOST = 256
#: A random generator costs as much as this number of values.
_RANDOM = 100

#: Values of these types cannot change, or are shared by copies, as `copy.deepcopy` shares them.
_FIXED = frozenset(
    {
        *(bool, int, float, complex, str, bytes, range, type, type(None), type(...), type(NotImplemented)),
        *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType, re.Pattern),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(decimal.Decimal, fractions.Fraction, np.float64, np.float32, np.int64, np.bool_),
        # A lock has no state that an example could change, as it is released after the example.
        *(type(threading.Lock()), type(threading.RLock())),
    }
)
#: Instances of these are shared, also of subclasses.
_SHARED = (enum.Enum, logging.Logger)


def _put_items(target: dict[Any, Any], items: dict[Any, Any]) -> None:
    dict.clear(target)
    dict.update(target, items)


def _put_ordered(target: OrderedDict[Any, Any], items: dict[Any, Any]) -> None:
    target.clear()
    OrderedDict.update(target, items)


def _put_list(target: list[Any], items: list[Any]) -> None:
    target[:] = items


def _put_set(target: set[Any], items: set[Any]) -> None:
    target.clear()
    target.update(items)


def _put_deque(target: deque[Any], items: list[Any]) -> None:
    target.clear()
    target.extend(items)


def _put_array(target: Any, numbers: Any) -> None:
    if target.shape != numbers.shape:
        target.resize(numbers.shape, refcheck=False)
    target[...] = numbers


def _put_random(target: random.Random, state: Any) -> None:
    target.setstate(state)


def _put_slot(target: tuple[Any, Any], held: list[Any]) -> None:
    item, slot = target
    if held:
        slot.__set__(item, held[0])
    elif _held(item, slot):
        slot.__delete__(item)


def _held(item: Any, slot: Any) -> list[Any]:
    """What a slot holds: one value, or nothing yet."""
    try:
        return [slot.__get__(item)]
    except AttributeError:
        return []


_CONTAINERS: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    dict: (dict, _put_items),
    defaultdict: (dict, _put_items),
    Counter: (dict, _put_items),
    OrderedDict: (dict, _put_ordered),
    list: (list, _put_list),
    deque: (list, _put_deque),
    set: (set, _put_set),
}

Snapshot = list[tuple[Callable[[Any, Any], None], Any, Any]]


def take(item: Any) -> Snapshot | None:
    """The contents of an object; None if it is too large, or holds something that only its own class can copy."""
    found: Snapshot = []
    seen: set[int] = set()
    left = _MOST
    to_visit = [item]
    while to_visit:
        value = to_visit.pop()
        kind: Any = type(value)
        if kind in _FIXED or id(value) in seen:
            continue
        seen.add(id(value))
        if kind in _CONTAINERS:
            left -= len(value)
            if left < 0:
                return None
            copied, put = _CONTAINERS[kind]
            held = value.values() if isinstance(value, dict) else value
            if (held is not value or kind is set) and not _are_fixed_keys(value):
                return None
            if kind is not set and not _FIXED.issuperset(map(type, held)):
                to_visit.extend(held)
            found.append((put, value, copied(value)))
        elif kind is tuple or kind is frozenset:
            left -= len(value)
            if left < 0:
                return None
            to_visit.extend(value)
        elif kind is random.Random:
            left -= _RANDOM
            if left < 0:
                return None
            found.append((_put_random, value, value.getstate()))
        elif kind is np.ndarray:
            left -= 1 + value.size // 16
            # An array that owns its memory may change its shape and back.
            if left < 0 or value.dtype.hasobject or not (value.flags.writeable and value.flags.owndata):
                return None
            found.append((_put_array, value, value.copy()))
        elif kind is types.MethodType:
            to_visit.append(value.__self__)
        elif isinstance(value, _SHARED):
            continue
        elif _is_plain(kind):
            for slot in _slots(kind):
                held = _held(value, slot)
                to_visit.extend(held)
                found.append((_put_slot, (value, slot), held))
            attributes = getattr(value, "__dict__", None)
            if attributes is not None:
                to_visit.append(attributes)
        else:
            return None
    return found


def put_back(snapshots: list[Snapshot]) -> None:
    """Restore the contents; an interruption does not leave them half restored."""
    try:
        _put_back(snapshots)
    except BaseException:
        _put_back(snapshots)
        raise


def _put_back(snapshots: list[Snapshot]) -> None:
    for snapshot in snapshots:
        for put, target, contents in snapshot:
            put(target, contents)


def _are_fixed_keys(keys: Any) -> bool:
    """Whether hashing and comparing the keys runs no code of the user."""
    return _FIXED.issuperset(map(type, keys)) or all(
        type(key) in _FIXED or (type(key) is tuple and _are_fixed_keys(key)) for key in keys
    )


@cache
def _slots(kind: Any) -> list[Any]:
    """The descriptors of the slots of a class."""
    return [
        entry
        for base in kind.__mro__
        for entry in vars(base).values()
        if isinstance(entry, types.MemberDescriptorType)
    ]


@cache
def _is_plain(kind: Any) -> bool:
    """Whether attributes and slots are all that an instance holds, and its class leaves copying to Python.

    A compiled class holds more: its instances are larger, as `object.__reduce_ex__` checks too.
    """
    if getattr(kind, "__deepcopy__", None) is not None:
        return False
    pointers = len(_slots(kind)) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    size = object.__basicsize__ + struct.calcsize("P") * pointers
    return bool(kind.__itemsize__ == 0 and kind.__basicsize__ <= size)
