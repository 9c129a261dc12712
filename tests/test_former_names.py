"""Former names of parameters: descriptions, keywords, attributes, notation and saved files still accept them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import millstream
from millstream import _core, drift, linear_model
from millstream.compat.parameters import changed
from millstream.errors import InvalidType, MillstreamError
from millstream.registry import class_of, entry
from streams import ARGUMENTS

#: Component, former name, present name.
FORMER = [
    (name, former, parameter["name"])
    for name in millstream.find()
    for parameter in entry(name)["parameters"]
    for former in parameter["formerly"]
]


def given(name: str, parameter: str) -> dict[str, Any]:
    """The arguments that the component needs, and the value of the renamed parameter."""
    needed = dict(ARGUMENTS.get(name, {}))
    (declared,) = (each for each in entry(name)["parameters"] if each["name"] == parameter)
    needed.setdefault(parameter, declared["default"])
    return needed


def renamed(arguments: dict[str, Any], present: str, former: str) -> dict[str, Any]:
    return {former if name == present else name: value for name, value in arguments.items()}


def test_there_are_former_names() -> None:
    names = {(name, former) for name, former, _ in FORMER}
    assert {("drift.ADWIN", "delta"), ("drift.PageHinkley", "alpha"), ("drift.PSI", "bins")} <= names


def test_no_former_name_is_a_name_of_another_parameter() -> None:
    for name in millstream.find():
        parameters = entry(name)["parameters"]
        names = [each for p in parameters for each in (p["name"], *p["formerly"])]
        assert len(names) == len(set(names)), name


@pytest.mark.parametrize(("name", "former", "present"), FORMER)
def test_a_former_name_is_the_same_parameter(name: str, former: str, present: str) -> None:
    new = given(name, present)
    old = renamed(new, present, former)
    part = millstream.build({"name": name, "parameters": new})
    described = part.describe()
    assert present in described["parameters"]
    assert former not in described["parameters"]
    assert millstream.build({"name": name, "parameters": old}).describe() == described
    assert _core.former_names(name)[former] == present
    cls: Any = class_of(name)
    assert cls(**old).describe() == described
    value = described["parameters"][present]
    assert part.clone(**{former: new[present]}).describe() == described
    if not isinstance(value, dict):
        assert getattr(part, former) == getattr(part, present)
    both = {**new, former: new[present]}
    for refused in (
        lambda: millstream.build({"name": name, "parameters": both}),
        lambda: cls(**both),
        lambda: part.clone(**{present: new[present], former: new[present]}),
    ):
        with pytest.raises(InvalidType, match="are the same parameter; pass one of them") as refusal:
            refused()
        assert str(refusal.value).count("\n") == 0


@pytest.mark.parametrize(("name", "former", "present"), [each for each in FORMER if each[0] not in ARGUMENTS])
def test_the_notation_accepts_a_former_name(name: str, former: str, present: str) -> None:
    value = given(name, present)[present]
    if not isinstance(value, (bool, int, float, str)):
        pytest.skip("no value to write")
    role = entry(name)["role"]
    written = [millstream.parse(f"{name}({word}={value!r})", role=role).describe() for word in (former, present)]
    assert written[0] == written[1]
    with pytest.raises(MillstreamError, match=present):
        millstream.parse(f"{name}({former}={value!r}, {present}={value!r})", role=role)


def test_the_guide_lists_accepted_names_of_river() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "coming_from_river.md").read_text(encoding="utf-8")
    _, _, table = guide.partition(
        "| component | parameters in River | parameters in millstream |\n|---|---|---|\n"
    )
    lines = table.partition("\n\n")[0].splitlines()
    assert len(lines) > 10
    for line in lines:
        components, theirs, ours = (re.findall(r"`([\w.]+)`", cell) for cell in line.strip("|").split("|"))
        for name in components:
            aliases = class_of(name).aliases
            assert [aliases[each] for each in theirs] == ours, name


def test_a_path_to_a_nested_parameter_may_end_in_a_former_name() -> None:
    model = drift.Retrain("naive_bayes.GaussianNB", drift.ADWIN())
    new = changed(model, {"detector__significance": 0.1})
    assert changed(model, {"detector__delta": 0.1}).describe() == new.describe()
    assert changed(model, {"drift_detector__delta": 0.1}).describe() == new.describe()


def test_a_positional_value_and_a_former_name_are_refused_together() -> None:
    with pytest.raises((MillstreamError, TypeError), match="significance"):
        drift.ADWIN(0.1, delta=0.1)


def test_a_former_name_cannot_be_assigned_to_a_native_model() -> None:
    model = linear_model.CW()
    with pytest.raises(AttributeError, match="eta is fixed when the model is created"):
        model.eta = 0.6  # type: ignore[attr-defined]


def test_a_subclass_may_have_a_parameter_with_a_former_name() -> None:
    class Strict(drift.ADWIN):
        def __init__(self, delta: float = 0.001) -> None:
            super().__init__(significance=delta / 2)

    assert Strict(delta=0.01).significance == Strict(0.01).significance == 0.005
