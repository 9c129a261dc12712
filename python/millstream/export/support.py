"""Which components can be exported, and why others cannot."""

from __future__ import annotations

from millstream.registry import entry, find

__all__ = ["reason_against", "supported"]

#: By role, of components that predict nothing from a row.
_ROLES = {
    "buffer": "it stores rows, which serve learning alone",
    "covariance_estimator": "it estimates a matrix and predicts nothing from a row",
    "drift_detector": "it follows a stream and predicts nothing from a row",
    "explorer": "it chooses actions by rewards that arrive while it runs",
    "feature_drift_detector": "it follows a stream and predicts nothing from a row",
    "forecaster": "its forecast depends on the last values of a series, not on a row",
    "generator": "it makes rows",
    "kernel": "it is a setting, and is exported with the model that has it",
    "loss": "it is a setting, and is exported with the model that has it",
    "metric": "it scores predictions",
    "optimizer": "it serves learning alone",
    "policy": "it chooses actions by rewards that arrive while it runs",
    "policy_estimator": "it estimates the value of a policy and predicts nothing from a row",
    "sampler": "it draws rows",
    "schedule": "it serves learning alone",
    "search_engine": "its search is approximate",
    "sketch": "it answers questions about a stream, not about a row",
    "statistic": "it summarises a stream and predicts nothing from a row",
}
_COMPONENTS = {
    "compose.Interact": "it multiplies groups of features; feature_extraction.PolynomialExtender can be exported",
    "compose.Keyed": "it has a model for each key: export one of them",
    "decomposition.DictionaryLearning": "its output is the solution of an optimisation problem",
    "decomposition.LDA": "its output is the solution of an optimisation problem",
    "decomposition.NMF": "its output is the solution of an optimisation problem",
    "feature_extraction.Agg": "its features depend on earlier rows with the same key",
    "feature_extraction.TargetAgg": "its features depend on earlier rows with the same key",
    "htm.AnomalyLikelihood": "its score depends on the scores of the rows before",
    "htm.CategoryEncoder": "its output is a row of bits, which no component that can be exported learns",
    "htm.DateEncoder": "its output is a row of bits, which no component that can be exported learns",
    "htm.HTMAnomaly": "its score depends on the rows before",
    "htm.ScalarEncoder": "its output is a row of bits, which no component that can be exported learns",
    "htm.SpatialPooler": "its output is a row of bits, which no component that can be exported learns",
    "htm.TemporalMemory": "its score depends on the rows before",
    "kernel.String": "it compares strings of any length",
    "neural_network.EchoState": "its prediction depends on the rows before",
}
#: Parts written in Python.
_PYTHON = {
    "llm.Head": "it runs in Python: export the learner in it, head.model",
    "llm.JudgeThreshold": "it decides by labels that arrive while it runs",
    "llm.Router": "it decides by rewards that arrive while it runs",
}


def supported() -> dict[str, str]:
    """Map each component of the registry and each part of `llm` to "yes" or the reason against its export.

    A component with "yes" may have settings that cannot be exported; the error then names the setting.

    >>> from millstream import export
    >>> answers = export.supported()
    >>> answers["forest.ARFClassifier"], answers["metrics.Accuracy"]
    ('yes', 'it scores predictions')
    """
    from millstream.export.translation import translations

    known = translations()
    return {name: "yes" if name in known else str(reason_against(name)) for name in find()} | _PYTHON


def reason_against(name: str) -> str | None:
    """Why a component cannot be exported; None for one with a translation, and for names outside the registry."""
    from millstream.export.translation import translations

    known = _COMPONENTS | _PYTHON
    if name in known:
        return known[name]
    if name in translations() or name not in find():
        return None
    return _ROLES.get(entry(name)["role"], "no exporter has been written for it yet")
