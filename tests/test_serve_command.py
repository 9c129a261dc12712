"""The command `millstream serve`: its errors, and its notes about settings that have no effect."""

from __future__ import annotations

import socket

import pytest

from millstream import base, from_bytes, linear_model, preprocessing, serve
from millstream.cli import main
from millstream.errors import InvalidValue
from millstream.serve.address import CannotListen

MODEL = "StandardScaler | LinearRegression"


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command; a server that starts is stopped at once."""
    monkeypatch.setattr(serve.Server, "serve_forever", lambda server: server.stop() or 0)

    def run(*words):
        code = main(["serve", *map(str, words)])
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def used_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.parametrize("port", ["80000", "65536", "1e9"])
def test_an_invalid_port(run, tmp_path, port):
    code, err = run(MODEL, "--data", tmp_path / "data", "--port", port)
    assert code == 2
    assert err.splitlines()[0] == f"millstream serve: --port: must be an integer from 0 to 65535, got '{port}'"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("port", [80_000, -1, True, "8000", 1.0])
def test_an_invalid_port_in_python(tmp_path, port):
    with pytest.raises(InvalidValue, match="serve: port must be an integer from 0 to 65535"):
        serve.Server(linear_model.LinearRegression(), data=tmp_path / "data", port=port)
    assert not (tmp_path / "data").exists()


def test_a_port_in_use(run, tmp_path, used_port):
    code, err = run(MODEL, "--data", tmp_path / "data", "--port", used_port)
    assert (code, err) == (1, f"serve: cannot listen on 127.0.0.1 port {used_port}: address already in use\n")
    assert not (tmp_path / "data").exists()
    with pytest.raises(CannotListen, match=f"serve: cannot listen on 127.0.0.1 port {used_port}: address already"):
        serve.Server(linear_model.LinearRegression(), data=tmp_path / "data", port=used_port).start()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "no model given, and"),
        (
            (MODEL, "--host", "0.0.0.0"),
            1,
            "serve: address 0.0.0.0 is not a loopback address, and the folder has no",
        ),
        ((MODEL, "--require-token"), 1, "serve: tokens are required, and the folder has no tokens: create one"),
        (
            (MODEL, "--host", "a.localhost.invalid"),
            1,
            "serve: address a.localhost.invalid is not a loopback address",
        ),
    ],
)
def test_a_command_that_cannot_serve_leaves_no_folder_behind(run, tmp_path, words, code, message):
    found, err = run(*words, "--data", tmp_path / "data")
    assert (found, err.count("\n")) == (code, 1)
    assert err.startswith(message)
    assert not (tmp_path / "data").exists()


def test_a_host_without_an_address(run, tmp_path):
    assert run("--data", tmp_path / "data", "--create-token", "web")[0] == 0
    code, err = run(MODEL, "--data", tmp_path / "data", "--host", "no.such.host.invalid", "--port", 0)
    assert code == 1
    assert err.startswith("serve: cannot listen on no.such.host.invalid port 0: ")


def test_ignored_settings_are_reported(run, tmp_path):
    data = ("--data", tmp_path / "data", "--port", 0)
    first = ("--window", "2d", "--metric", "MAE")
    assert run(MODEL, "--name", "m", *data, *first)[0] == 0
    for words in (
        (MODEL, "--name", "m", *first),
        (MODEL, "--name", "m"),
        (MODEL, "--name", "m", "--window", 172800),
    ):
        code, err = run(*words, *data)
        assert code == 0
        assert "keeps" not in err
        assert "continues" not in err
    code, err = run(
        "LinearRegression(l2=0.5)", "--name", "m", *data, "--window", "1h", "--late", "learn", "--metric", "R2"
    )
    assert code == 0
    assert [line for line in err.splitlines() if line.startswith("model ")] == [
        "model 'm' continues from the data folder; the given model, which differs, is not used: give it another "
        "name, or delete the old one (DELETE /v1/models/m)",
        "model 'm' keeps its label policy, window 172800 s instead of 3600 s, late drop instead of learn: "
        "PUT /v1/models/m/policy changes it",
        "model 'm' keeps its metrics, MAE instead of R2: only a new model gets other metrics",
    ]


LABELS = [("false", False), ("0", 0), ("0.5", 0.5), ("late", "late"), ("[1]", "[1]")]


@pytest.mark.parametrize(("text", "label"), LABELS)
def test_the_label_policy_of_a_new_model(run, tmp_path, text, label):
    words = ("--default-label", text, "--aggregate", "last", "--learn-when", "on_window_close", "--window", "1h")
    assert run(MODEL, "--name", "m", "--data", tmp_path / "data", "--port", 0, *words)[0] == 0
    with serve.Server(data=tmp_path / "data", port=0) as server:
        policy = server.engine.state.by_name["m"].policy
    assert (policy.default_label, type(policy.default_label)) == (label, type(label))
    assert (policy.aggregate, policy.learn_when, policy.window) == ("last", "on_window_close", 3600.0)


def notes(data, model, **settings):
    server = serve.Server(model, data=data, name="m", port=0, **settings)
    found = server.engine.recovery.notes
    server.start()
    server.stop()
    return found


def test_a_saved_model_is_compared_with_its_first_and_its_present_state(tmp_path):
    data = tmp_path / "data"
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    model.learn_one({"v": 1.0}, 1.0)
    first = model.to_bytes()
    with serve.Server(model, data=data, name="m", port=0) as server:
        client = serve.Client(server.url)
        client.label("m", client.predict("m", {"v": 2.0})["id"], 3.0)
        present = client.export("m")
    assert present != first
    assert notes(data, from_bytes(first)) == []
    assert notes(data, from_bytes(present)) == []
    other = from_bytes(present)
    other.learn_one({"v": 1.0}, 1.0)
    assert len(notes(data, other)) == 1


class Mean(base.Regressor):
    """A learner written in Python."""

    def predict_one(self, x):
        return 0.0

    def learn_one(self, x, y, w=1.0):
        pass


def test_learners_written_in_python(tmp_path):
    assert notes(tmp_path / "a", Mean()) == []
    assert notes(tmp_path / "a", Mean()) == []
    assert notes(tmp_path / "b", linear_model.LinearRegression()) == []
    assert "continues from the data folder" in notes(tmp_path / "b", Mean())[0]


def test_a_policy_object_is_compared_as_a_whole(tmp_path):
    model = linear_model.LinearRegression
    assert notes(tmp_path, model(), policy={"window": "1d", "late": "learn"}) == []
    assert notes(tmp_path, model(), policy=serve.LabelPolicy(window="1d", late="learn")) == []
    (note,) = notes(tmp_path, model(), policy=serve.LabelPolicy(window="1d"))
    assert "late learn instead of drop" in note
