"""A process that runs a model over a source, for tests that kill it.

The settings are JSON in the first argument. `die` names a moment at which the process kills itself: before or
after the n-th call of a step. The process prints a line when it is ready, and when it has ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

from millstream import stream
from millstream.stream.partition_state import PartitionState
from stream_messages import keyed


def dying(owner: Any, name: str, count: int, after: bool) -> None:
    """Let the process kill itself at the `count`-th call of a method."""
    original = getattr(owner, name)
    calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **named)
        if calls == count and after:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, wrapped)


def source_of(settings: dict[str, Any]) -> Any:
    """The source."""
    options = dict(settings["options"])
    kind = settings["source"]
    if kind == "socket":
        return stream.read_socket(settings["address"], **options)
    if kind == "redis":
        return stream.read_redis(settings["address"], "in", **options)
    return stream.read_kafka(settings["address"], settings["topic"], **options)


def sink_of(settings: dict[str, Any]) -> Any:
    """The sink; None for none."""
    kind = settings.get("sink")
    if kind is None:
        return None
    if kind == "redis":
        return stream.write_redis(settings["sink_address"], "out")
    if kind == "kafka":
        return stream.write_kafka(
            settings["sink_address"], settings["out_topic"], transactional_id=settings.get("transactional_id")
        )
    return stream.write_socket(settings["sink_address"])


def main() -> None:
    """Run."""
    settings = json.loads(sys.argv[1])
    source, sink = source_of(settings), sink_of(settings)
    if settings.get("die"):
        where, count, after = settings["die"]
        if where == "step":
            from millstream.stream import processing

            dying(processing, "_answers", count, after)
        elif where == "save":
            dying(PartitionState, "save", count, after)
        elif where == "sink":
            dying(type(sink), "flush", count, after)
        elif where == "commit":
            kind = source.reader.__annotations__["return"]
            dying(getattr(sys.modules[type(source).__module__], kind), "commit", count, after)
    stop = threading.Event()

    def watch(progress: Any) -> None:
        if progress.messages >= settings.get("messages", float("inf")):
            stop.set()

    print("ready", flush=True)
    done = stream.process(
        source,
        keyed(),
        sink=sink,
        checkpoint=settings["checkpoint"],
        every=settings.get("every", 0.05),
        by_partition=settings.get("by_partition", False),
        stop=stop,
        progress=watch,
    )
    if sink is not None:
        sink.close()
    print(json.dumps({"rows": done.progress.rows, "repeats": done.progress.repeats}), flush=True)


if __name__ == "__main__":
    main()
