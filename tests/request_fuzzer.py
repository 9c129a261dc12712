"""Random requests: mutations of valid ones in body, path, header and method, from a seed."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple

import pyarrow as pa

from millstream import linear_model

JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW, OCTETS = "application/vnd.apache.arrow.stream", "application/octet-stream"

#: Values that break careless code.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**300, 10**399, 1e308, 5e-324, -0.0,
    "", "a", "e1", "m", "r", "..", "\0", "é", "\u202e", "a" * 300, "1970-01-01", "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59", [], {}, [[]], {"": 1}, {"a": {}}, [1, "a", None], {"__class__": "os.system"},
)  # fmt: skip
TOKENS = (
    b"NaN", b"Infinity", b"1e400", b"-1e999", b"9" * 420, b'"\\ud800"', b'"\\u0000"', b"\xff\xfe", b"[" * 300,
    b'{"a":' * 300, b"\0", b"\xef\xbb\xbf", b'"a":1,"a":2', b"//", b"'", b"1e", b"0x10", b"\\",
    b"\r\n", b"\x1f\x8b",
)  # fmt: skip
PATHS = (
    "%2e%2e%2f", "..", "%00", "//", "%ff", "é", "?", "#", ";", "%", "%zz", " ", "\t", "a" * 3000, "%2F", "{model}",
    "?wait=durable", "?curve=1", "?seq=9" + "9" * 30, "?seq=", ":batch", "*", "http://other/",
)  # fmt: skip
HEADERS = (
    ("content-type", "application/vnd.apache.arrow.file"), ("content-type", "application/json; charset=utf-16"),
    ("content-type", "\x80"), ("content-type", ""), ("content-encoding", "gzip"), ("transfer-encoding", "chunked"),
    ("content-length", "0"), ("content-length", "-1"), ("content-length", "9" * 30), ("expect", "100-continue"),
    ("authorization", "Bearer x"), ("authorization", "\x00"), ("idempotency-key", "k" * 200),
    ("idempotency-key", "k"),
    ("last-event-id", "x"), ("host", ""), ("connection", "close"), ("x" * 50, "y" * 5000), ("bad name", "x"),
    ("origin", "http://evil"), ("accept", "*/*"), ("range", "bytes=0-"),
)  # fmt: skip

#: Windows that close while the requests are sent, and labels that wait for it.
POLICIES: tuple[dict[str, Any], ...] = (
    {"window": "1d", "early_window": 60, "default_label": True},
    {"window": 0.2, "early_window": 0.2, "default_label": "late"},
    {"window": 0.2, "learn_when": "on_window_close", "aggregate": "mean"},
    {"window": 0.5, "learn_when": "on_window_close", "aggregate": "last", "late": "dead_letter"},
    {"window": 0.5, "late": "learn", "max_pending": 20, "max_parked": 5, "early_window": 1},
    {},
)


class Request(NamedTuple):
    """A request before it is bytes."""

    method: str
    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self) -> bytes:
        """The bytes on the wire; a length is added unless a mutation brought one."""
        names = {name.lower() for name, _ in self.headers}
        fields = list(self.headers)
        if "host" not in names:
            fields.insert(0, ("host", "127.0.0.1"))
        if self.body and not names & {"content-length", "transfer-encoding"}:
            fields.append(("content-length", str(len(self.body))))
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
        return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + self.body


def _json(method: str, path: str, body: Any) -> Request:
    return Request(method, path, json.dumps(body).encode(), (("content-type", JSON),))


def _table(columns: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def valid_requests(chance: random.Random) -> list[Request]:
    """One request of each kind, with ids that may be known."""
    name = f"e{chance.randrange(40)}"
    x = {"v": chance.random(), "color": chance.choice(("red", "blue")), "n": chance.randrange(5)}
    model = "/v1/models/m"
    items = [{"id": f"b{chance.randrange(200)}", "x": x} for _ in range(3)]
    labels = [{"id": item["id"], "y": True, "weight": 2.0} for item in items]
    lines = ["".join(json.dumps(each) + "\n" for each in some).encode() for some in (items, labels)]
    table = _table({"id": [f"t{chance.randrange(200)}", "t-2"], "v": [1.0, None], "color": ["red", "green"]})
    tensor = {"name": "v", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]}
    policy = chance.choice(POLICIES)
    route: dict[str, Any] = {"champion": "m", "challengers": ["n"], "mode": "split", "split": {"n": 0.5}}
    route["promote"] = {"min_labels": 5}
    # Targets so large that their sum overflows, for the policies with a mean.
    target = chance.choice((1.0, -2.5, 1e308, 1e308, -1e308))
    several = [{"id": f"g{chance.randrange(10)}", "y": target} for _ in range(3)]
    saved = linear_model.LogisticRegression().to_bytes()
    return [
        _json("POST", f"{model}/predict", {"id": name, "x": x, "key": "k", "ts": 1.7e9, "trace": "t"}),
        _json("POST", f"{model}/predict?wait=durable", {"x": x}),
        _json("POST", f"{model}/predict:batch", items),
        Request("POST", f"{model}/predict:batch", lines[0], (("content-type", NDJSON),)),
        Request("POST", f"{model}/predict:batch", table, (("content-type", ARROW),)),
        Request("POST", f"{model}/predict:batch?wait=durable", table, (("content-type", ARROW),)),
        _json("PUT", f"{model}/labels/{name}", {"y": chance.random() < 0.5, "weight": 1.0, "ts": 1.7e9, "x": x}),
        _json("POST", f"{model}/labels", labels),
        Request("POST", f"{model}/labels", lines[1], (("content-type", NDJSON),)),
        Request("POST", f"{model}/labels", _table({"id": ["b1"], "y": [True]}), (("content-type", ARROW),)),
        _json("POST", f"{model}/learn", {"id": name, "x": x, "y": True, "weight": 1.0}),
        Request("GET", f"{model}/events/{name}", b""),
        Request("DELETE", f"{model}/events/{name}", b""),
        Request("GET", f"{model}/progress?seq=3", b""),
        Request("GET", f"{model}?curve=1", b""),
        Request("GET", f"{model}/export", b""),
        Request("POST", "/v1/models/copy/import", saved, (("content-type", OCTETS),)),
        Request("DELETE", "/v1/models/copy", b""),
        _json("POST", "/v1/models", {"name": "new", "spec": "GaussianNB", "policy": policy, "metrics": ["F1"]}),
        Request("DELETE", "/v1/models/new", b""),
        _json("PUT", "/v1/models/n/policy", policy),
        _json("PUT", f"{model}/policy", policy),
        _json("PUT", "/v1/models/g/policy", policy),
        _json("PUT", "/v1/models/g/policy", POLICIES[2]),
        _json("POST", "/v1/models/g/predict", {"id": f"g{chance.randrange(10)}", "x": {"v": chance.random()}}),
        _json("PUT", f"/v1/models/g/labels/g{chance.randrange(10)}", {"y": target, "ts": chance.randrange(10**9)}),
        _json("POST", "/v1/models/g/labels", several),
        _json("POST", f"{model}/versions", {"version": f"v{chance.randrange(20)}"}),
        _json("POST", f"{model}/rollback", {"to": 5, "exclude": ["e1"]}),
        _json("PUT", "/v1/routes/r", route),
        _json("POST", "/v1/routes/r/promote", {"model": "n", "why": "test"}),
        _json("POST", "/v1/models/r/predict", {"id": f"r{chance.randrange(40)}", "x": x}),
        _json("PUT", f"/v1/models/r/labels/r{chance.randrange(40)}", {"y": True}),
        Request("GET", "/v1/routes", b""),
        Request("GET", "/v1/models", b""),
        Request("GET", "/metrics", b""),
        Request("GET", "/openapi.json", b""),
        Request("GET", "/healthz", b""),
        Request("GET", "/readyz", b""),
        Request("GET", "/", b""),
        Request("GET", "/v2", b""),
        Request("GET", "/v2/models/m", b""),
        _json("POST", "/v2/models/m/infer", {"id": f"i{chance.randrange(99)}", "inputs": [tensor]}),
        _json("POST", "/v2/models/m/feedback", {"id": f"i{chance.randrange(99)}", "y": [True, False]}),
    ]  # fmt: skip


def mutated_bytes(chance: random.Random, data: bytes) -> bytes:
    """Bytes with a few changes."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        place = chance.randrange(len(changed) + 1)
        action = chance.randrange(5)
        if action == 0 and changed:
            changed[place % len(changed)] ^= 1 << chance.randrange(8)
        elif action == 1:
            changed[place:place] = chance.choice(TOKENS)
        elif action == 2:
            del changed[place : place + chance.randrange(1, 20)]
        elif action == 3:
            changed[place : place + chance.randrange(8)] = chance.choice(TOKENS)
        else:
            changed = changed[:place]
    return bytes(changed)


def mutated_value(chance: random.Random, value: Any) -> Any:
    """A JSON value with one part replaced, added or removed."""
    if chance.random() < 0.3 or not isinstance(value, (dict, list)) or not value:
        return chance.choice(VALUES)
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    place = chance.choice(places)
    if isinstance(value, list):
        changed: Any = list(value)
    else:
        changed = dict(value)
    action = chance.random()
    if action < 0.15:
        del changed[place]
    elif action < 0.3 and isinstance(changed, dict):
        changed[str(chance.choice(VALUES))] = chance.choice(VALUES)
    else:
        changed[place] = mutated_value(chance, changed[place])
    return changed


def _mutate_json(chance: random.Random, request: Request) -> Request:
    try:
        value = json.loads(request.body)
    except ValueError:
        return request._replace(body=mutated_bytes(chance, request.body))
    return request._replace(body=json.dumps(mutated_value(chance, value)).encode())


def _mutate_body(chance: random.Random, request: Request) -> Request:
    return request._replace(body=mutated_bytes(chance, request.body))


def _mutate_path(chance: random.Random, request: Request) -> Request:
    segments = request.path.split("/")
    place = chance.randrange(1, len(segments))
    segments[place] = chance.choice((chance.choice(PATHS), segments[place] + chance.choice(PATHS), ""))
    path = "/".join(segments).encode("utf-8").decode("latin-1") if chance.random() < 0.5 else "/".join(segments)
    return request._replace(path=path)


def _mutate_header(chance: random.Random, request: Request) -> Request:
    kept = request.headers if chance.random() < 0.5 else ()
    return request._replace(headers=(*kept, chance.choice(HEADERS)))


def _mutate_method(chance: random.Random, request: Request) -> Request:
    return request._replace(
        method=chance.choice(("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS", "X\0"))
    )


MUTATIONS: tuple[Callable[[random.Random, Request], Request], ...] = (
    _mutate_json, _mutate_json, _mutate_json, _mutate_body, _mutate_body,
    _mutate_path, _mutate_header, _mutate_method,
)  # fmt: skip


def random_request(chance: random.Random) -> Request:
    """A valid request with up to three mutations."""
    request = chance.choice(valid_requests(chance))
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        request = chance.choice(MUTATIONS)(chance, request)
    return request


class Wire:
    """Sends bytes, and reads one answer for each request."""

    def __init__(self, port: int, timeout: float = 30.0) -> None:
        self._port, self._timeout = port, timeout
        self._socket: socket.socket | None = None

    def send(self, request: Request) -> tuple[int | None, bytes]:
        """The status and the body of the answer; None if the connection was closed without one."""
        for _ in range(2):
            is_new = self._socket is None
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), self._timeout)
            try:
                self._socket.sendall(request.encode())
                answer = HTTPResponse(self._socket, method=request.method)
                answer.begin()
            except TimeoutError:
                raise
            except (OSError, HTTPException):
                self.close()
                if is_new:
                    return None, b""
                continue
            if answer.getheader("content-type", "").startswith("text/event-stream"):
                self.close()
                return answer.status, b""
            body = answer.read()
            if answer.will_close or any(name.lower() != "content-type" for name, _ in request.headers):
                self.close()
            return answer.status, body
        return None, b""

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
