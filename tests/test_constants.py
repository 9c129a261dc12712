"""The best constant prediction and the base rate beside each score; rare classes; several passes."""

import json

import numpy as np
import pytest

from millstream import baseline, cli, evaluate, linear_model, metrics, stream


def rare_rows(rows=2000, rate=0.03, labels=("no", "yes")):
    random = np.random.default_rng(4)
    X = random.normal(size=(rows, 3))
    y = (X[:, 0] + random.normal(size=rows) > np.quantile(X[:, 0], 1 - rate) * 1.2).astype(int)
    return X, np.array(labels)[y]


def test_the_best_constant_of_each_metric():
    # About 3 of 4 rows are "a"; the first one has no prediction.
    rows = [({"x": 1.0}, "b" if n % 4 == 3 else "a") for n in range(400)]
    names = ["Accuracy", "CohenKappa", "LogLoss", "ROCAUC", "PRAUC", "F1", "BalancedAccuracy", "KappaTemporal"]
    result = evaluate.prequential(baseline.Prior(), rows, names, warmup=0)
    found = result.constant
    counts = np.array([299, 100]) / 399
    assert result.base_rates == {"a": counts[0], "b": counts[1]}
    assert found["Accuracy"] == pytest.approx(counts[0])
    assert found["CohenKappa"] == 0.0
    assert found["LogLoss"] == pytest.approx(-(counts * np.log(counts)).sum())
    assert found["ROCAUC"] == 0.5
    assert found["PRAUC"] == pytest.approx(counts[1])
    # The rarer class is positive: precision 100/399 and recall 1.
    assert found["F1"] == pytest.approx(2 * counts[1] / (1 + counts[1]))
    assert found["BalancedAccuracy"] == 0.5
    # The value of this one depends on the order of the rows.
    assert "KappaTemporal" not in found
    assert "best constant" in repr(result)
    assert "base rate: a 75 %, b 25 %" in repr(result)


def test_the_best_constant_of_numbers():
    y = np.array([0.0, 0.0, 0.0, 10.0] * 100)
    result = evaluate.prequential(baseline.TargetMean(), (np.zeros((400, 1)), y), ["MAE", "RMSE", "MSE", "R2"])
    # The median 0 is best for the absolute error, the mean 2.5 for the squared one: 3/4·2.5² + 1/4·7.5² = 18.75.
    assert result.constant == pytest.approx({"MAE": 2.5, "RMSE": 18.75**0.5, "MSE": 18.75, "R2": 0.0})
    assert result.base_rates == {}
    assert "target: mean 2.5000, standard deviation 4.3301" in repr(result)


def test_weights_count():
    X, y = np.zeros((300, 1)), np.arange(300) % 2
    result = evaluate.prequential(baseline.Prior(), (X, y, np.where(y == 1, 3.0, 1.0)), "Accuracy")
    assert result.constant["Accuracy"] == pytest.approx(0.75, abs=0.002)


def test_a_metric_of_the_user_has_no_constant():
    class Hits:
        def __init__(self):
            self.right = 0

        def update(self, y_true, y_pred):
            self.right += y_true == y_pred

        def get(self):
            return self.right

    result = evaluate.prequential(baseline.NoChange(), [({"x": 1.0}, n % 2) for n in range(50)], Hits())
    assert result.constant == {}
    assert "best constant" not in repr(result)


def test_a_rare_class_and_further_passes_are_said():
    result = evaluate.prequential(linear_model.LogisticRegression(), rare_rows(), "Accuracy", passes=2)
    rare = (
        "only 6.4 % of the rows are yes, so a constant guess has a high accuracy; see the metrics PRAUC and ROCAUC"
    )
    assert result.warnings == [
        rare,
        "2 passes: after the first pass, the scored rows were learned before",
    ]
    assert evaluate.prequential(linear_model.LogisticRegression(), rare_rows(), metrics.F1("yes")).warnings == []


@pytest.fixture(scope="module")
def rare_file(tmp_path_factory):
    X, y = rare_rows(labels=(0, 1))
    path = tmp_path_factory.mktemp("rare") / "rare.csv"
    path.write_text("a,b,c,y\n" + "".join(f"{u},{v},{w},{t}\n" for (u, v, w), t in zip(X, y, strict=True)))
    return path


def told(capsys, *words):
    code = cli.main([str(word) for word in words])
    return code, capsys.readouterr().out


def test_run_leads_with_the_areas_under_the_curves(capsys, rare_file):
    code, out = told(capsys, "run", rare_file, "-t", "y", "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found["metrics"]) == ["PRAUC", "ROCAUC", "Accuracy", "CohenKappa"]
    assert found["metrics"]["PRAUC"]["positive"] == 1
    assert found["constant"]["ROCAUC"] == 0.5
    assert list(found["base_rates"]) == ["0", "1"]
    out = told(capsys, "run", rare_file, "-t", "y", "-m", "NoChange", "--passes", "2")[1]
    assert out.splitlines()[3].startswith("PRAUC (positive=1)")
    assert "2 passes: after the first pass, the scored rows were learned before" in out


def test_a_third_class_later_is_no_error(capsys, tmp_path):
    path = tmp_path / "late.csv"
    labels = ["no" if n % 20 else "yes" for n in range(70_000)] + ["maybe"]
    path.write_text("x,y\n" + "".join(f"{n % 7},{label}\n" for n, label in enumerate(labels)))
    assert told(capsys, "run", path, "-t", "y", "-m", "Prior", "-q")[0] == 0


def test_compare_has_models_of_several_kinds(capsys, rare_file):
    code, out = told(capsys, "compare", rare_file, "-t", "y")
    assert code == 0
    for name in (
        "LogisticRegression",
        "GaussianNB",
        "HoeffdingTreeClassifier",
        "ARFClassifier",
        "Prior",
        "NoChange",
    ):
        assert name in out
    head = next(line for line in out.splitlines() if "LogLoss" in line)
    assert head.split("  ")[-1] != ""
    assert head.index("LogLoss") < head.index("PRAUC") < head.index("ROCAUC") < head.index("Accuracy")
    assert "behind (95 %)" in head
    assert any(line.startswith("best constant") for line in out.splitlines())
    assert "clearly ahead" in out or "not distinguishable" in out


def test_compare_ranks_regressors_by_the_squared_error(capsys, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("x,y\n" + "".join(f"{n % 11},{(n % 11) * 2.5 + n % 3}\n" for n in range(1000)))
    found = json.loads(told(capsys, "compare", path, "-t", "y", "--json")[1])
    assert list(found["models"][0]["metrics"]) == ["RMSE", "MAE", "R2"]
    names = [each["name"] for each in found["models"]]
    assert set(names) > {"HoeffdingTreeRegressor", "ARFRegressor", "TargetMean"}
    assert found["differences"]["best"] == found["best"] == names[0]
    assert list(found["differences"]["models"]) == names[1:]


def test_compare_of_sparse_rows_has_no_trees(capsys, tmp_path):
    path = tmp_path / "words.libsvm"
    path.write_text("".join(f"{n % 2} {n % 50 + 1}:1 {n % 2 + 60}:1\n" for n in range(600)))
    found = json.loads(told(capsys, "compare", path, "--json")[1])
    names = {each["name"] for each in found["models"]}
    assert names == {"LogisticRegression(optimizer=AdaGrad)", "BernoulliNB", "Prior", "NoChange"}


def test_a_report_shows_the_constant(rare_file):
    source = stream.read_csv(rare_file, target="y")
    result = evaluate.prequential(linear_model.LogisticRegression(), source, ["PRAUC", "Accuracy"])
    page = result.to_html()
    assert "best constant" in page
    results = evaluate.prequential([baseline.Prior(), baseline.NoChange()], source, ["LogLoss"])
    page = results.to_html()
    assert "best constant" in page
    assert "behind (95 %)" in page
    assert "Prior is clearly ahead of all others" in page
