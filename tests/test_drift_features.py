"""Detectors for rows, without labels: p-values compared with SciPy's, drifted features, false alarms."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import scipy.stats

import millstream
from benchmarks import row_detectors
from millstream import drift, synth
from millstream.errors import MillstreamError

NAMES = millstream.find(role="feature_drift_detector")
BINNED = {"PSI": drift.PSI, "HellingerDistance": drift.HellingerDistance, "ChiSquareTest": drift.ChiSquareTest}


def shifted(seed: int = 0, rows: int = 2000, at: int = 1000, feature: int = 13, by: float = 1.5) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(rows, 20))
    X[at:, feature] += by
    return X


#: Multivariate detectors hardly detect a smaller shift of one of twenty features.
WHOLE = {"drift.OCDD": 4.0, "drift.ClusterDrift": 4.0}


def built(name: str, **parameters: Any) -> Any:
    return millstream.build({"name": name, "parameters": parameters})


def compared(detector: Any, reference: Any, current: Any) -> Any:
    """The report of one comparison."""
    detector.fit(reference)
    detector.update_many(current)
    return {row["feature"]: row for row in detector.report()}


@pytest.mark.parametrize(("n", "m"), [(60, 60), (100, 50), (70, 33), (5, 9), (128, 128)])
def test_the_distance_of_distributions_is_scipys_exact_one(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.4, 1.0):
        a, b = rng.normal(size=n), rng.normal(shift, size=m)
        detector = drift.KSTest(reference_size=n, window_size=m, check_interval=m, reference="fixed")
        found = compared(detector, a[:, None], b[:, None])[0]
        exact = scipy.stats.ks_2samp(a, b, method="exact")
        assert found["statistic"] == pytest.approx(exact.statistic, rel=1e-12)
        assert found["p_value"] == pytest.approx(exact.pvalue, rel=1e-9)
        assert detector.estimation == found["statistic"]


@pytest.mark.parametrize(("n", "m"), [(500, 200), (1000, 100), (300, 300)])
def test_of_larger_windows_it_is_the_limit_which_errs_on_the_safe_side(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.2, 0.4):
        a, b = rng.normal(size=n), rng.normal(shift, size=m)
        detector = drift.KSTest(reference_size=n, window_size=m, check_interval=m, reference="fixed")
        found = compared(detector, a[:, None], b[:, None])[0]
        exact = scipy.stats.ks_2samp(a, b, method="exact")
        limit = scipy.stats.kstwobign.sf(exact.statistic * np.sqrt(n * m / (n + m)))
        assert found["p_value"] == pytest.approx(limit, rel=1e-9)
        assert 0.98 * exact.pvalue < found["p_value"] < 1.35 * exact.pvalue


def cells(a: np.ndarray, b: np.ndarray, bins: int) -> np.ndarray:
    """Counts of two samples between quantiles of the first."""
    edges = np.unique(np.quantile(a, np.arange(1, bins) / bins, method="inverted_cdf"))
    count = [np.bincount(np.searchsorted(edges, x, side="left"), minlength=len(edges) + 1) for x in (a, b)]
    return np.array(count)


@pytest.mark.parametrize("bins", [2, 5, 10])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
def test_binned_measures_are_the_formulas(bins: int, shift: float) -> None:
    rng = np.random.default_rng(bins)
    a, b = rng.normal(size=400), rng.normal(shift, 1.0, size=300)
    table = cells(a, b, bins)
    assert table.min() > 0
    p, q = table / table.sum(axis=1, keepdims=True)
    theirs = scipy.stats.chi2_contingency(table, correction=False)
    expected = {
        "ChiSquareTest": theirs.statistic,
        "PSI": ((p - q) * np.log(p / q)).sum(),
        "HellingerDistance": np.sqrt(1 - np.sqrt(p * q).sum()),
    }
    for name, statistic in expected.items():
        detector = BINNED[name](reference_size=400, window_size=300, reference="fixed", bins=bins)
        found = compared(detector, a[:, None], b[:, None])[0]
        assert found["statistic"] == pytest.approx(statistic, rel=1e-9)
        # The chi-square test keeps its level in the tails, where the distributions of the others do not.
        assert found["p_value"] == pytest.approx(theirs.pvalue, rel=1e-9)


def test_nominal_values_are_counted() -> None:
    rng = np.random.default_rng(2)
    a = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 300, p=[0.5, 0.3, 0.2])})
    b = pd.DataFrame({"colour": rng.choice(["blue", "red", "green"], 200, p=[0.3, 0.4, 0.3])})
    values = ["red", "green", "blue"]
    table = [[(frame["colour"] == value).sum() for value in values] for frame in (a, b)]
    theirs = scipy.stats.chi2_contingency(table, correction=False)
    windows = {"reference_size": 300, "window_size": 200, "reference": "fixed"}
    found = compared(drift.ChiSquareTest(**windows), a, b)["colour"]
    assert found["statistic"] == pytest.approx(theirs.statistic, rel=1e-9)
    assert found["p_value"] == pytest.approx(theirs.pvalue, rel=1e-9)
    # Where a distance of distributions has no meaning, KSTest counts values too and gives Cramér's V.
    found = compared(drift.KSTest(**windows), a, b)["colour"]
    assert found["statistic"] == pytest.approx(scipy.stats.contingency.association(np.array(table)), rel=1e-9)
    assert found["p_value"] == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("name", ["drift.KSTest", "drift.ChiSquareTest"])
def test_missing_values_that_become_more_are_a_change(name: str) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(300, 2)), rng.normal(size=(200, 2))
    a[:5, 1] = np.nan
    b[rng.random(200) < 0.15, 1] = np.nan
    detector = built(name, reference_size=300, window_size=200, reference="fixed")
    found = compared(detector, a, b)
    gone = int(np.isnan(b[:, 1]).sum())
    table = [[5, 295], [gone, 200 - gone]]
    # Twice the smaller tail of Fisher's test, and two tests: of values and of gaps.
    tail = min(scipy.stats.fisher_exact(table, alternative=side).pvalue for side in ("less", "greater"))
    assert found[1]["p_value"] == pytest.approx(4 * tail, rel=1e-9)
    assert detector.drift_detected
    assert detector.drifting_features == [1]


def test_p_values_are_corrected_as_asked() -> None:
    X = shifted(1, 700, at=500, by=0.35)
    X[500:, 4] += 0.3
    adjusted = {}
    for correction in ("none", "bonferroni", "holm", "benjamini_hochberg"):
        detector = drift.KSTest(correction=correction, reference="fixed")
        detector.update_many(X)
        rows = sorted(detector.report(), key=lambda row: row["feature"])
        p = np.array([row["p_value"] for row in rows])
        adjusted[correction] = np.array([row["adjusted"] for row in rows])
    order = np.argsort(p)
    holm = np.minimum(np.maximum.accumulate((20 - np.arange(20)) * p[order]), 1.0)
    np.testing.assert_allclose(adjusted["none"], p)
    np.testing.assert_allclose(adjusted["bonferroni"], np.minimum(20 * p, 1.0))
    np.testing.assert_allclose(adjusted["holm"][order], holm)
    np.testing.assert_allclose(adjusted["benjamini_hochberg"], scipy.stats.false_discovery_control(p))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_a_shift_in_one_of_twenty_features_is_found_and_named(name: str, seed: int) -> None:
    detector = built(name)
    found = []
    for place, x in enumerate(shifted(seed, by=WHOLE.get(name, 1.5))):
        detector.update(x)
        if detector.drift_detected:
            found.append(place)
            assert detector.drifting_features[0] == 13
            assert detector.report()[0]["feature"] == 13
            assert detector.report()[0]["moved"]
            assert abs(detector.change_point - 1000) < 20
    assert len(found) == 1
    assert 1000 < found[0] < 1200
    detector.update(x)
    assert not detector.drift_detected
    assert detector.drifting_features[0] == 13


@pytest.mark.parametrize("name", NAMES)
def test_false_alarms_are_near_the_level(name: str) -> None:
    """At α = 0.1, of 200 comparisons of windows that share no rows, about 20 are false alarms."""
    windows = {"reference_size": 300, "window_size": 150, "check_interval": 150, "reference": "fixed"}
    # Without a minimum effect, so that the significance level alone decides.
    least = {"drift.D3": 0.5, "drift.PSI": 0.0, "drift.HellingerDistance": 0.0, "drift.OCDD": 0.0}
    effect = {"min_effect": least[name]} if name in least else {}
    alarms = 0
    for seed in range(200):
        X = np.random.default_rng(1000 + seed).normal(size=(450, 10))
        detector = built(name, significance=0.1, warning_significance=0.1, **windows, **effect)
        alarms += len(detector.update_many(X))
    assert 5 <= alarms <= 34


@pytest.mark.parametrize("name", NAMES)
def test_all_forms_of_rows_are_the_same(name: str) -> None:
    X = shifted(5, 1500, by=WHOLE.get(name, 1.5))[:, 10:]
    first = built(name)
    found = first.update_many(X).tolist()
    assert found
    columns = [f"f{place}" for place in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=columns)
    frames = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("records")]
    named = [built(name) for _ in frames]
    for detector, rows in zip(named, frames, strict=True):
        assert detector.update_many(rows).tolist() == found
        assert detector.drifting_features == [f"f{place}" for place in first.drifting_features]
        assert detector.to_bytes() == named[0].to_bytes()
    one = built(name)
    for x in X:
        one.update(x)
    pieces = built(name)
    for start in range(0, len(X), 137):
        pieces.update_many(X[start : start + 137])
    sparse = built(name)
    assert sparse.update_many(scipy.sparse.csr_matrix(X)).tolist() == found
    assert first.to_bytes() == one.to_bytes() == pieces.to_bytes() == sparse.to_bytes()
    assert pickle.loads(pickle.dumps(first)).to_bytes() == first.to_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_nominal_feature_that_changes_is_named(name: str) -> None:
    rng = np.random.default_rng(7)
    rows = []
    for place in range(1600):
        # An outlier detector detects a value that never occurred.
        last = "d" if place >= 1000 and name == "drift.OCDD" else "c"
        p = [0.8, 0.1, 0.1] if place < 1000 else [0.1, 0.1, 0.8]
        row = {"x": rng.normal(), "other": str(rng.choice(["u", "v"]))}
        rows.append({**row, "kind": str(rng.choice(["a", "b", last], p=p))})
    detector = built(name)
    found = detector.update_many(rows)
    assert len(found) == 1
    assert 1000 < found[0] < 1200
    assert detector.drifting_features[0] == "kind"


@pytest.mark.parametrize("name", NAMES)
def test_features_that_appear_and_vanish_are_a_change(name: str) -> None:
    rng = np.random.default_rng(8)
    rows = [{"a": rng.normal(), "b": rng.normal()} for _ in range(900)]
    later = [{"a": rng.normal(), "c": rng.normal()} for _ in range(300)]
    detector = built(name)
    assert not len(detector.update_many(rows))
    found = detector.update_many(later)
    assert len(found)
    assert set(detector.drifting_features) & {"b", "c"}
    assert "a" not in detector.drifting_features


def test_a_reference_may_be_given() -> None:
    rng = np.random.default_rng(9)
    training = rng.normal(size=(5000, 3))
    detector = drift.KSTest(reference="fixed").fit(training)
    assert detector.updates == 0
    assert not len(detector.update_many(rng.normal(size=(1000, 3))))
    # A fixed reference stays, and drift is reported while it lasts.
    found = detector.update_many(rng.normal([0.0, 2.0, 0.0], size=(400, 3)))
    assert len(found) >= 5
    assert detector.drifting_features == [1]
    again = detector.update_many(rng.normal(size=(400, 3)))
    assert len(again) <= 4
    # Of a long table an even sample is kept, not its end.
    ordered = np.sort(training[:, :1], axis=0)
    assert not len(drift.KSTest().fit(ordered).update_many(rng.normal(size=(1000, 1))))
    with pytest.raises(MillstreamError, match="row 2"):
        detector.fit(np.array([[1.0], [2.0], [np.inf]]))
    assert detector.updates == 1800


def test_a_sliding_reference_follows_slow_change() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 2))
    X[:, 0] += np.linspace(0.0, 1.0, 6000)
    assert len(drift.KSTest().update_many(X)) >= 1
    assert len(drift.KSTest(reference="sliding").update_many(X)) <= 1
    X[4000:, 1] += 2.0
    found = drift.KSTest(reference="sliding").update_many(X)
    assert len(found)
    assert 4000 < found[0] < 4150


def test_virtual_drift_of_a_generator_is_found() -> None:
    before, after = synth.RandomRBF(seed_model=3), synth.RandomRBF(seed_model=4)
    X = next(synth.Drift(before, after, position=2000, width=1).chunks(4000)).X
    for name in NAMES:
        found = built(name).update_many(X)
        assert len(found), name
        assert 2000 <= found[0] < 2300, name


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (
            lambda: drift.KSTest(significance=0.1, warning_significance=0.05),
            "warning_significance must be at least significance",
        ),
        (lambda: drift.KSTest(window_size=1), "window_size must be"),
        (lambda: drift.KSTest(correction="sidak"), "correction must be one of"),
        (lambda: drift.PSI(n_bins=1), "n_bins must be"),
        (lambda: drift.PSI(min_effect=-1.0), "min_effect must be"),
        (lambda: drift.KSTest().update(3.0), "an example must be a dict"),
        (lambda: drift.KSTest().update({"a": float("inf")}), "feature 'a' must be finite or missing"),
        (lambda: drift.KSTest().update_many([{"a": 1.0}, {"a": "x"}]), "row 1"),
        (lambda: drift.KSTest(reference_size=1 << 24).update({str(k): 1.0 for k in range(5)}), "exceed"),
    ],
)
def test_what_makes_no_sense_is_refused(work: Any, words: str) -> None:
    with pytest.raises(MillstreamError, match=re.escape(words)):
        work()


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_row_changes_nothing(name: str) -> None:
    detector = built(name)
    rows = [{"a": float(k % 7), "b": "u"} for k in range(900)]
    detector.update_many(rows)
    before = detector.to_bytes()
    for bad in ([{"a": 1.0, "c": 2.0}, {"a": "text"}], [{"b": 1.0}], [{"new": 1.0}, {"a": -np.inf}], [3.0]):
        with pytest.raises(MillstreamError):
            detector.update_many(bad)
        with pytest.raises(MillstreamError):
            detector.learn_many(bad)
        assert detector.to_bytes() == before
    with pytest.raises(KeyError, match="no names"):
        detector.update_many(np.zeros((3, 2)))
    with pytest.raises(KeyError, match="no names"):
        detector.update(np.zeros(2))
    assert detector.to_bytes() == before
    detector.reset()
    assert detector.to_bytes() == built(name).to_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_odd_rows_are_watched_without_harm(name: str) -> None:
    windows = {"reference_size": 20, "window_size": 10, "check_interval": 5}
    rng = np.random.default_rng(0)
    streams: list[Any] = [
        [{}] * 60,
        [{"a": None}] * 60,
        [{"a": 1.0}] * 60,
        [{"a": 1e308 * rng.choice([-1.0, 1.0]), "b": 5e-324, "c": rng.normal()} for _ in range(60)],
        [{"a": f"value {place}"} for place in range(60)],
        [{f"f{place}": 1.0} for place in range(60)],
    ]
    for rows in streams:
        detector = built(name, **windows)
        detector.update_many(rows)
        assert np.isfinite(detector.estimation)
        assert len(detector.report()) == len(detector.features) or detector.report()
        assert type(detector)._revive(detector.to_bytes()).to_bytes() == detector.to_bytes()


def test_a_report_is_a_table() -> None:
    detector = drift.KSTest()
    assert len(detector.report()) == 0
    assert detector.drifting_features == []
    assert detector.change_point is None
    detector.update_many(shifted())
    frame = detector.report(drift=True).to_frame()
    assert list(frame.columns) == ["feature", "statistic", "p_value", "adjusted", "moved"]
    assert frame["feature"][0] == 13
    assert "yes" in repr(detector.report(drift=True)).splitlines()[1]
    assert detector.report(drift=True)[0]["moved"] is True


def test_the_area_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(6).normal(size=(700, 6))
    X[500:] += [0.5, -0.5, 0.3, 0.0, 0.0, 0.0]
    detector = drift.D3(reference="fixed")
    detector.update_many(X)
    y = np.repeat([0, 1], [500, 200])
    model = LogisticRegression(class_weight="balanced")
    halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    areas = cross_val_score(model, StandardScaler().fit_transform(X), y, cv=halves, scoring="roc_auc")
    # The halves are drawn in another way.
    assert detector.estimation == pytest.approx(areas.mean(), abs=0.025)
    assert detector.drift_detected == (detector.estimation >= 0.7)
    shares = {row["feature"]: row["statistic"] for row in detector.report()}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares[0] + shares[1] + shares[2] > 0.9


def test_the_share_of_outliers_is_that_of_scikit_learn() -> None:
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import OneClassSVM

    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 4))
    for shift in (0.0, 1.0, 2.0, 4.0):
        new = rng.normal([shift, 0.0, 0.0, 0.0], size=(200, 4))
        detector = drift.OCDD(reference="fixed", nu=0.2)
        detector.update_many(np.vstack([X, new]))
        scaler = StandardScaler().fit(X)
        model = OneClassSVM(nu=0.2, gamma=0.25).fit(scaler.transform(X))
        share = (model.predict(scaler.transform(new)) < 0).mean()
        # Two thirds of the rows are learned here, drawn at random.
        assert detector.estimation == pytest.approx(share, abs=0.07)


def test_clusters_see_what_features_by_themselves_do_not() -> None:
    """Two kinds of rows that become another two, with every feature as before."""
    rng = np.random.default_rng(2)
    sign = rng.choice([-2.0, 2.0], 2000)
    X = rng.normal(size=(2000, 2)) * 0.5
    X[:, 0] += sign
    X[:, 1] += np.where(np.arange(2000) < 1000, sign, -sign)
    assert not len(drift.KSTest().update_many(X))
    found = drift.ClusterDrift().update_many(X)
    assert 1000 < found[0] < 1100
    assert not len(drift.ClusterDrift().update_many(X[:1000]))


def test_an_alternating_stream_is_no_change() -> None:
    """What is learned and what it is compared with are drawn at random, not every other row."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3)) + np.where(np.arange(3000) % 2, 5.0, -5.0)[:, None]
    for name in NAMES:
        assert not len(built(name).update_many(X)), name


def test_every_detector_of_rows_has_a_benchmark_row() -> None:
    assert [made.title.partition(",")[0] for made in row_detectors.comparisons(0.02)] == NAMES
