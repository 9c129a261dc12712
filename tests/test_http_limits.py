"""The HTTP server against slow, broken and hostile clients, over raw sockets."""

import re
import socket
import time
from contextlib import suppress
from random import Random

import pytest

from raw_http import GET, PLAIN, Client, serving, wait_for, without_handler

NOISE = [b"", b"\r\n", b":", b"\xff", b"0", b" "]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nA: \0\r\n\r\n",
        b"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/3.0\r\nHost: h\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"no request at all\r\n\r\n",
    ],
)
def test_malformed_requests(request_bytes):
    seen = []
    with serving(lambda request: seen.append(request)) as server, Client(server) as client:
        client.send(request_bytes)
        reply = client.refused()
        assert (reply.status, reply.problem) == (400, "malformed-request")
        assert server.stats()["malformed"] == 1
    assert not seen


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"zstd", b"gzip, identity"])
def test_compressed_bodies_are_not_opened(encoding):
    with serving() as server, Client(server) as client:
        head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: %s\r\nContent-Length: 1000\r\n\r\n" % encoding
        client.send(head + bytes(1000))
        reply = client.refused()
        assert (reply.status, reply.problem) == (415, "unsupported-encoding")


@pytest.mark.parametrize(
    "header",
    [
        b"A: " + b"a" * (2 << 20) + b"\r\n",
        b"A: " + b"a" * 40_000 + b"\r\n",
        b"A: a\r\n" * 101,
    ],
)
def test_a_header_that_is_too_large(header):
    with serving() as server, Client(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\n" + header + b"\r\n")
        reply = client.refused()
        assert (reply.status, reply.problem) == (431, "header-too-large")


def test_a_body_that_is_too_large_by_its_length():
    with serving(max_body_bytes=1000) as server:
        with Client(server) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + bytes(1000))
            assert client.reply().status == 200
        for length in (b"1001", b"9" * 30):
            with Client(server) as client:
                expect = b"Expect: 100-continue\r\n"
                client.send(b"POST / HTTP/1.1\r\nHost: h\r\n" + expect + b"Content-Length: %s\r\n\r\n" % length)
                reply = client.refused()
                assert (reply.status, reply.problem) == (413, "body-too-large")
        with Client(server) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n" + bytes(4_000_000))
            assert client.refused().status == 413


def test_a_body_that_is_too_large_in_chunks():
    with serving(max_body_bytes=1000) as server, Client(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(11):
            client.send(b"64\r\n" + bytes(100) + b"\r\n")
        reply = client.refused()
        assert (reply.status, reply.problem) == (413, "body-too-large")


def test_a_gigabyte_is_cut_short():
    """A client that goes on sending is cut off, and the memory stays bounded."""
    sent = 0
    with serving(max_body_bytes=1000) as server, Client(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n")
        with suppress(ConnectionError):
            while sent < 1_000_000_000:
                sent += client.socket.send(bytes(1 << 20))
        assert sent < 100_000_000
        assert server.stats()["buffered_bytes"] == 0


def test_a_header_that_does_not_end():
    with serving(header_timeout=0.2, idle_timeout=60) as server, Client(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost:")
        started = time.monotonic()
        reply = client.refused()
        assert 0.15 < time.monotonic() - started < 2
        assert (reply.status, reply.problem) == (408, "too-slow")
        assert server.stats()["header_timeouts"] == 1


def test_a_dribbled_header():
    """The timeout counts from the first byte of the header, whatever comes after it."""
    with serving(header_timeout=0.3) as server, Client(server) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\n")
        started = time.monotonic()
        client.socket.settimeout(0.05)
        while True:
            try:
                client.send(b"A")
                if not client.more() or client.received:
                    break
            except TimeoutError:
                assert time.monotonic() - started < 3
        assert time.monotonic() - started > 0.25
        client.socket.settimeout(5)
        assert client.reply().status == 408


@pytest.mark.parametrize("declared", [b"Content-Length: 1000", b"Transfer-Encoding: chunked"])
def test_a_body_that_does_not_end(declared):
    with serving(body_timeout=0.2) as server, Client(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: h\r\n" + declared + b"\r\n\r\n3e8\r\nhalf")
        reply = client.refused()
        assert (reply.status, reply.problem) == (408, "too-slow")
        assert server.stats()["body_timeouts"] == 1
        assert server.stats()["buffered_bytes"] == 0


def test_idle_connections_have_their_own_timeout():
    with serving(idle_timeout=0.4, header_timeout=0.1, body_timeout=0.1, write_timeout=0.1) as server:
        with Client(server) as client:
            started = time.monotonic()
            assert client.rest() == b""
            assert 0.35 < time.monotonic() - started < 2
        with Client(server) as client:
            for _ in range(3):
                time.sleep(0.2)
                client.send(GET)
                assert client.reply().status == 200
            started = time.monotonic()
            assert client.rest() == b""
            assert 0.35 < time.monotonic() - started < 2
        assert server.stats()["idle_timeouts"] == 2


def test_a_client_that_does_not_read():
    large = bytes(64 << 20)
    with serving(lambda request: (200, PLAIN, large), write_timeout=0.3) as server:
        with Client(server, receive_buffer=4096) as client:
            client.send(GET)
            wait_for(lambda: server.stats()["write_timeouts"] == 1)
            wait_for(lambda: server.stats()["connections"] == 0)
            wait_for(lambda: server.stats()["buffered_bytes"] == 0)
        assert server.stats()["bytes_written"] < len(large)


def test_a_slow_reader_gets_a_long_reply():
    large = bytes(range(256)) * (1 << 15)
    with serving(lambda request: (200, PLAIN, large)) as server, Client(server, receive_buffer=1 << 17) as client:
        client.send(GET)
        assert client.reply().body == large


def test_too_many_connections():
    with serving(max_connections=3) as server:
        clients = [Client(server) for _ in range(3)]
        wait_for(lambda: server.stats()["connections"] == 3)
        with Client(server) as client:
            client.send(GET)
            reply = client.refused()
            assert (reply.status, reply.problem) == (503, "too-many-connections")
            assert int(reply.headers["retry-after"]) > 0
        for client in clients:
            client.send(GET)
            assert client.reply().status == 200
        clients.pop().socket.close()
        wait_for(lambda: server.stats()["connections"] == 2)
        with Client(server) as client:
            client.send(GET)
            assert client.reply().status == 200
        for client in clients:
            client.socket.close()


def test_a_full_queue():
    with without_handler(max_queue=2) as server:
        clients = [Client(server) for _ in range(2)]
        for client in clients:
            client.send(GET)
        wait_for(lambda: server.stats()["queue"] == 2)
        with Client(server) as client:
            client.send(GET)
            reply = client.reply()
            assert (reply.status, reply.problem) == (503, "queue-full")
            assert int(reply.headers["retry-after"]) > 0
            assert server.stats()["queue_full"] == 1
            # The refused client keeps its connection and is served once there is room.
            requests = server.take(10, 1)
            server.answer([(request.ticket, 200, PLAIN, b"") for request in requests])
            client.send(GET)
            (request,) = server.take(10, 1)
            server.answer([(request.ticket, 200, PLAIN, b"late")])
            assert client.reply().body == b"late"
        for client in clients:
            assert client.reply().status == 200
            client.socket.close()


def test_memory_of_all_requests_is_bounded():
    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n"
    with without_handler(max_buffered_bytes=100_000) as server, Client(server) as first, Client(server) as second:
        first.send(head + bytes(50_000))
        wait_for(lambda: server.stats()["buffered_bytes"] >= 50_000)
        second.send(head + bytes(59_000))
        reply = second.refused()
        assert (reply.status, reply.problem) == (503, "queue-full")
        first.socket.close()
        wait_for(lambda: server.stats()["buffered_bytes"] == 0)


def test_a_request_without_an_answer():
    with serving(lambda request: None, request_timeout=0.2) as server, Client(server) as client:
        client.send(GET)
        reply = client.reply()
        assert (reply.status, reply.problem) == (504, "no-answer")
        assert server.stats()["request_timeouts"] == 1


def test_requests_that_timed_out_are_not_handled():
    with without_handler(request_timeout=0.1) as server, Client(server) as client:
        client.send(GET)
        assert client.reply().status == 504
        assert server.take(10, 0.01) == []
        assert server.stats()["queue"] == 0


def test_mutated_requests_leave_the_server_as_it_was():
    random = Random(7)
    chunked = b"POST /p?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    plain = b"PUT /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
    seen: set[int] = set()
    with serving(max_body_bytes=1000) as server:
        for turn in range(300):
            request = bytearray(random.choice([chunked + plain, plain, GET + chunked]))
            for _ in range(random.randint(1, 4)):
                place = random.randrange(len(request))
                request[place : place + random.randint(0, 2)] = random.choice(
                    [b"", b"\r\n", b":", b"\xff", b"0", b" "]
                )
            with Client(server) as client:
                client.send(bytes(request))
                client.socket.shutdown(socket.SHUT_WR)
                statuses = {int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", client.rest())}
            assert statuses <= {200, 400, 413, 415}, (turn, bytes(request))
            seen |= statuses
        assert seen >= {200, 400}
        wait_for(lambda: server.stats()["connections"] == 0)
        stats = server.stats()
        assert (stats["active"], stats["waiting"]) == (0, 0)
        with Client(server) as client:
            client.send(GET)
            assert client.reply().status == 200


def test_slow_clients_do_not_delay_others():
    """Hundreds of half headers and half bodies: the next client is served at once."""
    with serving() as server:
        slow = [Client(server) for _ in range(300)]
        for number, client in enumerate(slow):
            half = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"
            client.send(half if number % 2 else half[:30])
        wait_for(lambda: server.stats()["active"] == 300)
        started = time.monotonic()
        with Client(server) as client:
            client.send(GET)
            assert client.reply().status == 200
        assert time.monotonic() - started < 1
        for client in slow:
            client.socket.close()
        wait_for(lambda: server.stats()["connections"] == 0)
        assert server.stats()["disconnects"] == 300
        assert server.stats()["buffered_bytes"] < 100
