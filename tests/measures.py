"""Metrics, statistics, sketches, detectors, forecasters, policies and samplers under the laws; what they get."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream

#: Arguments for measures that have no default for all of them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bandit.Restart": {"policy": {"name": "bandit.UCB1"}},
    "metrics.Fading": {"metric": {"name": "metrics.Accuracy"}, "forgetting": 0.9},
    "metrics.Rolling": {"metric": {"name": "metrics.Accuracy"}, "window_size": 7},
    "sampling.ByKey": {"fraction": 0.5, "key": "user", "max_rows": 30},
    "sampling.DecayedReservoir": {"size": 9, "half_life": 12.0},
    "sampling.Reservoir": {"size": 9},
    "sampling.Stratified": {"size": 9, "key": "colour"},
    "sampling.WeightedReservoir": {"size": 9},
    "sampling.WindowSample": {"size": 9, "window_size": 40},
    "sketch.Bloom": {"capacity": 200},
    "sketch.CountMin": {"epsilon": 0.05},
    "sketch.CountSketch": {"epsilon": 0.3},
    "sketch.Histogram": {"max_bins": 9},
    "sketch.HyperLogLog": {"precision": 6},
    "sketch.KLL": {"k": 8},
    "sketch.SpaceSaving": {"capacity": 9},
    "sketch.Theta": {"k": 16},
    "stats.BayesianMean": {"prior": 0.5, "prior_weight": 3.0},
    "stats.Link": {"left": {"name": "stats.Max"}, "right": {"name": "stats.Mean"}},
    "stats.Rolling": {"statistic": {"name": "stats.Var"}, "window_size": 7},
    "stats.TimeRolling": {"statistic": {"name": "stats.Var"}, "period": 7.0, "lateness": 3.0},
    "time_series.HoltWinters": {
        "smoothing_level": 0.4,
        "smoothing_trend": 0.1,
        "smoothing_seasonal": 0.3,
        "period": 7,
        "damping": 0.9,
    },
    "time_series.SeasonalNaive": {"period": 7},
}

ROLES = (
    "metric",
    "statistic",
    "covariance_estimator",
    "policy_estimator",
    "sketch",
    "drift_detector",
    "feature_drift_detector",
    "forecaster",
    "policy",
    "sampler",
)

#: Windows that are full within the laws' short streams.
WINDOWS = {"reference_size": 30, "window_size": 12, "check_interval": 4}


class Measured:
    """One measure under the laws, and how it is told of things."""

    def __init__(self, role: str, name: str, parameters: dict[str, Any] | None = None) -> None:
        self.role = role
        self.name = name
        given = ARGUMENTS.get(name, {}) if parameters is None else parameters
        if role == "feature_drift_detector":
            given = {**WINDOWS, **given}
        needs_beta = name.startswith("metrics.") and name.endswith("FBeta")
        self.description = {"name": name, "parameters": {"beta": 2.0} if needs_beta else given}

    def __repr__(self) -> str:
        wrapped = self.description["parameters"].get("metric")  # type: ignore[attr-defined]
        return f"{self.name}({wrapped['name']})" if wrapped else self.name

    def build(self) -> Any:
        return millstream.build(self.description)

    def news(self, row: int) -> tuple[Any, ...]:
        """What it is told at a row."""
        random = np.random.default_rng(row)
        if self.role == "drift_detector":
            return (float(random.random() < (0.1 if row < 60 else 0.9)),)
        if self.role == "forecaster":
            return (20.0 + 0.1 * row + 5.0 * (row % 7) + float(random.random()),)
        if self.role == "policy":
            return (float(random.random()),)
        x, y = float(random.normal()), float(random.normal())
        if self.role == "sampler":
            return ({"user": row % 23, "x": x, "colour": "red" if y < 0.5 else "blue", "gap": None},)
        if self.role == "covariance_estimator":
            row_of = {"a": x, "b": x + y}
            return (
                {**row_of, "late": y * y, "gap": None if random.random() < 0.3 else x * y} if row > 40 else row_of,
            )
        if self.role == "feature_drift_detector":
            moved = row >= 60
            row_of = {"a": x + 4.0 * moved, "b": y, "colour": "red" if random.random() < 0.5 else "blue"}
            return ({**row_of, "gap": None if random.random() < 0.3 else x * y},)
        if self.role == "policy_estimator":
            # Reward, probability, target probability; a model has two numbers more, and a difference two of the
            # other.
            plain = self.name.partition(".")[2] in ("IPS", "SNIPS", "Replay")
            count = 2 if plain else 6 if self.name.endswith("Difference") else 4
            return (float(x > 0), *random.uniform(0.1, 1.0, count).tolist())
        if self.role == "sketch":
            keys: tuple[Any, ...] = (row % 23, f"user {row % 7}", round(x, 1), row % 2 == 0, "é")
            return (keys[row % 5],) if self.takes_keys() else (x,)
        if self.role == "statistic":
            if self.takes_values():
                x, y = round(x), round(y)
            return (x, y) if self.takes_pairs() else (x,)
        if self.takes_numbers():
            return x, y
        probability = float(random.random())
        if self.wants_probabilities():
            return bool(x > 0), {True: probability, False: 1.0 - probability}
        return bool(x > 0), bool(y > 0)

    def takes_pairs(self) -> bool:
        return self.name.partition(".")[2] in ("ChiSquared", "Cov", "EWCov", "KolmogorovSmirnov", "PearsonCorr")

    def takes_values(self) -> bool:
        """Whether it takes strings as well as numbers."""
        return self.role == "statistic" and bool(self.build()._is_nominal())

    def takes_keys(self) -> bool:
        return self.role == "sketch" and self.name.partition(".")[2] not in ("KLL", "DDSketch", "Histogram")

    def takes_numbers(self) -> bool:
        return _base(self).partition(".")[2] in ("MAE", "MSE", "RMSE", "MAPE", "SMAPE", "R2")

    def wants_probabilities(self) -> bool:
        return _base(self).partition(".")[2] in ("LogLoss", "Brier", "ROCAUC", "PRAUC")

    def tell(self, measure: Any, *news: Any, **weight: float) -> None:
        if self.name == "stats.TimeRolling":
            # A number may be late.
            weight["t"] = measure.updates - 2.0 * (measure.updates % 5 == 3)
        if self.role == "policy" and measure.uses_context:
            (reward,) = news
            x = {"late" if measure.learned > 30 else "a": measure.learned % 5 - 2.0, "colour": "blue"}
            measure.learn_one(x=x, actions=["red", "green", 3], action="red", reward=reward)
            decision = measure.decide_one(x, {"green": {"size": 1.0}, 3: {"size": 2.0, "colour": "red"}})
            # Some rewards never arrive.
            if measure.learned % 3 or measure.pending > 5:
                measure.learn_one(decision.id, float(np.tanh(reward)))
            return
        if self.role == "policy":
            # Rewards are late and not in order; actions come and go.
            (reward,) = news
            waiting = measure.open[measure.learned % 2] if measure.pending > 2 else None
            if waiting is None:
                measure.learn_one(action="red", reward=reward)
            else:
                measure.learn_one(waiting, reward)
            measure.decide_one(["red", "green", 3, *(["late"] if measure.learned > 30 else [])])
            return
        (measure.learn_one if self.role in ("forecaster", "sampler") else measure.update)(*news, **weight)

    def told(self, measure: Any, rows: range) -> Any:
        for row in rows:
            self.tell(measure, *self.news(row))
        return measure

    def value(self, measure: Any) -> Any:
        if self.role == "drift_detector":
            return measure.drift_detected, measure.warning_detected, measure.estimation
        if self.role == "feature_drift_detector":
            found = (measure.drift_detected, measure.warning_detected, measure.estimation, measure.change_point)
            return (*found, str(measure.drifting_features), str(measure.report()))
        if self.role == "forecaster":
            return tuple(measure.forecast(9).tolist())
        if self.role == "policy" and measure.uses_context:
            asked = ({"a": 1.0, "colour": "blue"}, ["red", "green", 3, "new"])
            found = {action: round(p, 9) for action, p in measure.probabilities_one(*asked).items()}
            return (str(found), str(measure.rewards_one(*asked)), measure.pending, measure.dropped)
        if self.role == "policy":
            known = measure.actions or ["red", "green"]
            # Rounded: the beliefs of Thompson sampling are integrated with a small error.
            probabilities = {action: round(p, 3) + 0.0 for action, p in measure.probabilities_one(known).items()}
            decisions = [(each.action, round(each.probability, 3), each.id) for each in measure.open]
            return (str(probabilities), str(decisions), measure.pending, measure.dropped)
        if self.role == "sampler":
            return repr(measure.sample())
        if self.role == "covariance_estimator":
            return str((measure.features, measure.covariance_.tolist(), measure.location_.tolist()))
        if self.role == "policy_estimator":
            ends = (
                *measure.interval(),
                *measure.interval("normal"),
                *measure.interval("bootstrap", n_resamples=9),
            )
            return (measure.value, *ends, repr(measure.check_weights()))
        if self.role == "sketch":
            if not self.takes_keys():
                return (*measure.query([0.0, 0.3, 1.0]).tolist(), measure.rank(0.1), str(measure.error()))
            asked = ("user 3", 5, 0.3, True, "never seen")
            counted = self.name.endswith(("HyperLogLog", "Theta"))
            found = (measure.query(),) if counted else tuple(measure.query(key) for key in asked)
            return (*found, str(measure.error()), str(measure.missing_weight))
        value = measure.get()
        return value if isinstance(value, (int, float)) else repr(value)


def _base(measured: Measured) -> str:
    wrapped = measured.description["parameters"].get("metric")  # type: ignore[attr-defined]
    return str(wrapped["name"]) if wrapped else measured.name


def _all() -> list[Measured]:
    plain = [Measured(role, name) for role in ROLES for name in millstream.find(role=role)]
    for metric in (
        "metrics.MAE",
        "metrics.R2",
        "metrics.LogLoss",
        "metrics.ROCAUC",
        "metrics.MacroF1",
        "metrics.KappaTemporal",
    ):
        plain.append(Measured("metric", "metrics.Rolling", {"metric": {"name": metric}, "window_size": 9}))
        plain.append(Measured("metric", "metrics.Fading", {"metric": {"name": metric}, "forgetting": 0.9}))
    smoothings: tuple[dict[str, Any], ...] = (
        {"smoothing_level": 0.4},
        {"smoothing_level": 0.4, "smoothing_trend": 0.1},
        {"smoothing_level": 0.4, "smoothing_seasonal": 0.3, "period": 7, "multiplicative": True},
    )
    plain.append(Measured("sampler", "sampling.Stratified", {"size": 2, "key": "user"}))
    return plain + [Measured("forecaster", "time_series.HoltWinters", parameters) for parameters in smoothings]


MEASURES = _all()
