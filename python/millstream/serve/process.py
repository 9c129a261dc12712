"""Process metrics with their standard names: CPU time, memory, open files, start time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from millstream.serve.exposition import Page

__all__ = ["process_metrics"]


def process_metrics(page: Page, started: float) -> None:
    """Add the metrics of this process. Metrics that the system does not provide are left out."""
    page.counter("process_cpu_seconds_total", "CPU time of the process.", [({}, time.process_time())])
    page.gauge("process_start_time_seconds", "Start time of the server, in seconds since 1970.", [({}, started)])
    memory = _memory()
    page.gauge("process_resident_memory_bytes", "Resident memory.", [({}, memory.get("VmRSS"))])
    page.gauge("process_virtual_memory_bytes", "Virtual memory.", [({}, memory.get("VmSize"))])
    page.gauge("process_open_fds", "Open file descriptors.", [({}, _open_files())])
    page.gauge("process_max_fds", "Maximum number of open file descriptors.", [({}, _most_files())])
    page.gauge("process_threads", "Number of threads.", [({}, memory.get("Threads"))])
    name = {"implementation": sys.implementation.name, "version": sys.version.partition(" ")[0]}
    page.gauge("python_info", "The Python interpreter.", [(name, 1)])


def _memory() -> dict[str, int]:
    """Sizes in bytes and the number of threads, on Linux."""
    found = {}
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmSize", "Threads"):
            found[name] = int(value.split()[0]) * (1 if name == "Threads" else 1024)
    return found


def _open_files() -> int | None:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return None


def _most_files() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
