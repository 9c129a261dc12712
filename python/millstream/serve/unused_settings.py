"""Startup settings that have no effect, because the data folder already has a model of that name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import millstream
from millstream._echo import quoted
from millstream.errors import MillstreamError
from millstream.serve.policy import LabelPolicy
from millstream.serve.served_model import ServedModel, is_data

if TYPE_CHECKING:
    from millstream.serve.engine import Engine

__all__ = ["unused_settings"]

#: Settings that are spans of time.
_SPANS = ("window", "early_window")
#: A metric that is never computed while serving.
_LEFT_OUT = {"Silhouette"}


def unused_settings(engine: Engine, given_policy: LabelPolicy | Mapping[str, Any] | None) -> Iterator[str]:
    """A note about each setting that is not used: what is kept, and how to change it."""
    for name, model in engine.given.items():
        served = engine.state.models.get(name)
        if served is None:
            continue
        who = f"model {quoted(name)}"
        if served.is_native and not _is_same(engine, served, model):
            yield (
                f"{who} continues from the data folder; the given model, which differs, is not used: give it "
                f"another name, or delete the old one (DELETE /v1/models/{name})"
            )
        kept = engine.state.by_name[name].policy
        names = [] if given_policy is None else list(engine.policy.describe())
        if isinstance(given_policy, Mapping):
            names = list(given_policy)
        changes = _changes(names, kept.describe(), engine.policy.describe())
        if changes:
            yield f"{who} keeps its label policy, {changes}: PUT /v1/models/{name}/policy changes it"
        if engine.metrics is not None and (set(engine.metrics) ^ set(served.metric_names)) - _LEFT_OUT:
            metrics = f"{', '.join(served.metric_names)} instead of {', '.join(engine.metrics)}"
            yield f"{who} keeps its metrics, {metrics}: only a new model gets other metrics"


def _is_same(engine: Engine, served: ServedModel, model: Any) -> bool:
    """Whether a given model is the one from which a served model started, or its present state."""
    if not is_data(model):
        return False
    data = model.to_bytes()
    file = engine.folder.model_file(served.folder_id)
    try:
        if data == file.read_bytes() or data == served.model.to_bytes():
            return True
        # An earlier version of millstream may have written other bytes for the same model.
        return bool(data == millstream.load(file).to_bytes())
    except (OSError, MillstreamError):
        # Unknown, so nothing is claimed.
        return True


def _changes(names: list[str], kept: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {_shown(name, kept[name])} instead of {_shown(name, given[name])}"
        for name in names
        if kept[name] != given[name]
    )


def _shown(name: str, value: Any) -> str:
    return f"{value:g} s" if name in _SPANS else str(value)
