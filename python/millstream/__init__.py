"""Online machine learning: exact one-example-at-a-time learning, at native speed, from Python."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from millstream._core import __version__
from millstream.registry import build, find, from_bytes, load

if TYPE_CHECKING:
    from millstream import (
        active,
        anomaly,
        art,
        bandit,
        base,
        baseline,
        basis,
        cluster,
        compat,
        compose,
        continual,
        cost_sensitive,
        covariance,
        datasets,
        decomposition,
        drift,
        ensemble,
        errors,
        evaluate,
        explain,
        export,
        feature_extraction,
        feature_selection,
        forest,
        htm,
        kernel,
        linear_model,
        llm,
        losses,
        metrics,
        multiclass,
        naive_bayes,
        neighbors,
        neural_network,
        notation,
        oco,
        optim,
        papers,
        policy_evaluation,
        preprocessing,
        prototype,
        ray,
        registry,
        rounds,
        sampling,
        serve,
        shard,
        sketch,
        spark,
        stats,
        stream,
        synth,
        testing,
        time_series,
        training,
        tree,
    )
    from millstream.notation import parse
    from millstream.training import train

#: Imported when first used, so that `import millstream` is fast.
_MODULES = (
    "active",
    "anomaly",
    "art",
    "bandit",
    "base",
    "baseline",
    "basis",
    "cluster",
    "compat",
    "compose",
    "continual",
    "cost_sensitive",
    "covariance",
    "datasets",
    "decomposition",
    "drift",
    "ensemble",
    "errors",
    "evaluate",
    "explain",
    "export",
    "feature_extraction",
    "feature_selection",
    "forest",
    "htm",
    "kernel",
    "linear_model",
    "llm",
    "losses",
    "metrics",
    "multiclass",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "notation",
    "oco",
    "optim",
    "papers",
    "policy_evaluation",
    "preprocessing",
    "prototype",
    "ray",
    "registry",
    "rounds",
    "sampling",
    "serve",
    "shard",
    "sketch",
    "spark",
    "stats",
    "stream",
    "synth",
    "testing",
    "time_series",
    "training",
    "tree",
)

#: Modules of functions that are imported when first used.
_FUNCTIONS = {"parse": "notation", "train": "training"}

__all__ = [*_MODULES, "__version__", "build", "find", "from_bytes", "load", "parse", "train"]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"millstream.{_FUNCTIONS[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"millstream.{name}")
    from millstream._other_names import other_module

    raise AttributeError(f"module 'millstream' has no attribute {name!r}{other_module(name)}")


def __dir__() -> list[str]:
    return sorted(__all__)
