"""Servers in processes of their own, and the load on them: wrk, idle connections, a paced sender of labels."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Load",
    "Pace",
    "Served",
    "has_wrk",
    "idle_connections",
    "paced_labels",
    "served",
    "store_bytes",
    "wrk",
]

_REPORT = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.stderr:write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%g,"p99":%g,"refused":%d,"timeouts":%d,"broken":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), e.status, e.timeout,
    e.connect + e.read + e.write))
end
"""


def has_wrk() -> bool:
    """Whether the load generator is installed."""
    return shutil.which("wrk") is not None


@dataclass(frozen=True)
class Load:
    """What wrk measured. `p50` and `p99` are in seconds; `requests` includes those that were refused."""

    requests: int
    seconds: float
    p50: float
    p99: float
    refused: int
    timeouts: int
    broken: int
    #: Processor time of the server.
    cpu: float

    @property
    def rate(self) -> float:
        """Requests per second with a status below 400."""
        return (self.requests - self.refused) / self.seconds


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    port: int
    token: str

    @property
    def resident(self) -> int:
        """Resident memory in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    @property
    def cpu(self) -> float:
        """Seconds of processor time of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        connection = Connection(self.port)
        head = f"GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {self.token}\r\n\r\n"
        try:
            status, body = connection.ask(head.encode())
        finally:
            connection.close()
        if status != 200:
            raise RuntimeError(f"{path}: status {status}: {body[:200]!r}")
        return json.loads(body)


@contextmanager
def served(kind: str, folder: Path) -> Iterator[Served]:
    """A server of `serving_worker` until the block ends; its log is complete afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.serving_worker", kind, str(port), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server {kind} did not start")
        ready = json.loads(line)
        _wait_for(port)
        yield Served(process, ready["port"], ready["token"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"no server on port {port}")


def wrk(server: Served, connections: int, seconds: float, path: str, request: str, *, body: bytes = b"") -> Load:
    """Load a server. `request` is Lua that defines `request`; it may use `path`, `headers` and `body`."""
    before = server.cpu
    with tempfile.TemporaryDirectory() as folder:
        payload = Path(folder, "body")
        payload.write_bytes(body)
        script = Path(folder, "load.lua")
        script.write_text(
            f"local path = '{path}'\n"
            # wrk knows its own host field only after the script was loaded.
            f"local headers = {{['Host'] = '127.0.0.1:{server.port}', ['authorization'] = 'Bearer {server.token}',"
            f" ['content-type'] = 'application/json'}}\n"
            f"local file = io.open('{payload}', 'rb')\nlocal body = file:read('*a')\nfile:close()\n"
            f"{request}\n{_REPORT}"
        )
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "5s"]
        done = subprocess.run(
            [*command, "-s", str(script), f"http://127.0.0.1:{server.port}"],
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(f"wrk: {done.stderr[-500:]}{done.stdout[-500:]}")
    found = json.loads(lines[-1])
    return Load(
        found["requests"],
        found["microseconds"] / 1e6,
        found["p50"] / 1e6,
        found["p99"] / 1e6,
        found["refused"],
        found["timeouts"],
        found["broken"],
        server.cpu - before,
    )


class Connection:
    """A connection that sends requests of known bytes."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request, return the status and body of its reply."""
        self._socket.sendall(request)
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        fields = data[:end].lower().split(b"\r\n")
        size = next((int(field[15:]) for field in fields if field.startswith(b"content-length:")), 0)
        while len(data) < end + 4 + size:
            data += self._more()
        return int(fields[0].split()[1]), data[end + 4 :]

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _more(self) -> bytes:
        found = self._socket.recv(1 << 18)
        if not found:
            raise RuntimeError("the server closed the connection")
        return found


@contextmanager
def idle_connections(server: Served, count: int) -> Iterator[float]:
    """Connections that have sent one request each and then are quiet. Gives the server's bytes for each.

    At the end, all of them must still be open.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    before = server.resident
    request = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
    opened: list[Connection] = []
    try:
        for _ in range(count):
            opened.append(Connection(server.port))
            opened[-1].ask(request)
        yield (server.resident - before) / count
        for connection in opened:
            if connection.ask(request)[0] != 200:
                raise RuntimeError("an idle connection was not answered")
    finally:
        for connection in opened:
            connection.close()


@dataclass
class Pace:
    """Labels that a paced sender had acknowledged."""

    acknowledged: int = 0
    seconds: float = 0.0
    error: str | None = None


@contextmanager
def paced_labels(server: Served, first: int, rate: float, connections: int = 4) -> Iterator[Pace]:
    """Send labels of the events from `first` on while the block runs: NDJSON of 1,000, so many labels a second.

    A sender that falls behind does not catch up.
    """
    pace = Pace()
    stop = threading.Event()
    lock = threading.Lock()

    def send(index: int) -> None:
        connection = Connection(server.port)
        number = first + 1000 * index
        period = 1000 * connections / rate
        due = time.perf_counter() + period * index / connections
        try:
            while not stop.wait(max(0.0, due - time.perf_counter())):
                body = b"".join([b'{"id":"e%d","y":true}\n' % label for label in range(number, number + 1000)])
                head = (
                    f"POST /v1/models/model/labels HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {server.token}\r\n"
                    f"content-type: application/x-ndjson\r\ncontent-length: {len(body)}\r\n\r\n"
                )
                status, reply = connection.ask(head.encode() + body)
                learned = reply.count(b'"learned"')
                if status != 200 or learned != 1000:
                    pace.error = f"status {status}, {learned} of 1000 labels learned"
                    return
                with lock:
                    pace.acknowledged += learned
                number += 1000 * connections
                due = max(due + period, time.perf_counter())
        except (OSError, RuntimeError) as error:
            pace.error = str(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(index,)) for index in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    try:
        yield pace
    finally:
        pace.seconds = time.perf_counter() - start
        stop.set()
        for thread in threads:
            thread.join()


def store_bytes(folder: Path) -> int:
    """Bytes of the database of a folder after its server has ended."""
    return sum(path.stat().st_size for path in folder.glob("events.db*"))
