"""Tokens: stored as hashes in a private file, and changed while a server runs."""

from __future__ import annotations

import http.client
import json
import os
import stat
import threading
import time

import pytest

from millstream import linear_model, serve
from millstream.cli import main
from millstream.errors import InvalidState, InvalidValue
from millstream.serve import tokens as tokens_module
from millstream.serve.tokens import Tokens


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tokens.json"


@pytest.fixture
def server(tmp_path):
    model = linear_model.LinearRegression()
    with serve.Server(model, data=tmp_path / "data", port=0, name="m") as server:
        yield server


def status(server, token=None, *, natively=True):
    """The status of a prediction. A query leaves it to Python."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    path = "/v1/models/m/predict" + ("" if natively else "?wait=durable")
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    before = server.http.stats()["native"]
    connection.request("POST", path, b'{"x":{"a":1}}', headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if natively and answer.status == 200:
        assert server.http.stats()["native"] == before + 1
    return answer.status


def both(server, token=None):
    return status(server, token), status(server, token, natively=False)


def run(capsys, *words):
    code = main(["serve", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out.strip(), err


def eventually(check, expected):
    end = time.monotonic() + 10
    while (found := check()) != expected and time.monotonic() < end:
        time.sleep(0.05)
    assert found == expected


def test_the_shortcut_follows_changes(server):
    assert both(server) == (200, 200)
    token = server.tokens.create(["predict"], "one")
    assert both(server) == (401, 401)
    assert both(server, token) == (200, 200)
    other = server.tokens.create(["label"], "two")
    assert both(server, other) == (403, 403)
    assert server.tokens.revoke("one") == 1
    assert both(server, token) == (401, 401)
    # The last token may have been stolen, so the server does not become open while it runs.
    assert server.tokens.revoke("two") == 1
    assert both(server) == both(server, other) == (401, 401)


def test_a_restart_after_the_last_revocation_requires_no_token(tmp_path):
    data, model = tmp_path / "data", linear_model.LinearRegression
    with serve.Server(model(), data=data, port=0, name="m") as server:
        server.tokens.create(["admin"], "one")
        server.tokens.revoke("one")
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/v1/models", headers={"authorization": "Bearer x"})
        answer = connection.getresponse()
        assert answer.status == 401
        detail = json.loads(answer.read())["detail"]
        assert "the data folder has no tokens: create one with" in detail
        assert "or restart the server" in detail
        connection.close()
    with serve.Server(model(), data=data, port=0, name="m") as server:
        assert both(server) == (200, 200)
        token = server.tokens.create(["predict"], "two")
        assert both(server) == (401, 401)
        assert both(server, token) == (200, 200)
    for settings in ({"host": "0.0.0.0"}, {"require_token": True}):
        with serve.Server(model(), data=data, port=0, name="m", **settings) as server:
            assert both(server) == (401, 401)
            assert both(server, token) == (200, 200)
            server.tokens.revoke("two")
            assert both(server) == both(server, token) == (401, 401)
            token = server.tokens.create(["predict"], "two")
    Tokens(data / "tokens.json", required=False).revoke("two")
    for settings, why in (
        ({"host": "0.0.0.0"}, "address 0.0.0.0 is not a loopback address"),
        ({"require_token": True}, "tokens are required"),
    ):
        with pytest.raises(InvalidValue, match=f"{why}, and the folder has no tokens"):
            serve.Server(model(), data=data, port=0, name="m", **settings).start()


def test_expired_tokens_do_not_open_a_folder(tmp_path):
    with serve.Server(linear_model.LinearRegression(), data=tmp_path, port=0, name="m") as server:
        server.tokens.create(["admin"], "one", days=-1)
    with serve.Server(linear_model.LinearRegression(), data=tmp_path, port=0, name="m") as server:
        assert both(server) == (401, 401)


def test_commands_while_the_server_runs(server, tmp_path, capsys):
    data = tmp_path / "data"
    code, token, _ = run(capsys, "--data", data, "--create-token", "web:predict")
    assert code == 0
    # Only native requests, so that it is the handler thread that reads the file.
    eventually(lambda: status(server), 401)
    assert both(server, token) == (200, 200)
    code, shown, _ = run(capsys, "--data", data, "--list-tokens")
    assert (code, shown) == (0, "web  predict  does not expire")
    code, out, err = run(capsys, "--data", data, "--revoke-token", "web")
    assert (code, out) == (0, "")
    assert "revoked 1 token named 'web'" in err
    assert "has no tokens left: after a restart, a server on a loopback address accepts requests" in err
    eventually(lambda: status(server, token), 401)
    assert both(server, token) == (401, 401)


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("web", "label,predict"),
        ("web:predict", "predict"),
        ("web:admin", "admin"),
        ("web:metrics,label", "label,metrics"),
    ],
)
def test_default_token_scopes_exclude_admin(tmp_path, capsys, text, scopes):
    assert run(capsys, "--data", tmp_path / "data", "--create-token", text)[0] == 0
    assert run(capsys, "--data", tmp_path / "data", "--list-tokens")[1] == f"web  {scopes}  does not expire"


def test_a_token_without_a_scope_is_refused(tmp_path, capsys):
    code, out, err = run(capsys, "--data", tmp_path / "data", "--create-token", "web:")
    assert (code, out) == (1, "")
    assert "a token needs a scope" in err


def test_a_created_token_of_the_server_survives_those_of_a_command(server, tmp_path, capsys):
    first = server.tokens.create(["predict"], "first")
    _, second, _ = run(capsys, "--data", tmp_path / "data", "--create-token", "second:predict")
    third = server.tokens.create(["predict"], "third")
    assert [both(server, token) for token in (first, second, third)] == [(200, 200)] * 3
    assert [each["name"] for each in Tokens(server.tokens.path, required=False).shown()] == [
        "first",
        "second",
        "third",
    ]


def test_commands_on_a_new_folder(tmp_path, capsys):
    data = tmp_path / "data"
    for option in (["--list-tokens"], ["--revoke-token", "web"]):
        code, out, err = run(capsys, "--data", data, *option)
        assert code != 0
        assert out == ""
        assert "is not a data folder" in err
    assert not data.exists()
    assert run(capsys, "--data", data, "--create-token", "web:predict")[0] == 0
    code, _, err = run(capsys, "--data", data, "--revoke-token", "wob")
    assert code != 0
    assert "no token named 'wob'; the tokens of" in err
    assert "are: 'web'" in err


def test_expiry_is_listed(tmp_path, capsys):
    run(capsys, "--data", tmp_path / "data", "--create-token", "a:admin")
    tokens = Tokens(tmp_path / "data" / "tokens.json", required=False)
    tokens.create(["label", "predict"], "b", days=-1)
    tokens.create(["metrics"], "c", days=1)
    lines = run(capsys, "--data", tmp_path / "data", "--list-tokens")[1].splitlines()
    assert lines[0] == "a  admin  does not expire"
    assert lines[1].startswith("b  label,predict  expired 20")
    assert lines[2].startswith("c  metrics  expires 20")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_file_is_private_from_the_start(file, monkeypatch):
    modes = []
    replace = type(file).replace

    def observed(path, target):
        modes.append(stat.S_IMODE(path.stat().st_mode))
        return replace(path, target)

    monkeypatch.setattr(type(file), "replace", observed)
    old = os.umask(0)
    try:
        Tokens(file, required=False).create(["admin"], "a")
    finally:
        os.umask(old)
    assert modes == [0o600]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_changes_of_several_processes_at_once(file):
    def create(number):
        mine = Tokens(file, required=False)
        for each in range(10):
            mine.create(["label"], f"{number}-{each}")

    threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Tokens(file, required=False)) == 40


def test_the_file_is_read_at_most_once_a_second(file, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(tokens_module.time, "monotonic", lambda: now[0])
    mine, other = Tokens(file, required=False), Tokens(file, required=False)
    changes = []
    mine.listener = lambda: changes.append(len(mine))
    mine.refresh()
    other.create(["label"], "a")
    now[0] += 0.5
    mine.refresh()
    assert (changes, mine.active) == ([], False)
    now[0] += 0.6
    mine.refresh()
    assert (changes, mine.active) == ([1], True)
    now[0] += 2
    mine.refresh()
    assert changes == [1]


def test_a_file_that_is_damaged_or_deleted_while_a_server_runs(file, monkeypatch, capsys):
    monkeypatch.setattr(tokens_module, "_LOOK", 0.0)
    mine = Tokens(file, required=False)
    mine.create(["label"], "a")
    good = file.read_bytes()
    for text in ("", "{", "[]", '{"tokens": [{}]}', '{"tokens": [5]}', good.decode().replace('"label"', "7")):
        file.write_text(text)
        mine.refresh()
        mine.refresh()
        assert capsys.readouterr().err.count("is not a list of tokens") == 1
        assert len(mine) == 1
        with pytest.raises(InvalidState, match="is not a list of tokens"):
            mine.create(["label"], "b")
        assert file.read_text() == text
        file.write_bytes(good)
        mine.refresh()
    file.unlink()
    mine.refresh()
    assert (len(mine), mine.active) == (0, True)
    assert not Tokens(file, required=False).active


def test_tokens_are_stored_as_hashes(file):
    token = Tokens(file, required=False).create(["label"], "a")
    assert token not in file.read_text()
    assert json.loads(file.read_text())["tokens"][0]["scopes"] == ["label"]


@pytest.mark.parametrize("text", ["", ":admin"])
def test_a_token_needs_a_name(tmp_path, capsys, text):
    code, _, err = run(capsys, "--data", tmp_path / "data", "--create-token", text)
    assert code != 0
    assert "--create-token needs a name" in err


@pytest.mark.parametrize("name", ["a\nb", "x" * 129, "\x1b[2J"])
def test_the_name_of_a_token_is_printable(tmp_path, name):
    with pytest.raises(InvalidValue, match="printable characters"):
        Tokens(tmp_path / "tokens.json", required=True).create(["predict"], name)
