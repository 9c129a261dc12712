"""The positive class of binary metrics: it does not depend on the order of outcomes, and it is named."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as peer
from hypothesis import given, settings

import millstream
from millstream import cli, evaluate, linear_model, metrics, preprocessing
from millstream.errors import MillstreamError

OF_LABELS: dict[str, Any] = {
    "Precision": metrics.Precision,
    "Recall": metrics.Recall,
    "F1": metrics.F1,
    "FBeta": lambda **given: metrics.FBeta(2.0, **given),
}
OF_PROBABILITIES: dict[str, Any] = {"ROCAUC": metrics.ROCAUC, "PRAUC": metrics.PRAUC}
#: They have no positive class, and take a bare probability as that of the class 1.
LOSSES: dict[str, Any] = {"LogLoss": metrics.LogLoss, "Brier": metrics.Brier}

PAIRS: list[list[Any]] = [["no", "yes"], [False, True], [0, 1], [-1, 1], [1, 2], [2, 3], [0, "x"], [1, "x"]]


@st.composite
def orders(draw: Any, most: int = 2) -> tuple[list[Any], list[Any]]:
    """Outcomes (truth, prediction, probabilities, weight) of up to `most` classes, in two orders."""
    labels = draw(st.sampled_from(PAIRS)) + ["z", 7][: most - 2]
    probability = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    outcome = st.tuples(
        st.sampled_from(labels),
        st.sampled_from([*labels, None]),
        st.lists(probability, min_size=len(labels), max_size=len(labels)).map(
            lambda ps: dict(zip(labels, ps, strict=True))
        ),
        st.sampled_from([1.0, 0.1, 0.2, 0.3, 2.5]),
    )
    outcomes = draw(st.lists(outcome, min_size=1, max_size=25))
    return outcomes, draw(st.permutations(outcomes))


def told(metric: Any, outcomes: list[Any], probabilities: bool) -> Any:
    for truth, predicted, probability, w in outcomes:
        metric.update(truth, probability if probabilities else predicted, w)
    return metric


@settings(deadline=None, max_examples=150)
@given(orders(most=4))
def test_the_order_of_labels_changes_nothing(both: tuple[list[Any], list[Any]]) -> None:
    for make in OF_LABELS.values():
        for wrap in (
            lambda metric: metric,
            lambda metric: metrics.Rolling(metric, 100),
            lambda metric: metrics.Fading(metric, 1.0),
        ):
            first, second = (told(wrap(make()), outcomes, probabilities=False) for outcomes in both)
            assert first.positive_class == second.positive_class
            assert first.get() == pytest.approx(second.get(), abs=1e-9)


@settings(deadline=None, max_examples=150)
@given(orders())
def test_the_order_of_probabilities_changes_nothing(both: tuple[list[Any], list[Any]]) -> None:
    """Also if the probabilities of a row do not add up to 1."""
    for make in (*OF_PROBABILITIES.values(), *LOSSES.values()):
        for wrap in (lambda metric: metric, lambda metric: metrics.Rolling(metric, 100)):
            first, second = (told(wrap(make()), outcomes, probabilities=True) for outcomes in both)
            assert first.positive_class == second.positive_class
            assert first.get() == pytest.approx(second.get(), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(orders())
def test_the_value_is_that_of_the_class_that_is_named(both: tuple[list[Any], list[Any]]) -> None:
    outcomes, _ = both
    for name, make in {**OF_LABELS, **OF_PROBABILITIES}.items():
        free = told(make(), outcomes, name in OF_PROBABILITIES)
        fixed = told(make(pos_val=free.positive_class), outcomes, name in OF_PROBABILITIES)
        assert free.get() == pytest.approx(fixed.get(), abs=1e-12)


def test_f1_of_two_orders() -> None:
    """The case that was found: 99.5 % or 0 %, by which label came first."""
    outcomes = [("no", "no")] * 99 + [("yes", "no")]
    for order in (outcomes, outcomes[::-1]):
        metric = metrics.F1()
        for outcome in order:
            metric.update(*outcome)
        assert metric.positive_class == "yes"
        assert metric.get() == 0.0


@pytest.mark.parametrize(
    ("truths", "positive"),
    [
        ([0], 1),
        ([1], 1),
        ([False], True),
        ([True], True),
        ([0, 1, 1, 1], 1),
        ([True, 0, 1, 1], True),
        ([-1, 1, 1], 1),
        ([1, 1, 2], 2),
        ([1, 2, 2], 1),
        (["no", "yes"], "yes"),
        (["yes", "no"], "yes"),
        (["no", "yes", "yes"], "no"),
        (["a", "b", "c", "a", "b"], "c"),
        ([0, 1, 1, 2, 2], 0),
        ([3, "a"], "a"),
    ],
)
def test_the_rule(truths: list[Any], positive: Any) -> None:
    for order in (truths, truths[::-1]):
        metric = metrics.Recall()
        assert metric.positive_class is None
        metric.update_many(order, order)
        assert metric.positive_class == positive
        assert type(metric.positive_class) is type(positive) or order is not truths
    assert metrics.Accuracy().positive_class is None


def test_scores_of_text_labels_equal_scikit_learn_in_any_order() -> None:
    random = np.random.default_rng(3)
    rare = random.random(2000) < 0.2
    score = np.clip(0.3 * rare + 0.7 * random.random(2000), 0, 1)
    truth = np.where(rare, "rare", "usual")
    expected = {
        "ROCAUC": peer.roc_auc_score(rare, score),
        "PRAUC": peer.average_precision_score(rare, score),
        "F1": peer.f1_score(rare, score > 0.5),
    }
    for order in (np.argsort(rare), np.argsort(~rare), random.permutation(2000)):
        for name, value in expected.items():
            metric = getattr(metrics, name)()
            matrix = np.column_stack([score, 1 - score])[order]
            if name == "F1":
                metric.update_many(truth[order], np.where(score > 0.5, "rare", "usual")[order])
            else:
                metric.update_many(truth[order], matrix, classes=["rare", "usual"])
            assert metric.positive_class == "rare"
            assert metric.get() == pytest.approx(value, abs=2e-3)


def test_a_third_class_needs_pos_val_where_probabilities_are_scored() -> None:
    for make in OF_PROBABILITIES.values():
        metric = make()
        metric.update_many(["a", "b"], [{"a": 0.6, "b": 0.4}, {"a": 0.3, "b": 0.7}])
        before = metric.to_bytes()
        with pytest.raises(ValueError, match="more than two classes pos_val must name the positive one"):
            metric.update("c", {"a": 0.5, "b": 0.5})
        assert metric.to_bytes() == before
        metric.update("b", {"a": 0.9, "b": 0.1})
        one_against_the_rest = make(pos_val="c")
        one_against_the_rest.update_many(["a", "b", "c"], [{"c": 0.1}, {"c": 0.2}, {"c": 0.9}])
        assert one_against_the_rest.get() == 1.0


def test_a_bare_probability_is_that_of_1_whatever_came_before() -> None:
    for make in LOSSES.values():
        first, second = make(), make()
        dicts = [("c", {"c": 0.7, "d": 0.3}), ("d", {"c": 0.2, "d": 0.8})]
        for outcome in [(1, 0.9), (0, 0.2), *dicts]:
            first.update(*outcome)
        for outcome in [*dicts, (1, 0.9), (0, 0.2)]:
            second.update(*outcome)
        assert first.get() == pytest.approx(second.get(), rel=1e-12)


def test_a_window_keeps_the_class_of_the_stream() -> None:
    """In the last window yes is the more frequent class, or does not come at all."""
    for last in (["yes", "yes", "no"], ["no", "no", "no"]):
        truths = ["no"] * 90 + ["yes"] * 5 + last
        for metric in (metrics.Rolling(metrics.Recall(), 3), metrics.Fading(metrics.Recall(), 0.5)):
            metric.update_many(truths, truths)
            assert metric.positive_class == "yes"
        rolling = metrics.Rolling(metrics.Recall(), 3)
        rolling.update_many(truths, truths)
        assert rolling.get() == (1.0 if "yes" in last else 0.0)


def test_representations_name_the_positive_class() -> None:
    metric = metrics.F1()
    assert repr(metric) == "F1: 0.00%"
    metric.update_many(["no", "yes", "no"], ["no", "yes", "yes"])
    assert repr(metric) == "F1 (positive=yes): 66.67%"
    rolling = metrics.Rolling(metrics.Recall(), 10)
    rolling.update_many([True, False], [True, True])
    assert repr(rolling) == "Rolling(Recall) (positive=True): 100.00%"
    absent = metrics.F1(pos_val="Yes")
    absent.update("yes", "yes")
    assert repr(absent) == "F1 (positive=Yes, never seen): 0.00%"
    hostile = metrics.F1(pos_val="\033[31m" + "x" * 100)
    assert "\033" not in repr(hostile)
    assert len(repr(hostile)) < 80


def stream(rows: int = 400, first: str = "no") -> tuple[Any, Any]:
    random = np.random.default_rng(5)
    X = random.normal(size=(rows, 3))
    y = np.where(X[:, 0] + random.normal(size=rows) > 1.0, "yes", "no")
    y[:60] = first
    return X, y


def model() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


class OwnModel:
    """A model of Python's, so that the loop is Python's."""

    role = "classifier"

    def __init__(self) -> None:
        self.model = model()

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        self.model.learn_one(x, y, w)

    def predict_one(self, x: Any) -> Any:
        return self.model.predict_one(x)

    def predict_proba_one(self, x: Any) -> Any:
        return self.model.predict_proba_one(x)


@pytest.mark.parametrize("first", ["no", "yes"])
def test_an_evaluation_names_the_positive_class_and_is_about_it(first: str) -> None:
    X, y = stream(first=first)
    wanted = [metrics.F1(), metrics.ROCAUC(), "Accuracy"]
    result = evaluate.prequential(model(), (X, pd.Series(y, name="late")), wanted, every=20, window=50)
    assert result.positive == {"F1": "yes", "ROCAUC": "yes"}
    assert result.titles == {"F1": "F1 (positive=yes)", "ROCAUC": "ROCAUC (positive=yes)", "Accuracy": "Accuracy"}
    assert "F1 (positive=yes) " in repr(result)
    assert result.warnings == []
    assert result.calibration.positive == "yes"
    # The whole curve is about that class, also where another one was the rarer at the time.
    fixed = [metrics.F1(pos_val="yes"), metrics.ROCAUC(pos_val="yes"), "Accuracy"]
    expected = evaluate.prequential(model(), (X, y), fixed, every=20, window=50)
    for name in ("F1", "rolling_F1", "ROCAUC", "rolling_ROCAUC"):
        np.testing.assert_allclose(result.curve[name], expected.curve[name], rtol=1e-12)
    assert result["F1"] == expected["F1"]
    own = evaluate.prequential(OwnModel(), (X, y), ["F1", "ROCAUC"], every=20, window=50)
    assert own.titles["F1"] == "F1 (positive=yes)"
    np.testing.assert_allclose(own.curve["F1"], result.curve["F1"], rtol=1e-12)


def test_a_report_names_the_positive_class() -> None:
    X, y = stream()
    page = evaluate.prequential(model(), (X, y), ["F1", "Recall"]).to_html()
    assert "F1 (positive=yes)" in page
    both = evaluate.prequential({"a": model(), "b": model()}, (X, y), ["F1"])
    assert "F1 (positive=yes)" in both.to_html()
    assert "F1 (positive=yes)" in repr(both).splitlines()[0]


def test_a_pos_val_that_never_occurred_is_reported() -> None:
    X, y = stream()
    result = evaluate.prequential(model(), (X, y), [metrics.F1(pos_val="Yes"), metrics.ROCAUC(pos_val="no")])
    line = "F1: pos_val 'Yes' never occurred"
    assert result.warnings == [line]
    assert line in repr(result)
    assert "F1: pos_val &#x27;Yes&#x27; never occurred" in result.to_html()
    both = evaluate.prequential({"a": model(), "b": model()}, (X, y), [metrics.F1(pos_val="Yes")])
    assert line in repr(both)
    assert "never occurred" in both.to_html()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_name_the_positive_class(kind: str) -> None:
    X, y = stream()

    def columns(results: Any) -> dict[str, list[Any]]:
        made = results.to_frame(kind)
        if kind == "polars":
            made = made.to_arrow()
        return {name: list(made[name]) for name in getattr(made, "column_names", getattr(made, "columns", ()))}

    one = evaluate.prequential(model(), (X, y), ["F1", "Accuracy"], every=50)
    found = columns(one)
    assert list(found)[-1] == "positive"
    assert {"F1", "rolling_F1"} <= set(found)
    assert {str(label) for label in found["positive"]} == {"yes"}
    both = evaluate.prequential({"a": model(), "b": model()}, (X, y), ["F1"], every=50)
    assert {str(label) for label in columns(both)["positive"]} == {"yes"}
    assert len(columns(both)["positive"]) == 2 * len(found["positive"])
    wanted = [metrics.F1(pos_val="yes"), metrics.Recall(pos_val="no")]
    apart = evaluate.prequential(model(), (X, y), wanted, every=50)
    assert {str(label) for label in columns(apart)["positive"]} == {"F1=yes, Recall=no"}
    none = evaluate.prequential(model(), (X, y), ["Accuracy"], every=50)
    assert "positive" not in columns(none)
    if kind == "pandas":
        assert one.to_frame(kind).attrs == {"positive": {"F1": "yes"}}
        assert both.to_frame(kind).attrs == {"positive": {"a": {"F1": "yes"}, "b": {"F1": "yes"}}}
        assert none.to_frame(kind).attrs == {}
    truths = [label == "yes" for label in y]
    boolean = evaluate.prequential(model(), (X, truths), ["F1"], every=50).to_frame("pandas")
    assert boolean["positive"].tolist() == [True] * len(boolean)


def test_a_comparison_whose_models_have_different_classes_names_each() -> None:
    """Of 3 yes and 3 no, one model could say nothing about the first row."""

    class Sure(OwnModel):
        def predict_one(self, x: Any) -> Any:
            return "no"

    class Late(Sure):
        seen = 0

        def predict_one(self, x: Any) -> Any:
            self.seen += 1
            return None if self.seen == 1 else "no"

    rows = [({"x": 1.0}, y) for y in ("no", "no", "yes", "yes", "yes", "no")]
    results = evaluate.prequential({"sure": Sure(), "late": Late()}, rows, ["Recall"])
    assert (results["sure"].positive, results["late"].positive) == ({"Recall": "yes"}, {"Recall": "no"})
    shown = repr(results)
    assert shown.splitlines()[0].split() == ["Recall", "rows/s", "memory"]
    assert results.to_frame("pandas").groupby("model")["positive"].unique().map(list).to_dict() == {
        "sure": ["yes"],
        "late": ["no"],
    }
    assert "1.0000 (no)" in shown
    assert "0.0000 (yes)" in shown


def write(path: Path) -> str:
    X, y = stream()
    lines = ["a,b,c,late", *(",".join([*map(str, x), label]) for x, label in zip(X, y, strict=True))]
    path.write_text("\n".join(lines))
    return str(path)


def test_the_terminal_names_the_positive_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "flights.csv")
    scored = ["-t", "late", "--metric", "F1", "--metric", "Accuracy", "--quiet"]
    assert cli.main(["run", file, *scored]) == 0
    assert "\nF1 (positive=yes) " in capsys.readouterr().out
    assert cli.main(["compare", file, *scored, "-m", "GaussianNB", "-m", "MajorityClass"]) == 0
    out = capsys.readouterr().out
    assert "F1 (positive=yes)  Accuracy  F1 (positive=yes), last 1,000" in out
    assert "best by F1 (positive=yes): " in out
    assert (
        cli.main(["run", file, "-t", "late", "--metric", "F1('Yes')", "--metric", "F1", "--json", "--quiet"]) == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["metrics"]["F1 2"]["positive"] == "yes"
    assert data["warnings"] == ["F1: pos_val 'Yes' never occurred"]
    assert cli.main(["run", file, "-t", "late", "--metric", "F1('Yes')", "--quiet"]) == 0
    assert "F1: pos_val 'Yes' never occurred" in capsys.readouterr().out


OLD = Path(__file__).parent / "golden" / "positive"


@pytest.mark.parametrize("path", sorted(OLD.glob("*.ms")), ids=lambda path: path.stem)
def test_metrics_of_0_1_0_with_text_labels_continue(path: Path) -> None:
    """Saved by 0.1.0 after half of `record["outcomes"]`; 0.1.0 took the second label for the positive one."""
    record = json.loads(path.with_suffix(".json").read_text())
    old = millstream.load(path)
    half = len(record["outcomes"]) // 2
    pinned = record["classes"] > 2 and "AUC" in path.stem
    fresh = millstream.build(old.describe() if not pinned else {**old.describe(), "parameters": {"pos_val": "b"}})
    for truth, predicted in record["outcomes"][:half]:
        fresh.update(truth, predicted)
    assert old.positive_class == fresh.positive_class
    assert old.get() == pytest.approx(fresh.get(), rel=1e-12)
    for truth, predicted in record["outcomes"][half:]:
        old.update(truth, predicted)
        fresh.update(truth, predicted)
        if not path.stem.startswith("Rolling"):
            assert old.positive_class == fresh.positive_class
            assert old.get() == pytest.approx(fresh.get(), rel=1e-12)
    again = millstream.from_bytes(old.to_bytes())
    assert again.get() == old.get()
    assert again.positive_class == old.positive_class
    if pinned:
        assert old.get() == pytest.approx(record["value_at_end"], rel=1e-12)


def test_there_are_metrics_of_0_1_0() -> None:
    assert len(list(OLD.glob("*.ms"))) >= 5


def test_forged_weights_of_labels_are_refused() -> None:
    metric = metrics.F1()
    metric.update_many(["a", "b"], ["a", "a"], [3.0, 5.0])
    data = metric.to_bytes()
    for forged in (-3.0, float("nan"), float("inf")):
        payload = data[20:-4].replace(struct.pack(">Bd", 0xCB, 3.0), struct.pack(">Bd", 0xCB, forged))
        body = data[:20] + payload
        with pytest.raises(MillstreamError, match="is not valid"):
            millstream.from_bytes(body + struct.pack("<I", zlib.crc32(body)))
