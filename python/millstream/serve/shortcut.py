"""Predictions of native models that the HTTP server computes itself, without Python, and those of learners written
in Python, for which native code does all but the prediction."""

from __future__ import annotations

import threading
from functools import partial

from millstream import _core, roles
from millstream.serve.api.predictions import predicted_value
from millstream.serve.engine import Engine
from millstream.serve.served_model import ServedModel, is_native_method
from millstream.serve.tokens import Tokens

__all__ = ["Shortcut"]

#: The prediction method of each role. Classes that override it are left to Python.
_VERBS = {
    roles.CLASSIFIER: "predict_one",
    roles.REGRESSOR: "predict_one",
    roles.CLUSTERER: "predict_one",
    roles.ANOMALY_DETECTOR: "score_one",
}


class Shortcut:
    """Registers models with the native shortcut, and keeps them up to date."""

    def __init__(self, engine: Engine, tokens: Tokens, headers: bytes, *, checks_host: bool) -> None:
        self._engine, self._tokens, self._checks_host = engine, tokens, checks_host
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        #: The native models by path, and the record number that the shortcut shows for each.
        self._served: dict[str, ServedModel] = {}
        self._shown: dict[str, int] = {}
        self.native = _core.PredictShortcut(engine.committer.events, headers)
        self.native.set_clock(engine.clock.now())

    def sync(self) -> None:
        """Update the shortcut to the current models, routes, versions and tokens."""
        with self._lock:
            state = self._engine.state
            wanted: dict[str, ServedModel] = {}
            paths = set()
            for name, served in list(state.models.items()):
                stream = state.by_name.get(name)
                if stream is None or name in state.routes or not _has_one_value(served):
                    continue
                path = f"/v1/models/{name}/predict"
                paths.add(path)
                if _is_answered(served):
                    wanted[path] = served
                    self.native.set_stream(
                        path, stream.number, name, served.model, stream.pending, served.version, served.seq
                    )
                else:
                    predict = partial(predicted_value, served)
                    self.native.set_python_stream(
                        path, stream.number, name, served, predict, stream.pending, served.version
                    )
            for path in self._paths - paths:
                self.native.remove_stream(path)
            self._paths, self._served = paths, wanted
            self._shown = {path: served.seq for path, served in wanted.items()}
            self._sync_access()

    def sync_access(self) -> None:
        """Update the shortcut to the current tokens."""
        with self._lock:
            self._sync_access()

    def _sync_access(self) -> None:
        is_active = self._tokens.active
        self.native.set_access(is_active, self._tokens.grants("predict"), self._checks_host and not is_active)

    def show_progress(self) -> None:
        """After a group, update the last record that each model has learned."""
        with self._lock:
            shown = self._shown
            for path, served in self._served.items():
                if shown[path] != served.seq:
                    shown[path] = served.seq
                    self.native.set_seq(path, served.seq)


def _has_one_value(served: ServedModel) -> bool:
    """Whether a prediction has neither probabilities nor an interval beside it."""
    if served.has_interval:
        return False
    return not served.wants_proba or served.role in (roles.ANOMALY_DETECTOR, roles.FORECASTER)


def _is_answered(served: ServedModel) -> bool:
    """Whether the native shortcut gives the same predictions as `ServedModel.predict`."""
    if served.role not in _VERBS or not isinstance(served.model, _core.Model) or not served.is_native:
        return False
    return is_native_method(served.model, _VERBS[served.role])
