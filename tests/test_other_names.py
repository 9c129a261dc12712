"""Names of River and scikit-learn: the error says what to use here, and `hasattr` is False."""

import importlib
import re

import pytest

import millstream
from millstream import _other_names, anomaly, art, cluster, linear_model, naive_bayes, preprocessing, prototype
from millstream.errors import InvalidNotation, UnknownName

MODELS = [
    linear_model.LogisticRegression(),
    preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    preprocessing.StandardScaler(),
    anomaly.HalfSpaceTrees(),
    cluster.KMeans(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("name", _other_names.OTHER_VERBS)
def test_a_verb_of_scikit_learn_is_answered_with_ours(model, name):
    assert not hasattr(model, name)
    assert not hasattr(type(model), name)
    assert name not in dir(model)
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}: use ")):
        getattr(model, name)


def test_a_class_may_define_such_a_verb():
    class Own(linear_model.LogisticRegression):
        def fit(self, X, y):
            return "fitted"

    assert Own().fit(None, None) == "fitted"
    assert "fit" in dir(Own())


@pytest.mark.parametrize(
    ("module", "name", "use"),
    [(module, name, use) for module, names in _other_names._NAMES.items() for name, use in names.items()],
)
def test_a_name_of_river_is_answered_with_one_that_exists(module, name, use):
    found = importlib.import_module(f"millstream.{module}")
    if not hasattr(found, name):
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}: use {use}")):
            getattr(found, name)
    for other, ours in re.findall(r"\b([a-z_]+)\.([A-Za-z]\w*)", use):
        assert hasattr(importlib.import_module(f"millstream.{other}"), ours), use


def test_a_mistyped_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="has no attribute 'GaussNB', did you mean 'GaussianNB'"):
        naive_bayes.GaussNB  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute '__path_of_nothing__'$"):
        naive_bayes.__path_of_nothing__  # noqa: B018


@pytest.mark.parametrize(
    ("module", "name", "use"),
    [
        (cluster, "FuzzyART", "art.FuzzyART"),
        (preprocessing, "TargetTransformRegressor", "compose.TargetTransformRegressor"),
        (preprocessing, "PolynomialExtender", "feature_extraction.PolynomialExtender"),
    ],
)
def test_a_component_of_another_module_is_named(module, name, use):
    with pytest.raises(AttributeError, match=f"has no attribute {name!r}: use {use}$"):
        getattr(module, name)


def test_all_spellings_of_lvq21_lead_to_it():
    for name in ("LVQ2", "LVQ2_1", "lvq21"):
        with pytest.raises(AttributeError, match="LVQ21"):
            getattr(prototype, name)
    for text in ("LVQ2.1", "prototype.LVQ2.1(n_prototypes=1)", "StandardScaler | LVQ2.1", "LVQ2_1", "LVQ2"):
        with pytest.raises(InvalidNotation, match=r"no component named '[\w.]+'.*prototype\.LVQ21"):
            millstream.parse(text)
    with pytest.raises(UnknownName, match="prototype.LVQ21"):
        millstream.build({"name": "prototype.LVQ2.1"})
    with pytest.raises(AttributeError, match="did you mean 'FuzzyART'"):
        art.FuzzyArt  # noqa: B018


def test_names_of_other_libraries_are_answered_in_the_notation_too():
    for text, use in (
        ("HLL", "sketch.HyperLogLog"),
        ("StandardScaler | TruncatedSVD", "decomposition.IncrementalSVD"),
    ):
        with pytest.raises(InvalidNotation, match=f"no component named '\\w+': use {use}"):
            millstream.parse(text)
    with pytest.raises(UnknownName, match="'sketch.CountMinSketch': use sketch.CountMin$"):
        millstream.build({"name": "sketch.CountMinSketch"})


def test_a_mistyped_module_is_answered_with_the_nearest():
    for name, use in (("neighbours", "neighbors"), ("sketches", "sketch"), ("samplers", "sampling")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}', did you mean '{use}'"):
            getattr(millstream, name)
