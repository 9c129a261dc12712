"""Pipelines with plain functions: saved by the import path of the function, loaded if the user trusts it."""

from __future__ import annotations

import json
import sys
import types
import zlib

import pytest

import millstream
from millstream import compose, feature_extraction, linear_model, preprocessing
from millstream.compose.pipeline_file import MARK
from millstream.errors import InvalidState, InvalidType


def area(x):
    return x["width"] * x["height"]


def halves(x):
    return {**x, "half": x["width"] / 2}


def words(text):
    return text.split(",")


class Holder:
    @staticmethod
    def inner(x):
        return x


PATH = f"{__name__}.area"


def learned():
    model = (area + (halves | compose.Renamer({"width": "w", 3: "c"}))) | preprocessing.StandardScaler()
    model = model | linear_model.LogisticRegression()
    for i in range(100):
        model.learn_one({"width": float(i % 7), "height": float(i % 5)}, i % 7 > 3)
    return model


@pytest.mark.parametrize(
    "trusted",
    [[PATH, f"{__name__}.halves"], (area, halves), {PATH, halves}, iter([area, f"{__name__}.halves"])],
    ids=["paths", "functions", "both", "iterator"],
)
def test_a_trusted_function_is_loaded(trusted, tmp_path):
    model = learned()
    model.save(tmp_path / "model.ms")
    again = millstream.load(tmp_path / "model.ms", trusted=trusted)
    x = {"width": 3.0, "height": 1.0}
    assert again.learned == 100
    assert again.predict_proba_one(x) == model.predict_proba_one(x)
    again.learn_one(x, True)
    model.learn_one(x, True)
    assert again.predict_proba_one(x) == model.predict_proba_one(x)
    assert again.to_bytes() == model.to_bytes()


def test_functions_that_are_not_trusted_are_named_and_not_imported(tmp_path, monkeypatch):
    module = types.ModuleType("features_of_a_stranger")
    module.area = types.FunctionType(area.__code__, {}, "area")
    module.area.__module__, module.area.__qualname__ = module.__name__, "area"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (compose.Func(module.area) | linear_model.LogisticRegression()).save(tmp_path / "model.ms")
    monkeypatch.delitem(sys.modules, module.__name__)
    path = "features_of_a_stranger.area"
    for trusted in ((), [PATH], ["features_of_a_stranger"]):
        with pytest.raises(InvalidState, match=rf"not trusted.*trusted=\['{path}'\]") as caught:
            millstream.load(tmp_path / "model.ms", trusted=trusted)
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)
    with pytest.raises(InvalidState, match="'features_of_a_stranger.area' of .* cannot be imported"):
        millstream.load(tmp_path / "model.ms", trusted=path)


def test_one_function_may_be_given_without_a_list():
    data = (compose.Func(area) | linear_model.LogisticRegression()).to_bytes()
    for trusted in (area, PATH):
        assert repr(millstream.from_bytes(data, trusted)) == "Func(area) | LogisticRegression()"


def test_an_import_path_in_a_file_cannot_name_another_object():
    data = (compose.Func(area) | linear_model.LogisticRegression()).to_bytes()
    start = len(MARK) + 8
    stop = start + int.from_bytes(data[len(MARK) : start], "little")
    head = json.loads(data[start:stop])
    for path, words_of_error in (("os.system", "not trusted"), (3, "not trusted"), ("", "not trusted")):
        head["segments"][0]["parameters"]["function"] = path
        text = json.dumps(head).encode()
        body = MARK + len(text).to_bytes(8, "little") + text + data[stop:-4]
        with pytest.raises(InvalidState, match=words_of_error):
            millstream.from_bytes(body + zlib.crc32(body).to_bytes(4, "little"), [PATH])


@pytest.mark.parametrize("function", [lambda x: x, Holder.inner, Holder().inner, Holder])
def test_a_function_that_cannot_be_imported_is_refused_when_saved(function):
    with pytest.raises(InvalidType, match="cannot be saved as data"):
        (compose.Func(function) | linear_model.LogisticRegression()).to_bytes()


def test_a_tokenizer_is_a_function_too(tmp_path):
    model = feature_extraction.BagOfWords(on="text", tokenizer=words) | linear_model.LogisticRegression()
    for i in range(20):
        model.learn_one({"text": "spam,ham" if i % 2 else "ham"}, i % 2 == 1)
    model.save(tmp_path / "model.ms")
    again = millstream.load(tmp_path / "model.ms", trusted=[words])
    assert again.predict_proba_one({"text": "spam"}) == model.predict_proba_one({"text": "spam"})
    with pytest.raises(InvalidState, match="test_trusted_functions.words"):
        millstream.load(tmp_path / "model.ms")


@pytest.mark.parametrize("trusted", [3, [3], None, [None], [str.lower]])
def test_trusted_must_be_functions_or_paths(trusted):
    data = (compose.Func(area) | linear_model.LogisticRegression()).to_bytes()
    with pytest.raises(InvalidType, match="trusted must be functions or their import paths"):
        millstream.from_bytes(data, trusted)
