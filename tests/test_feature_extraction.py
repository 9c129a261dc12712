"""Texts to hashed words."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from millstream import errors, feature_extraction, linear_model, stream
from millstream.feature_extraction import HashingVectorizer

TEXTS = [
    "Win MONEY now!!! money_back 100%",
    "",
    "a b c",
    "Über die Straße: é, naïve café ÉTÉ",
    "日本語 テキスト and words; ١٢٣ x²",
    "ΣΊΣΥΦΟΣ και ΟΔΥΣΣΕΥΣ",
    "tab\tnew\nline \x00 nul",
    "the cat the cat the dog",
]


def dense(rows: stream.Sparse) -> np.ndarray:
    scipy = pytest.importorskip("scipy.sparse")
    return scipy.csr_matrix((rows.values, rows.indices, rows.starts), shape=(len(rows), rows.width)).toarray()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_features": 97},
        {"norm": None},
        {"norm": "l1", "ngram_range": (1, 3)},
        {"binary": True, "n_features": 11},
        {"alternate_sign": False, "ngram_range": (2, 2)},
        {"lowercase": False, "n_features": 2**20},
    ],
    ids=str,
)
def test_as_scikit_learn(settings: dict) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    ours = HashingVectorizer(**settings)
    theirs = text.HashingVectorizer(**{"n_features": 2**18, **settings})
    noise = random.Random(1)
    letters = "abcdEFG  ,.éß_1"
    texts = TEXTS + ["".join(noise.choice(letters) for _ in range(60)) for _ in range(50)]
    wanted = theirs.transform(texts).tocsr()
    wanted.eliminate_zeros()
    found = ours.transform_many(texts)
    pick = np.unique(wanted.indices)
    scipy = pytest.importorskip("scipy.sparse")
    mine = scipy.csr_matrix((found.values, found.indices, found.starts), shape=(len(found), found.width))
    np.testing.assert_allclose(mine[:, pick].toarray(), wanted[:, pick].toarray(), rtol=1e-12)
    mine.eliminate_zeros()
    assert mine.nnz == wanted.nnz


def test_one_is_many() -> None:
    words = HashingVectorizer(ngram_range=(1, 2))
    rows = words.transform_many(TEXTS)
    for place, text in enumerate(TEXTS):
        row = rows.cut(place, place + 1)
        assert words.transform_one(text) == dict(zip(row.indices.tolist(), row.values.tolist(), strict=True))


def test_a_model_learns_one_by_one_what_it_learns_at_once() -> None:
    words = HashingVectorizer(n_features=256)
    spam = [True, False] * 4
    many, one = linear_model.LogisticRegression(), linear_model.LogisticRegression()
    many.learn_many(words.transform_many(TEXTS), spam)
    for text, label in zip(TEXTS, spam, strict=True):
        one.learn_many(words.transform_many([text]), [label])
    assert many.to_bytes() == one.to_bytes()


def test_in_a_stream() -> None:
    class Mails(stream.Stream):
        def chunks(self):  # type: ignore[no-untyped-def]
            yield stream.Chunk([{"subject": "hi", "text": text} for text in TEXTS], [1, 0] * 4)

    rows = next(iter(Mails().map_chunks(HashingVectorizer(column="text")).chunks())).X
    assert isinstance(rows, stream.Sparse)
    assert len(rows) == len(TEXTS)
    assert rows.indices.tolist() == HashingVectorizer().transform_many(TEXTS).indices.tolist()
    with pytest.raises(errors.InvalidValue, match="on must be one of"):
        list(Mails().map_chunks(HashingVectorizer()).chunks())


def test_bad_input() -> None:
    with pytest.raises(errors.InvalidType, match="a text must be a str, got int 3"):
        HashingVectorizer().transform_many(["a", 3])  # type: ignore[list-item]
    with pytest.raises(errors.InvalidType, match="texts must be a list"):
        HashingVectorizer().transform_many("text")
    for settings, words in [
        ({"n_features": 0}, "n_features"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"norm": "max"}, "norm"),
    ]:
        with pytest.raises(errors.InvalidValue, match=words):
            feature_extraction.HashingVectorizer(**settings)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidValue, match="valid Unicode"):
        HashingVectorizer().transform_many(["\ud800"])


@pytest.mark.parametrize("kind", [feature_extraction.BagOfWords, feature_extraction.TFIDF])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"on": ["text"]}, "on must be the name of a feature, or None, got "),
        ({"strip_accents": 5}, "strip_accents must be True or False, got 5"),
        ({"lowercase": "yes"}, "lowercase must be True or False, got 'yes'"),
        ({"stop_words": 5}, "stop_words must be a set of str, got 5"),
        ({"stop_words": [5]}, "stop_words must be a set of str, got "),
        ({"ngram_range": (1.5, 2)}, "ngram_range must be "),
        ({"ngram_range": ("a", "b")}, "ngram_range must be "),
        ({"tokenizer": lambda text: 5}, "tokenizer must return a list of str, got 5"),
        ({"tokenizer": lambda text: [5]}, "tokenizer must return a list of str, got "),
        ({"preprocessor": lambda text: 5}, "preprocessor must return a str, got 5"),
    ],
)
def test_odd_arguments_of_words_are_refused_in_one_line(kind: Any, parameters: Any, message: str) -> None:
    with pytest.raises(errors.MillstreamError, match=f"^{kind.__name__}: {message}") as caught:
        kind(**parameters).learn_one({"text": "a text"} if "on" in parameters else "a text")
    assert "\n" not in str(caught.value)
