"""Redis and Kafka for the tests: started on free ports of 127.0.0.1 in temporary folders, and ended afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent.parent

#: Where `make redis` and `make kafka` put the programs.
REDIS = Path(os.environ.get("MILLSTREAM_REDIS", TOP / ".venv" / "redis"))
KAFKA = Path(os.environ.get("MILLSTREAM_KAFKA", TOP / ".venv" / "kafka"))

#: Seconds until a broker must be ready; the machine may be busy.
START = 90.0


def free_port() -> int:
    """A port of the loopback address that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a process listens."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    raise AssertionError(f"the broker did not start: {log.read_text(errors='replace')[-2000:]}")


class Broker:
    """A process that is started, killed and started again on the same data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log.txt"
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"127.0.0.1:{self.port}"

    def command(self) -> tuple[list[str], dict[str, str]]:
        """The command and additions to its environment."""
        raise NotImplementedError

    def start(self) -> Any:
        """Start the process, and wait until it listens."""
        command, environment = self.command()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment}
            )
        wait_for(self.port, self.process, self.log)
        return self

    def kill(self) -> None:
        """End the process with SIGKILL."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def close(self) -> None:
        """End the process, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Redis(Broker):
    """A Redis server that stores each write before it confirms it."""

    @staticmethod
    def program() -> str | None:
        """The program, if it is installed."""
        unpacked = REDIS / "usr" / "bin" / "redis-server"
        return str(unpacked) if unpacked.exists() else shutil.which("redis-server")

    def command(self) -> tuple[list[str], dict[str, str]]:
        program = self.program()
        assert program is not None
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "daemonize": "no",
        }
        given = [part for name, value in settings.items() for part in (f"--{name}", value)]
        libraries = sorted({str(path.parent) for path in REDIS.glob("usr/lib/**/lib*.so*")})
        return [program, *given], {"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {}

    def client(self) -> Any:
        """A connection."""
        import redis

        return redis.Redis(port=self.port)

    def start(self) -> Redis:
        super().start()
        end = time.monotonic() + START
        while time.monotonic() < end:
            with suppress(Exception), self.client() as client:
                client.ping()
                return self
            time.sleep(0.05)
        raise AssertionError("Redis does not answer")


class Kafka(Broker):
    """A Kafka broker, which is its own controller."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.controller = free_port()

    @staticmethod
    def missing() -> str | None:
        """Why it cannot be started; None if it can."""
        if not list(KAFKA.glob("libs/kafka_*.jar")):
            return "Kafka is not installed: make kafka"
        return None if shutil.which("java") else "Kafka needs Java: sudo apt install default-jre-headless"

    def java(self, *arguments: str, heap: str = "256m") -> list[str]:
        """A command of Kafka."""
        java = shutil.which("java")
        assert java is not None
        return [java, f"-Xmx{heap}", "-XX:+UseSerialGC", "-cp", f"{KAFKA / 'libs'}/*", *arguments]

    def command(self) -> tuple[list[str], dict[str, str]]:
        settings = self.folder / "server.properties"
        if not settings.exists():
            self._format(settings)
        return self.java("kafka.Kafka", str(settings), heap="384m"), {}

    def _format(self, settings: Path) -> None:
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "message.max.bytes": "8000000",
            "auto.create.topics.enable": "false",
            "log.retention.check.interval.ms": "500",
            # A killed broker confirms only what it has written; one machine has no replica to restore it from.
            "log.flush.interval.messages": "1",
        }
        settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        formatted = subprocess.run(
            self.java("kafka.tools.StorageTool", "format", "-t", "bWlsbHN0cmVhbS10ZXN0cw", "-c", str(settings)),
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=START,
        )
        assert formatted.returncode == 0, formatted.stdout + formatted.stderr

    def start(self) -> Kafka:
        super().start()
        from confluent_kafka.admin import AdminClient

        end = time.monotonic() + START
        while time.monotonic() < end:
            with suppress(Exception):
                if AdminClient({"bootstrap.servers": self.address}).list_topics(timeout=5).brokers:
                    return self
        raise AssertionError("Kafka does not answer")

    def create(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Create a topic."""
        from confluent_kafka.admin import AdminClient, NewTopic

        config = {name.replace("_", "."): value for name, value in settings.items()}
        # The client must live until its futures are done.
        admin = AdminClient({"bootstrap.servers": self.address})
        for future in admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values():
            future.result(timeout=60)


def require_redis() -> None:
    """Skip a test where Redis or its client is absent."""
    import pytest

    pytest.importorskip("redis")
    if Redis.program() is None:
        pytest.skip("Redis is not installed: make redis")


def require_kafka() -> None:
    """Skip a test where Kafka or its client is absent."""
    import pytest

    pytest.importorskip("confluent_kafka")
    if (reason := Kafka.missing()) is not None:
        pytest.skip(reason)
