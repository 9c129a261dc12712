"""Streams, health, draining and closing of the HTTP server."""

import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from millstream._core import HttpServer
from raw_http import GET, PLAIN, Client, echo, serving, wait_for, without_handler

EVENTS = b"content-type: text/event-stream\r\n"


def read_chunk(client: Client) -> bytes:
    size = int(client.until(b"\r\n"), 16)
    while len(client.received) < size + 2:
        assert client.more()
    data, client.received = client.received[:size], client.received[size + 2 :]
    return data


def open_stream(server: HttpServer, client: Client) -> int:
    client.send(GET)
    (request,) = server.take(1, 1)
    server.open_stream(request.ticket, 200, EVENTS)
    return request.ticket


def test_a_stream_sends_pieces_as_they_come():
    with without_handler(idle_timeout=0.1, write_timeout=0.1) as server, Client(server) as client:
        ticket = open_stream(server, client)
        reply = client.reply()
        assert (reply.status, reply.headers["transfer-encoding"]) == (200, "chunked")
        for number in range(3):
            piece = b"data: %d\n\n" % number
            assert server.push(ticket, piece) == len(piece)
            assert read_chunk(client) == piece
            # Longer than every timeout: a quiet stream stays open.
            time.sleep(0.15)
        assert server.stats()["open_streams"] == 1
        server.push(ticket, b"last")
        server.end_stream(ticket)
        assert server.push(ticket, b"more") is None
        assert client.rest() == b"4\r\nlast\r\n0\r\n\r\n"
        assert server.stats()["open_streams"] == 0


def test_a_stream_in_http_1_0_ends_with_the_connection():
    with without_handler() as server, Client(server) as client:
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        (request,) = server.take(1, 1)
        server.open_stream(request.ticket, 200, EVENTS)
        server.push(request.ticket, b"data")
        server.end_stream(request.ticket)
        assert "transfer-encoding" not in client.reply(has_body=False).headers
        assert client.rest() == b"data"


def test_the_sender_learns_that_the_client_is_gone():
    with without_handler() as server:
        with Client(server) as client:
            ticket = open_stream(server, client)
            client.reply()
        wait_for(lambda: server.push(ticket, b"") is None)
        wait_for(lambda: server.stats()["connections"] == 0)
        assert server.push(ticket, b"data") is None
        stats = server.stats()
        assert (stats["open_streams"], stats["buffered_bytes"], stats["active"]) == (0, 0, 0)


def test_a_stream_without_a_request():
    with without_handler() as server:
        server.open_stream(987654, 200, EVENTS)
        wait_for(lambda: server.push(987654, b"data") is None)
        assert server.push(123, b"data") is None
        server.end_stream(123)
        assert server.stats()["open_streams"] == 0


def test_a_slow_reader_of_a_stream():
    """`push` says how much waits, so that the sender can leave events out; beyond 1 MiB the stream is closed."""
    with without_handler(write_timeout=60) as server, Client(server, receive_buffer=4096) as client:
        ticket = open_stream(server, client)
        client.reply()
        piece = bytes(1 << 16)
        waiting: list[int | None] = []
        while not waiting or waiting[-1] is not None:
            waiting.append(server.push(ticket, piece))
            assert len(waiting) < 1000
        assert max(size for size in waiting if size is not None) > 1 << 18
        assert all(size is None or size <= 1 << 20 for size in waiting)
        wait_for(lambda: server.stats()["connections"] == 0)
        assert server.stats()["buffered_bytes"] == 0


def test_a_reader_of_a_stream_that_stops():
    with without_handler(write_timeout=0.2) as server, Client(server, receive_buffer=4096) as client:
        ticket = open_stream(server, client)
        client.reply()

        # The buffers of the system take the first data, and the server may only be late: push until a write stops.
        def is_closed() -> bool:
            waiting = server.push(ticket, b"")
            while waiting is not None and waiting < 1 << 16:
                waiting = server.push(ticket, bytes(1 << 14))
            return server.stats()["write_timeouts"] == 1

        wait_for(is_closed)
        assert server.push(ticket, b"") is None


def test_health_is_answered_while_the_handler_hangs():
    with without_handler(request_timeout=0.5) as server, Client(server) as client, Client(server) as other:
        server.set_health("/healthz", b'{"status":"ok"}', stall=0.2)
        health = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
        client.send(health)
        reply = client.reply()
        assert (reply.status, reply.body) == (200, b'{"status":"ok"}')
        other.send(GET)
        assert len(server.take(1, 1)) == 1
        time.sleep(0.35)
        client.send(health)
        reply = client.reply()
        assert (reply.status, reply.problem) == (503, "handler-stalled")
        assert b"a request has waited 0." in reply.body
        # The request has timed out, but the handler is not back.
        assert other.reply().status == 504
        time.sleep(0.1)
        client.send(health)
        assert client.reply().status == 503
        assert server.take(1, 0) == []
        time.sleep(0.1)
        client.send(health)
        assert client.reply().status == 200
        # Other methods are for the handler.
        client.send(health.replace(b"GET", b"PUT"))
        assert server.take(1, 1)[0].path == "/healthz"


def test_readiness():
    with serving() as server, Client(server) as client:
        ready = b"GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n"
        server.set_ready("/readyz", False)
        client.send(ready)
        reply = client.reply()
        assert (reply.status, reply.problem) == (503, "not-ready")
        server.set_ready("/readyz", True)
        client.send(ready)
        reply = client.reply()
        assert (reply.status, reply.body) == (200, b'{"ready":true}')


def test_draining_finishes_requests_in_flight():
    started = threading.Event()

    def slow(request):
        started.set()
        time.sleep(0.3)
        return echo(request)

    with serving(slow) as server:
        with Client(server) as idle, Client(server) as busy, Client(server) as half:
            busy.send(GET)
            half.send(GET[:10])
            assert started.wait(5)
            wait_for(lambda: server.stats()["active"] == 2)
            drained: list[bool] = []
            thread = threading.Thread(target=lambda: drained.append(server.drain(5)))
            thread.start()
            assert idle.rest() == b""
            with pytest.raises(OSError):
                Client(server).refused()
            half.send(GET[10:])
            assert busy.refused().status == 200
            assert half.refused().status == 200
            thread.join()
        assert drained == [True]
        assert server.closed


def test_draining_gives_up_at_its_timeout():
    with without_handler() as server, Client(server) as client:
        client.send(GET)
        assert len(server.take(1, 1)) == 1
        started = time.monotonic()
        assert server.drain(0.2) is False
        assert 0.15 < time.monotonic() - started < 2
        assert client.rest() == b""


def test_draining_ends_streams():
    with without_handler() as server, Client(server) as client:
        ticket = open_stream(server, client)
        client.reply()
        server.push(ticket, b"data")
        assert server.drain(5)
        assert client.rest() == b"4\r\ndata\r\n0\r\n\r\n"


def test_a_closed_server():
    server = HttpServer("127.0.0.1", 0)
    waiting = threading.Thread(target=lambda: server.take(1, 60))
    waiting.start()
    client = Client(server)
    server.close()
    waiting.join(5)
    assert not waiting.is_alive()
    assert server.closed
    assert client.rest() == b""
    assert server.take(1, 60) == []
    server.answer([(1, 200, PLAIN, b"")])
    assert server.push(1, b"") is None
    assert server.drain(1)
    server.close()
    with pytest.raises(OSError):
        Client(server)


def test_a_server_that_is_dropped_releases_its_port():
    server = HttpServer("127.0.0.1", 0)
    port = server.port
    del server
    wait_for(lambda: can_bind(port))


def can_bind(port: int) -> bool:
    try:
        HttpServer("127.0.0.1", port).close()
    except OSError:
        return False
    return True


def test_a_process_with_an_open_server_exits():
    script = "from millstream._core import HttpServer; server = HttpServer('127.0.0.1', 0); print(server.port)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stderr == b""


LIMITED = """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 60))
from millstream._core import HttpServer
server = HttpServer("127.0.0.1", 0)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (60, 60)
assert server.stats()["max_connections"] == 30
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError:
    pass
files.pop().close()
client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
used = time.process_time()
time.sleep(0.5)
used = time.process_time() - used
errors = server.stats()["accept_errors"]
assert 2 <= errors < 50, errors
assert used < 0.25, used
files.clear()
client.sendall(b"GET / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n")
(request,) = server.take(1, 10)
server.answer([(request.ticket, 200, b"", b"")])
assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
"""


@pytest.mark.slow
def test_a_server_out_of_file_descriptors_neither_spins_nor_stops():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.slow
def test_idle_connections_are_small():
    """At most 20 KB for each idle connection, and others are served as before."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(3000, hard // 2 - 300)
    with serving() as server:
        before = resident_bytes()
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        for connection in idle:
            connection.sendall(GET)
        for connection in idle:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        size = (resident_bytes() - before) / count
        with Client(server) as client:
            client.send(GET)
            assert client.reply().status == 200
        for connection in idle:
            connection.close()
        wait_for(lambda: server.stats()["connections"] == 0)
    # The client sockets of this process are included.
    assert size < 20_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
