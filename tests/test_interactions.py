"""Products of namespaces and of groups of features: columns, values, limits, and how they are learned."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import compose, errors, evaluate, linear_model, stream, tree

BITS = 18


def rows(text: str, **options: Any) -> list[dict[int, float]]:
    return [x for x, _ in stream.read_vw(io.StringIO(text), **{"constant": False, **options})]


def theirs(line: str, options: str, folder: Path) -> dict[int, float]:
    """The columns of a line in VW: one step of gradient descent from 0 changes their weights by their values."""
    vowpal = pytest.importorskip("vowpalwabbit")
    path = folder / "model.txt"
    step = "--noconstant --sgd --power_t 0 -l 0.0001 --loss_function squared"
    workspace = vowpal.Workspace(f"--quiet -b {BITS} {step} --readable_model {path} {options}")
    workspace.learn(line)
    workspace.finish()
    weights = path.read_text().partition("l2_state")[2].splitlines()[1:]
    pairs = (weight.split(":") for weight in weights if weight.strip())
    return {int(column): float(weight) / 0.0002 for column, weight, *_ in pairs}


#: Options of VW and arguments of `read_vw`, over lines with the namespaces a, b and none.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("-q ab", {"interactions": ["ab"]}),
    ("-q ba", {"interactions": ["ba"]}),
    ("-q ab -q ba", {"interactions": ["ab", "ba"]}),
    ("-q aa", {"interactions": ["aa"]}),
    ("-q ::", {"interactions": ["::"]}),
    ("-q a: -q b:", {"interactions": ["a:", "b:"]}),
    ("--cubic aab", {"interactions": ["aab"]}),
    ("--cubic aba --cubic abb", {"interactions": ["aba", "abb"]}),
    ("--interactions :::", {"interactions": [":::"]}),
    ("--interactions a::", {"interactions": ["a::"]}),
    ("--interactions :ab:", {"interactions": [":ab:"]}),
    ("-q ab --ignore_linear a", {"interactions": ["ab"], "ignore_linear": "a"}),
    ("-q a: --ignore b", {"interactions": ["a:"], "ignore": "b"}),
    ("--keep a", {"keep": ["a"]}),
    ("--ignore a", {"ignore": ["a"]}),
    ("--ngram 2", {"ngram": 2}),
    ("--ngram 3 --skips 1", {"ngram": 3, "skips": 1}),
    ("--ngram a2 --skips a2", {"ngram": {"a": 2}, "skips": {"a": 2}}),
    ("--ngram a3 -q ab -q aa", {"ngram": {"a": 3}, "interactions": ["ab", "aa"]}),
]

LINES = [
    "1 |a x y z |b u v | w",
    "1 |a x:2 y:3 |b z:5 | q:0.5",
    "1 |b z:5 y |a x:2 y:3 |a t:0.25",
    "1 |a x x y |b x x | x",
    "1 |apple:2 x y |banana user:ann 17 :3 :4 | 5:2",
    "1 |b only |a",
]


@pytest.mark.parametrize(("options", "arguments"), CASES, ids=[options for options, _ in CASES])
def test_columns_are_those_of_vowpal_wabbit(options: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    for line in LINES:
        if line == LINES[-1] and any(name in "aw" for name in "".join(arguments.get("interactions", ()))):
            continue
        (ours,) = rows(line, bits=BITS, **arguments)
        wanted = theirs(line, options, tmp_path)
        assert ours.keys() == wanted.keys(), line
        assert list(ours.values()) == pytest.approx([wanted[column] for column in ours], rel=1e-4), line


@pytest.mark.slow
def test_random_products_are_those_of_vowpal_wabbit(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(60):
        spaces = draw.sample(["a", "b", "c", "d", ""], draw.randint(2, 4))
        line = "1 " + " ".join(f"|{space} f{place} g{place}:2" for place, space in enumerate(spaces))
        named = [space for space in spaces if space] + [":"]
        sizes = [draw.choice([2, 2, 3, 4]) for _ in range(draw.randint(1, 3))]
        products = ["".join(draw.choice(named) for _ in range(size)) for size in sizes]
        (ours,) = rows(line, bits=BITS, interactions=products)
        wanted = theirs(line, " ".join(f"--interactions {product}" for product in products), tmp_path)
        assert ours.keys() == wanted.keys(), (products, spaces)
        assert list(ours.values()) == pytest.approx([wanted[column] for column in ours], rel=1e-4)


def taste(n: int, seed: int = 1) -> str:
    """Lines whose truth is in the pairs of a user's and an item's word."""
    draw = np.random.default_rng(seed)
    effects = draw.normal(size=(20, 20))
    lines = []
    for user, item in draw.integers(0, 20, size=(n, 2)):
        p = 1 / (1 + np.exp(-3 * effects[user, item]))
        lines.append(f"{1 if draw.random() < p else -1} |u u{user} |i i{item}\n")
    return "".join(lines)


def test_progressive_loss_is_that_of_vowpal_wabbit(tmp_path: Path) -> None:
    vowpal = pytest.importorskip("vowpalwabbit")
    path = tmp_path / "taste.vw"
    path.write_text(taste(3000))
    workspace = vowpal.Workspace(f"--quiet -b {BITS} --loss_function logistic -q ui -d {path}")
    wanted = workspace.get_sum_loss() / 3000
    workspace.finish()
    model, losses = linear_model.LogisticRegression("adaptive", intercept=False), []
    for chunk in stream.read_vw(path, interactions=["ui"]).chunks():
        found = model.step_many(chunk.X, chunk.y, proba=True)
        p = np.where(chunk.y > 0, found["1"].to_numpy(), found["-1"].to_numpy())
        # VW has a probability for a class that was never seen.
        losses += np.where(p > 0, -np.log(np.maximum(p, 1e-300)), np.log(2)).tolist()
    assert np.mean(losses) == pytest.approx(wanted, abs=1e-3)


def both_ways(model: Any, **options: Any) -> tuple[Any, Any]:
    """A model that learned rows with products as it reads them, and one that learned the same rows written out."""
    reader = stream.read_vw(io.StringIO(taste(300)), bits=12, **options)
    walked, written = model.clone(), model.clone()
    for chunk in reader.chunks():
        walked.learn_many(chunk.X, chunk.y)
    text = io.StringIO(taste(300))
    for chunk in stream.read_vw(text, bits=12, **options).chunks():
        X = chunk.X
        plain = stream.chunk.Sparse(X.starts.copy(), X.indices.copy(), X.values.copy(), X.width)
        written.learn_many(plain, chunk.y)
    return walked, written


@pytest.mark.parametrize(
    "model",
    [
        linear_model.LogisticRegression("adaptive", intercept=False),
        linear_model.LogisticRegression("optim.AdaGrad"),
        linear_model.SoftmaxRegression(),
        linear_model.PAClassifier(),
        millstream.build({"name": "naive_bayes.MultinomialNB"}),
        millstream.build({"name": "preprocessing.MaxAbsScaler"}) | linear_model.LogisticRegression(),
    ],
    ids=repr,
)
def test_walked_products_are_learned_as_stored_ones(model: Any) -> None:
    walked, written = both_ways(model, interactions=["ui", "uu"])
    assert walked.to_bytes() == written.to_bytes()


def test_trees_and_late_labels_take_products() -> None:
    walked, written = both_ways(tree.HoeffdingTreeClassifier(), interactions=["ui"], ignore_linear="ui")
    assert walked.to_bytes() == written.to_bytes()
    model = linear_model.LogisticRegression("adaptive", intercept=False)
    late = evaluate.prequential(model, stream.read_vw(io.StringIO(taste(300)), interactions=["ui"]), delay=10)
    assert late.n_learned == 300 if hasattr(late, "n_learned") else late["Accuracy"] > 0.4


def test_a_chunk_stores_features_and_not_products() -> None:
    line = "1 |a " + " ".join(f"x{place}" for place in range(400)) + "\n"
    chunk = next(stream.read_vw(io.StringIO(line * 20), interactions=["aa"]).chunks())
    assert "indices" not in vars(chunk.X)
    model = linear_model.LogisticRegression("adaptive", intercept=False)
    model.learn_many(chunk.X, chunk.y)
    # The model received the 80,200 products of each line, which exist as arrays only when they are asked for.
    assert len(model.weights) > 60_000
    assert "indices" not in vars(chunk.X)
    assert len(chunk.X.indices) > 20 * 60_000


def test_products_of_absent_namespaces_are_refused() -> None:
    text = "1 |user ann |item red\n" * 3
    with pytest.raises(errors.InvalidValue, match=r"none begins with 'x', there are: 'i' \(item\), 'u' \(user\)"):
        rows(text, interactions=["ux"])
    # A wildcard matches what there is.
    assert len(rows(text, interactions=["u:"])) == 3


def test_exploding_products_are_refused_with_their_number() -> None:
    line = "1 |a " + " ".join(f"x{place}" for place in range(2000)) + "\n"
    with pytest.raises(errors.InvalidValue, match=r"line 1, column 3: 1335334000 products and n-grams"):
        rows(line, interactions=["aaa"])
    with pytest.raises(errors.InvalidValue, match="more than max_products"):
        rows("1 |a x y z\n", interactions=["aa"], max_products=5)
    assert len(rows("1 |a x y z\n", interactions=["aa"], max_products=6)[0]) == 9
    reader = stream.read_vw(io.StringIO(line + "1 |a x y\n"), interactions=["aaa"], on_error="skip")
    assert len(list(reader)) == 1
    assert reader.skipped.count == 1
    with pytest.raises(errors.InvalidValue, match="n-grams of each word"):
        rows(line, ngram=20, skips=20)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interactions": "ab"}, "must be a list"),
        ({"interactions": 3}, "must be a list"),
        ({"interactions": ["a"]}, "two or more namespaces"),
        ({"interactions": [None]}, "two or more namespaces"),
        ({"interactions": ["é:"]}, "two or more namespaces"),
        ({"ignore": ["ab"]}, "first characters"),
        ({"keep": 3}, "first characters"),
        ({"ngram": 2.5}, "ngram must be an integer"),
        ({"skips": 1}, "needs ngram"),
        ({"max_products": 0}, "max_products must be"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises((errors.InvalidValue, errors.InvalidType), match=words):
        stream.read_vw(io.StringIO("1 |a b\n"), **options)


def test_overflowing_products_are_refused() -> None:
    reader = stream.read_vw(io.StringIO("1 |a x:1e200 |b y:1e200\n-1 |a x |b y\n"), interactions=["ab"])
    model = linear_model.LogisticRegression("adaptive", intercept=False)
    chunk = next(reader.chunks())
    before = model.to_bytes()
    with pytest.raises(errors.InvalidValue, match="of a sparse row must be finite"):
        model.learn_many(chunk.X, chunk.y)
    assert model.to_bytes() == before
    assert model.learn_many(chunk.X, chunk.y, on_error="skip") == 1


class TestInteract:
    def test_columns_are_those_of_vowpal_wabbit(self) -> None:
        # In VW's text all features are in the namespace without a name, multiplied by itself.
        (wanted,) = rows("1 | user=ann item=7 price:2.5", interactions=["  "])
        pairs = itertools.combinations_with_replacement(["user", "item", "price"], 2)
        ours = compose.Interact(list(pairs)).transform_one({"user": "ann", "item": "7", "price": 2.5})
        assert ours == pytest.approx(wanted)

    def test_a_pipeline_learns_what_pairs_say(self) -> None:
        draw = random.Random(5)
        data = []
        for _ in range(600):
            user, item = draw.choice("abcd"), draw.choice("wxyz")
            data.append(({"user": user, "item": item}, (ord(user) + ord(item)) % 2 == 0))
        pairs = compose.Interact([("user", "item")]) | linear_model.LogisticRegression("adaptive")
        alone = linear_model.LogisticRegression("adaptive")
        assert evaluate.prequential(pairs, data)["Accuracy"] > 0.9
        assert evaluate.prequential(alone, data)["Accuracy"] < 0.7

    def test_frames_and_matrices_are_dicts(self) -> None:
        pandas = pytest.importorskip("pandas")
        model = compose.Interact([("a", "b"), ("kind:number", "c")], bits=10)
        frame = pandas.DataFrame({"a": [1.0, 2.0, 0.0], "b": ["u", "v", None], "c": [1.5, np.nan, 2.5]})
        dicts = [{"a": 1.0, "b": "u", "c": 1.5}, {"a": 2.0, "b": "v"}, {"a": 0.0, "c": 2.5}]
        many = model.transform_many(frame)
        one = [model.transform_one(x) for x in dicts]
        ends = many.starts.tolist()
        for row, (start, end) in zip(one, itertools.pairwise(ends), strict=True):
            assert row == dict(zip(many.indices[start:end].tolist(), many.values[start:end].tolist(), strict=True))
        matrix = compose.Interact([(1, 2)], bits=10, linear=False).transform_many(np.array([[5.0, 2.0, 3.0]]))
        assert matrix.values.tolist() == [6.0]

    def test_names_that_match_nothing_are_refused(self) -> None:
        model = compose.Interact([("user", "itm")]) | linear_model.LogisticRegression()
        with pytest.raises(errors.InvalidValue, match=r"none matches 'itm', there are user, item"):
            model.learn_one({"user": "ann", "item": "red"}, True)

    def test_exploding_products_are_refused(self) -> None:
        model = compose.Interact([("*", "*", "*")], max_products=100) | linear_model.LogisticRegression()
        x = {f"x{place}": 1.0 for place in range(50)}
        with pytest.raises(errors.InvalidValue, match="up to 100 products, got 22100"):
            model.learn_one(x, True)
        model.learn_one({"a": 1.0, "b": 2.0}, True)

    @pytest.mark.parametrize(
        ("pairs", "words"),
        [
            ("user", "must be a list"),
            ([("user",)], "two to 6 groups"),
            ([], "must not be empty"),
            ([("a", "kind:colour")], "number or nominal"),
            ([3], "must be a tuple"),
        ],
    )
    def test_bad_pairs_are_refused(self, pairs: Any, words: str) -> None:
        with pytest.raises((errors.InvalidValue, errors.InvalidType), match=words):
            compose.Interact(pairs)
