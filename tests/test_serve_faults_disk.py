"""A sync that fails, and a disk that is full, under a server in a process of its own.

The faults are injected below SQLite by a small library for LD_PRELOAD. The full disk is also a real one, where the
tests may mount a file system in memory.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from serving_process import ServerProcess, learned_by_hand, replayed, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD and tmpfs are of Linux"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("library") / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture
def server(library, tmp_path):
    server = ServerProcess(tmp_path / "data")
    server.environment = {
        "LD_PRELOAD": str(library),
        "FAILING_FOLDER": str(server.data),
        "FAILING_SYNC": str(tmp_path / "fail"),
        "FAILING_SPACE": str(tmp_path / "full"),
        "FAILING_LOG": str(tmp_path / "log"),
    }
    with server:
        yield server


class Client:
    """Sends examples, and remembers which labels were acknowledged."""

    def __init__(self, server):
        self.server, self.n, self.acknowledged = server, 0, []

    def predict(self):
        """A prediction with an id of its own."""
        self.n += 1
        body = {"id": f"e{self.n}", "x": {"v": float(self.n % 7)}}
        return self.server.ask("POST", "/v1/models/m/predict", body)

    def label(self, id=None):
        """The label of the last prediction."""
        id = id or f"e{self.n}"
        status, found = self.server.ask("PUT", f"/v1/models/m/labels/{id}", {"y": self.n % 3 == 0})
        if status in (200, 201):
            self.acknowledged.append(id)
        return status, found

    def judge(self):
        """All acknowledged labels are learned once, and the log gives the live model."""
        learned, model = learned_by_hand(self.server.data)
        assert set(self.acknowledged) <= set(learned)
        live = self.server.export()
        assert live == model.to_bytes()
        assert replayed(self.server.data, from_start=True) == live
        return learned


def test_a_failed_sync_ends_the_server_and_is_not_retried(server, tmp_path):
    client = Client(server)
    for _ in range(20):
        assert client.predict()[0] == 200
        assert client.label()[0] == 201
    client.predict()
    assert server.ask("GET", "/readyz")[0] == 200
    (tmp_path / "fail").touch()
    status, found = client.label()
    assert status == 503, found
    assert found["type"] == "/problems/stopping"
    assert server.wait() == 1
    assert "write failed" in server.errors()
    lines = (tmp_path / "log").read_text().splitlines()
    failed = next(index for index, line in enumerate(lines) if line.startswith("failed"))
    store = str(server.data / "events.db")
    assert lines[failed].startswith(f"failed {store}")
    assert [line for line in lines[failed + 1 :] if store in line] == [], "the store was synced again"
    server.start()
    learned = client.judge()
    # The label that was not acknowledged is wholly in or wholly out; sent again, it is learned.
    again, _ = client.label()
    assert again == (200 if f"e{client.n}" in learned else 201)
    client.judge()
    print(f"a failed sync: exit code 1, 0 of {len(client.acknowledged)} acknowledged labels lost, no sync retried")


def fill_and_free(server, client, fill, free):
    """Predictions go on while the disk is full, labels are refused, and all is well when there is space again."""
    for _ in range(20):
        client.predict()
        assert client.label()[0] == 201
    client.predict()
    waiting = f"e{client.n}"
    assert client.label()[0] == 201
    client.predict()
    waiting = f"e{client.n}"
    assert until(lambda: server.ask("GET", f"/v1/models/m/events/{waiting}")[0] == 200)
    before = server.export()
    fill()
    refused = 0
    for _ in range(10):
        status, found = client.label(waiting)
        assert status == 507, found
        assert found["type"] == "/problems/disk-full"
        refused += 1
        status, found = client.predict()
        assert status == 200, found
        assert found["y"] is not None
    assert found["stored"] is False
    assert server.ask("GET", "/healthz")[0] == 200
    assert server.ask("GET", "/readyz")[0] == 503
    assert server.ask("POST", "/v1/models/m/versions", {"version": "full"})[0] == 507
    assert server.ask("POST", "/v1/models", {"name": "more", "spec": "LinearRegression"})[0] == 507
    assert server.export() == before
    free()
    assert client.label(waiting)[0] == 201
    assert server.ask("GET", "/readyz")[0] == 200
    for _ in range(5):
        assert client.predict()[1]["stored"] is True
        assert client.label()[0] == 201
    client.judge()
    assert server.stop() == 0
    server.start()
    client.judge()
    print(f"disk full: {refused} labels refused with 507, 0 of {len(client.acknowledged)} acknowledged ones lost")


def test_a_full_disk_refuses_labels_and_heals(server, tmp_path):
    fill_and_free(server, Client(server), (tmp_path / "full").touch, (tmp_path / "full").unlink)


def test_a_full_disk_of_a_real_file_system(tmp_path):
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "millstream-test", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a file system")
    ballast = folder / "ballast"

    def fill():
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 10, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass

    server = ServerProcess(folder / "data")
    server.stderr = tmp_path / "stderr"
    try:
        with server:
            fill_and_free(server, Client(server), fill, ballast.unlink)
    finally:
        until(lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0)


def test_a_start_on_a_full_disk_is_refused_and_changes_nothing(server, tmp_path):
    client = Client(server)
    for _ in range(5):
        client.predict()
        client.label()
    server.kill()
    (tmp_path / "full").touch()
    command = [sys.executable, "-m", "millstream", "serve", "--data", str(server.data), "--port", "0"]
    environment = {**os.environ, **server.environment}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert refused.returncode not in (0, -signal.SIGSEGV)
    assert len(refused.stderr.strip().splitlines()) == 1, refused.stderr
    assert "no space left" in refused.stderr.lower()
    (tmp_path / "full").unlink()
    server.start()
    assert len(client.judge()) == 5
