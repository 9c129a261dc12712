"""Servers in processes of their own, and an independent judgement of what they have learned."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import millstream
from millstream.serve.engine import Engine

PROGRAM = Path(__file__).with_name("serving_program.py")
NOTATION = "StandardScaler | LogisticRegression"
LONG = os.environ.get("MILLSTREAM_FAULTS") == "long"

#: Seconds until a server must be ready; the machine may be busy.
START = 60.0


class ServerProcess:
    """A server that a test starts, kills and starts again on the same data folder."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.data = data
        self.settings = {"data": str(data), "models": {"m": NOTATION}, **settings}
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.environment: dict[str, str] = {}
        self.stderr = data.with_name(data.name + ".stderr")

    def launch(self) -> None:
        """Start the process, and return before it is ready."""
        with self.stderr.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), json.dumps(self.settings)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **self.environment},
            )

    def wait_until_ready(self) -> None:
        """Wait for the port."""
        assert self.process is not None
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START)
        line = self.process.stdout.readline() if ready else ""
        assert line.strip(), f"the server did not start: {self.errors()[-2000:]}"
        self.port = int(line)

    def start(self) -> ServerProcess:
        """Start the process, and wait until it serves."""
        self.launch()
        self.wait_until_ready()
        return self

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, timeout: float = START) -> int:
        """Wait for the end of the process; returns its exit code."""
        assert self.process is not None
        code = self.process.wait(timeout)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """End the process with SIGTERM; returns its exit code."""
        self.send_signal(signal.SIGTERM)
        return self.wait()

    def errors(self) -> str:
        """What the process wrote to stderr."""
        return self.stderr.read_text()

    def __enter__(self) -> ServerProcess:
        return self if self.process is not None else self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def connect(self, timeout: float = 20.0) -> Connection:
        """A new connection."""
        return Connection(self.port, timeout)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send one request on a connection of its own; returns the status and the members of the answer."""
        with contextlib.closing(self.connect()) as connection:
            return connection.ask(method, path, body, **headers)

    def export(self, model: str = "m") -> bytes:
        """The bytes of a model."""
        with contextlib.closing(self.connect()) as connection:
            status, data = connection.send("GET", f"/v1/models/{model}/export")
        assert status == 200, data
        return data


class Connection:
    """A plain HTTP connection without retries."""

    def __init__(self, port: int, timeout: float = 20.0) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Send a request; returns the status and the body of the answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._http.request(method, path, body, named)
        answer = self._http.getresponse()
        return answer.status, answer.read()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a JSON body; returns the status and the answer as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            headers.setdefault("content_type", "application/json")
        status, found = self.send(method, path, data, **headers)
        return status, json.loads(found) if found else None

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def records(data: Path) -> list[tuple[int, int, str | None, Any]]:
    """Number, kind, id and body of all records, read with plain SQL."""
    with contextlib.closing(sqlite3.connect(f"file:{data / 'events.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT seq, kind, id, body FROM records ORDER BY seq").fetchall()
    return [
        (seq, kind, str(uuid.UUID(bytes=name)) if isinstance(name, bytes) else name, _unpacked(body))
        for seq, kind, name, body in rows
    ]


def _unpacked(body: Any) -> Any:
    """The text of a packed body, by its documentation."""
    if not isinstance(body, bytes) or body[:1] != b"\2":
        return body

    def text(found: re.Match[bytes]) -> bytes:
        before, after = {255: ('":', ""), 254: ('":', ',"'), 253: ('": ', ""), 252: ('": ', ', "')}[found[1][0]]
        bits = int.from_bytes(found[2], "little")
        fraction = bits >> 57 & 63
        digits = f"{bits & (1 << 57) - 1:0{fraction + 1}}"
        return f"{before}{'-' * (bits >> 63)}{digits[:-fraction]}.{digits[-fraction:]}{after}".encode()

    return re.sub(rb"([\xfc-\xff])(.{8})", text, body[1:], flags=re.DOTALL).decode()


def learned_by_hand(data: Path) -> tuple[list[str], Any]:
    """The ids in the order in which their labels must have been learned, and a model that learned them.

    It knows the log of single events, labels and examples only, and nothing of the server's code: the first label
    of an event is learned with the features of the event, or with its own ones if there is no event.
    """
    model: Any = millstream.parse(NOTATION)
    features: dict[str, Any] = {}
    learned: dict[str, None] = {}
    for seq, kind, name, body in records(data):
        assert kind in (1, 2, 3, 6, 7), f"record {seq} has the kind {kind}"
        if kind == 1:
            features.setdefault(str(name), json.loads(body)["x"])
        elif kind in (2, 3) and name not in learned:
            label = json.loads(body)
            x = features.get(str(name), label.get("x"))
            if x is not None:
                model.learn_one(x, label["y"])
                learned[str(name)] = None
    return list(learned), model


def replayed(data: Path, *, from_start: bool, model: str = "m") -> bytes:
    """The bytes of a model as `millstream replay` computes them."""
    engine = Engine(data, read_only=True, from_start=from_start)
    found: bytes = engine.state.models[model].model.to_bytes()
    engine.stop()
    return found


def until(condition: Any, timeout: float = 30.0) -> bool:
    """Wait until a condition holds; returns whether it does."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
