"""The timing baseline: its list of work is complete and can be done, its turns and its page are right."""

from __future__ import annotations

from typing import Any

import pytest

import millstream
from benchmarks import learners
from benchmarks.baseline import builds, measure, page
from benchmarks.baseline.measure import Comparison
from benchmarks.baseline.workloads import Workload, chosen, workloads

WORKLOADS = list(workloads())


def test_names_are_unique() -> None:
    names = [workload.name for workload in WORKLOADS]
    assert len(names) == len(set(names))


def test_everything_of_the_registry_is_timed() -> None:
    roles = (
        "drift_detector",
        "feature_drift_detector",
        "metric",
        "sketch",
        "statistic",
        "covariance_estimator",
        "policy_estimator",
        "generator",
    )
    wanted = [name for role in roles for name in millstream.find(role=role)] + learners.names()
    timed = {workload.name.partition("/")[2].partition(",")[0] for workload in WORKLOADS}
    assert set(wanted) <= timed


def test_some_are_chosen_by_words() -> None:
    names = [workload.name for workload in chosen(["read/", "copy/Hoeffding"])]
    assert names == ["read/csv", "read/jsonl", "read/libsvm", "read/vw", "copy/Hoeffding tree"]
    assert len(chosen(None)) == len(WORKLOADS)


@pytest.mark.slow
@pytest.mark.parametrize("group", sorted({workload.name.partition("/")[0] for workload in WORKLOADS}))
def test_a_unit_of_work_can_be_done_again(group: str) -> None:
    for workload in WORKLOADS:
        if workload.name.startswith(f"{group}/"):
            unit = workload.prepare(16)
            unit()
            unit()


class Fake:
    """A worker that needs so many seconds, turn by turn."""

    def __init__(self, side: str, seconds: list[float], order: list[str]) -> None:
        self.side, self.seconds, self.order = side, list(seconds), order

    def ask(self, workload: Workload, rows: int | None) -> Any:
        if rows is None:
            return 1000
        self.order.append(self.side)
        return self.seconds.pop(0)


def test_the_sides_take_turns_and_the_least_time_counts() -> None:
    comparison, order = Comparison("work"), []
    then, now = Fake("then", [0.3, 0.2, 0.4], order), Fake("now", [0.25, 0.5, 0.21], order)
    measure._one_round(WORKLOADS[0], comparison, (then, now), 0)  # type: ignore[arg-type]
    assert order == ["now", "then", "then", "now", "now", "then"]
    assert comparison.rows == 1000
    assert comparison.then == [pytest.approx(0.2e6)]
    assert comparison.now == [pytest.approx(0.21e6)]
    assert comparison.ratio == pytest.approx(1.05)


def test_the_page_marks_what_is_beyond_the_threshold() -> None:
    compared = [
        Comparison("same", 1000, [100.0, 101.0, 99.0], [102.0, 102.0, 101.0]),
        Comparison("slow", 1000, [100.0, 120.0, 110.0], [104.0, 103.5, 121.0]),
        Comparison("fast", 1000, [100.0], [96.9]),
        Comparison("gone", error="0123456789ab: there is no such workload"),
    ]
    text = page.page("0123456789ab", compared, rounds=3)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[0].startswith("| workload | rows | 0123456789ab, ns per row | now, ns per row |")
    # What stands out comes first.
    assert rows[2] == "| slow | 1,000 | 100 | 103.5 | 1.035 | 0.863 to 1.100 | **slower** |"
    assert rows[3] == "| fast | 1,000 | 100 | 96.9 | 0.969 |  | faster |"
    assert rows[4] == "| same | 1,000 | 99 | 101 | 1.020 | 1.010 to 1.020 |  |"
    assert "3 workloads: 1 slower, 1 faster" in text
    assert "- gone: 0123456789ab: there is no such workload" in text
    assert "instructions" in page.page("0123456789ab", compared, rounds=None)


@pytest.mark.slow
def test_a_build_beside_itself() -> None:
    here = builds.Build("here", builds.TOP / "python")
    told: list[str] = []
    work = chosen(["dicts/baseline.Prior", "metric/metrics.Accuracy, one"])
    missing = Workload("matrix/linear_model.Gone", WORKLOADS[0].prepare)
    compared = measure.by_time(here, here, [*work, missing], 1, lambda each: told.append(page.line(each)))
    assert [each.error for each in compared] == [None, None, "here: there is no such workload"]
    assert all(0.5 < each.ratio < 2.0 for each in compared[:2])
    assert len(told) == 3
