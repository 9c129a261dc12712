"""Pages of other sites cannot use a server on this machine."""

from __future__ import annotations

import http.client
import json

import pytest

from millstream import linear_model, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    with serve.Server(linear_model.LinearRegression(), name="m", data=data, port=0) as server:
        yield server


def status(server, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/v1/models/m/learn", json.dumps({"x": {"v": 1.0}, "y": 1.0}), fields)
    reply = connection.getresponse()
    body = json.loads(reply.read())
    connection.close()
    return reply.status, body


def test_a_page_of_another_site_is_refused(server):
    for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example"):
        code, problem = status(server, Origin=origin, Content_Type="text/plain")
        assert (code, problem["type"]) == (403, "/problems/cross-origin")


def test_a_rebound_host_name_is_refused(server):
    code, problem = status(server, Host="evil.example", Origin="http://evil.example")
    assert (code, problem["type"]) == (403, "/problems/wrong-host")


def test_pages_and_programs_of_this_machine_are_served(server):
    assert status(server)[0] == 201
    assert status(server, Origin=f"http://127.0.0.1:{server.port}")[0] == 201
    host = f"localhost:{server.port}"
    assert status(server, Host=host, Origin=f"http://{host}")[0] == 201
    assert status(server, Host="[::1]:8000")[0] == 201


def test_no_reply_allows_other_origins(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("OPTIONS", "/v1/models/m/predict", headers={"Access-Control-Request-Method": "POST"})
    reply = connection.getresponse()
    reply.read()
    assert reply.status == 405
    assert not any(name.lower().startswith("access-control") for name, _ in reply.getheaders())
    connection.close()
