"""Every part is declared once: its Python face, description and search agree with the declaration."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

import millstream
from millstream._part import Part, describe
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.registry import class_of, entry
from streams import ARGUMENTS

NAMES = millstream.find()


@pytest.mark.parametrize("name", NAMES)
def test_the_python_face_says_what_the_declaration_says(name: str) -> None:
    kind = class_of(name)
    module, _, short = name.rpartition(".")
    assert kind.__name__ == short
    assert short in importlib.import_module(f"millstream.{module}").__all__
    assert kind.name == name  # type: ignore[attr-defined]
    assert kind.__doc__
    assert ">>>" in kind.__doc__, f"{name}: the docstring has no example"
    declared = entry(name)["parameters"]
    # Those made by `__new__` alone take what it takes.
    source: Any = kind if kind.__init__ is object.__init__ else kind.__init__  # type: ignore[misc]
    parameters = inspect.signature(source).parameters.items()
    # Keywords of a window are parameters of its statistic.
    own = [parameter for _, parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    written = [parameter for parameter in own if parameter.name != "self"]
    assert [parameter.name for parameter in written] == [parameter["name"] for parameter in declared]
    for parameter, said in zip(written, declared, strict=True):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        if said["required"]:
            assert parameter.default is inspect.Parameter.empty
            continue
        default, wanted = describe(parameter.default), said["default"]
        if isinstance(wanted, dict):
            default = {"name": default} if isinstance(default, str) else {"name": default["name"]}
            wanted = {"name": wanted["name"]}
        assert default == wanted, parameter.name
        assert isinstance(default, bool) == isinstance(wanted, bool)
    words = kind.__doc__.partition("Parameters")[2]
    for said in declared:
        assert f"\n    {said['name']}\n" in words, f"{name}: {said['name']} is not in the docstring"


def built(name: str) -> Any:
    return millstream.build({"name": name, "parameters": ARGUMENTS.get(name, {})})


@pytest.mark.parametrize("name", [name for name in NAMES if name != "compose.Pipeline"])
def test_describe_and_build_go_round(name: str) -> None:
    part = built(name)
    description = part.describe()
    assert description["name"] == name
    assert list(description["parameters"]) == [parameter["name"] for parameter in entry(name)["parameters"]]
    again = millstream.build(description)
    assert type(again) is type(part)
    assert again.describe() == description
    assert repr(again) == repr(part)
    assert part.clone().describe() == description


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_words(name: str) -> None:
    assert entry(name)["words"]
    for parameter in entry(name)["parameters"]:
        assert parameter["words"]
        assert parameter["must_be"]


def test_find_by_role() -> None:
    assert "linear_model.LogisticRegression" in millstream.find(role="classifier")
    assert "preprocessing.StandardScaler" in millstream.find("transformer")
    assert "preprocessing.StandardScaler" not in millstream.find(role="classifier")
    roles = {entry(name)["role"] for name in NAMES}
    assert sorted(name for role in roles for name in millstream.find(role=role)) == sorted(NAMES)
    with pytest.raises(InvalidValue, match=r"role must be one of .*classifier.*, got 'clasifier'"):
        millstream.find(role="clasifier")


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("linear_model.LogisticRegresion", "linear_model.LogisticRegression"),
        ("LogisticRegression", "linear_model.LogisticRegression"),
        ("preprocessing.standardscaler", "preprocessing.StandardScaler"),
        ("OneHotEncoder", "preprocessing.OneHotEncoder"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(mistyped: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=f"no component named '{mistyped}', did you mean '{meant}'"):
        millstream.build({"name": mistyped})
    with pytest.raises(KeyError):
        entry(mistyped)


def test_a_mistyped_parameter_is_refused() -> None:
    with pytest.raises(TypeError):
        millstream.build({"name": "preprocessing.StandardScaler", "parameters": {"with_meen": True}})
    inner = {"name": "preprocessing.StandardScaler", "parameters": {"with_meen": True}}
    with pytest.raises(TypeError):
        millstream.build({"name": "compose.Pipeline", "parameters": {"steps": [inner]}})


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "linear_model.LogisticRegression",
        {},
        {"name": 3},
        {"parameters": {}},
        {"name": "optim.SGD", "more": 1},
    ],
)
def test_what_is_no_description_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidValue):
        millstream.build(wrong)
    with pytest.raises((InvalidType, InvalidValue)):
        millstream.build({"name": "optim.SGD", "parameters": [1]})


def test_parts_inside_a_description_become_objects() -> None:
    model = millstream.build({"name": "linear_model.LogisticRegression"})
    assert isinstance(model.optimizer, Part)
    assert model.optimizer.describe() == model.describe()["parameters"]["optimizer"]
