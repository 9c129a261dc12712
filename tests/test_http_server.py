"""The HTTP server and well-behaved clients, over raw sockets; replies and settings."""

import socket
import time

import pytest

from millstream._core import HttpRequest, HttpServer
from millstream.errors import InvalidValue
from raw_http import GET, PLAIN, Client, serving, wait_for, without_handler


def test_a_request_and_its_reply():
    seen = []

    def handler(request: HttpRequest) -> tuple[int, bytes, bytes]:
        seen.append(request)
        return 201, PLAIN + b"x-more: 1\r\n", b"made"

    with serving(handler) as server, Client(server) as client:
        client.send(b"POST /a%20b?c=d&e HTTP/1.1\r\nHost: h\r\nX-Name:  v\xe4lue \r\nContent-Length: 3\r\n\r\nabc")
        reply = client.reply()
        port = client.socket.getsockname()[1]
    assert (reply.status, reply.body) == (201, b"made")
    assert reply.headers["x-more"] == "1"
    assert reply.headers["date"].endswith(" gmt")
    (request,) = seen
    assert (request.method, request.path, request.query, request.body) == ("POST", "/a%20b", "c=d&e", b"abc")
    assert request.header("x-NAME") == "välue"
    assert request.header("missing") is None
    assert request.headers() == [("Host", "h"), ("X-Name", "välue"), ("Content-Length", "3")]
    assert request.peer == f"127.0.0.1:{port}"
    assert 0 <= request.age < 10


def test_a_connection_serves_many_requests():
    with serving() as server, Client(server) as client:
        for number in range(50):
            client.send(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number)
            assert client.reply().body == b"GET /%d? " % number
        assert server.stats()["accepted"] == 1
        assert server.stats()["requests"] == 50
        # A latency is recorded after the reply was sent.
        wait_for(lambda: sum(server.latency()[1]) == 50)
        bounds, counts, total = server.latency()
        assert len(counts) == len(bounds) + 1
        assert total > 0


def test_pipelined_requests_are_answered_in_order():
    with serving() as server, Client(server) as client:
        parts = [
            b"POST /%d HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n%02d" % (number, number)
            for number in range(20)
        ]
        client.send(b"".join(parts))
        for number in range(20):
            assert client.reply().body == b"POST /%d? %02d" % (number, number)


def test_a_request_sent_byte_by_byte():
    with serving() as server, Client(server) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody":
            client.send(bytes([byte]))
        assert client.reply().body == b"POST /p? body"


def test_chunked_bodies():
    chunked = b"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serving() as server, Client(server) as client:
        client.send(chunked + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n" + GET)
        assert client.reply().body == b"POST /p? abcde"
        assert client.reply().body == b"GET /echo? "
        client.send(chunked + b"5\r\nab")
        time.sleep(0.02)
        client.send(b"cde\r\n0\r\n\r\n")
        assert client.reply().body == b"POST /p? abcde"


def test_a_large_body_arrives_whole():
    body = bytes(range(256)) * (1 << 14)
    head = b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
    with serving() as server, Client(server) as client:
        client.send(head + body)
        assert client.reply().body == b"POST /p? " + body
        assert server.stats()["bytes_read"] == len(head) + len(body)


@pytest.mark.parametrize("declared", [b"Content-Length: 4", b"Transfer-Encoding: chunked"])
def test_expect_continue(declared):
    body = b"body" if b"Length" in declared else b"4\r\nbody\r\n0\r\n\r\n"
    head = b"POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n" + declared + b"\r\n\r\n"
    with serving() as server, Client(server) as client:
        client.send(head)
        assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        client.send(body)
        assert client.reply().body == b"POST /p? body"
        # A client that does not wait needs no permission.
        client.send(head + body)
        assert client.reply().body == b"POST /p? body"


def test_http_1_0():
    with serving() as server:
        with Client(server) as client:
            client.send(b"GET /old HTTP/1.0\r\n\r\n")
            assert client.refused().body == b"GET /old? "
        with Client(server) as client:
            client.send(b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert client.reply().headers["connection"] == "keep-alive"
            client.send(b"GET /old HTTP/1.0\r\n\r\n")
            assert client.refused().status == 200


def test_connection_close():
    with serving() as server, Client(server) as client:
        client.send(b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + GET)
        assert client.refused().body == b"GET /last? "


def test_a_reply_to_head_and_one_without_content():
    def handler(request: HttpRequest) -> tuple[int, bytes, bytes]:
        return (204, b"", b"") if request.method == "DELETE" else (200, PLAIN, b"twelve bytes")

    with serving(handler) as server, Client(server) as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\nDELETE / HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
        assert client.reply(has_body=False).headers["content-length"] == "12"
        reply = client.reply(has_body=False)
        assert reply.status == 204
        assert "content-length" not in reply.headers
        assert client.reply().body == b"twelve bytes"


def test_a_client_that_closes_for_writing_is_answered():
    with serving() as server, Client(server) as client:
        client.send(GET)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.reply().status == 200
        assert client.rest() == b""


def test_late_repeated_and_invented_answers_are_dropped():
    with without_handler(request_timeout=0.1) as server, Client(server) as client:
        client.send(GET)
        (request,) = server.take(1, 1)
        assert client.reply().status == 504
        server.answer([(request.ticket, 200, PLAIN, b"late"), (123456, 200, PLAIN, b"invented")])
        wait_for(lambda: server.stats()["late_answers"] == 2)
        client.send(GET)
        (request,) = server.take(1, 1)
        server.answer([(request.ticket, 200, PLAIN, b"first"), (request.ticket, 200, PLAIN, b"second")])
        assert client.reply().body == b"first"
        wait_for(lambda: server.stats()["late_answers"] == 3)


def test_a_client_that_goes_away():
    with without_handler() as server:
        client = Client(server)
        client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n" + bytes(5000))
        (request,) = server.take(1, 1)
        client.socket.close()
        server.answer([(request.ticket, 200, PLAIN, bytes(1 << 20))])
        del request
        wait_for(lambda: server.stats()["connections"] == 0)
        stats = server.stats()
        assert (stats["waiting"], stats["active"], stats["buffered_bytes"]) == (0, 0, 0)
        # One, or none if the reply was written before the reset arrived.
        before = stats["disconnects"]
        for partial in (b"GET", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"):
            with Client(server) as client:
                client.send(partial)
        wait_for(lambda: server.stats()["disconnects"] == before + 2)
        wait_for(lambda: server.stats()["connections"] == 0)
        stats = server.stats()
        assert (stats["active"], stats["buffered_bytes"]) == (0, 0)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((99, PLAIN, b""), "status must be in [200, 599], got 99"),
        ((600, PLAIN, b""), "status must be in [200, 599], got 600"),
        ((200, b"a: b", b""), "headers must end with CR LF"),
        ((200, b"a: b\r\n\r\n", b""), "headers must have a colon in each line"),
        ((200, b"Content-Length: 5\r\n", b""), "headers must not contain Content-Length"),
        ((200, b"a: b\0\r\n", b""), "headers must have no control characters in values"),
    ],
)
def test_invalid_replies_are_refused_as_a_group(reply, message):
    with without_handler() as server, Client(server) as client:
        client.send(GET)
        (request,) = server.take(1, 1)
        with pytest.raises(InvalidValue) as caught:
            server.answer([(request.ticket, 200, PLAIN, b"fine"), (request.ticket, *reply)])
        assert str(caught.value) == f"HttpServer: {message}"
        server.answer([(request.ticket, 200, PLAIN, b"second try")])
        assert client.reply().body == b"second try"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"header_timeout": 0}, "header_timeout must be in (0, 86400] seconds, got 0"),
        ({"idle_timeout": -1}, "idle_timeout must be a number of seconds, got -1"),
        ({"body_timeout": float("nan")}, "body_timeout must be a number of seconds, got NaN"),
        ({"write_timeout": 1e9}, "write_timeout must be in (0, 86400] seconds, got 1000000000"),
        ({"threads": 0}, "threads must be in [1, 64], got 0"),
        ({"max_queue": 0}, "max_queue must be in [1, 16777216], got 0"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises(InvalidValue) as caught:
        HttpServer("127.0.0.1", 0, **settings)
    assert str(caught.value) == f"HttpServer: {message}"


def test_a_port_in_use():
    with without_handler() as server:
        with pytest.raises(OSError) as caught:
            HttpServer("127.0.0.1", server.port)
        assert f"cannot listen on 127.0.0.1 port {server.port}: Address" in str(caught.value)
        assert caught.value.errno is not None


def test_a_host_without_an_address():
    with pytest.raises(OSError, match="cannot listen on no.such.host.invalid port 0"):
        HttpServer("no.such.host.invalid", 0)


def test_take_waits_and_returns_nothing_at_the_timeout():
    with without_handler() as server:
        started = time.monotonic()
        assert server.take(10, 0.1) == []
        assert time.monotonic() - started >= 0.09
        assert server.take(10, 0) == []
        assert server.take(0, 10) == []


def test_take_gives_at_most_so_many():
    with without_handler() as server:
        clients = [Client(server) for _ in range(5)]
        for client in clients:
            client.send(GET)
        wait_for(lambda: server.stats()["queue"] == 5)
        assert [len(server.take(2, 0)) for _ in range(4)] == [2, 2, 1, 0]
        for client in clients:
            client.socket.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_many_clients_get_their_own_replies(threads):
    with serving(threads=threads) as server:
        clients = [Client(server) for _ in range(60)]
        for turn in range(5):
            for number, client in enumerate(clients):
                client.send(b"GET /%d/%d HTTP/1.1\r\nHost: h\r\n\r\n" % (number, turn))
            for number, client in enumerate(clients):
                assert client.reply().body == b"GET /%d/%d? " % (number, turn)
        for client in clients:
            client.socket.close()
