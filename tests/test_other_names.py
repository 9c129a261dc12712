"""Names of River and scikit-learn: the error says what to use here, and `hasattr` is False."""

import importlib
import re

import pytest

from millstream import _other_names, anomaly, cluster, linear_model, naive_bayes, preprocessing

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
