"""Comparison of two builds: by CPU time, alternately, or by instruction counts, which have no jitter."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.baseline.builds import Build
from benchmarks.baseline.workloads import Workload

__all__ = ["Comparison", "by_instructions", "by_time"]

#: Measurements of each build in a round.
TURNS = 3


@dataclass
class Comparison:
    """One workload in both builds: nanoseconds of CPU time, or instructions, for each row."""

    name: str
    rows: int = 0
    then: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)
    #: The reason if a comparison is not possible.
    error: str | None = None

    @property
    def ratio(self) -> float:
        """The minimum now divided by the minimum then, since noise only adds; above 1 is slower."""
        return min(self.now) / min(self.then)

    @property
    def ratios(self) -> list[float]:
        """The same within each round."""
        return [now / then for then, now in zip(self.then, self.now, strict=True)]


class Failed(Exception):
    """A build cannot run a workload."""


class Process:
    """A worker in one of the builds."""

    def __init__(self, build: Build, padding: int) -> None:
        self.name = build.name
        command = [sys.executable, "-m", "benchmarks.baseline.worker"]
        self._process = subprocess.Popen(
            command, env=build.environment(padding), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, workload: Workload, rows: int | None) -> Any:
        """The seconds of a unit of work; without rows, a suitable number of rows."""
        pipe_in: Any = self._process.stdin
        pipe_out: Any = self._process.stdout
        pipe_in.write(json.dumps({"workload": workload.name, "rows": rows}) + "\n")
        pipe_in.flush()
        line = pipe_out.readline()
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer["rows" if rows is None else "seconds"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def by_time(
    then: Build, now: Build, workloads: Iterable[Workload], rounds: int, told: Callable[[Comparison], None]
) -> list[Comparison]:
    """Time both builds alternately. Each round has new processes, with different memory addresses."""
    padding = random.Random(1)
    compared = {workload: Comparison(workload.name) for workload in workloads}
    for number in range(rounds):
        size = padding.randrange(4096)
        processes = Process(then, size), Process(now, size)
        for workload, comparison in compared.items():
            if comparison.error is None:
                try:
                    _one_round(workload, comparison, processes, number)
                except Failed as failed:
                    comparison.error = str(failed)
            if number == rounds - 1:
                told(comparison)
        for process in processes:
            process.close()
    return list(compared.values())


def _one_round(
    workload: Workload, comparison: Comparison, processes: tuple[Process, Process], number: int
) -> None:
    if not comparison.rows:
        comparison.rows = processes[0].ask(workload, None)
    least = [float("inf"), float("inf")]
    for turn in range(TURNS):
        # Alternate which build is first.
        for side in (0, 1) if (turn + number) % 2 else (1, 0):
            least[side] = min(least[side], processes[side].ask(workload, comparison.rows))
    comparison.then.append(least[0] / comparison.rows * 1e9)
    comparison.now.append(least[1] / comparison.rows * 1e9)


def by_instructions(
    then: Build, now: Build, workloads: Iterable[Workload], told: Callable[[Comparison], None]
) -> list[Comparison]:
    """Count instructions with valgrind for one and for two units of work, so that the startup cancels out.

    The startup varies by some hundred thousand instructions, so a unit has as many rows as a timed one: about a
    hundred million instructions.
    """
    compared = []
    process = Process(then, 0)
    for workload in workloads:
        comparison = Comparison(workload.name)
        try:
            comparison.rows = process.ask(workload, None)
            for build, found in ((then, comparison.then), (now, comparison.now)):
                once, twice = (_instructions(build, workload.name, comparison.rows, times) for times in (1, 2))
                found.append((twice - once) / comparison.rows)
        except Failed as failed:
            comparison.error = str(failed)
        told(comparison)
        compared.append(comparison)
    process.close()
    return compared


def _instructions(build: Build, name: str, rows: int, times: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable]
    command += ["-m", "benchmarks.baseline.worker", name, str(rows), str(times)]
    # Waiting threads of a linear algebra library would be counted too.
    environment = build.environment() | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None:
        errors = [line for line in done.stderr.splitlines() if line and not line.startswith("==")]
        raise Failed(f"{build.name}: {errors[-1] if errors else 'valgrind failed'}")
    return int(counted[1])
