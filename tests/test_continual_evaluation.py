"""Streams of tasks, and metrics on an accuracy matrix worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream import baseline, continual, datasets, evaluate, linear_model, naive_bayes, stream, synth
from millstream.errors import InvalidType, InvalidValue

R = [[0.8, 0.2, 0.1], [0.6, 0.9, 0.3], [0.5, 0.7, 1.0]]
SIZES = [100, 300, 200]


def test_metrics_by_hand() -> None:
    result = evaluate.ContinualResult(R, sizes=SIZES, baseline=[0.1, 0.15, 0.05])
    # (0.5 + 0.7 + 1) / 3, and (50 + 210 + 200) / 600.
    assert result.final_accuracy == pytest.approx(2.2 / 3)
    assert result.pooled["final accuracy"] == pytest.approx(460 / 600)
    # After the tasks: 0.8; (0.6 + 0.9) / 2 = 0.75; 2.2 / 3. Pooled: 0.8; (60 + 270) / 400; 460 / 600.
    assert result.anytime_accuracy == pytest.approx((0.8 + 0.75 + 2.2 / 3) / 3)
    assert result.pooled["anytime accuracy"] == pytest.approx((0.8 + 330 / 400 + 460 / 600) / 3)
    # Task 1: max(0.8, 0.6) − 0.5 = 0.3; task 2: max(0.2, 0.9) − 0.7 = 0.2.
    assert result.forgetting == pytest.approx(0.25)
    assert result.pooled["forgetting"] == pytest.approx((100 * 0.3 + 300 * 0.2) / 400)
    # (0.5 − 0.8 + 0.7 − 0.9) / 2
    assert result.backward_transfer == pytest.approx(-0.25)
    # (0.2 − 0.15 + 0.3 − 0.05) / 2
    assert result.forward_transfer == pytest.approx(0.15)
    assert result.pooled["forward transfer"] == pytest.approx((300 * 0.05 + 200 * 0.25) / 500)
    # (0.6 − 0.8) + (0.5 − 0.8) + (0.7 − 0.9), over three pairs; (0.2 + 0.1 + 0.3) / 3.
    assert result.backward_transfer_capymoa == pytest.approx(-0.7 / 3)
    assert result.forward_transfer_capymoa == pytest.approx(0.2)
    assert result.per_task["forgotten"] == pytest.approx([0.3, 0.2, 0.0])
    assert result.per_task["learned"] == pytest.approx([0.8, 0.9, 1.0])


def test_a_single_task_forgets_nothing() -> None:
    result = evaluate.ContinualResult([[0.5]])
    assert (result.final_accuracy, result.forgetting, result.forward_transfer) == (0.5, 0.0, 0.0)
    assert result.backward_transfer_capymoa == 0.0


def test_a_learner_of_the_last_class_forgets_everything() -> None:
    X = np.arange(40.0)[:, None]
    y = np.repeat([0, 1, 2, 3], 10)
    tasks = stream.tasks((X, y), n_tasks=2, groups=[[0], [1]])
    result = evaluate.continual(baseline.NoChange(), tasks)
    assert result.matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert (result.forgetting, result.backward_transfer) == (1.0, -1.0)
    assert result.baseline.tolist() == [0.0, 0.0]


def test_tests_within_tasks_change_nothing_but_the_curve() -> None:
    tasks = stream.tasks(datasets.Iris(), n_tasks=3)
    once = evaluate.continual(naive_bayes.GaussianNB(), tasks)
    often = evaluate.continual(naive_bayes.GaussianNB(), tasks, evaluations=4)
    assert (once.matrix == often.matrix).all()
    assert len(often.curve) == 13
    assert often.rows.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]


def test_classes_are_divided_and_rows_used_once() -> None:
    X = np.arange(100.0)[:, None]
    y = np.arange(100) % 5
    tasks = stream.tasks((X, y), n_tasks=2, seed=3)
    assert tasks.names == ["0, 1", "2, 3, 4"]
    rows = [tasks.train.X[:, 0], *(tasks[i].test.X[:, 0] for i in range(2))]
    assert sorted(np.concatenate(rows)) == list(range(100))
    assert tasks.ends == [32, 80]
    assert (np.asarray(tasks.train.y)[:32] < 2).all()
    assert (np.asarray(tasks.train.y)[32:] >= 2).all()
    assert tasks.task_of.tolist() == [0] * 32 + [1] * 48
    assert sum(len(chunk) for chunk in tasks.chunks()) == 80
    same = stream.tasks((X, y), n_tasks=2, seed=3)
    assert (same.train.X == tasks.train.X).all()


def test_a_gradual_border_mixes_around_it_and_nowhere_else() -> None:
    X, y = np.arange(2000.0)[:, None], np.repeat([0, 1], 1000)
    tasks = stream.tasks((X, y), n_tasks=2, border=200, holdout=0.01)
    border = tasks.ends[0]
    assert (tasks.task_of[: border - 100] == 0).all()
    assert (tasks.task_of[border + 100 :] == 1).all()
    before, after = tasks.task_of[border - 50 : border].mean(), tasks.task_of[border : border + 50].mean()
    assert 0.05 < before < 0.5 < after < 0.95
    assert (tasks.task_of == np.asarray(tasks.train.y)).all()


@pytest.mark.parametrize("form", ["numpy", "arrow", "pandas", "polars", "dicts", "examples", "stream"])
def test_any_form_of_data(form: str) -> None:
    X = np.random.default_rng(1).normal(size=(60, 2))
    y = [["a", "b", "c"][place % 3] for place in range(60)]
    columns = {"p": X[:, 0], "q": X[:, 1]}
    data: Any
    if form == "numpy":
        data = (X, y)
    elif form == "arrow":
        data = (pa.table(columns), y)
    elif form == "pandas":
        data = (pytest.importorskip("pandas").DataFrame(columns), y)
    elif form == "polars":
        data = (pytest.importorskip("polars").DataFrame(columns), y)
    elif form == "stream":
        data = stream.from_numpy(X, np.array(y))
    else:
        dicts = [{"p": float(a), "q": float(b)} for a, b in X]
        data = (dicts, y) if form == "dicts" else list(zip(dicts, y, strict=True))
    for kind in ("class", "domain", "task"):
        tasks = stream.tasks(data, kind, n_tasks=3)
        result = evaluate.continual(naive_bayes.GaussianNB(), tasks)
        assert np.isfinite(result.matrix).all()
        assert len(tasks.train) == 48


def test_domains_by_a_feature_and_by_permutations() -> None:
    rows = [({"x": float(place), "site": ["north", "south"][place >= 50]}, place % 2) for place in range(100)]
    tasks = stream.tasks(rows, "domain", domain="site")
    assert tasks.names == ["north", "south"]
    assert {x["site"] for x, _ in tasks[0].test.examples()} == {"north"}
    X = np.arange(300.0).reshape(100, 3)
    tasks = stream.tasks((X, np.arange(100) % 2), "domain", n_tasks=4)
    assert tasks.names[0] == "as given"
    first = tasks[0].train.X
    assert (np.diff(first, axis=1) == 1.0).all()
    assert all(set(tasks[i].classes) == {0, 1} for i in range(4))
    values = [tasks[i].train.X for i in range(4)] + [tasks[i].test.X for i in range(4)]
    assert sorted(np.concatenate(values).ravel()) == list(np.arange(300.0))


def test_with_a_task_id_only_the_classes_of_the_task_are_compared() -> None:
    X = np.random.default_rng(2).normal(size=(400, 2))
    y = (X[:, 0] > 0) + 2 * (np.arange(400) >= 200)
    model = linear_model.SoftmaxRegression()
    result = evaluate.continual(model, stream.tasks((X, y), "task", groups=[[0, 1], [2, 3]]))
    alone = evaluate.continual(model.clone(), stream.tasks((X, y), "class", groups=[[0, 1], [2, 3]]))
    assert result.final_accuracy > 0.9 > alone.final_accuracy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "other"}, "kind must be one of class, domain, task"),
        ({"n_tasks": 0}, "n_tasks must be an integer >= 1"),
        ({"n_tasks": 4}, "n_tasks must be at most the number of classes, 3"),
        ({"holdout": 1.0}, "holdout must be a fraction"),
        ({"border": -1}, "border must be an integer >= 0"),
        ({"groups": [[0], [0, 1]]}, "each class once"),
        ({"groups": [[0], [9]]}, "must be classes of the data, got 9"),
        ({"domain": "x"}, "domain is for"),
        ({"kind": "domain", "domain": "nothing"}, "the name of a feature of each row, got 'nothing'"),
        ({"kind": "domain", "groups": [[1]]}, "groups are for"),
    ],
)
def test_wrong_arguments_are_refused(changes: dict[str, Any], words: str) -> None:
    data = ([{"x": float(place)} for place in range(30)], [place % 3 for place in range(30)])
    with pytest.raises(InvalidValue, match=words):
        stream.tasks(data, **{"n_tasks": 3, **changes})


def test_wrong_data_and_models_are_refused() -> None:
    tasks = stream.tasks(datasets.Iris(), n_tasks=3)
    with pytest.raises(InvalidType, match="model must be a classifier"):
        evaluate.continual(linear_model.LinearRegression(), tasks)
    with pytest.raises(InvalidType, match="tasks must be those of stream.tasks"):
        evaluate.continual(naive_bayes.GaussianNB(), datasets.Iris())
    with pytest.raises(InvalidValue, match="evaluations must be an integer >= 1, got 0"):
        evaluate.continual(naive_bayes.GaussianNB(), tasks, evaluations=0)
    with pytest.raises(InvalidValue, match="data must end"):
        stream.tasks(synth.SEA())
    with pytest.raises(InvalidType, match="data must be"):
        stream.tasks("digits")
    with pytest.raises(InvalidValue, match="a row and a column per task"):
        evaluate.ContinualResult([[1.0, 0.5]])
    with pytest.raises(InvalidValue, match="sizes must have a value for each of 3 tasks"):
        evaluate.ContinualResult(R, sizes=[1, 2])


def test_tables_and_plots(tmp_path: Any) -> None:
    tasks = stream.tasks(datasets.Iris(), n_tasks=3)
    result = evaluate.continual(continual.NearestClassMean(), tasks, evaluations=2)
    assert list(result.to_frame("pyarrow").column_names) == list(result.per_task)
    assert "mean of tasks" in repr(result)
    for kind in ("tasks", "matrix"):
        result.save_plot(tmp_path / f"{kind}.png", kind)
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    with pytest.raises(InvalidValue, match="kind must be one of"):
        result.save_plot(tmp_path / "other.png", "other")
    with pytest.raises(InvalidValue, match="must be saved as"):
        result.save_plot(tmp_path / "other.bmp")
