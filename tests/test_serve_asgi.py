"""The ASGI application: the same answers as the server, with bodies capped while they arrive."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from millstream import base, linear_model
from millstream.errors import InvalidType
from millstream.serve import Client, ServeError, Server, asgi


class Caller:
    """Drives an application by hand, as an ASGI server does."""

    def __init__(self, app):
        self.app = app

    async def call(self, method, path, body=b"", headers=(), *, parts=None, scope=None):
        """Send a request. Returns the status, the headers and the body of the reply."""
        whole = body if isinstance(body, bytes) else json.dumps(body).encode()
        messages = [*(parts if parts is not None else [whole])]
        sent = []

        async def receive():
            if not messages:
                await asyncio.sleep(3600)
            part = messages.pop(0)
            if part is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part, "more_body": bool(messages)}

        async def send(message):
            sent.append(message)

        path, _, query = path.partition("?")
        full = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers],
            **(scope or {}),
        }
        await self.app(full, receive, send)
        if not sent:
            return None
        head = dict(sent[0]["headers"])
        return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:])


class Lifespan:
    """Starts and stops an application, as an ASGI server does."""

    def __init__(self, app):
        self.app = app
        self.sent = asyncio.Queue()
        self.received = asyncio.Queue()

    async def __aenter__(self):
        self.task = asyncio.ensure_future(self.app({"type": "lifespan"}, self.received.get, self.sent.put))
        await self.received.put({"type": "lifespan.startup"})
        self.started = await asyncio.wait_for(self.sent.get(), 20)
        return self

    async def __aexit__(self, *_):
        if self.started["type"] == "lifespan.startup.complete":
            await self.received.put({"type": "lifespan.shutdown"})
            assert (await asyncio.wait_for(self.sent.get(), 20))["type"] == "lifespan.shutdown.complete"
        await self.task


def make(data, **settings):
    settings.setdefault("require_token", False)
    settings.setdefault("models", {"m": linear_model.LinearRegression()})
    return Server(data=data, **settings)


def run(app, work):
    """Run a coroutine function that takes a caller, within the lifespan of an application."""

    async def main():
        async with Lifespan(app) as lifespan:
            assert lifespan.started["type"] == "lifespan.startup.complete", lifespan.started
            return await work(Caller(app))

    return asyncio.run(main())


def test_predict_and_label(tmp_path):
    async def work(caller):
        status, headers, body = await caller.call("POST", "/v1/models/m/predict", {"id": "a/b", "x": {"a": 1.0}})
        assert (status, json.loads(body)["id"]) == (200, "a/b")
        assert headers[b"content-length"] == str(len(body)).encode()
        assert headers[b"x-content-type-options"] == b"nosniff"
        status, _, body = await caller.call("PUT", "/v1/models/m/labels/a%2Fb", {"y": 2.0})
        assert (status, json.loads(body)["fate"]) == (201, "learned")
        status, _, body = await caller.call("GET", "/v1/models/m?curve=1")
        assert json.loads(body)["learned"] == 1

    run(asgi(make(tmp_path)), work)
    server = make(tmp_path)
    assert server.engine.state.models["m"].learned == 1
    server.stop()


def test_many_requests_at_once(tmp_path):
    async def work(caller):
        async def one(number):
            await caller.call("POST", "/v1/models/m/predict", {"id": str(number), "x": {"a": 1.0}})
            return (await caller.call("PUT", f"/v1/models/m/labels/{number}", {"y": 1.0}))[0]

        return await asyncio.gather(*map(one, range(200)))

    assert set(run(asgi(lambda: make(tmp_path)), work)) == {201}


def test_a_function_makes_the_server_at_the_start(tmp_path):
    made = []

    def factory():
        made.append(make(tmp_path))
        return made[-1]

    app = asgi(factory)
    assert made == []

    async def work(caller):
        assert app.server is made[0]
        return (await caller.call("GET", "/readyz"))[0]

    assert run(app, work) == 200
    assert app.server is None


def test_it_starts_without_a_lifespan(tmp_path):
    app = asgi(make(tmp_path))

    async def main():
        answers = await asyncio.gather(*(Caller(app).call("GET", "/readyz") for _ in range(5)))
        assert {answer[0] for answer in answers} == {200}
        await app.stop()

    asyncio.run(main())


def test_a_failed_start_is_reported(tmp_path):
    server = make(tmp_path)
    app = asgi(lambda: make(tmp_path))

    async def main():
        async with Lifespan(app) as lifespan:
            return lifespan.started

    started = asyncio.run(main())
    server.stop()
    assert started["type"] == "lifespan.startup.failed"
    assert "process" in started["message"] or "lock" in started["message"]


def test_tokens_are_needed_unless_they_are_declined(tmp_path):
    async def main():
        async with Lifespan(asgi(make(tmp_path, require_token=None))) as lifespan:
            return lifespan.started

    assert "require_token=False" in asyncio.run(main())["message"]
    server = make(tmp_path, require_token=None)
    token = server.tokens.create(["predict"], "one")

    async def work(caller):
        body = {"x": {"a": 1.0}}
        without = await caller.call("POST", "/v1/models/m/predict", body)
        allowed = await caller.call("POST", "/v1/models/m/predict", body, [("Authorization", f"Bearer {token}")])
        return without[0], allowed[0]

    assert run(asgi(server), work) == (401, 200)


@pytest.mark.parametrize(
    ("parts", "headers"),
    [
        ([b"x" * 600, b"x" * 600, b"never asked for"], ()),
        ([b"never asked for"], [("content-length", "1200")]),
        ([b"never asked for"], [("content-length", "9" * 400)]),
    ],
    ids=["streamed", "declared", "absurd"],
)
def test_a_large_body_is_refused_while_it_arrives(tmp_path, parts, headers):
    async def work(caller):
        left = list(parts)
        status, _, body = await caller.call("POST", "/v1/models/m/predict", headers=headers, parts=left)
        return status, json.loads(body)["type"]

    app = asgi(make(tmp_path, settings={"max_body_bytes": 1000}))
    assert run(app, work) == (413, "/problems/body-too-large")


def test_compressed_bodies_are_refused(tmp_path):
    async def work(caller):
        return (await caller.call("POST", "/v1/models/m/predict", b"..", [("content-encoding", "gzip")]))[0]

    assert run(asgi(make(tmp_path)), work) == 415


def test_a_client_that_goes_away_is_not_answered(tmp_path):
    async def work(caller):
        return await caller.call("POST", "/v1/models/m/predict", parts=[b"{", None])

    assert run(asgi(make(tmp_path)), work) is None


def test_mounted_below_a_path(tmp_path):
    async def work(caller):
        scope = {
            "root_path": "/ml models",
            "raw_path": b"/ml%20models/v1/models/m",
            "path": "/ml models/v1/models/m",
        }
        answers = [(await caller.call("GET", "/", scope=scope))[0]]
        answers.append((await caller.call("GET", "/", scope=scope | {"raw_path": None}))[0])
        answers.append((await caller.call("GET", "/v1/models/m", scope={"root_path": "/other"}))[0])
        return answers

    assert run(asgi(make(tmp_path)), work) == [200, 200, 200]


def test_a_handler_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr("millstream.serve.asgi_application._STALL", 0.05)
    go_on = threading.Event()

    class Slow(base.Regressor):
        def predict_one(self, x):
            go_on.wait(20)
            return 0.0

        def learn_one(self, x, y, w=1.0):
            pass

    app = asgi(make(tmp_path, models={"m": Slow()}, settings={"request_timeout": 0.3, "max_queue": 1}))

    async def work(caller):
        hanging = asyncio.ensure_future(caller.call("POST", "/v1/models/m/predict", {"x": {"a": 1.0}}))
        await asyncio.sleep(0.1)
        health = await caller.call("GET", "/healthz")
        full = await caller.call("GET", "/readyz")
        late = await hanging
        go_on.set()
        return health[0], full[0], late[0]

    assert run(app, work) == (503, 503, 504)


def test_live_feed(tmp_path):
    app = asgi(make(tmp_path))
    received = []

    async def work(caller):
        gone = asyncio.Event()

        async def receive():
            if not received:
                received.append(None)
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            received.append(message)
            if message["type"] == "http.response.body":
                gone.set()

        scope = {"type": "http", "method": "GET", "path": "/v1/live", "raw_path": b"/v1/live", "headers": []}
        await asyncio.wait_for(app(scope, receive, send), 10)
        for _ in range(100):
            if not app.server.live.readers:
                break
            await asyncio.sleep(0.05)
        return app.server.live.readers

    assert run(app, work) == 0
    start, first = received[1], received[2]
    assert dict(start["headers"])[b"content-type"] == b"text/event-stream"
    assert b"event: state" in first["body"]


def test_a_stream_ends_when_the_server_stops(tmp_path):
    app = asgi(make(tmp_path))
    received = []

    async def main():
        async def receive():
            if not received:
                received.append(None)
                return {"type": "http.request", "body": b"", "more_body": False}
            await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        async def send(message):
            received.append(message)

        scope = {"type": "http", "method": "GET", "path": "/v1/live", "raw_path": b"/v1/live", "headers": []}
        stream = asyncio.ensure_future(app(scope, receive, send))
        while len(received) < 3:
            await asyncio.sleep(0.02)
        await app.stop()
        await asyncio.wait_for(stream, 10)

    asyncio.run(main())
    assert received[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_websockets_and_other_protocols(tmp_path):
    async def work(caller):
        sent = []

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        await caller.app({"type": "websocket", "path": "/"}, receive, send)
        with pytest.raises(ValueError, match="unknown scope"):
            await caller.app({"type": "other"}, receive, send)
        return sent[0]["type"]

    assert run(asgi(make(tmp_path)), work) == "websocket.close"


def test_bad_arguments():
    with pytest.raises(InvalidType, match="must be a Server"):
        asgi(3)


def test_with_uvicorn(tmp_path):
    uvicorn = pytest.importorskip("uvicorn")
    app = asgi(lambda: make(tmp_path))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        for _ in range(200):
            if server.started:
                break
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        client = Client(f"http://127.0.0.1:{port}")
        client.wait_until_ready()
        results = client.predict_many("m", [{"a": 1.0}, {"a": 2.0}], format="arrow")
        fates = [label["fate"] for label in client.labels("m", [(each["id"], 1.0) for each in results])]
        assert fates == ["learned", "learned"]
        strange = "a/b?c#d%2F é"
        client.predict("m", {"a": 1.0}, id=strange)
        assert client.label("m", strange, 1.0)["fate"] == "learned"
        with pytest.raises(ServeError, match="404"):
            client.model("other")
    finally:
        server.should_exit = True
        thread.join(20)
    again = make(tmp_path)
    again.stop()
    assert again.engine.state.models["m"].learned == 3
