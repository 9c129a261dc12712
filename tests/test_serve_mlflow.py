"""Export to MLflow: parameters once, metrics by record, and the state as a model without pickle."""

from __future__ import annotations

import builtins
from pathlib import Path

import pytest

import millstream
from millstream import linear_model
from millstream.errors import MissingPackage, UnknownName
from millstream.serve import Client, mlflow_export
from millstream.serve.mlflow_export import MlflowExporter
from serving import Direct, FaultyLine


@pytest.fixture
def client(tmp_path):
    with Direct(tmp_path / "data", models={"delays": linear_model.LinearRegression(l2=0.5)}) as direct:
        line = FaultyLine(direct)
        yield Client(line.url)
        line.close()


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(before)


def teach(client, start, stop):
    for index in range(start, stop):
        answer = client.predict("delays", {"a": float(index)})
        client.label("delays", answer["id"], 2.0 * index)


def test_export(client, mlflow, tmp_path):
    teach(client, 0, 30)
    exporter = MlflowExporter(client, experiment="flights")
    run = exporter.export("delays", registered_name="delays")
    found = mlflow.get_run(run)
    assert found.data.tags["millstream.model"] == "delays"
    assert "LinearRegression" in found.data.params["learner"]
    assert "0.5" in {value for name, value in found.data.params.items() if name.endswith("l2")}
    assert found.data.metrics["learned"] == 30
    assert found.data.metrics["labels.learned"] == 30
    history = mlflow.MlflowClient().get_metric_history(run, "MAE")
    status = client.model("delays", curve=True)
    assert [(each.step, each.value) for each in history] == [
        (point[1], point[status["curve"]["columns"].index("MAE")]) for point in status["curve"]["points"]
    ]
    loaded = mlflow.pyfunc.load_model("models:/delays/1")
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0]})
    expected = millstream.from_bytes(client.export("delays")).predict_many(frame)
    assert list(loaded.predict(frame)) == list(expected)
    written = [path for path in Path(tmp_path / "runs").rglob("*") if path.is_file()]
    assert any(path.suffix == ".ms" for path in written)
    assert not any(path.suffix in (".pkl", ".pickle", ".cloudpickle", ".joblib") for path in written)


def test_export_again_adds_only_what_is_new(client, mlflow):
    exporter = MlflowExporter(client)
    teach(client, 0, 10)
    run = exporter.export("delays", state=False)
    assert exporter.export("delays", state=False) == run
    teach(client, 10, 20)
    exporter.export("delays", state=False)
    for name in ("MAE", "learned"):
        steps = [each.step for each in mlflow.MlflowClient().get_metric_history(run, name)]
        assert len(set(steps)) == len(steps) >= 2
    continued = MlflowExporter(client, runs={"delays": run})
    assert continued.export("delays", state=False) == run


def test_a_route_has_no_state(client, mlflow):
    client.create("other", "LinearRegression")
    client.route("r", champion="delays", challengers=["other"])
    with pytest.raises(UnknownName, match="is a route"):
        MlflowExporter(client).export("r")


def test_leaves():
    described = {"kind": "a", "steps": [{"kind": "b", "l2": 0.1}, {"list": [1, 2]}], "none": None}
    assert dict(mlflow_export._leaves(described)) == {
        "kind": "a",
        "steps.0.kind": "b",
        "steps.0.l2": 0.1,
        "steps.1.list": "[1, 2]",
        "none": None,
    }


def test_the_loader_reads_models_only(tmp_path):
    model = linear_model.LinearRegression()
    model.learn_one({"a": 1.0}, 2.0)
    model.save(tmp_path / "model.ms")
    for path in (tmp_path, tmp_path / "model.ms"):
        loaded = mlflow_export._load_pyfunc(str(path))
        assert loaded.predict([{"a": 1.0}])[0] == model.predict_one({"a": 1.0})
    (tmp_path / "model.ms").write_bytes(b"\x80\x04not a model")
    with pytest.raises(millstream.errors.InvalidState):
        mlflow_export._load_pyfunc(str(tmp_path))


def test_a_missing_package_is_named(client, monkeypatch):
    imported = builtins.__import__

    def without(name, *more):
        if name.startswith("mlflow"):
            raise ImportError(name)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackage, match=r"millstream\[mlflow\]"):
        MlflowExporter(client)
