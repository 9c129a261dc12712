"""What people see of trees: drawings, rules, tables, explanations, importances, reasons for splits."""

import itertools
import math
import random
import re
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import millstream
from millstream import evaluate, preprocessing, synth, tree
from millstream.cli.main import main
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.tree.explanation import explain
from millstream.tree.rules import rules_of
from millstream.tree.structure import TreeStructure
from millstream.tree.tables import importances, nodes_frame
from millstream.tree.tree_plot import Drawing

pandas = pytest.importorskip("pandas")


def rows(count, seed=1, missing=0.1):
    draw = random.Random(seed)
    for _ in range(count):
        x = {"hour": draw.randrange(24), "carrier": draw.choice(["AA", "DL", "UA"]), "wind": draw.gauss(8.0, 3.0)}
        late = x["hour"] > 14 and x["carrier"] != "DL"
        for name in list(x):
            if draw.random() < missing:
                x[name] = draw.choice([None, math.nan])
        yield x, "late" if late != (draw.random() < 0.05) else "in time"


def grown(count=6000, **parameters):
    model = tree.HoeffdingTreeClassifier(**{"grace_period": 100, "delta": 1e-3, **parameters})
    for x, y in rows(count):
        model.learn_one(x, y)
    return model


@pytest.fixture(scope="module")
def model():
    return grown()


@pytest.fixture(scope="module")
def large():
    eager = {"grace_period": 4, "delta": 0.5, "tau": 1.0, "merit_preprune": False, "n_splits": 2}
    model = tree.HoeffdingTreeClassifier(leaf_prediction="mc", **eager)
    X = np.random.default_rng(1).random((30_000, 4))
    model.learn_many(X, ((X * 32).astype(int).sum(axis=1) % 2).astype(bool))
    assert len(model.inspect()["nodes"]) > 10_000
    return model


def told(value_of_leaf):
    """A tree of numbers by hand: carrier first, then hour on the branch of UA."""
    split = {"learned": 10, "weight": 8.0, "merit": 0.5, "second": None, "second_merit": 0.0, "bound": 0.2}
    return {
        "learned": 40,
        "nodes": [
            {"node": 0, "parent": None, "depth": 0, "leaf": False, "feature": "carrier", "values": ["UA"]}
            | {"children": [1], "other": 2, "missing": 2, "split": split | {"tie": False}},
            {"node": 1, "parent": 0, "depth": 1, "leaf": False, "feature": "hour", "threshold": 12.5}
            | {"children": [3, 4], "missing": 3, "split": split | {"tie": True, "second": "wind"}},
            *({"leaf": True, "node": n, "parent": p, "depth": d} | value_of_leaf(n) for n, p, d in LEAVES),
        ],
    }


LEAVES = [(2, 0, 1), (3, 1, 2), (4, 1, 2)]


def numbers():
    values = {2: (4.0, 20.0), 3: (10.0, 10.0), 4: (30.0, 10.0)}
    return told(lambda n: {"mean": values[n][0], "variance": 1.0, "weight": values[n][1]})


def test_the_whole_tree_is_in_the_text(model):
    text = str(model.draw())
    shown = model.inspect()["nodes"]
    assert text.splitlines()[0].startswith("HoeffdingTreeClassifier: 6,000 examples learned")
    assert len(text.splitlines()) == 1 + len(shown)
    assert "carrier = DL" in text
    assert "hour ≤" in text
    assert "or missing" in text
    assert "late (" in text


def test_a_tree_by_hand_as_text_rules_and_importances():
    own = TreeStructure(numbers(), title="numbers")
    assert str(Drawing(own)) == (
        "numbers: 40 examples learned, 3 leaves, depth 2\n"
        "40: 12\n"
        "├─ carrier = UA: 20, 20\n"
        "│  ├─ hour ≤ 12.5 or missing: 10, 10 ± 1\n"
        "│  └─ hour > 12.5: 10, 30 ± 1\n"
        "└─ carrier ≠ UA or missing: 20, 4 ± 1"
    )
    assert repr(rules_of(own)) == (
        "if (carrier ≠ UA or missing) then 4 (n = 20)\n"
        "if carrier = UA and (hour ≤ 12.5 or missing) then 10 (n = 10)\n"
        "if carrier = UA and hour > 12.5 then 30 (n = 10)"
    )
    # Of equal merit, with 40 and 20 examples.
    assert importances(own) == pytest.approx({"carrier": 2 / 3, "hour": 1 / 3})
    found = nodes_frame(own, "pandas")
    assert found.prediction.tolist() == [12.0, 20.0, 4.0, 10.0, 30.0]
    assert found.split_decided_by.tolist()[:2] == ["bound", "tie"]


def test_inactive_leaves_and_alternates_are_marked():
    data = numbers()
    data["nodes"][3]["active"] = False
    # Beside node 1 a subtree grows that does not hang from the root.
    data["nodes"][1]["alternate"] = 5
    data["nodes"].append({"node": 5, "leaf": True, "parent": None, "depth": 0, "mean": 1.0, "weight": 100.0})
    own = TreeStructure(data)
    text = Drawing(own).text
    assert "10 ± 1, inactive\n" in text
    assert "carrier = UA: 20, 20, an alternate grows\n" in text
    assert len(own.nodes) == 5


def test_a_tree_of_numbers_is_explained():
    why = explain(TreeStructure(numbers()), {"carrier": "UA", "hour": 20}, None, 31.0, None)
    assert why.base == 12.0
    assert why.contributions == {"hour": 10.0, "carrier": 8.0}
    assert why.share == 30.0
    assert why.leaf_model == 1.0
    assert [step.node for step in why.path] == [1, 4]


@pytest.mark.parametrize("binary", [False, True])
def test_contributions_add_up_to_what_the_leaf_predicts(binary):
    # A leaf of the majority class predicts its shares, so the way that Python finds must be that of the core.
    model = grown(leaf_prediction="mc", binary_split=binary)
    every = [x for x, _ in rows(300, seed=9, missing=0.3)]
    every += [{"carrier": "never seen", "hour": 20}, {"carrier": "never seen"}, {}, {"unknown": 1.0}]
    features = set()
    for x in every:
        for label in (None, "late"):
            why = model.explain_one(x, label)
            assert why.base + sum(why.contributions.values()) == pytest.approx(why.share, abs=1e-12)
            assert why.share == pytest.approx(why.prediction, abs=1e-12)
            assert why.prediction == model.predict_proba_one(x)[why.label]
        assert model.explain_one(x).label == model.predict_one(x)
        features |= set(why.contributions)
    assert {"hour", "carrier"} <= features


def test_an_explanation_of_naive_bayes_leaves_says_what_they_add(model):
    x = {"hour": 20, "carrier": "DL", "wind": 5.0}
    why = model.explain_one(x)
    assert why.prediction == model.predict_proba_one(x)[why.label]
    assert why.base + sum(why.contributions.values()) + why.leaf_model == pytest.approx(why.prediction)
    assert "carrier = DL" in repr(why)
    assert len(why.path_to_frame("pandas")) == len(why.path)
    with pytest.raises(UnknownName, match="label must be one of the classes"):
        model.explain_one(x, "cancelled")


@pytest.mark.parametrize("value", [None, math.nan, np.float32("nan"), pandas.NA, pandas.NaT], ids=repr)
def test_what_is_missing_to_the_core_is_missing_to_an_explanation(model, value):
    x = {"hour": value, "carrier": value, "wind": 5.0}
    why = model.explain_one(x)
    assert why.path == model.explain_one({"wind": 5.0}).path
    assert why.prediction == model.predict_proba_one({"wind": 5.0})[why.label]
    assert why.path[0].value is None


def test_every_row_follows_exactly_one_rule(model):
    rules = model.rules()

    def holds(condition, x):
        value = x.get(condition.feature)
        if value is None or value != value:
            return condition.missing
        if isinstance(value, str):
            return value == condition.value if condition.value else value not in condition.other_than
        return condition.above < value <= condition.most

    assert [rule.weight for rule in rules] == sorted((rule.weight for rule in rules), reverse=True)
    for x, _ in rows(200, seed=3, missing=0.0):
        hit = [rule for rule in rules if all(holds(condition, x) for condition in rule.conditions)]
        assert len(hit) == 1
        last = model.explain_one(x).path[-1]
        assert hit[0].node == last.node


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_nodes_as_a_frame(model, kind):
    pytest.importorskip(kind)
    found = model.to_frame(kind)
    nodes = model.inspect()["nodes"]
    assert len(found) == len(nodes)
    if kind == "pandas":
        assert found.parent.isna().sum() == 1
        leaves = found[found.leaf]
        assert found.weight[0] == 6000 > leaves.weight.sum()
        assert leaves.split_learned.isna().all()
        assert found[~found.leaf].split_learned.notna().all()


def test_splits_say_when_and_why(model):
    found = model.splits("pandas")
    assert found.learned.is_monotonic_increasing
    assert found.feature[0] in ("hour", "carrier")
    assert found.depth[0] == 0
    apart = found.merit - found.second_merit > found.bound
    assert (apart == (found.decided_by == "bound")).all()
    assert (found.bound[found.decided_by == "tie"] < model.tau).all()
    assert "split at example" in model.draw().svg


def test_importances_are_merit_times_node_weight(model):
    shares = model.feature_importances
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(shares) == {"hour", "carrier", "wind"}
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    found = model.splits("pandas")
    gains = (found.merit * found.node_weight).groupby(found.feature).sum()
    for name, gain in (gains / gains.sum()).items():
        assert shares[name] == pytest.approx(gain)


def test_the_picture_is_xml_with_a_card_for_each_node(model, tmp_path):
    path = tmp_path / "tree.svg"
    model.draw(path)
    picture = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f"{space}g")) == len(model.inspect()["nodes"])
    assert float(picture.get("width")) > 300
    model.draw(tmp_path / "tree.html")
    model.draw(tmp_path / "tree.txt")
    page = (tmp_path / "tree.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert re.search(r"overflow(-x)?:auto", page).start() < page.index("<svg"), (
        "what is wider than the page can be scrolled"
    )
    assert (tmp_path / "tree.txt").read_text(encoding="utf-8").startswith("HoeffdingTree")
    with pytest.raises(InvalidValue, match="saved as"):
        model.draw(tmp_path / "tree.png")


@pytest.mark.slow
def test_cards_and_conditions_do_not_overlap(large):
    space = "{http://www.w3.org/2000/svg}"
    picture = ElementTree.fromstring(large.draw(max_depth=5).svg)
    boxes = [box for box in picture.iter(f"{space}rect") if box.get("class") == "card"]
    places = sorted((float(box.get("x")), float(box.get("y")), float(box.get("height"))) for box in boxes)
    for (x, y, height), (x_after, y_after, _) in itertools.pairwise(places):
        assert x != x_after or y_after >= y + height


def test_strange_names_break_neither_picture_nor_terminal():
    model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01)
    name = "a<b>&\"'\x00\x1b[31m\n" + "long " * 40
    for x, y in rows(2000, missing=0.0):
        model.learn_one({name: x["hour"], "k": f"<{x['carrier']}\x07>"}, f"{y}</svg>\n")
    drawing = model.draw()
    ElementTree.fromstring(drawing.svg)
    assert "\x1b" not in drawing.text
    assert "\x07" not in drawing.text
    assert "\x1b" not in repr(model.rules())
    assert len(drawing.text.splitlines()) == 1 + len(model.inspect()["nodes"])


def test_a_tree_that_has_learned_nothing():
    model = tree.HoeffdingTreeClassifier()
    assert "nothing learned" in str(model.draw())
    assert "nothing learned" in repr(model.rules())
    ElementTree.fromstring(model.draw().svg)
    assert len(model.to_frame("pandas")) == 1
    assert len(model.splits("pandas")) == 0
    assert model.feature_importances == {}
    why = model.explain_one({"a": 1.0})
    assert why.path == ()
    assert why.prediction == why.base == 0.0
    assert "<svg" in model._repr_html_()
    model.learn_one({"a": 1.0}, True)
    assert repr(model.rules()) == "always True (100 %, n = 1)"
    assert model.feature_importances == {"a": 0.0}


@pytest.mark.slow
def test_a_large_tree_is_cut_and_says_so(large):
    begun = time.perf_counter()
    total = len(large.to_frame("pandas"))
    drawing = large.draw()
    shown = drawing.text.splitlines()
    assert len(shown) < 60
    assert len(drawing.svg) < 100_000
    assert f"of {total:,} nodes not shown" in shown[-1]
    assert f"of {total:,} nodes not shown" in drawing.svg
    hidden = sum(
        int(line.split("… ")[1].split(" ")[0].replace(",", "")) for line in shown if "nodes below" in line
    )
    assert hidden + len(shown) - 2 == total
    assert len(large._repr_html_()) < 200_000
    # Far more than it takes, for a busy machine; what is quadratic in the nodes takes minutes.
    assert time.perf_counter() - begun < 20.0
    assert len(large.draw(max_depth=0).text.splitlines()) == 3
    assert len(large.rules()) == (total + 1) // 2


def test_many_branches_are_folded():
    model = tree.HoeffdingTreeClassifier(grace_period=200, delta=0.01, max_depth=1)
    draw = random.Random(1)
    for _ in range(6000):
        place = min(int(draw.expovariate(0.05)), 80)
        model.learn_one({"place": f"town {place}"}, place % 3 == 0)
    branches = len(model.inspect()["nodes"]) - 1
    assert branches > 40
    text = model.draw().text
    assert f"└─ … {branches - 11} more branches" in text
    assert "town 0" in text
    ElementTree.fromstring(model.draw().svg)
    assert len(model.draw(max_branches=1000).text.splitlines()) == 2 + branches


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"max_depth": -1}, InvalidValue, "max_depth must be at least 0, got -1"),
        ({"max_depth": 1.5}, InvalidType, "max_depth must be an integer"),
        ({"max_depth": True}, InvalidType, "max_depth must be an integer"),
        ({"max_branches": 1}, InvalidValue, "max_branches must be at least 2"),
    ],
)
def test_what_cannot_be_drawn(model, given, error, words):
    with pytest.raises(error, match=words):
        model.draw(**given)


def test_a_tree_inside_a_pipeline(tmp_path, capsys):
    pipeline = preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(grace_period=100, delta=1e-3)
    result = evaluate.prequential(pipeline, list(rows(4000)))
    member = pipeline["HoeffdingTreeClassifier"]
    assert "late (" in member.draw().text
    scaled = pipeline["StandardScaler"].transform_one({"hour": 20, "carrier": "UA"})
    assert member.explain_one(scaled).label == pipeline.predict_one({"hour": 20, "carrier": "UA"}) == "late"
    # A report of the evaluation shows the importances.
    assert result.weights.names[0] in ("hour", "carrier")
    assert "importance" in result.weights.about
    pipeline.save(tmp_path / "tree.ms")
    assert main(["inspect", str(tmp_path / "tree.ms")]) == 0
    said = capsys.readouterr().out
    assert member.draw().text in said
    assert "importance of each feature" in said


def test_a_regression_tree():
    model = tree.HoeffdingTreeRegressor(leaf_prediction="mean")
    assert "nothing learned" in model.draw().text
    draw = random.Random(1)
    for _ in range(4000):
        x = {"a": draw.random(), "b": draw.random(), "c": draw.choice("uvw")}
        model.learn_one(x, 10.0 * (x["a"] > 0.5) + 3.0 * (x["c"] == "u"))
    assert next(iter(model.feature_importances)) == "a"
    for x in ({"a": 0.9, "c": "u"}, {"a": 0.1, "c": "v", "b": 0.5}, {}, {"c": "x"}):
        why = model.explain_one(x)
        assert why.label is None
        assert why.base + sum(why.contributions.values()) == pytest.approx(why.share)
        assert why.share == pytest.approx(why.prediction) == pytest.approx(model.predict_one(x))
    assert len(model.rules()) == model.to_frame("pandas").leaf.sum() > 3
    ElementTree.fromstring(model.draw().svg)


@pytest.mark.parametrize("name", [name for name in millstream.find() if name.startswith("tree.")])
def test_every_tree_tells_of_itself(name):
    model = millstream.build({"name": name, "parameters": {"grace_period": 50, "delta": 0.01}})
    for place, (x, y) in enumerate(rows(3000)):
        # A drift, for trees that follow one.
        y = {"late": "in time", "in time": "late"}[y] if place > 2000 else y
        model.learn_one(x, y if model.role == "classifier" else float(y == "late"))
    ElementTree.fromstring(model.draw().svg)
    assert len(model.to_frame("pandas")) == len(model.draw(max_depth=1000).text.splitlines()) - 1 > 1
    assert sum(model.feature_importances.values()) == pytest.approx(1.0)
    assert len(model.splits("pandas")) >= 1
    for x, _ in rows(20, seed=5):
        why = model.explain_one(x)
        assert why.base + sum(why.contributions.values()) == pytest.approx(why.share)
        assert why.share + why.leaf_model == pytest.approx(why.prediction)
    assert len(model.rules()) == model.to_frame("pandas").leaf.sum()
    assert "<svg" in model._repr_html_()


def test_features_that_are_numbers_keep_their_names():
    model = tree.HoeffdingTreeClassifier(grace_period=100, delta=1e-3)
    evaluate.prequential(model, synth.SEA(seed=1).take(5000))
    by_number = tree.HoeffdingTreeClassifier(grace_period=100, delta=1e-3)
    X = np.random.default_rng(1).random((3000, 3))
    by_number.learn_many(X, (X[:, 1] > 0.5).astype(int))
    assert next(iter(by_number.feature_importances)) == 1
    assert "x[1] ≤" in by_number.draw().text
    assert "class 1 (" in by_number.draw().text
    assert by_number.explain_one({0: 0.1, 1: 0.9, 2: 0.1}).path[0].feature == 1
    assert by_number.splits("pandas").feature[0] == 1


def test_what_is_seen_is_the_same_of_a_loaded_tree(model):
    again = millstream.from_bytes(model.to_bytes())
    assert again.draw().svg == model.draw().svg
    assert again.splits("pandas").equals(model.splits("pandas"))
    assert repr(again.rules()) == repr(model.rules())
