"""Memory over a long stream, and the time of `import millstream`, each in a separate process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from benchmarks import files

__all__ = ["FilePeaks", "LongRun", "file_peaks", "import_seconds", "long_run"]

_LONG_RUN = """
import json, resource, sys
import numpy as np
from millstream import linear_model, naive_bayes, preprocessing

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

build, rows = sys.argv[1], int(sys.argv[2])
# Small chunks, so that the memory of the allocator is stable long before the first measurement.
chunk = 10_000
model = {
    "scaler + logistic": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "GaussianNB": naive_bayes.GaussianNB,
}[build]()
rng, marks = np.random.default_rng(1), []
for start in range(0, rows, chunk):
    X = rng.normal(size=(chunk, 10))
    model.step_many(X, (X[:, 0] > 0).astype(int))
    if start + chunk in (rows // 10, rows):
        marks.append((resident(), model.memory))
print(json.dumps(marks))
"""

_FILE = """
import sys
from millstream import evaluate, linear_model, preprocessing, stream
model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
evaluate.prequential(model, stream.read_csv(sys.argv[1], target="y"), metrics="Accuracy", progress=False)
# The peak reported for child processes would include the parent process.
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")))
"""

_IMPORT = """
import time, numpy
start = time.perf_counter()
import millstream
print(time.perf_counter() - start)
"""


@dataclass
class LongRun:
    """Memory in bytes after a tenth of the rows and after all rows."""

    model: str
    rows: int
    resident: tuple[int, int]
    memory: tuple[int, int]

    @property
    def growth(self) -> int:
        """Growth of the process in bytes from a tenth of the rows to all rows."""
        return self.resident[1] - self.resident[0]


def _run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def long_run(model: str, rows: int) -> LongRun:
    """Learn `rows` generated rows in chunks."""
    first, last = json.loads(_run(_LONG_RUN, model, str(rows)))
    return LongRun(model, rows, (first[0], last[0]), (first[1], last[1]))


@dataclass
class FilePeaks:
    """Sizes of two files, one ten times as long, and peak memory of the processes that learned them."""

    sizes: tuple[int, int]
    peaks: tuple[int, int]

    @property
    def growth(self) -> int:
        """Additional peak memory for the longer file, in bytes."""
        return self.peaks[1] - self.peaks[0]


def file_peaks(rows: int) -> FilePeaks:
    """Learn a CSV of `rows` rows and one of a tenth of them."""
    paths = [files.numbers_csv(rows // 10), files.numbers_csv(rows)]
    few, many = (int(_run(_FILE, str(path))) for path in paths)
    return FilePeaks((paths[0].stat().st_size, paths[1].stat().st_size), (few, many))


def import_seconds(times: int = 9) -> float:
    """The median time of `import millstream` where NumPy is already imported."""
    return statistics.median(float(_run(_IMPORT)) for _ in range(times))
