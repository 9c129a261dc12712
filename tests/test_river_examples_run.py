"""All examples in River's documentation, run with only the import changed: how many run, what stops the others.

`test_river_doctests.py` compares line by line for modules that have the same classes here. This test counts over
all modules. An example runs if no line raises; it may print something else. Examples that need the network or a
package that is not installed are not counted, nor those of `utils`, and those that import nothing, which are of
private functions. Modules that are absent here are River's own.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import pkgutil
import re
import signal
import types
import warnings
from pathlib import Path

import pytest

import millstream
from tests.test_river_doctests import _FLAGS, _Checker, _library, _with_our_modules

river = pytest.importorskip("river")

pytestmark = pytest.mark.slow

#: At least this number of examples must run. Raise it when more do.
RUN = 210

#: What an error says if it names what to use here, or why a setting does not exist.
_HELPS = re.compile(r"use |there is no |did you mean|must |converts|no \w+ named|no step named")

#: Examples whose error names nothing, with the reason.
_PRIVATE = "the example uses a private method, `_from_state`"
_SKETCH = "see test_river_doctests.py"
UNEXPLAINED: dict[str, str] = {
    "compose.pipeline.Pipeline": "a function of River's in a union there, of which the result is no dict here",
    "drift.dummy.DummyDriftDetector": "a private import of its module; there is no such detector here",
    "imblearn.hard_sampling.HardSamplingClassifier": "a River wrapper that reads the parameters of its model",
    "linear_model.bayesian_lin_reg.BayesianLinearRegression": "predict_interval_one instead of with_dist",
    "multiclass.occ.OutputCodeClassifier": "codes are drawn with a seed, and there is no coding_method",
    "optim.losses.CrossEntropy": "softmax regression has its loss built in",
    "preprocessing.scale.MaxAbsScaler": _PRIVATE,
    "preprocessing.scale.MinMaxScaler": _PRIVATE,
    "preprocessing.scale.StandardScaler": _PRIVATE,
    "reco.baseline.Baseline": "a River model that calls the steps of an optimiser",
    "sketch.counter.Counter": _SKETCH,
    "sketch.set.Set": _SKETCH,
    "tree.mondrian.mondrian_tree_classifier.MondrianTreeClassifier": "there are no Mondrian trees here",
}

_ERROR = re.compile(r"^\s*((?:[\w.]+\.)?\w*(?:Error|Invalid\w+|Unknown\w+|Missing\w+)\b: .*)$", re.MULTILINE)
_SECONDS = 25


def _with_utils(module):
    """A module of ours; `utils` and what is absent here are River's, with our rolling statistics."""
    if module != "utils":
        return _library(module)
    ours, theirs = _library("utils"), importlib.import_module("river.utils")
    return types.SimpleNamespace(**{**vars(theirs), **vars(ours)})


def _seen_by(module):
    """What River's examples see: the imports of their module, with ours for River's."""
    found = {"_library": _with_utils}
    absent = not hasattr(millstream, module.__name__.split(".")[1])
    for name, value in vars(module).items():
        if isinstance(value, types.ModuleType):
            ours = value.__name__.partition(".")[0] == "river" and value.__name__.count(".") == 1
            found[name] = _with_utils(value.__name__.partition(".")[2]) if ours else value
        elif absent and not name.startswith("__"):
            found[name] = value
    return found


def _late(*_):
    raise TimeoutError("the example takes too long")


def _examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    seen = {}
    for found in pkgutil.walk_packages(river.__path__, "river."):
        if (
            ".test_" in found.name
            or ".datasets." in found.name
            or ".utils." in found.name
            or found.name.endswith("conftest")
        ):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            continue
        for test in finder.find(module, found.name, module=module):
            if any(re.search(r"^\s*(from|import) river", each.source, re.MULTILINE) for each in test.examples):
                seen[test.name.removeprefix("river.")] = test, module
    return dict(sorted(seen.items()))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """By example: whether all lines print the same, and the first error. Files go to a temporary folder."""
    with contextlib.chdir(tmp_path_factory.mktemp("examples")):
        return _outcomes()


def _outcomes():
    found = {}
    before = signal.signal(signal.SIGALRM, _late)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, (test, module) in _examples().items():
                for example in test.examples:
                    example.source = _with_our_modules(example.source)
                test.globs = _seen_by(module)
                printed = []
                runner = doctest.DocTestRunner(_Checker(), optionflags=_FLAGS, verbose=False)
                signal.alarm(_SECONDS)
                try:
                    failed, _ = runner.run(test, out=printed.append)
                finally:
                    signal.alarm(0)
                errors = _ERROR.findall("".join(printed))
                found[name] = (failed == 0, errors[0] if errors else "")
    finally:
        signal.signal(signal.SIGALRM, before)
    away = re.compile(r"URLError|ModuleNotFoundError|ConnectionError|TimeoutError")
    return {name: outcome for name, outcome in found.items() if not away.search(outcome[1])}


def test_so_many_examples_run(outcomes):
    running = [name for name, (_, error) in outcomes.items() if not error]
    assert len(running) >= RUN, f"{len(running)} of {len(outcomes)} examples run"


def test_errors_say_what_to_use(outcomes):
    silent = {name: error for name, (_, error) in outcomes.items() if error and not _HELPS.search(error)}
    assert set(silent) == set(UNEXPLAINED), {name: silent[name] for name in set(silent) - set(UNEXPLAINED)}


def test_the_notes_explain_each_example_that_does_not_run(outcomes):
    text = (Path(__file__).parent.parent / "docs" / "notes" / "river.md").read_text()
    listed = re.findall(r"^\| `([\w.]+)` \| .{10,} \|$", text.partition("do not run")[2], re.MULTILINE)
    assert sorted(listed) == sorted(map(_short, (name for name, (_, error) in outcomes.items() if error)))


def _short(name):
    """The module and the class: `ensemble.EWARegressor` for `ensemble.ewa.EWARegressor`."""
    module, *rest, last = name.split(".")
    return ".".join([module, *(part for part in rest if part[0].isupper()), last])
