"""The examples in River's documentation of preprocessing, run with the import changed.

Numbers are compared as they are printed there. A line that differs on purpose is in `DIFFERENT`, with the reason.
"""

from __future__ import annotations

import doctest
import importlib
import re

import pytest

pytest.importorskip("river")

_NO_STATE = "a private method there; here a scaler is saved and loaded"
#: Parts of lines that are not run or not compared, each with the reason.
DIFFERENT: dict[str, dict[str, str]] = {
    "preprocessing.StandardScaler": {
        "_from_state": _NO_STATE,
        "transform_one({'x': 12.0})": _NO_STATE,
    },
    "preprocessing.MinMaxScaler": {"_from_state": _NO_STATE, "transform_one({'x': 10.0})": _NO_STATE},
    "preprocessing.MaxAbsScaler": {"_from_state": _NO_STATE, "transform_one({'x': 6.0})": _NO_STATE},
    "preprocessing.RobustScaler": {
        "scaler.transform_one(x)": "River does not interpolate quantiles; ours are those of scikit-learn"
    },
    "preprocessing.AdaptiveStandardScaler": {},
    "preprocessing.Normalizer": {},
    "preprocessing.Binarizer": {
        "transform_one": "River writes booleans; here 1.0 and 0.0, because booleans are nominal"
    },
    "preprocessing.PreviousImputer": {
        "transform_one": "here a feature that is absent from the row is imputed too"
    },
    "preprocessing.PredClipper": {},
    "preprocessing.TargetStandardScaler": {},
    "preprocessing.TargetMinMaxScaler": {},
    "compose.TargetTransformRegressor": {},
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
OURS = re.compile(r"from river import (compose|evaluate|linear_model|metrics|preprocessing)\b")


class Numbers(doctest.OutputChecker):
    """Compares words as they are, without spaces, and numbers to the printed precision."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether the texts agree."""
        if "".join(NUMBER.sub("#", got).split()) != "".join(NUMBER.sub("#", want).split()):
            return False
        pairs = zip(NUMBER.findall(got), NUMBER.findall(want), strict=True)
        # River's documentation cuts digits off.
        return all(
            abs(float(a) - float(b)) <= 1.01 * 10.0 ** -len(b.partition(".")[2]) * ("." in b) for a, b in pairs
        )


@pytest.mark.parametrize("name", DIFFERENT)
def test_river_s_examples_pass_with_the_import_changed(name: str) -> None:
    module, _, short = name.partition(".")
    text = getattr(importlib.import_module(f"river.{module}"), short).__doc__
    examples = doctest.DocTestParser().get_examples(text)
    kept = [each for each in examples if not any(part in each.source for part in DIFFERENT[name])]
    for part in DIFFERENT[name]:
        assert any(part in each.source for each in examples), f"no example has {part}"
    for each in kept:
        each.source = OURS.sub(r"from millstream import \1", each.source)
        each.source = each.source.replace("import river\n", "import millstream as river\n")
        # Here it returns the number of skipped rows.
        each.source = re.sub(r"^(\w+\.learn_many)", r"_ = \1", each.source)
    assert any("millstream" in each.source for each in kept)
    said: list[str] = []
    test = doctest.DocTest(kept, {}, name, None, None, None)
    doctest.DocTestRunner(Numbers(), verbose=False).run(test, out=said.append)
    assert said == []
