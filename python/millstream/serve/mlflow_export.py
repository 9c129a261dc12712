"""Export of served models to MLflow (`pip install "millstream[mlflow]"`): parameters, metrics and states.

The state is logged as a file in the millstream format, which contains only data. `_load_pyfunc` reads it
when MLflow loads the model; nothing is pickled.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import millstream
from millstream._python_loop import title_of
from millstream.errors import InvalidState, MissingPackage, UnknownName
from millstream.serve.client import Client

__all__ = ["MlflowExporter"]

#: Limits of MLflow: metrics and parameters per request, and characters per parameter.
_MOST_METRICS, _MOST_PARAMETERS, _LONGEST_PARAMETER = 1000, 100, 500
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./: -]")
_STATE_FILE = "model.ms"


class MlflowExporter:
    """Logs the models of a server to MLflow, with one run per model.

    The tracking server is set in MLflow (`MLFLOW_TRACKING_URI` or `mlflow.set_tracking_uri`). `export` can be
    called repeatedly: parameters are logged once, and metrics from the last exported record on, with the record
    number as the step.

    Parameters
    ----------
    client
        A client of the server. Its token needs the `admin` scope to download states.
    experiment
        The name of the experiment; the default is the active one.
    runs
        Ids of runs to continue, by model.

    Examples
    --------
    ::

        exporter = MlflowExporter(serve.Client("http://127.0.0.1:8000"), experiment="flights")
        exporter.export("delays", registered_name="delays")
    """

    def __init__(
        self, client: Client, *, experiment: str | None = None, runs: Mapping[str, str] | None = None
    ) -> None:
        try:
            import mlflow
        except ImportError:
            raise MissingPackage('serve: mlflow is not installed: pip install "millstream[mlflow]"') from None
        self._mlflow: Any = mlflow
        self.client = client
        self.experiment = experiment
        self.runs = dict(runs or {})
        self._exported: dict[str, int] = {}

    def export(self, model: str, *, state: bool = True, registered_name: str | None = None) -> str:
        """Log a model. Returns the id of its run.

        Parameters
        ----------
        model
            The name of a model. A route has no state; export its members.
        state
            Whether to log the state as an MLflow model.
        registered_name
            The name of a registered model, which gets a new version.
        """
        status = self.client.model(model, curve=True)
        if "learner" not in status:
            raise UnknownName(f"serve: {model!r} is a route: export its members")
        data = self.client.export(model)
        loaded = millstream.from_bytes(data)
        if model not in self.runs:
            self.runs[model] = self._new_run(model, status)
            self._log_parameters(self.runs[model], loaded)
        run = self.runs[model]
        self._log_metrics(run, model, status)
        if state:
            self._log_state(run, model, data, status, registered_name)
        return run

    def _new_run(self, model: str, status: dict[str, Any]) -> str:
        mlflow = self._mlflow
        experiment = None
        if self.experiment is not None:
            # Not set_experiment, which would change the active experiment of the process.
            known = mlflow.get_experiment_by_name(self.experiment)
            experiment = mlflow.create_experiment(self.experiment) if known is None else known.experiment_id
        tags = {"millstream.model": model, "millstream.role": str(status["role"])}
        is_nested = mlflow.active_run() is not None
        with mlflow.start_run(experiment_id=experiment, run_name=model, tags=tags, nested=is_nested) as run:
            found: str = run.info.run_id
        return found

    def _log_parameters(self, run: str, loaded: Any) -> None:
        described = loaded.describe()
        pairs = {"learner": title_of(loaded), "millstream": millstream.__version__, **dict(_leaves(described))}
        parameters = [
            self._mlflow.entities.Param(_NOT_IN_NAMES.sub("_", name)[:250], str(value)[:_LONGEST_PARAMETER])
            for name, value in pairs.items()
        ]
        client = self._mlflow.MlflowClient()
        for start in range(0, len(parameters), _MOST_PARAMETERS):
            client.log_batch(run, params=parameters[start : start + _MOST_PARAMETERS])

    def _log_metrics(self, run: str, model: str, status: dict[str, Any]) -> None:
        """The points of the curve after the last exported record, and the present counts and figures."""
        last = self._exported.get(model, -1)
        metric = self._mlflow.entities.Metric
        columns = status["curve"]["columns"][3:]
        metrics = [
            metric(_NOT_IN_NAMES.sub("_", name), float(value), int(point[2]), int(point[1]))
            for point in status["curve"]["points"]
            if point[1] > last
            for name, value in zip(columns, point[3:], strict=True)
            if value is not None
        ]
        now, seq = int(time.time() * 1000), int(status["model_seq"])
        if seq > last:
            labels = status["labels"]
            counts = {"learned": status["learned"], "scored": status["scored"], "received": labels["received"]}
            counts |= {f"labels.{fate}": count for fate, count in labels["fates"].items()}
            metrics += [metric(name, float(count), now, seq) for name, count in counts.items()]
        client = self._mlflow.MlflowClient()
        for start in range(0, len(metrics), _MOST_METRICS):
            client.log_batch(run, metrics=metrics[start : start + _MOST_METRICS])
        # A rollback increases the record number of the model, so nothing is logged twice.
        self._exported[model] = max(seq, last)

    def _log_state(
        self, run: str, model: str, data: bytes, status: dict[str, Any], registered_name: str | None
    ) -> None:
        mlflow = self._mlflow
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / _STATE_FILE
            file.write_bytes(data)
            with mlflow.start_run(run_id=run, nested=mlflow.active_run() is not None):
                mlflow.pyfunc.log_model(
                    name=_NOT_IN_NAMES.sub("_", model).replace("/", "_").replace(":", "_").replace(".", "_"),
                    loader_module="millstream.serve.mlflow_export",
                    data_path=str(file),
                    pip_requirements=[f"millstream=={millstream.__version__}"],
                    metadata={"millstream.seq": status["model_seq"], "millstream.learned": status["learned"]},
                    registered_model_name=registered_name,
                )


def _leaves(described: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters in a description, with the path to each as its name."""
    if isinstance(described, Mapping):
        for name, value in described.items():
            yield from _leaves(value, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(described, (list, tuple)) and any(isinstance(each, (Mapping, list)) for each in described):
        for index, value in enumerate(described):
            yield from _leaves(value, f"{prefix}.{index}")
    else:
        yield prefix, json.dumps(described, default=str) if isinstance(described, (list, tuple)) else described


class _LoadedModel:
    """A model as MLflow uses it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Predictions of rows, scores of an anomaly detector, or a forecast over the parameter `horizon`."""
        if hasattr(self.model, "forecast"):
            return self.model.forecast(int((params or {}).get("horizon", 1)))
        if hasattr(self.model, "score_many"):
            return self.model.score_many(model_input)
        return self.model.predict_many(model_input)


def _load_pyfunc(data_path: str, model_config: Mapping[str, Any] | None = None) -> _LoadedModel:
    """Called by MLflow. The file is read as data and cannot refer to code."""
    path = Path(data_path)
    model = millstream.load(path / _STATE_FILE if path.is_dir() else path)
    if not hasattr(model, "learn_one"):
        raise InvalidState(f"{path.name}: does not hold a model")
    return _LoadedModel(model)
