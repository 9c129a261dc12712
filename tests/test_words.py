"""Bags of words and tf-idf, compared with River and scikit-learn."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import river.feature_extraction

from millstream import errors, linear_model, naive_bayes
from millstream.feature_extraction import TFIDF, BagOfWords

TEXTS = [
    "This is the first document.",
    "This document is the second document.",
    "And this is the third one.",
    "Is this the first document?",
    "",
    "a I 1 -- x",
    "Well-known --facts-- are semi-  and well_known; x-y, a-b 3.14 e-mail@host.com",
    "Déjà vu, ÉTÉ, naïve Straße",
]


def _documents(count: int, seed: int = 0) -> list[str]:
    words = np.minimum(np.random.default_rng(seed).zipf(1.3, size=(count, 20)), 500)
    return [" ".join(f"Word{word}," for word in row) for row in words.tolist()]


def _joined(words: dict[Any, Any]) -> dict[str, Any]:
    return {word if isinstance(word, str) else " ".join(word): value for word, value in words.items()}


class TestBagOfWords:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"strip_accents": False},
            {"lowercase": False},
            {"ngram_range": (1, 2)},
            {"ngram_range": (2, 3)},
            {"stop_words": {"this", "is"}, "ngram_range": (1, 2)},
            {"tokenizer_pattern": r"[a-z]+"},
            {"tokenizer_pattern": r"(\w)\w*"},
            {"tokenizer": str.split},
            {"preprocessor": str.upper},
        ],
    )
    def test_equal_to_river(self, options: dict[str, Any]) -> None:
        ours, theirs = BagOfWords(**options), river.feature_extraction.BagOfWords(**options)
        for text in TEXTS:
            found = ours.transform_one(text)
            assert list(found.items()) == list(_joined(theirs.transform_one(text)).items())
            assert BagOfWords(on="t", **options).transform_one({"t": text, "other": 1.0}) == found

    def test_many(self) -> None:
        import pandas
        import polars
        import pyarrow

        bag = BagOfWords(on="text")
        rows = [bag.transform_one({"text": text}) for text in TEXTS]
        for texts in (
            TEXTS,
            [{"text": text} for text in TEXTS],
            polars.DataFrame({"text": TEXTS, "n": range(8)}),
            polars.Series(TEXTS),
            pyarrow.table({"text": TEXTS, "n": list(range(8))}),
            pyarrow.chunked_array([TEXTS]),
        ):
            assert bag.transform_many(texts) == rows
        for texts in (pandas.Series(TEXTS, index=list("abcdefgh")), pandas.DataFrame({"text": TEXTS})):
            frame = bag.transform_many(texts)
            assert list(frame.index) == list(texts.index)
            for row, words in zip(frame.to_dict("records"), rows, strict=True):
                assert {word: count for word, count in row.items() if count} == words
        assert BagOfWords().transform_many(pandas.DataFrame({"only": TEXTS})).shape == frame.shape

    def test_the_vocabulary_is_bounded(self) -> None:
        bag = BagOfWords(max_features=3)
        bag.learn_one("one two")
        assert bag.transform_one("five six") == {"five": 1, "six": 1}
        bag.learn_one("two three four")
        assert bag.vocabulary == {"one": 1, "two": 2, "three": 1}
        assert bag.transform_one("one four two two") == {"one": 1, "two": 2}
        evicting = BagOfWords(max_features=3, when_full="evict")
        for text in ("one two", "two three", "two four", "five"):
            evicting.learn_one(text)
        assert set(evicting.vocabulary) == {"two", "four", "five"}
        assert evicting.transform_one("one four") == {"one": 1, "four": 1}

    def test_in_a_pipeline(self) -> None:
        texts, labels = ["Win money now", "Lunch at noon", "money money win", "See you at lunch"], [1, 0, 1, 0]
        model = BagOfWords(on="text") | linear_model.LogisticRegression()
        for text, label in zip(texts * 20, labels * 20, strict=True):
            model.learn_one({"text": text, "ignored": "x"}, label)
        assert [model.predict_one({"text": text}) for text in ("money lunch money", "lunch?")] == [1, 0]
        assert set(model.steps[1].inspect()["weights"]) == {
            *("win", "money", "now", "lunch", "at", "noon", "see", "you")
        }
        many = BagOfWords(on="text") | linear_model.LogisticRegression()
        many.learn_many([{"text": text} for text in texts * 20], labels * 20)
        probes = [{"text": text} for text in texts]
        assert [many.predict_proba_one(x) for x in probes] == [model.predict_proba_one(x) for x in probes]
        bayes = BagOfWords(on="text") | naive_bayes.MultinomialNB()
        for text, label in zip(texts, labels, strict=True):
            bayes.learn_one({"text": text}, label)
        assert [bayes.predict_one({"text": text}) for text in texts] == labels
        words = BagOfWords() | linear_model.LogisticRegression()
        words.learn_one("a text itself", 1)

    def test_a_refused_example_is_undone(self) -> None:
        for step in (BagOfWords(on="text"), TFIDF(on="text")):
            model = step | linear_model.LinearRegression()
            model.learn_one({"text": "one two"}, 1.0)
            before = copy.deepcopy(model.steps[0]).__getstate__()
            with pytest.raises(errors.InvalidValue):
                model.learn_one({"text": "two three"}, math.nan)
            assert model.steps[0].__getstate__() == before
            assert model.steps[0].learned == 1

    def test_bad_input(self) -> None:
        for options, message in (
            ({"ngram_range": (0, 1)}, r"^BagOfWords: ngram_range must be \(low, high\)"),
            ({"ngram_range": 3}, r"^BagOfWords: ngram_range must be \(low, high\)"),
            ({"max_features": 0}, r"^BagOfWords: max_features must be in"),
            ({"when_full": "explode"}, r"^BagOfWords: when_full must be 'ignore' or 'evict', got 'explode'"),
            ({"tokenizer_pattern": "("}, r"^BagOfWords: tokenizer_pattern must be a regular expression"),
        ):
            with pytest.raises(errors.InvalidValue, match=message):
                BagOfWords(**options)  # type: ignore[arg-type]
        for options, message in (
            ({"stop_words": "the"}, "stop_words must be a set of str"),
            ({"tokenizer": 3}, "tokenizer must be a function"),
        ):
            with pytest.raises(errors.InvalidType, match=message):
                BagOfWords(**options)  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidType, match="an example must be a str"):
            BagOfWords().transform_one({"a": "x", "b": "y"})
        with pytest.raises(errors.InvalidValue, match=r"on must be one of \['b'\], got 'a'"):
            BagOfWords(on="a").transform_one({"b": "x"})
        with pytest.raises(errors.InvalidType, match="a text must be a str, got 3"):
            BagOfWords(on="a").learn_one({"a": 3})
        with pytest.raises(errors.InvalidType):
            BagOfWords().transform_many("a text")
        assert BagOfWords(on="a").transform_one({"a": None}) == {}


class TestTFIDF:
    @pytest.mark.parametrize("options", [{}, {"normalize": False}, {"ngram_range": (1, 2)}])
    def test_equal_to_river(self, options: dict[str, Any]) -> None:
        ours, theirs = TFIDF(**options), river.feature_extraction.TFIDF(**options)
        for text in _documents(60) + [text for text in TEXTS if len(text.split()) > 3 and "x" not in text.split()]:
            for order in ("before", "after"):
                if order == "after":
                    ours.learn_one(text)
                    theirs.learn_one(text)
                assert ours.transform_one(text) == pytest.approx(_joined(theirs.transform_one(text)), rel=1e-12)
        assert ours.n == theirs.n
        assert ours.dfs == _joined(theirs.dfs)
        assert ours.transform_one("") == {}

    def test_equal_to_scikit_learn(self) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = _documents(40)
        theirs = TfidfVectorizer(token_pattern=r"(?u)\b\w[\w\-]+\b")
        matrix = theirs.fit_transform(texts).toarray()
        ours = TFIDF()
        ours.learn_many(texts)
        for row, text in zip(matrix, texts, strict=True):
            found = ours.transform_one(text)
            wanted = {word: row[column] for word, column in theirs.vocabulary_.items() if row[column]}
            assert found == pytest.approx(wanted, rel=1e-12)

    @pytest.mark.parametrize("when_full", ["ignore", "evict"])
    def test_saved_and_continued(self, when_full: str) -> None:
        texts = _documents(80)
        whole = TFIDF(max_features=60, when_full=when_full, stop_words=["word1"])
        for text in texts:
            whole.learn_one(text)
        part = TFIDF(max_features=60, when_full=when_full, stop_words=["word1"])
        part.learn_many(texts[:50])
        for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part), part.copy()):
            again.learn_many(texts[50:])
            assert again.__getstate__() == whole.__getstate__()
            assert [again.transform_one(text) for text in texts] == [whole.transform_one(text) for text in texts]
        assert part.learned == 50
        assert len(whole.vocabulary) == 60
        assert part.clone().learned == 0

    def test_memory_is_bounded(self) -> None:
        for when_full in ("ignore", "evict"):
            tfidf = TFIDF(max_features=100, when_full=when_full)
            sizes = []
            for text in range(3000):
                tfidf.learn_one(f"word{text} other{text} common")
                if text in (500, 2999):
                    sizes.append(tfidf._words.memory)
            assert sizes[1] < 1.5 * sizes[0] + 1000
            assert len(tfidf.vocabulary) == 100
            assert tfidf.dfs["common"] == 3000

    def test_pandas(self) -> None:
        import pandas

        texts = pandas.Series(TEXTS[:2], index=["doc1", "doc2"])
        ours, theirs = TFIDF(), river.feature_extraction.TFIDF()
        ours.learn_many(texts)
        theirs.learn_many(texts)
        found, wanted = ours.transform_many(texts), theirs.transform_many(texts)
        pandas.testing.assert_frame_equal(found.sparse.to_dense(), wanted.sparse.to_dense(), check_dtype=False)

    def test_a_forged_state_is_refused(self) -> None:
        tfidf = TFIDF()
        tfidf.learn_one("one two")
        state = tfidf._words.state()
        for forged in (b"", state[:-1], state.replace(b"two", b"one")):
            with pytest.raises(errors.MillstreamError):
                TFIDF()._words.restore(forged)
        with pytest.raises(errors.MillstreamError):
            TFIDF(max_features=1)._words.restore(state)


@pytest.mark.parametrize("on_error", ["raise", "stop", "skip"])
@pytest.mark.parametrize("w", [None, [1.0, 1.0, 1.0]])
def test_many_dicts_are_learned_like_single_ones(on_error, w):
    rows = [{"k": "aa bb"}, {"k": "bb"}, {"k": None}]
    many, one = BagOfWords(on="k"), BagOfWords(on="k")
    assert many.learn_many(rows, None, w, on_error=on_error) == 0
    for row in rows:
        one.learn_one(row)
    assert many.vocabulary == one.vocabulary == {"aa": 1, "bb": 2}
    assert many.learned == one.learned == 3


def test_texts_and_targets_must_match():
    model = BagOfWords()
    with pytest.raises(ValueError, match="y has 3 values for 1 rows"):
        model.learn_many(["aa"], [1, 2, 3])
    with pytest.raises(TypeError, match="must be a str"):
        model.learn_one(np.array([1.0, 2.0]))
    assert model.vocabulary == {}
