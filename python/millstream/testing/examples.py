"""The examples for the laws, and the forms of batches."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.roles import Role

__all__ = ["FEWEST", "MOST", "Example", "forms", "given", "usual"]

Example: TypeAlias = tuple[dict[Any, Any], Any]

#: Minimum number of examples, and the number that the laws use.
FEWEST, MOST = 12, 40


def usual(role: Role) -> list[Example]:
    """Examples with three numbers and a target that depends on them linearly."""
    generator = random.Random(7)
    examples = []
    for _ in range(MOST):
        a, b, c = (generator.uniform(-2.0, 2.0) for _ in range(3))
        examples.append(({"a": a, "b": b, "c": c}, role.law_target(a - b + 0.1 * c)))
    return examples


def given(examples: Iterable[Any]) -> list[Example]:
    """Check examples given by the user."""
    found: list[Example] = []
    for example in examples:
        if not (isinstance(example, tuple) and len(example) == 2 and isinstance(example[0], dict)):
            raise InvalidType(f"testing: examples must be pairs of a dict and a target, got {quoted(example)}")
        found.append(example)
        if len(found) == MOST:
            break
    if len(found) < FEWEST:
        raise InvalidValue(f"testing: there must be at least {FEWEST} examples, got {len(found)}")
    return found


def forms(rows: list[dict[Any, Any]]) -> dict[str, tuple[Callable[[int, int], Any], list[dict[Any, Any]]]]:
    """Forms of batches by name: a function of start and end, and the rows as dicts."""
    found: dict[str, tuple[Callable[[int, int], Any], list[dict[Any, Any]]]] = {
        "a list of dicts": (lambda start, stop: [dict(row) for row in rows[start:stop]], rows)
    }
    names = list(rows[0])
    if any(list(row) != names for row in rows):
        return found
    if all(type(value) is float for row in rows for value in row.values()):
        matrix = np.array([list(row.values()) for row in rows])
        numbered = [dict(enumerate(row.values())) for row in rows]
        # A matrix has no names, which some learners need.
        if names == ["a", "b", "c"]:
            found["a NumPy matrix"] = (lambda start, stop: matrix[start:stop], numbered)
    if all(isinstance(name, str) for name in names):
        libraries: dict[str, Callable[[Any, dict[str, list[Any]]], Any]] = {
            "pandas": lambda library, columns: library.DataFrame(columns),
            "polars": lambda library, columns: library.DataFrame(columns),
            "pyarrow": lambda library, columns: library.table(columns),
        }
        for name, make in libraries.items():
            try:
                library = importlib.import_module(name)
            except ImportError:
                continue

            def frame(
                start: int, stop: int, library: Any = library, make: Callable[[Any, Any], Any] = make
            ) -> Any:
                return make(library, {key: [row[key] for row in rows[start:stop]] for key in names})

            found[f"a frame of {name}"] = (frame, rows)
    return found
