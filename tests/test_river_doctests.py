"""River's own examples, run with millstream's modules: only the imports differ.

Each line of an example in River's documentation must print the same here, or its class is in `DIFFERENT` with the
number of lines that differ and the reason. A line that starts to pass fails until the number is changed. `ABSENT`
names what has no class of that name here.
"""

from __future__ import annotations

import datetime
import doctest
import importlib
import inspect
import math
import random
import re
import types

import pytest

import millstream

MODULES = (
    "cluster",
    "covariance",
    "feature_extraction",
    "feature_selection",
    "naive_bayes",
    "neighbors",
    "preprocessing",
    "sketch",
    "stats",
)

#: Classes of other modules.
OTHERS = ("compose.TargetTransformRegressor", "utils.Rolling", "utils.TimeRolling")

_PRIVATE = "the example uses a private method, `_from_state`"
_UNDEFINED = "NaN, not 0, while it is undefined"

#: Examples that print something else here: the number of lines, and the reason.
DIFFERENT: dict[str, tuple[int, str]] = {
    "cluster.KMeans": (4, "`halflife` is `learning_rate`, and the first rows give the centres, not `sigma`"),
    "covariance.EmpiricalCovariance": (2, "entries are numbers, not `stats.Cov` and `stats.Var`"),
    "covariance.EmpiricalPrecision": (1, "the exact inverse; River's starts with the identity matrix"),
    "covariance.ShrunkCovariance": (3, "of all rows, with `shrinkage`; River's is exponentially weighted"),
    "feature_extraction.Agg": (5, "`state` is a dict; the time is a feature, named by `time`, not `t=`"),
    "feature_extraction.BagOfWords": (1, "consecutive words are joined by a blank: a feature name is no tuple"),
    "feature_extraction.PolynomialExtender": (
        1,
        "88.95 % for 88.88 %: no label is predicted before one was learned",
    ),
    "feature_extraction.TargetAgg": (3, "`state` is a dict; the time is a feature, named by `time`, not `t=`"),
    "feature_selection.PoissonInclusion": (
        2,
        "only `learn_one` includes features, and the example never calls it",
    ),
    "naive_bayes.BernoulliNB": (
        2,
        "NumPy arrays, not pandas; columns of probabilities are in the order of learning",
    ),
    "naive_bayes.ComplementNB": (4, "unknown words are ignored; NumPy arrays, not pandas"),
    "naive_bayes.GaussianNB": (1, "`predict_many` returns a NumPy array, not a Series"),
    "naive_bayes.MultinomialNB": (3, "unknown words are ignored; NumPy arrays, not pandas"),
    "neighbors.KNNClassifier": (3, 'no `SWINN` and no `utils.math`; use `HNSW` and `metric="manhattan"`'),
    "neighbors.KNNRegressor": (1, "distances are scaled unless `scale=None`, and the search is exact"),
    "preprocessing.Binarizer": (1, "1.0 and 0.0, not booleans, because booleans are nominal"),
    "preprocessing.GaussianRandomProjector": (2, "other random numbers, which depend on names only"),
    "preprocessing.MaxAbsScaler": (1, _PRIVATE),
    "preprocessing.MinMaxScaler": (1, _PRIVATE),
    "preprocessing.OneHotEncoder": (
        10,
        (
            "no `categories`, `values` or lists; `drop_first` drops one value of each feature; "
            "columns are float64, and only of learned values"
        ),
    ),
    "preprocessing.OrdinalEncoder": (2, "categories are learned and cannot be given"),
    "preprocessing.PreviousImputer": (2, "a feature that is absent from the row is imputed too"),
    "preprocessing.RobustScaler": (
        1,
        "quantiles are interpolated, as in scikit-learn; River's are estimated by P²",
    ),
    "preprocessing.SparseRandomProjector": (2, "other random numbers, which depend on names only"),
    "preprocessing.StandardScaler": (2, _PRIVATE),
    "sketch.Counter": (9, "another hash; `total_weight` for `total()`; no `n_slots`, `n_tables`, `len` or `@`"),
    "sketch.HeavyHitters": (3, "weights do not fade; a key is no tuple"),
    "sketch.Histogram": (1, "`bins` is a list of means and weights; River's iterates over intervals"),
    "sketch.NUnique": (4, "another hash, and the estimate is not rounded"),
    "sketch.Set": (
        10,
        ("another hash; `update_many` for `update`, `merge` for `union`; no intersection, `n_hash` or `n_bits`"),
    ),
    "stats.AutoCorr": (3, _UNDEFINED),
    "stats.Cov": (2, _UNDEFINED),
    "stats.Kurtosis": (2, "NaN, not -3, while it is undefined"),
    "stats.Link": (3, f"{_UNDEFINED}; `name` is the name in the registry"),
    "stats.MAD": (1, "the distances to the current median, and the lower one of two medians"),
    "stats.PearsonCorr": (2, _UNDEFINED),
    "stats.Quantile": (2, "one of the numbers, exact up to 1,024 of them; River estimates by P²"),
    "stats.SEM": (2, _UNDEFINED),
    "stats.Shift": (2, f"{_UNDEFINED}; `Agg` names any link `link`, not `mean_of_shift_1`"),
    "stats.Skew": (2, _UNDEFINED),
    "stats.Var": (2, _UNDEFINED),
}

#: Names of River that have no class of the same name here, with what to use instead.
ABSENT: dict[str, str] = {
    "cluster.CluStream": "use cluster.KMeans with half_life",
    "cluster.DBSTREAM": "not available",
    "cluster.DenStream": "not available",
    "cluster.ODAC": "not available",
    "cluster.STREAMKMeans": "use cluster.MiniBatchKMeans",
    "cluster.TextClust": "not available",
    "covariance.LedoitWolfCovariance": "use covariance.LedoitWolf",
    "covariance.OASCovariance": "use covariance.OAS",
    "feature_extraction.RBFSampler": "use kernel.RBFSampler",
    "feature_extraction.RandomTreesEmbedding": "not available",
    "neighbors.LazySearch": "use window_size of neighbors.KNNClassifier",
    "neighbors.SWINN": "use neighbors.HNSW",
    "preprocessing.GapEncoder": "not available",
    "preprocessing.LDA": "use decomposition.LDA",
    "preprocessing.StatImputer": "use preprocessing.Imputer",
}

_IMPORT = re.compile(r"^(\s*)from river import (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class _Checker(doctest.OutputChecker):
    """Compares numbers to the printed precision, as River's own tests do.

    Verbs that return nothing in River may return something here: `learn_many` returns the number of skipped rows.
    """

    def check_output(self, want, got, optionflags):
        if not want or super().check_output(want, got, optionflags):
            return True
        wanted, given = _NUMBER.findall(want), _NUMBER.findall(got)
        if len(wanted) != len(given) or not all(map(_close, wanted, given)):
            return False
        return super().check_output(_NUMBER.sub("#", want), _NUMBER.sub("#", got), optionflags)


def _close(wanted, given):
    mantissa, _, exponent = wanted.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals) if decimals else 0.0
    return math.isclose(float(wanted), float(given), rel_tol=1e-9, abs_tol=unit)


def _names():
    for module in MODULES:
        theirs = importlib.import_module(f"river.{module}")
        for name in theirs.__all__:
            if not inspect.ismodule(getattr(theirs, name)):
                yield f"{module}.{name}"
    yield from OTHERS


def _ours(name):
    module, _, member = name.partition(".")
    return module == "utils" or hasattr(getattr(millstream, module, None), member)


def _library(module):
    """A module by the name that a script of River's users imports; data sets are River's."""
    if module == "utils":  # its two classes are in `stats` here
        return types.SimpleNamespace(Rolling=millstream.stats.Rolling, TimeRolling=millstream.stats.TimeRolling)
    if module != "datasets" and hasattr(millstream, module):
        return getattr(millstream, module)
    return importlib.import_module(f"river.{module}")


def _with_our_modules(source):
    def imports(found):
        modules = [module.strip().partition(" as ") for module in found[2].split(",")]
        return found[1] + "; ".join(f"{alias or module} = _library({module!r})" for module, _, alias in modules)

    return _IMPORT.sub(imports, source).replace("import river\n", "import millstream as river\n")


def _printed_differences(name):
    """How many lines of River's example print something else with our modules, and what."""
    module, _, member = name.partition(".")
    theirs = getattr(importlib.import_module(f"river.{module}"), member)
    examples = doctest.DocTestParser().get_examples(theirs.__doc__ or "")
    for example in examples:
        example.source = _with_our_modules(example.source)
    # River's examples see the imports of their module; two of them use `random` and `dt` so.
    test = doctest.DocTest(
        examples, {"_library": _library, "random": random, "dt": datetime}, name, None, None, None
    )
    reported: list[str] = []
    runner = doctest.DocTestRunner(_Checker(), optionflags=_FLAGS, verbose=False)
    failed, _ = runner.run(test, out=reported.append)
    return failed, "".join(reported)


@pytest.mark.parametrize("name", [name for name in _names() if name not in ABSENT])
def test_an_example_prints_the_same(name):
    assert _ours(name), f"{name} is neither here nor in ABSENT"
    expected, _ = DIFFERENT.get(name, (0, ""))
    lines, printed = _printed_differences(name)
    assert lines == expected, printed


def test_the_table_of_differences_names_examples():
    assert set(DIFFERENT) <= set(_names())
    assert all(lines > 0 and reason for lines, reason in DIFFERENT.values())


@pytest.mark.parametrize("name", ABSENT)
def test_the_table_of_absent_names_is_current(name):
    assert not _ours(name), f"{name} is here now: remove it from ABSENT"
