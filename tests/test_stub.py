"""The stub of the compiled module names every member, private ones too.

`make lint` compares signatures with mypy's stubtest, which passes over private members that the stub leaves out.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from millstream import _core

STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
#: Members that every class has, whether Rust defines them or not.
INHERITED = {"__doc__", "__match_args__", "__module__", "__new__"}


def test_the_stub_has_every_class() -> None:
    assert set(CLASSES) == {name for name, value in vars(_core).items() if inspect.isclass(value)}


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_has_every_member(name: str) -> None:
    written = {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    compiled = vars(getattr(_core, name))
    assert set(written) - INHERITED == set(compiled) - INHERITED
    properties = {key for key, node in written.items() if any(_is_property(d) for d in node.decorator_list)}
    assert properties == {
        key
        for key, value in compiled.items()
        if (inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value))
    }


def _is_property(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "property"
