"""Servers for tests: one that is called without a protocol, and one behind a connection that fails on demand."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from millstream.serve import Server


class PlainRequest:
    """A request as the handler knows it."""

    def __init__(self, method, path, body=b"", headers=None):
        self.method = method
        self.path, _, self.query = path.partition("?")
        self.body = body
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}

    def header(self, name):
        return self._headers.get(name)


class Answer:
    """A reply with its body parsed."""

    def __init__(self, reply):
        self.status, self.body, self.type = reply.status, reply.body, reply.content_type
        self.headers = dict(reply.headers)

    @property
    def json(self):
        return json.loads(self.body)


class Direct:
    """A server that is called without a protocol."""

    def __init__(self, data, **settings):
        settings.setdefault("require_token", False)
        self.server = Server(data=data, **settings).start(listen=False)
        self._lock = threading.Lock()

    def reply(self, request):
        """The reply to a request, however late it comes."""
        found, done = [], threading.Event()

        def respond(reply):
            found.append(reply)
            done.set()

        with self._lock:
            self.server.handler.handle(request, respond)
        assert done.wait(20), f"no answer to {request.method} {request.path}"
        return found[0]

    def call(self, method, path, body=None, **headers):
        """Send a request. A body that is not bytes is sent as JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Answer(self.reply(PlainRequest(method, path, body or b"", named)))

    def get(self, path, **headers):
        return self.call("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.call("POST", path, body, **headers)

    def put(self, path, body=None, **headers):
        return self.call("PUT", path, body, **headers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()


class FaultyLine:
    """A server behind a connection that fails: each request takes the next fault of `faults`.

    A fault is None, "refuse" (closed before the server sees the request), "lose" (the server answers and the
    connection is closed), or a tuple of a status and headers that a proxy answers instead of the server.
    """

    def __init__(self, direct):
        self.faults = deque()
        self.requests = []
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A body in a second segment would wait for the acknowledgement of the first.
            wbufsize = -1
            disable_nagle_algorithm = True

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fault = line.faults.popleft() if line.faults else None
                line.requests.append((self.command, self.path, body))
                if fault == "refuse":
                    self.close_connection = True
                    return
                if isinstance(fault, tuple):
                    self.send_response(fault[0])
                    for name, value in fault[1].items():
                        self.send_header(name, value)
                    self.send_header("content-length", "3")
                    self.end_headers()
                    self.wfile.write(b"no\n")
                    return
                reply = direct.reply(PlainRequest(self.command, self.path, body, dict(self.headers)))
                if fault == "lose":
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                self.send_header("content-type", reply.content_type)
                self.send_header("content-length", str(len(reply.body)))
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_):
                pass

        for method in ("GET", "POST", "PUT", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.handle_any)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self):
        self._http.shutdown()
        self._http.server_close()
