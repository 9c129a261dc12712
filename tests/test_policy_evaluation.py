"""Off-policy estimators: formulas, peers, unbiasedness, coverage of the intervals, merging, and bad input."""

from __future__ import annotations

import math
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import policy_evaluation
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from policy_logs import Log, Pool, make_log

ALL = [millstream.registry.class_of(name) for name in millstream.find(role="policy_estimator")]
VALUES = [kind for kind in ALL if kind is not policy_evaluation.Difference]


@cache
def log() -> Log:
    return make_log(18)


@cache
def pool() -> Pool:
    return Pool(1)


def told(estimator: Any, rounds: Log) -> Any:
    estimator.update_many(*rounds.columns())
    return estimator


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        # Open Bandit Pipeline 0.5.7 on the same log, with lambda_ for max_weight, and 10 for DRos.
        (policy_evaluation.IPS(), 0.7105792435931225),
        (policy_evaluation.IPS(max_weight=2.0), 0.6501279787871292),
        (policy_evaluation.SNIPS(), 0.7145355472393337),
        (policy_evaluation.DM(), 0.6216108342251044),
        (policy_evaluation.DR(), 0.7153945958876141),
        (policy_evaluation.SNDR(), 0.7159167572673141),
        (policy_evaluation.SwitchDR(max_weight=2.0), 0.6721282315349671),
        (policy_evaluation.DRos(max_weight=math.sqrt(10.0) / 2.0), 0.6899816047243014),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_those_of_obp(estimator: Any, expected: float) -> None:
    assert told(estimator, log()).value == pytest.approx(expected, rel=1e-9)


def test_replay_is_that_of_obp() -> None:
    best = np.eye(10)[log().target.argmax(1)]
    replay = told(policy_evaluation.Replay(), log()._replace(target=best))
    assert replay.value == pytest.approx(0.8766423357664233, rel=1e-9)


@pytest.mark.parametrize("name", [kind.__name__ for kind in VALUES])
def test_values_are_the_formulas(name: str) -> None:
    rounds = log()
    r, p, q, m, v = rounds.columns()
    weight, residual = q / p, r - m
    cap = np.minimum(weight, 3.0)
    shrunk = 36.0 * weight / (weight**2 + 36.0)
    expected = {
        "IPS": (cap * r).mean(),
        "SNIPS": (cap * r).sum() / cap.sum(),
        "DM": v.mean(),
        "DR": (v + cap * residual).mean(),
        "SNDR": v.mean() + (cap * residual).sum() / cap.sum(),
        "SwitchDR": (v + weight * (weight <= 3.0) * residual).mean(),
        "DRos": (v + shrunk * residual).mean(),
        "Replay": (q * r).sum() / q.sum(),
    }[name]
    kind = getattr(policy_evaluation, name)
    limit = {} if name in ("DM", "Replay") else {"max_weight": 3.0}
    assert told(kind(**limit), rounds).value == pytest.approx(expected, rel=1e-9)


def difference_columns(rounds: Log) -> tuple[Any, ...]:
    """The target against the uniform policy."""
    r, p, q, m, v = rounds.columns()
    return r, p, q, np.full(len(r), 0.1), m, v, rounds.model.mean(1)


def test_a_difference_is_that_of_two_values() -> None:
    rounds = log()
    r, p, q, other, m, v, u = difference_columns(rounds)
    difference = policy_evaluation.Difference()
    difference.update_many(r, p, q, other, m, v, u)
    uniform = told(policy_evaluation.DR(), rounds._replace(target=np.full_like(rounds.target, 0.1)))
    assert difference.value == pytest.approx(told(policy_evaluation.DR(), rounds).value - uniform.value, rel=1e-9)
    # Without a model, the mean reward so far takes its place.
    plain = policy_evaluation.Difference()
    plain.update_many(r, p, q, other)
    before = (0.5 + np.cumsum(r) - r) / (1.0 + np.arange(len(r)))
    assert plain.value == pytest.approx(((q - other) / p * (r - before)).mean(), rel=1e-9)


@pytest.mark.parametrize("kind", ["IPS", "DR", "SNIPS", "SNDR"])
def test_normal_intervals_are_those_of_numpy(kind: str) -> None:
    rounds = log()
    estimator = told(getattr(policy_evaluation, kind)(), rounds)
    r, p, q, m, v = rounds.columns()
    weight, n = q / p, len(r)
    terms = {
        "IPS": weight * r,
        "DR": v + weight * (r - m),
        "SNIPS": weight * (r - estimator.value) / weight.mean(),
        "SNDR": v + weight * (r - m - (weight * (r - m)).sum() / weight.sum()) / weight.mean(),
    }[kind]
    half = 1.959963984540054 * terms.std() / math.sqrt(n)
    expected = (estimator.value - half, estimator.value + half)
    assert estimator.interval("normal") == pytest.approx(expected, rel=1e-6)
    low, high = estimator.interval("bootstrap", n_resamples=2000)
    assert (low, high) == pytest.approx(expected, abs=0.25 * half)
    assert estimator.interval("bootstrap", seed=3) != estimator.interval("bootstrap", seed=4)
    narrow, wide = estimator.interval(coverage=0.5), estimator.interval()
    assert wide[0] < narrow[0] < estimator.value < narrow[1] < wide[1]


def errors_of(name: str, runs: int, n: int) -> Any:
    """Errors of the estimate, divided by the half-width of one standard error."""
    found = []
    for run in range(runs):
        estimator = told(getattr(policy_evaluation, name)(), pool().draw(1000 + run, n))
        found.append(estimator.value - pool().value)
    return np.array(found)


@pytest.mark.parametrize("name", ["IPS", "SNIPS", "DR", "SNDR"])
def test_estimates_are_unbiased(name: str) -> None:
    errors = errors_of(name, 500, 1000)
    assert abs(errors.mean()) <= 3.0 * errors.std() / math.sqrt(len(errors))


def test_a_difference_is_unbiased() -> None:
    errors = []
    truth = pool().value - float(pool().expected.mean())
    for run in range(500):
        rounds = pool().draw(run, 500)
        r, p, q, _, _ = rounds.columns()
        difference = policy_evaluation.Difference()
        difference.update_many(r, p, q, np.full(len(r), 0.1))
        errors.append(difference.value - truth)
    assert abs(np.mean(errors)) <= 3.0 * np.std(errors) / math.sqrt(len(errors))


def missed(name: str, runs: int, n: int, looks: int) -> tuple[float, float]:
    """The fraction of logs in which the sequence misses at a look, and its final half-width to the normal one."""
    ends = np.unique(np.geomspace(2, n, looks).astype(int))
    misses, ratios = 0, []
    for run in range(runs):
        columns = pool().draw(run, n).columns()
        estimator = getattr(policy_evaluation, name)()
        start, bad = 0, False
        for end in ends:
            estimator.update_many(*(column[start:end] for column in columns))
            low, high = estimator.interval()
            bad |= not low <= pool().value <= high
            start = end
        misses += bad
        normal = estimator.interval("normal")
        ratios.append((high - low) / (normal[1] - normal[0]))
    return misses / runs, float(np.mean(ratios))


@pytest.mark.parametrize("name", ["IPS", "SNIPS", "DR", "SNDR"])
def test_sequences_hold_at_all_looks(name: str) -> None:
    runs = 40
    share, ratio = missed(name, runs, 10_000, 25)
    assert share <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / runs)
    assert ratio <= 1.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["IPS", "SNIPS", "DR", "SNDR"])
def test_sequences_hold_at_nearly_all_rounds_of_a_thousand_logs(name: str) -> None:
    runs = 1000
    share, ratio = missed(name, runs, 10_000, 120)
    assert share <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / runs)
    assert ratio <= 1.7


def test_the_sequence_of_a_policy_that_learns_is_one_of_its_mean_value() -> None:
    # The value grows from 0.2 to 0.9; weights are 0 or 2.
    n, misses = 3000, 0
    for run in range(60):
        random = np.random.default_rng(run)
        chances = np.linspace(0.2, 0.9, n)
        taken = random.random(n) < 0.5
        rewards = ((random.random(n) < chances) & taken).astype(float)
        estimator = policy_evaluation.SNIPS()
        bad = False
        for start in range(0, n, 150):
            part = slice(start, start + 150)
            estimator.update_many(rewards[part], np.full(150, 0.5), taken[part].astype(float))
            low, high = estimator.interval()
            bad |= not low <= chances[: start + 150].mean() <= high
        misses += bad
    assert misses <= 60 * 0.05 + 2 * math.sqrt(60 * 0.05 * 0.95)


def test_many_equals_one_by_one() -> None:
    rounds = make_log(5, n=300)
    for kind in VALUES:
        many, one = told(kind(), rounds), kind()
        for row in zip(*rounds.columns(), strict=True):
            one.update(*map(float, row))
        assert one.to_bytes() == many.to_bytes()


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_parts_of_a_log_are_merged(kind: Any) -> None:
    columns = log().columns()
    parts = [kind() for _ in range(3)]
    for part, start in zip(parts, (0, 2000, 7000), strict=True):
        part.update_many(*(column[start : start + 3000] for column in columns))
    merged = parts[0] + parts[1] + parts[2]
    rows = np.r_[0:3000, 2000:5000, 7000:10000]
    whole = kind()
    whole.update_many(*(column[rows] for column in columns))
    assert merged.value == pytest.approx(whole.value, rel=1e-9)
    assert merged.interval("normal") == pytest.approx(whole.interval("normal"), rel=1e-9)
    assert merged.updates == 9000
    ends, expected = merged.interval(), whole.interval()
    assert ends == pytest.approx(expected, abs=0.2 * (expected[1] - expected[0]))
    assert merged.check_weights().largest == whole.check_weights().largest
    with pytest.raises(ValueError, match="parameters are equal"):
        merged.merge(kind(reward_range=(0.0, 2.0)))


def test_a_wrong_probability_is_said() -> None:
    rounds = pool().draw(3)
    right = told(policy_evaluation.SNIPS(), rounds).check_weights()
    assert right.passed
    assert right.warning is None
    assert right.effective_sample_size == pytest.approx(
        (10.0 * rounds.of_taken(rounds.target)).sum() ** 2 / ((10.0 * rounds.of_taken(rounds.target)) ** 2).sum()
    )
    low = told(policy_evaluation.SNIPS(), rounds._replace(probabilities=np.full(10_000, 0.05)))
    assert low.check_weights().warning.startswith(
        "the logged probabilities are wrong: the mean weight is between 1.9"
    )
    assert "the logged probabilities are wrong" in repr(low)
    high = told(policy_evaluation.SNIPS(), rounds._replace(probabilities=np.full(10_000, 0.2)))
    assert "or the log lacks actions of the policy" in high.check_weights().warning


def test_reduced_weights_are_counted_and_the_sequence_still_holds() -> None:
    rounds = pool().draw(4)
    clipped = told(policy_evaluation.IPS(max_weight=2.0), rounds)
    assert clipped.check_weights().reduced == int((10.0 * rounds.of_taken(rounds.target) > 2.0).sum())
    assert clipped.value < pool().value - 0.05
    low, high = clipped.interval()
    assert low <= pool().value <= high


def test_other_units_change_nothing_but_the_unit() -> None:
    r, p, q, m, v = log().columns()
    for kind in VALUES:
        plain, scaled = told(kind(), log()), kind(reward_range=(-10.0, 40.0))
        scaled.update_many(50.0 * r - 10.0, p, q, 50.0 * m - 10.0, 50.0 * v - 10.0)
        shift = 10.0 * ((q / p).mean() if kind is policy_evaluation.IPS else 1.0)
        assert scaled.value == pytest.approx(50.0 * plain.value - shift, rel=1e-9)
        assert scaled.interval() == pytest.approx([50.0 * end - 10.0 for end in plain.interval()], rel=1e-6)


def test_before_the_first_round() -> None:
    for kind in ALL:
        estimator = kind()
        least = -1.0 if kind is policy_evaluation.Difference else 0.0
        assert math.isnan(estimator.value)
        assert estimator.interval() == (least, 1.0)
        assert all(map(math.isnan, estimator.interval("normal") + estimator.interval("bootstrap")))
        assert repr(estimator) == f"{kind.__name__}: no value yet"
        assert estimator.check_weights().passed


GOOD = {"reward": 0.5, "probability": 0.5, "target_probability": 0.5, "prediction": 0.5, "target_value": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": 1.5}, r"reward must be in reward_range \(0, 1\), got 1.5"),
        ({"reward": math.nan}, "reward must be finite, got NaN"),
        ({"reward": "1"}, "reward must be a number, got str '1'"),
        ({"reward": None}, "reward must be a number, got None"),
        ({"probability": 0}, r"probability must be in \(0, 1\], got 0"),
        ({"probability": -0.5}, r"probability must be in \(0, 1\], got -0.5"),
        ({"probability": 1.5}, r"probability must be in \(0, 1\], got 1.5"),
        ({"probability": math.nan}, r"probability must be in \(0, 1\], got NaN"),
        ({"probability": 1e-300}, "the weight target_probability / probability must be at most"),
        ({"target_probability": 1.2}, r"target_probability must be in \[0, 1\], got 1.2"),
        ({"prediction": None}, "prediction is needed"),
        ({"target_value": None}, "target_value is needed"),
        ({"prediction": math.nan}, "prediction must be finite"),
        ({"prediction": 1e308}, "prediction, from the lowest reward, must be at most"),
        ({"target_value": math.inf}, "target_value must be finite, got inf"),
        ({"w": -1.0}, "the weight must be finite and not negative, got -1"),
        ({"w": 1e300}, "w must be at most"),
    ],
)
def test_bad_rounds_change_nothing(change: dict[str, Any], message: str) -> None:
    dr = told(policy_evaluation.DR(), make_log(2, n=50))
    before = dr.to_bytes()
    with pytest.raises(MillstreamError, match=message) as failure:
        dr.update(**{**GOOD, **change})
    assert str(failure.value).startswith("policy_evaluation.DR: ")
    assert "\n" not in str(failure.value)
    assert dr.to_bytes() == before
    columns: dict[str, Any] = {name: [number, number] for name, number in GOOD.items()}
    columns |= {name: None if value is None else [GOOD.get(name, 1.0), value] for name, value in change.items()}
    with pytest.raises(MillstreamError):
        dr.update_many(**columns)
    assert dr.to_bytes() == before


def test_bad_arguments() -> None:
    ips = policy_evaluation.IPS()
    with pytest.raises(InvalidValue, match="kind must be one of sequence, normal, bootstrap, got 'exact'"):
        ips.interval("exact")
    with pytest.raises(InvalidValue, match=r"coverage must be in \(0, 1\), got 1.5"):
        ips.interval(coverage=1.5)
    with pytest.raises(InvalidType, match="n_resamples must be an integer"):
        ips.interval("bootstrap", n_resamples=1.5)
    with pytest.raises(InvalidValue, match="probability has"):
        ips.update_many([1.0, 0.0], [0.5], [0.5, 0.5])
    with pytest.raises(InvalidValue, match="reward_range must be a pair low < high"):
        policy_evaluation.IPS(reward_range=(1.0, 1.0))
    with pytest.raises(InvalidType, match="other_probability is needed"):
        policy_evaluation.Difference()._update(1.0, 0.5, 0.5, (None, None, None, None), 1.0)
    with pytest.raises(InvalidType, match="other_value is needed"):
        policy_evaluation.Difference().update(1.0, 0.5, 0.5, 0.5, prediction=0.5, target_value=0.5)


def test_it_is_saved_pickled_and_built_by_name(tmp_path: Any) -> None:
    dr = told(policy_evaluation.DR(max_weight=4.0), make_log(3, n=400))
    dr.save(tmp_path / "dr")
    for other in (millstream.load(tmp_path / "dr"), pickle.loads(pickle.dumps(dr)), dr.copy()):
        assert other.interval() == dr.interval()
        assert other.max_weight == 4.0
    assert len(dr.to_bytes()) < 20_000
    assert millstream.build({"name": "policy_evaluation.IPS"}).updates == 0
